/* Times of one collective, in the units of nccl-tests: microseconds, GB/s of 1e9 bytes. */
#include "config.h"

#include "report/collective.h"

#include "report/certainty.h"
#include "report/gantt.h"
#include "report/json_number.h"
#include "report/number.h"
#include "report/section.h"
#include "report/table.h"
#include "units/quantile.h"

#include <math.h>
#include <string.h>

double
report_bus_factor(NetOp op, guint ranks)
{
    return op == NET_BROADCAST || op == NET_SEND_RECV ? 1.0 : net_ring_bytes(op, ranks, 1.0);
}

static double
algbw(const ReportCollectiveRow *row, double us)
{
    return us > 0 ? (double)row->bytes / us / 1e3 : 0.0;
}

static double
error_of(const ReportCollectiveRow *row)
{
    return row->time_us / row->measured_us - 1;
}

/* Sizes of all errors, ascending. */
static GArray *
errors_of(const ReportCollective *r)
{
    GArray *errors = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < r->rows->len; i++) {
        double size = fabs(error_of(&g_array_index(r->rows, ReportCollectiveRow, i)));
        if (!isnan(size))
            g_array_append_val(errors, size);
    }
    g_array_sort(errors, units_compare_doubles);
    return errors;
}

/* The least value that at least this share of all do not exceed. */
static double
quantile(const GArray *sorted, double share)
{
    if (sorted->len == 0)
        return NAN;
    guint at = (guint)ceil(share * sorted->len);
    return g_array_index(sorted, double, MAX(at, 1) - 1);
}

static void
json_row(JsonBuilder *b, const ReportCollective *r, const ReportCollectiveRow *row)
{
    double bus = report_bus_factor(r->op, r->ranks);
    report_json_object(b, NULL);
    report_json_int(b, "bytes", row->bytes);
    report_json_double(b, "time_us", row->time_us);
    report_json_double(b, "algbw_GBps", algbw(row, row->time_us));
    report_json_double(b, "busbw_GBps", bus * algbw(row, row->time_us));
    report_json_text(b, "algorithm", row->algorithm);
    report_json_text(b, "protocol", row->protocol);
    report_json_text(b, "basis", report_basis_names[row->basis]);
    report_json_double(b, "error_frac", row->error_frac);
    if (r->log != NULL) {
        report_json_double(b, "measured_us", row->measured_us);
        report_json_double(b, "measured_busbw_GBps", bus * algbw(row, row->measured_us));
        report_json_double(b, "error", error_of(row));
        report_json_int(b, "line", row->line);
    }
    json_builder_end_object(b);
}

static void
collective_json(const ReportCollective *r, GString *out)
{
    g_autoptr(JsonBuilder) b = json_builder_new();
    g_autoptr(GArray) errors = errors_of(r);
    report_json_object(b, NULL);
    report_json_text(b, "collective", net_op_name(r->op));
    report_json_text(b, "system", r->system);
    report_json_int(b, "gpus", r->ranks);
    report_json_int(b, "nodes", r->nodes);
    if (r->log != NULL) {
        report_json_text(b, "against", r->log);
        report_json_int(b, "n", errors->len);
        report_json_double(b, "median_error", quantile(errors, 0.5));
        report_json_double(b, "p90_error", quantile(errors, 0.9));
    }
    report_json_array(b, "rows");
    for (guint i = 0; i < r->rows->len; i++)
        json_row(b, r, &g_array_index(r->rows, ReportCollectiveRow, i));
    json_builder_end_array(b);
    report_json_array(b, "remarks");
    for (guint i = 0; r->remarks != NULL && i < r->remarks->len; i++)
        json_builder_add_string_value(b, r->remarks->pdata[i]);
    json_builder_end_array(b);
    json_builder_end_object(b);
    report_json_print(b, out);
}

static void
collective_tsv(const ReportCollective *r, GString *out)
{
    double bus = report_bus_factor(r->op, r->ranks);
    g_string_append(
        out, "bytes\ttime_us\talgbw_GBps\tbusbw_GBps\talgorithm\tprotocol\tbasis\terror_frac");
    g_string_append(out, r->log != NULL ? "\tmeasured_us\tmeasured_busbw_GBps\terror\n" : "\n");
    for (guint i = 0; i < r->rows->len; i++) {
        const ReportCollectiveRow *row = &g_array_index(r->rows, ReportCollectiveRow, i);
        g_string_append_printf(
            out, "%" G_GINT64_FORMAT "\t%s\t%s\t%s\t%s\t%s\t%s\t%s", row->bytes,
            report_plain(row->time_us, 6).text, report_plain(algbw(row, row->time_us), 6).text,
            report_plain(bus * algbw(row, row->time_us), 6).text, row->algorithm, row->protocol,
            report_basis_names[row->basis], report_plain(row->error_frac, 3).text);
        if (r->log != NULL)
            g_string_append_printf(out, "\t%s\t%s\t%s", report_plain(row->measured_us, 6).text,
                                   report_plain(bus * algbw(row, row->measured_us), 6).text,
                                   report_plain(error_of(row), 4).text);
        g_string_append_c(out, '\n');
    }
}

/* As nccl-tests: 9.87, 98.7, 987, 98765. */
static ReportNumber
microseconds(double us)
{
    return report_fixed(us, us < 99.995 ? 2 : us < 9999.95 ? 1 : 0);
}

static void
text_row(ReportTable *table, const ReportCollective *r, const ReportCollectiveRow *row)
{
    double bus = report_bus_factor(r->op, r->ranks);
    report_table_cell(table, "%" G_GINT64_FORMAT, row->bytes);
    report_table_cell(table, "%s", microseconds(row->time_us).text);
    report_table_cell(table, "%s", report_fixed(algbw(row, row->time_us), 2).text);
    report_table_cell(table, "%s", report_fixed(bus * algbw(row, row->time_us), 2).text);
    if (r->log != NULL) {
        report_table_cell(table, "%s", microseconds(row->measured_us).text);
        report_table_cell(table, "%s", report_fixed(bus * algbw(row, row->measured_us), 2).text);
        report_table_cell(table, "%s", report_signed_percent(error_of(row)).text);
    }
    report_table_cell(table, "%s", row->algorithm[0] != '\0' ? row->algorithm : "-");
    report_table_cell(table, "%s", row->protocol[0] != '\0' ? row->protocol : "-");
    if (row->error_frac > 0)
        report_table_cell(table, "%s +-%s", report_basis_names[row->basis],
                          report_percent(row->error_frac).text);
    else
        report_table_cell(table, "%s", report_basis_names[row->basis]);
}

static void
text_group(const ReportCollective *r, GString *out)
{
    g_string_append_printf(out, "%s  %u GPU%s on %u node%s of %s", net_op_name(r->op), r->ranks,
                           r->ranks == 1 ? "" : "s", r->nodes, r->nodes == 1 ? "" : "s", r->system);
    if (r->nodes > 1 && r->least_per_node == r->ranks_per_node)
        g_string_append_printf(out, ", %u a node", r->ranks_per_node);
    else if (r->nodes > 1)
        g_string_append_printf(out, ", %u to %u a node", r->least_per_node, r->ranks_per_node);
    g_string_append_c(out, '\n');
}

static void
collective_text(const ReportCollective *r, GString *out)
{
    static const char *const heads[] = {"bytes",     "time us",  "algbw", "busbw",
                                        "algorithm", "protocol", "basis", NULL};
    static const char *const against[] = {"bytes",    "time us", "algbw", "busbw",
                                          "log us",   "busbw",   "error", "algorithm",
                                          "protocol", "basis",   NULL};
    text_group(r, out);
    g_string_append_c(out, '\n');
    g_autoptr(ReportTable) table = r->log != NULL ? report_table_new("rrrrrrrlll", against)
                                                  : report_table_new("rrrrlll", heads);
    for (guint i = 0; i < r->rows->len; i++)
        text_row(table, r, &g_array_index(r->rows, ReportCollectiveRow, i));
    report_table_print(table, 0, out);
    if (r->log != NULL) {
        g_autoptr(GArray) errors = errors_of(r);
        g_string_append_printf(out, "\nAgainst %s: error of time, median %s, p90 %s of %u sizes.\n",
                               r->log, report_percent(quantile(errors, 0.5)).text,
                               report_percent(quantile(errors, 0.9)).text, errors->len);
    }
    if (r->remarks != NULL && r->remarks->len > 0 && r->log == NULL)
        g_string_append_c(out, '\n');
    for (guint i = 0; r->remarks != NULL && i < r->remarks->len; i++)
        report_paragraph(out, "", r->remarks->pdata[i]);
}

void
report_collective(const ReportCollective *r, const char *format, GString *out)
{
    if (strcmp(format, "json") == 0)
        collective_json(r, out);
    else if (strcmp(format, "tsv") == 0)
        collective_tsv(r, out);
    else
        collective_text(r, out);
}

static void
append_curve(const ReportCollective *r, gboolean measured, GString *data)
{
    double bus = report_bus_factor(r->op, r->ranks);
    if (data->len > 0)
        g_string_append(data, "\n\n");
    for (guint i = 0; i < r->rows->len; i++) {
        const ReportCollectiveRow *row = &g_array_index(r->rows, ReportCollectiveRow, i);
        double us = measured ? row->measured_us : row->time_us;
        if (us > 0)
            g_string_append_printf(data, "%" G_GINT64_FORMAT "\t%s\t%s\t%s\n", row->bytes,
                                   report_plain(bus * algbw(row, us), 9).text,
                                   report_plain(us, 9).text, measured ? "log" : "dtsim");
    }
}

gboolean
report_collective_plot(const ReportCollective *r, const char *path, GError **error)
{
    g_autoptr(GString) data = g_string_new(NULL);
    append_curve(r, FALSE, data);
    if (r->log != NULL)
        append_curve(r, TRUE, data);
    g_autofree char *title =
        g_strdup_printf("%s, %u GPU%s on %u node%s of %s", net_op_name(r->op), r->ranks,
                        r->ranks == 1 ? "" : "s", r->nodes, r->nodes == 1 ? "" : "s", r->system);
    return report_plot("collective.gp", data, title, path, error);
}
