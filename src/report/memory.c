/* `dtsim memory` as text: every stage by kind, the verdict, and what would help. */
#include "config.h"

#include "report/run.h"

#include "report/number.h"
#include "report/section.h"
#include "report/table.h"

/* Kinds that no stage has are left out. */
static gboolean
is_present(const GArray *stages, guint kind)
{
    for (guint i = 0; i < stages->len; i++)
        if (g_array_index(stages, StepStage, i).peak[kind] != 0)
            return TRUE;
    return FALSE;
}

static ReportTable *
table_of(const GArray *stages)
{
    g_autoptr(GPtrArray) heads = g_ptr_array_new();
    g_ptr_array_add(heads, (gpointer) "rank");
    g_ptr_array_add(heads, (gpointer) "in flight");
    for (guint k = 0; k < STEP_N_MEMORY; k++)
        if (is_present(stages, k))
            g_ptr_array_add(
                heads, (gpointer)(k == STEP_MEMORY_COMMUNICATION ? "comm." : step_memory_names[k]));
    g_ptr_array_add(heads, (gpointer) "peak");
    g_autofree char *align = g_strnfill(heads->len, 'r');
    g_ptr_array_add(heads, NULL);
    return report_table_new(align, (const char *const *)heads->pdata);
}

void
report_memory_text(const ReportRun *run, GString *out)
{
    const GArray *stages = run->result->stages;
    g_string_append_printf(out, "%s on %s, GB (1e9 bytes) of one GPU of each pipeline rank\n\n",
                           run->plan->shape->name, run->plan->system->name);
    g_autoptr(ReportTable) table = table_of(stages);
    for (guint i = 0; i < stages->len; i++) {
        const StepStage *s = &g_array_index(stages, StepStage, i);
        report_table_cell(table, "%" G_GINT64_FORMAT, s->pp_rank);
        report_table_cell(table, "%u", s->peak_microbatches);
        for (guint k = 0; k < STEP_N_MEMORY; k++)
            if (is_present(stages, k))
                report_table_cell(table, "%s", report_fixed((double)s->peak[k] / 1e9, 3).text);
        report_table_cell(table, "%s", report_fixed((double)s->peak_bytes / 1e9, 3).text);
    }
    report_table_print(table, 2, out);
    if (run->plan->spec.vpp > 1)
        g_string_append(out, "  in flight: microbatches of one chunk\n");
    g_string_append(out, "\nWorst\n");
    report_append_memory(run, out);
    report_append_advice(run, out);
}
