/* The points of a sweep: text, JSON, TSV and a plot of one quantity against an axis. */
#pragma once

#include <glib.h>

typedef struct {
    gint64 at[2];        /* value on each axis */
    char *refused;       /* owned: why not; NULL: it ran, and what follows is set */
    gint64 gpus, global_batch;
    double time_s, tokens_per_s_per_gpu, mfu, bubble_fraction, closed_form_bubble, peak_gb;
    gboolean fits;
} ReportPoint;

typedef struct {
    const char *axes[2]; /* option names, borrowed; axes[1] NULL: one axis */
    GArray *points;      /* of ReportPoint, the first axis outermost */
} ReportSweep;

void report_sweep(const ReportSweep *sweep, const char *format, GString *out);

/* Quantities that can be drawn; NULL-terminated. */
extern const char *const report_sweep_quantities[];
/* `quantity`: index in the list. The bubble is drawn with its closed form dotted beside. */
gboolean report_sweep_plot(const ReportSweep *sweep, guint quantity, const char *title,
                           const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
