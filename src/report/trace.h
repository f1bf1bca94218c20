/* Chrome's trace format, written to disk as the simulation goes: opens in Perfetto.
 * A process is a rank, a thread a stream; times are microseconds with three decimals. */
#pragma once

#include <glib.h>

typedef struct ReportTrace ReportTrace;

/* Written beside `path` under a temporary name until report_trace_close. */
ReportTrace *report_trace_open(const char *path, GError **error);
/* Has the signature of StepOptions.trace, `trace` as the user pointer. */
void report_trace_op(void *trace, guint rank, const char *stream, const char *name,
                     const char *kind, gint64 stage, gint64 microbatch, gint64 start_ns,
                     gint64 end_ns);
/* Ends the file and gives it its name; frees `trace`. */
gboolean report_trace_close(ReportTrace *trace, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Removes what was written. */
void report_trace_abandon(ReportTrace *trace);
