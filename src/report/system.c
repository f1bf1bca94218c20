/* Systems as text, JSON, TSV. */
#include "config.h"

#include "report/system.h"

#include "report/json_number.h"
#include "report/number.h"
#include "report/table.h"

#include <string.h>

static void
systems_json(const GArray *rows, GString *out)
{
    g_autoptr(JsonBuilder) b = json_builder_new();
    report_json_object(b, NULL);
    report_json_array(b, "systems");
    for (guint i = 0; i < rows->len; i++) {
        const ReportSystem *r = &g_array_index(rows, ReportSystem, i);
        const ClusterSystem *s = r->system;
        report_json_object(b, NULL);
        report_json_text(b, "name", s->name);
        report_json_text(b, "summary", s->summary);
        report_json_text(b, "gpu", s->gpu_name);
        report_json_int(b, "gpus_per_node", s->gpus_per_node);
        report_json_int(b, "memory_bytes", s->memory_bytes);
        report_json_int(b, "memory_usable_bytes", s->memory_usable_bytes);
        report_json_int(b, "bf16_flop_per_s", s->peak_flops[CLUSTER_BF16]);
        report_json_int(b, "fp16_flop_per_s", s->peak_flops[CLUSTER_FP16]);
        report_json_int(b, "memory_bytes_per_s", s->memory_Bps);
        report_json_int(b, "nvlink_bytes_per_s", s->nvlink_Bps);
        report_json_int(b, "nics_per_node", s->nics_per_node);
        report_json_int(b, "nic_bytes_per_s", s->nic_Bps);
        report_json_object(b, "measurements");
        report_json_int(b, "gemm", r->n_gemm);
        report_json_int(b, "attention", r->n_attention);
        report_json_int(b, "memory", r->n_memory);
        report_json_int(b, "collective", r->n_collective);
        json_builder_end_object(b);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    json_builder_end_object(b);
    report_json_print(b, out);
}

static void
systems_table(const GArray *rows, gboolean tsv, GString *out)
{
    static const char *const heads[] = {"system", "gpu",  "gpus/node", "memory GB",  "bf16 TFLOP/s",
                                        "gemm",   "attn", "mem",       "collective", NULL};
    if (tsv)
        g_string_append(out,
                        "system\tgpu\tgpus_per_node\tmemory_bytes\tbf16_flop_per_s\tgemm_rows\t"
                        "attention_rows\tmemory_rows\tcollective_rows\n");
    g_autoptr(ReportTable) table = report_table_new("llrrrrrrr", heads);
    for (guint i = 0; i < rows->len; i++) {
        const ReportSystem *r = &g_array_index(rows, ReportSystem, i);
        const ClusterSystem *s = r->system;
        if (tsv) {
            g_string_append_printf(out,
                                   "%s\t%s\t%" G_GINT64_FORMAT "\t%" G_GINT64_FORMAT
                                   "\t%" G_GINT64_FORMAT "\t%u\t%u\t%u\t%u\n",
                                   s->name, s->gpu_name, s->gpus_per_node, s->memory_bytes,
                                   s->peak_flops[CLUSTER_BF16], r->n_gemm, r->n_attention,
                                   r->n_memory, r->n_collective);
            continue;
        }
        report_table_cell(table, "%s", s->name);
        report_table_cell(table, "%s", s->gpu_name);
        report_table_cell(table, "%" G_GINT64_FORMAT, s->gpus_per_node);
        report_table_cell(table, "%s", report_plain((double)s->memory_bytes / 1e9, 4).text);
        report_table_cell(table, "%s",
                          report_plain((double)s->peak_flops[CLUSTER_BF16] / 1e12, 4).text);
        const guint counts[] = {r->n_gemm, r->n_attention, r->n_memory, r->n_collective};
        for (guint c = 0; c < G_N_ELEMENTS(counts); c++)
            report_table_cell(table, "%u", counts[c]);
    }
    if (tsv)
        return;
    report_table_print(table, 0, out);
    g_string_append(out, "\nThe last four columns count measurements; 'dtsim systems NAME' prints "
                         "a system.conf.\n");
}

void
report_systems(const GArray *rows, gboolean whole, const char *format, GString *out)
{
    if (strcmp(format, "json") == 0) {
        systems_json(rows, out);
    } else if (strcmp(format, "tsv") == 0 || !whole) {
        systems_table(rows, strcmp(format, "tsv") == 0, out);
    } else {
        for (guint i = 0; i < rows->len; i++) {
            g_autofree char *text =
                conf_keyfile_print(g_array_index(rows, ReportSystem, i).system->conf);
            g_string_append(out, text);
        }
    }
}
