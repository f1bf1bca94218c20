/* Memory over time: every change of every rank as TSV, and the same as a picture. */
#pragma once

#include "step/step.h"

typedef struct ReportTimeline ReportTimeline;

/* `path`: of the TSV, "-" standard output, NULL: none. `drawn`: changes are kept for a picture. `rank`: pipeline
 * rank that is kept, < 0: all. */
ReportTimeline *report_timeline_open(const char *path, gboolean drawn, gint64 rank, GError **error);
/* Has the signature of StepOptions.memory, `timeline` as the user pointer. */
void report_timeline_add(void *timeline, guint rank, guint pp_rank, gint64 when_ns,
                         const gint64 bytes[STEP_N_MEMORY]);
/* Gives the TSV its name. FALSE: nothing was written. */
gboolean report_timeline_close(ReportTimeline *timeline, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Stacked areas over time, a panel a pipeline rank, with the limit. `end_ns`: of the iteration. */
gboolean report_timeline_plot(const ReportTimeline *timeline, const char *title, gint64 end_ns,
                              gint64 limit_bytes, const char *path,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Removes a TSV that was not closed. */
void report_timeline_free(ReportTimeline *timeline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReportTimeline, report_timeline_free)
