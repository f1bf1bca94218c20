/* Rows of a file that nothing could be made of, counted by reason. */
#pragma once

#include <glib.h>

typedef struct {
    const char *reason; /* borrowed */
    guint n;
} ReportSkipped;

/* `skipped`: array of ReportSkipped, in order of first appearance. */
void report_skipped_add(GArray *skipped, const char *reason, guint n);
/* The sum, and a line a reason. */
void report_skipped_text(const GArray *skipped, guint n_rows, GString *out);
