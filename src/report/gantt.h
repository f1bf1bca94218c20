/* Pictures of pipelines: what each rank did when. */
#pragma once

#include "schedule/schedule.h"

typedef struct ReportGantt ReportGantt;

ReportGantt *report_gantt_new(guint n_ranks);
void report_gantt_free(ReportGantt *gantt);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReportGantt, report_gantt_free)

/* `start`, `end` in any one unit for the text picture; ns for the plot. The two tokens of an overlapped pair
 * come one after the other on their rank, and share one box. */
void report_gantt_add(ReportGantt *gantt, guint pp_rank, ScheduleToken token, gint64 start,
                      gint64 end);

/* One line a rank, `zoom` columns for each `unit` of time: letter and microbatch of a token (its last digits
 * where it is narrow), '.' where the rank idles. Of a pair, each token has half of the columns. */
void report_gantt_text(const ReportGantt *gantt, gint64 unit, guint zoom, GString *out);

/* One picture of a page. */
typedef struct {
    const ReportGantt *gantt; /* borrowed */
    const char *title;
    double scale; /* of its times in one unit of the page: 1e6 for ns in ms */
} ReportPanel;

typedef struct {
    const char *title;
    const char *unit; /* of the time axes: "ms"; "": units of time */
} ReportPage;

/* Small multiples on one page: SVG or PNG by the ending of `path`, through gnuplot and plots/schedules.gp. */
gboolean report_gantt_page(const ReportPage *page, const ReportPanel *panels, guint n,
                           const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The page of one picture in ns. */
gboolean report_gantt_plot(const ReportGantt *gantt, const char *title, const char *path,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
gint64 report_gantt_end(const ReportGantt *gantt);

/* "svg" or "png" by the ending of `path`; an error for anything else. `ret_format` may be NULL. */
gboolean report_plot_format(const char *path, const char **ret_format,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Runs gnuplot on plots/SCRIPT with ARG1 = a file that holds `data`, ARG2 = the picture, ARG3 = its format,
 * ARG4 = `title`. The picture appears whole or not at all. */
gboolean report_plot(const char *script, const GString *data, const char *title, const char *path,
                     GError **error) G_GNUC_WARN_UNUSED_RESULT;
