/* What is measured and how long it will take: one line on a terminal; in a batch job's log a line now and then. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    FILE *stream;
    bool terminal, dirty;
    double shown_s;
} CalibProgress;

CalibProgress calib_progress_new(FILE *stream);
/* At most one a second; where it is no terminal the first after a minute, and one a minute. */
void calib_progress_show(CalibProgress *progress, double now_s, const char *what, unsigned n_rows,
                         double left_s);
/* Takes the line away, before something else is printed. */
void calib_progress_end(CalibProgress *progress);
/* "5min 12s" */
void calib_format_duration(double seconds, char *text, size_t size);
