/* The points of a sweep: text, JSON, TSV and a plot of one quantity against an axis. */
#pragma once

#include "report/certainty.h"

#define REPORT_SWEEP_AXES 3

typedef struct {
    gint64 at[REPORT_SWEEP_AXES]; /* value on each axis; of an axis of names, which of them */
    char *refused;                /* owned: why not; NULL: it ran, and what follows is set */
    gint64 gpus, global_batch, vpp;
    double time_s, tokens_per_s_per_gpu, mfu, bubble_fraction, closed_form_bubble, peak_gb;
    ReportCertainty certainty;
    GArray *doubts;              /* owned: StepResult.doubts */
    gboolean fits, asynchronous; /* asynchronous: its schedule trains on stale weights */
} ReportPoint;

typedef struct {
    const char *option;     /* its name, borrowed; NULL: there is no such axis */
    const GPtrArray *names; /* of char*, borrowed; NULL: its values are numbers */
} ReportAxis;

typedef struct {
    ReportAxis axes[REPORT_SWEEP_AXES]; /* those there are come first */
    GArray *points;                     /* of ReportPoint, the first axis outermost */
} ReportSweep;

void report_sweep(const ReportSweep *sweep, const char *format, GString *out);

/* Quantities that can be drawn; NULL-terminated. */
extern const char *const report_sweep_quantities[];
/* `quantity`: index in the list; drawn against the longest axis of numbers, one curve for each value of the
 * others. The bubble is drawn with its closed form dotted beside. */
gboolean report_sweep_plot(const ReportSweep *sweep, guint quantity, const char *title,
                           const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
