/* Paragraphs, and the memory of a stage by kind. */
#include "config.h"

#include "report/section.h"

#include "report/number.h"
#include "report/table.h"

#include <string.h>

#define WIDTH 96

const char *const report_memory_kinds[REPORT_N_MEMORY_KINDS] = {
    "parameters", "gradients", "optimizer", "activations", "logits", "communication", "fixed"};

void
report_memory_by_kind(const StepStage *stage, gint64 ret_bytes[REPORT_N_MEMORY_KINDS])
{
    ret_bytes[0] = stage->fixed.parameters_bytes;
    ret_bytes[1] = stage->fixed.gradients_bytes;
    ret_bytes[2] = stage->fixed.optimizer_bytes;
    ret_bytes[3] = stage->activations_bytes;
    ret_bytes[4] = stage->logits_bytes;
    ret_bytes[5] = stage->fixed.communication_bytes;
    ret_bytes[6] = stage->fixed.fixed_bytes;
}

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

void
report_append_memory(const ReportRun *run, GString *out)
{
    const StepResult *r = run->result;
    const StepStage *worst = &g_array_index(r->stages, StepStage, r->memory_peak_stage);
    gint64 bytes[REPORT_N_MEMORY_KINDS];
    report_memory_by_kind(worst, bytes);
    g_autoptr(ReportTable) table = report_table_new("lrr", NULL);
    for (guint i = 0; i < REPORT_N_MEMORY_KINDS; i++) {
        if (bytes[i] == 0)
            continue;
        report_table_cell(table, "%s", report_memory_kinds[i]);
        report_table_cell(table, "%s", report_gb((double)bytes[i]).text);
        report_table_cell(table, "%s",
                          report_percent((double)bytes[i] / (double)r->memory_peak_bytes).text);
    }
    report_table_cell(table, "peak, pipeline rank %" G_GINT64_FORMAT, worst->pp_rank);
    report_table_cell(table, "%s", report_gb((double)r->memory_peak_bytes).text);
    report_table_cell(table, " ");
    report_table_cell(table, "usable of %s", run->plan->system->gpu_name);
    report_table_cell(table, "%s", report_gb((double)r->memory_limit_bytes).text);
    report_table_cell(table, " ");
    report_table_print(table, 2, out);
    gint64 margin = r->memory_limit_bytes - r->memory_peak_bytes;
    if (margin >= 0)
        g_string_append_printf(out, "  It fits, with %s to spare.\n",
                               report_gb((double)margin).text);
    else
        g_string_append_printf(out, "  It DOES NOT FIT: %s too much.\n",
                               report_gb((double)-margin).text);
}
