/* `dtsim memory` as text: every stage by kind, then the verdict. */
#include "config.h"

#include "report/run.h"

#include "report/number.h"
#include "report/section.h"
#include "report/table.h"

void
report_memory_text(const ReportRun *run, GString *out)
{
    static const char *const heads[] = {"rank",      "in flight",   "parameters", "gradients",
                                        "optimizer", "activations", "logits",     "comm.",
                                        "fixed",     "peak",        NULL};
    const GArray *stages = run->result->stages;
    g_string_append_printf(out, "%s on %s, GB (1e9 bytes) of one GPU of each pipeline rank\n\n",
                           run->plan->shape->name, run->plan->system->name);
    g_autoptr(ReportTable) table = report_table_new("rrrrrrrrrr", heads);
    for (guint i = 0; i < stages->len; i++) {
        const StepStage *s = &g_array_index(stages, StepStage, i);
        gint64 bytes[REPORT_N_MEMORY_KINDS];
        report_memory_by_kind(s, bytes);
        report_table_cell(table, "%" G_GINT64_FORMAT, s->pp_rank);
        report_table_cell(table, "%u", s->peak_microbatches);
        for (guint k = 0; k < REPORT_N_MEMORY_KINDS; k++)
            report_table_cell(table, "%s", report_fixed((double)bytes[k] / 1e9, 3).text);
        report_table_cell(table, "%s", report_fixed((double)s->peak_bytes / 1e9, 3).text);
    }
    report_table_print(table, 2, out);
    if (run->plan->spec.vpp > 1)
        g_string_append(out, "  in flight: microbatches of one chunk\n");
    g_string_append(out, "\nWorst\n");
    report_append_memory(run, out);
}
