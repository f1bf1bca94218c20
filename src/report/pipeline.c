/* The pipeline part of the text report: both bubbles by name, and a table of stages. */
#include "config.h"

#include "report/section.h"

#include "report/number.h"
#include "report/table.h"

#include <math.h>

#define ROWS_MOST 8 /* beyond it the middle is left out */

static void
append_stage(ReportTable *table, const StepResult *r, const StepStage *s)
{
    double makespan = (double)MAX(r->makespan_ns, 1);
    report_table_cell(table, "%" G_GINT64_FORMAT, s->pp_rank);
    report_table_cell(table, "%" G_GINT64_FORMAT, s->layers);
    report_table_cell(table, "%s", report_time((double)s->forward_ns * 1e-9).text);
    report_table_cell(table, "%s", report_time((double)s->backward_ns * 1e-9).text);
    report_table_cell(table, "%s", report_percent((double)s->busy_ns / makespan).text);
    report_table_cell(table, "%s", report_percent((double)s->idle_ns / makespan).text);
    report_table_cell(table, "%u", s->peak_microbatches);
    report_table_cell(table, "%s", report_big((double)s->parameters).text);
    report_table_cell(table, "%s", report_gb((double)s->peak_bytes).text);
}

static void
append_stages(const StepResult *r, GString *out)
{
    static const char *const heads[] = {"rank", "layers",    "forward",    "backward",    "busy",
                                        "idle", "in flight", "parameters", "peak memory", NULL};
    g_autoptr(ReportTable) table = report_table_new("rrrrrrrrr", heads);
    guint n = r->stages->len;
    for (guint i = 0; i < n; i++) {
        gboolean edge = i < ROWS_MOST / 2 || i >= n - ROWS_MOST / 2;
        if (n > ROWS_MOST && !edge && i != r->memory_peak_stage) {
            if (i == ROWS_MOST / 2)
                for (guint c = 0; c < 9; c++)
                    report_table_cell(table, "...");
            continue;
        }
        append_stage(table, r, &g_array_index(r->stages, StepStage, i));
    }
    report_table_print(table, 2, out);
}

void
report_append_pipeline(const ReportRun *run, GString *out)
{
    const StepResult *r = run->result;
    if (run->plan->spec.pp > 1) {
        double closed = report_closed_form_bubble(run->schedule);
        g_string_append_printf(
            out,
            "  bubble          %s of the makespan (idle/total), %s of the busy time (idle/ideal)\n",
            report_percent(r->bubble_fraction).text, report_percent(r->bubble_over_ideal).text);
        if (!isnan(closed))
            g_string_append_printf(
                out, "  equal stages    %s and %s by the schedule's formula, transfers free\n",
                report_percent(closed).text, report_percent(closed / (1 - closed)).text);
    }
    g_string_append_printf(out, "  makespan        %s; longest span of one rank %s\n",
                           report_time((double)r->makespan_ns * 1e-9).text,
                           report_time((double)r->max_span_ns * 1e-9).text);
    append_stages(r, out);
    if (run->plan->spec.vpp > 1)
        g_string_append(out, "  in flight: microbatches of one chunk\n");
}
