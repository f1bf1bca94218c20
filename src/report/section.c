/* Paragraphs, and the memory of a stage by kind. */
#include "config.h"

#include "report/section.h"

#include "report/number.h"
#include "report/table.h"

#include <string.h>

#define WIDTH 96

void
report_paragraph(GString *out, const char *head, const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    gsize indent = strlen(head), column = indent;
    g_string_append(out, head);
    for (guint i = 0; words[i] != NULL; i++) {
        gsize n = strlen(words[i]);
        if (n == 0)
            continue;
        if (column > indent && column + 1 + n > WIDTH) {
            g_string_append_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        }
        if (column > indent) {
            g_string_append_c(out, ' ');
            column++;
        }
        g_string_append(out, words[i]);
        column += n;
    }
    g_string_append_c(out, '\n');
}

/* Kinds of a stage's peak, the largest first. */
static void
sort_kinds(const StepStage *stage, StepMemory order[STEP_N_MEMORY])
{
    for (guint i = 0; i < STEP_N_MEMORY; i++) {
        guint at = i;
        for (; at > 0 && stage->peak[order[at - 1]] < stage->peak[i]; at--)
            order[at] = order[at - 1];
        order[at] = (StepMemory)i;
    }
}

static void
append_row(ReportTable *table, const char *what, gint64 bytes, gint64 of_bytes)
{
    report_table_cell(table, "%s", what);
    report_table_cell(table, "%s", report_gb((double)bytes).text);
    report_table_cell(table, "%s",
                      of_bytes > 0 ? report_percent((double)bytes / (double)of_bytes).text : " ");
}

void
report_append_memory(const ReportRun *run, GString *out)
{
    const StepResult *r = run->result;
    const StepStage *worst = &g_array_index(r->stages, StepStage, r->memory_peak_stage);
    StepMemory order[STEP_N_MEMORY] = {0};
    sort_kinds(worst, order);
    g_autoptr(ReportTable) table = report_table_new("lrr", NULL);
    for (guint i = 0; i < STEP_N_MEMORY; i++)
        if (worst->peak[order[i]] != 0)
            append_row(table, step_memory_names[order[i]], worst->peak[order[i]],
                       r->memory_peak_bytes);
    g_autofree char *peak =
        g_strdup_printf("peak, pipeline rank %" G_GINT64_FORMAT, worst->pp_rank);
    g_autofree char *usable = g_strdup_printf("usable of %s", run->plan->system->gpu_name);
    append_row(table, peak, r->memory_peak_bytes, 0);
    if (r->memory_reserved_bytes > r->memory_peak_bytes)
        append_row(table, "with fragmentation", r->memory_reserved_bytes, 0);
    append_row(table, usable, r->memory_limit_bytes, 0);
    if (r->host_bytes > 0)
        append_row(table, "on the host of a node", r->host_bytes, 0);
    if (r->nvme_bytes > 0)
        append_row(table, "on the drives of a node", r->nvme_bytes, 0);
    report_table_print(table, 2, out);
    report_append_verdict(run, out);
}
