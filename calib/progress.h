/* One line on a terminal that says what is measured and how long it will take; nothing elsewhere. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Zeroed but for its stream; `shown` begins where nothing is to be shown before. */
typedef struct {
    FILE *stream; /* NULL: none */
    double shown_s;
    bool dirty;
} CalibProgress;

/* A stream that is no terminal shows nothing. */
CalibProgress calib_progress_new(FILE *stream);
/* At most one a second. */
void calib_progress_show(CalibProgress *progress, double now_s, const char *what, unsigned n_rows,
                         double left_s);
/* Takes the line away, before something else is printed. */
void calib_progress_end(CalibProgress *progress);
/* "5min 12s" */
void calib_format_duration(double seconds, char *text, size_t size);
