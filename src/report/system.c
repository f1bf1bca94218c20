/* Systems as text, JSON, TSV: what is measured of each, on which GPUs, and whose measurements these are. */
#include "config.h"

#include "report/system.h"

#include "net/coverage.h"
#include "report/json_number.h"
#include "report/number.h"
#include "report/table.h"

#include <string.h>

/* The system that lends the table; NULL: its own or none. */
static const char *
lender_of(const ReportSystem *r, guint table)
{
    const char *name = conf_keyfile_text(r->system->conf, "tables", cluster_table_name(table));
    return *name != '\0' ? name : NULL;
}

/* --- groups of GPUs ------------------------------------------------------------------------------- */

static int
compare_counts(gconstpointer a, gconstpointer b)
{
    guint x = *(const guint *)a, y = *(const guint *)b;
    return x < y ? -1 : x > y;
}

static gboolean
has_count(const GArray *counts, guint count)
{
    for (guint i = 0; i < counts->len; i++)
        if (g_array_index(counts, guint, i) == count)
            return TRUE;
    return FALSE;
}

/* Numbers of nodes that something was measured over, rising. */
static GArray *
node_counts(const ReportSystem *r)
{
    GArray *counts = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint i = 0; i < r->covered->len; i++) {
        guint nodes = g_array_index(r->covered, NetCovered, i).nodes;
        if (!has_count(counts, nodes))
            g_array_append_val(counts, nodes);
    }
    g_array_sort(counts, compare_counts);
    return counts;
}

/* "1,2,10"; of more than four the first and the last: "2..540"; "-": none. */
static char *
node_counts_text(const ReportSystem *r)
{
    g_autoptr(GArray) counts = node_counts(r);
    GString *text = g_string_new(counts->len == 0 ? "-" : NULL);
    if (counts->len > 4)
        g_string_append_printf(text, "%u..%u", g_array_index(counts, guint, 0),
                               g_array_index(counts, guint, counts->len - 1));
    else
        for (guint i = 0; i < counts->len; i++)
            g_string_append_printf(text, "%s%u", i > 0 ? "," : "", g_array_index(counts, guint, i));
    return g_string_free(text, FALSE);
}

/* "all_reduce 2 4 8 16/2": GPUs, of several nodes with their number. */
static void
append_groups(const ReportSystem *r, NetOp op, GString *out)
{
    gboolean first = TRUE;
    for (guint i = 0; i < r->covered->len; i++) {
        const NetCovered *c = &g_array_index(r->covered, NetCovered, i);
        if (c->op != op)
            continue;
        g_string_append_printf(out, "%s %u", first ? net_op_name(op) : "", c->ranks);
        if (c->nodes > 1)
            g_string_append_printf(out, "/%u", c->nodes);
        first = FALSE;
    }
    if (!first)
        g_string_append(out, "; ");
}

static char *
groups_text(const ReportSystem *r)
{
    GString *text = g_string_new(NULL);
    for (int op = 0; op < NET_N_OPS; op++)
        append_groups(r, (NetOp)op, text);
    if (text->len > 0)
        g_string_truncate(text, text->len - 2);
    return g_string_free(text, FALSE);
}

/* --- formats -------------------------------------------------------------------------------------- */

static void
measured_json(JsonBuilder *b, const ReportSystem *r)
{
    report_json_object(b, "measurements");
    for (guint t = 0; t < CLUSTER_N_TABLES; t++)
        report_json_int(b, cluster_table_name(t), r->n_rows[t]);
    json_builder_end_object(b);
    report_json_object(b, "tables_of");
    for (guint t = 0; t < CLUSTER_N_TABLES; t++)
        if (lender_of(r, t) != NULL)
            report_json_text(b, cluster_table_name(t), lender_of(r, t));
    json_builder_end_object(b);
    report_json_array(b, "collectives");
    for (guint i = 0; i < r->covered->len; i++) {
        const NetCovered *c = &g_array_index(r->covered, NetCovered, i);
        report_json_object(b, NULL);
        report_json_text(b, "op", net_op_name(c->op));
        report_json_int(b, "gpus", c->ranks);
        report_json_int(b, "nodes", c->nodes);
        report_json_int(b, "rows", c->n_rows);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
}

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
        measured_json(b, r);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    json_builder_end_object(b);
    report_json_print(b, out);
}

static void
systems_tsv(const GArray *rows, GString *out)
{
    g_string_append(out, "system\tgpu\tgpus_per_node\tmemory_bytes\tbf16_flop_per_s");
    for (guint t = 0; t < CLUSTER_N_TABLES; t++)
        g_string_append_printf(out, "\t%s_rows", cluster_table_name(t));
    for (guint t = 0; t < CLUSTER_N_TABLES; t++)
        g_string_append_printf(out, "\t%s_of", cluster_table_name(t));
    g_string_append(out, "\tcollectives\n");
    for (guint i = 0; i < rows->len; i++) {
        const ReportSystem *r = &g_array_index(rows, ReportSystem, i);
        const ClusterSystem *s = r->system;
        g_string_append_printf(
            out, "%s\t%s\t%" G_GINT64_FORMAT "\t%" G_GINT64_FORMAT "\t%" G_GINT64_FORMAT, s->name,
            s->gpu_name, s->gpus_per_node, s->memory_bytes, s->peak_flops[CLUSTER_BF16]);
        for (guint t = 0; t < CLUSTER_N_TABLES; t++)
            g_string_append_printf(out, "\t%u", r->n_rows[t]);
        for (guint t = 0; t < CLUSTER_N_TABLES; t++)
            g_string_append_printf(out, "\t%s", lender_of(r, t) != NULL ? lender_of(r, t) : "");
        g_autofree char *groups = groups_text(r);
        g_string_append_printf(out, "\t%s\n", groups);
    }
}

static void
systems_text(const GArray *rows, GString *out)
{
    static const char *const heads[] = {"system", "gpu", "GPUs",    "GB",         "TFLOP/s", "gemm",
                                        "attn",   "mem", "overlap", "collective", "nodes",   NULL};
    g_autoptr(ReportTable) table = report_table_new("llrrrrrrrrr", heads);
    for (guint i = 0; i < rows->len; i++) {
        const ReportSystem *r = &g_array_index(rows, ReportSystem, i);
        const ClusterSystem *s = r->system;
        gint64 peak = s->peak_flops[s->peak_flops[CLUSTER_BF16] > 0 ? CLUSTER_BF16 : CLUSTER_FP16];
        report_table_cell(table, "%s", s->name);
        report_table_cell(table, "%s", s->gpu_name);
        report_table_cell(table, "%" G_GINT64_FORMAT, s->gpus_per_node);
        report_table_cell(table, "%s", report_plain((double)s->memory_bytes / 1e9, 4).text);
        report_table_cell(table, "%s", report_plain((double)peak / 1e12, 4).text);
        for (guint t = 0; t < CLUSTER_N_TABLES; t++) {
            if (r->n_rows[t] == 0)
                report_table_cell(table, "-");
            else
                report_table_cell(table, "%u%s", r->n_rows[t], lender_of(r, t) != NULL ? "*" : "");
        }
        g_autofree char *nodes = node_counts_text(r);
        report_table_cell(table, "%s", nodes);
    }
    report_table_print(table, 0, out);
    g_string_append(
        out,
        "\nGPUs of a node; dense TFLOP/s in 16 bits; measurements by kind, on how many nodes "
        "collectives;\n* of another system's table, - modelled. 'dtsim systems NAME' says whose, "
        "and prints a system.conf.\n");
}

/* Comments of a system.conf. */
static void
measured_text(const ReportSystem *r, GString *out)
{
    g_string_append_printf(out, "# %s: %s\n", r->system->name, r->system->summary);
    for (guint t = 0; t < CLUSTER_N_TABLES; t++) {
        g_string_append_printf(out, "# %s: ", cluster_table_name(t));
        if (r->n_rows[t] == 0)
            g_string_append(out, "modelled");
        else
            g_string_append_printf(out, "%u measurement%s", r->n_rows[t],
                                   r->n_rows[t] > 1 ? "s" : "");
        if (lender_of(r, t) != NULL)
            g_string_append_printf(out, ", %s of %s",
                                   t == CLUSTER_TABLE_COLLECTIVE ? "in a node also" : "those",
                                   lender_of(r, t));
        g_string_append_c(out, '\n');
    }
    g_autofree char *groups = groups_text(r);
    if (*groups != '\0')
        g_string_append_printf(out, "# GPUs (/nodes): %s\n", groups);
    g_string_append_c(out, '\n');
}

void
report_systems(const GArray *rows, gboolean whole, const char *format, GString *out)
{
    if (strcmp(format, "json") == 0) {
        systems_json(rows, out);
    } else if (strcmp(format, "tsv") == 0) {
        systems_tsv(rows, out);
    } else if (!whole) {
        systems_text(rows, out);
    } else {
        for (guint i = 0; i < rows->len; i++) {
            const ReportSystem *r = &g_array_index(rows, ReportSystem, i);
            g_autofree char *text = conf_keyfile_print(r->system->conf);
            measured_text(r, out);
            g_string_append(out, text);
        }
    }
}
