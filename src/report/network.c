/* Errors of predicted collectives: text by source, JSON and TSV by source, GPU and collective too. */
#include "config.h"

#include "report/network.h"

#include "report/accuracy.h"
#include "report/json_number.h"
#include "report/number.h"
#include "report/skipped.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

static const char *const test_names[] = {"sizes", "nodes", "first_nodes", "shipped"};
static const char *const test_words[] = {
    "Every other size of each sweep fitted, the others predicted:",
    "Smaller node counts fitted, the largest predicted:",
    "Single nodes fitted alone, more predicted; nothing was known of the network but its cards:",
    "The shipped system of that GPU and network, or of the GPU with the source's cards; not the rows of its own tables:"};

/* Of one source (NULL: all), of one GPU and collective of it (NULL: all). */
static ReportAccuracy
errors_of(const ReportNetwork *network, ReportNetworkTest test, const ReportNetworkRow *like,
          gboolean whole_source)
{
    g_autoptr(GArray) log_ratios = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < network->rows->len; i++) {
        const ReportNetworkRow *r = network->rows->pdata[i];
        gboolean same = like == NULL ? !r->broken
                        : whole_source
                            ? strcmp(r->source, like->source) == 0 && r->broken == like->broken
                            : r == like;
        if (same)
            g_array_append_vals(log_ratios, r->errors[test]->data, r->errors[test]->len);
    }
    return report_accuracy(log_ratios);
}

double
report_network_median(const ReportNetwork *network, ReportNetworkTest test)
{
    return errors_of(network, test, NULL, TRUE).median;
}

/* Is this the first row of its source (and of its fabric, whole or broken)? */
static gboolean
begins_source(const ReportNetwork *network, guint i)
{
    const ReportNetworkRow *r = network->rows->pdata[i];
    for (guint k = 0; k < i; k++) {
        const ReportNetworkRow *before = network->rows->pdata[k];
        if (before->broken == r->broken && strcmp(before->source, r->source) == 0)
            return FALSE;
    }
    return TRUE;
}

static void
json_errors(JsonBuilder *b, const ReportNetwork *network, const ReportNetworkRow *like,
            gboolean whole_source)
{
    for (guint t = 0; t < REPORT_NETWORK_N_TESTS; t++) {
        ReportAccuracy e = errors_of(network, t, like, whole_source);
        report_json_object(b, test_names[t]);
        report_json_int(b, "n", e.n);
        report_json_double(b, "median_error", e.median);
        report_json_double(b, "p90_error", e.p90);
        report_json_double(b, "bias", e.bias);
        json_builder_end_object(b);
    }
}

static void
network_json(const ReportNetwork *network, GString *out)
{
    g_autoptr(JsonBuilder) b = json_builder_new();
    report_json_object(b, NULL);
    report_json_array(b, "rows");
    for (guint i = 0; i < network->rows->len; i++) {
        const ReportNetworkRow *r = network->rows->pdata[i];
        report_json_object(b, NULL);
        report_json_text(b, "source", r->source);
        report_json_text(b, "gpu", r->gpu);
        report_json_text(b, "collective", r->collective);
        report_json_bool(b, "broken_fabric", r->broken);
        report_json_int(b, "largest_nodes", r->nodes);
        json_errors(b, network, r, FALSE);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    report_json_array(b, "sources");
    for (guint i = 0; i < network->rows->len; i++) {
        const ReportNetworkRow *r = network->rows->pdata[i];
        if (!begins_source(network, i))
            continue;
        report_json_object(b, NULL);
        report_json_text(b, "source", r->source);
        report_json_bool(b, "broken_fabric", r->broken);
        json_errors(b, network, r, TRUE);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    report_json_object(b, "all");
    json_errors(b, network, NULL, TRUE);
    json_builder_end_object(b);
    json_builder_end_object(b);
    report_json_print(b, out);
}

static void
network_tsv(const ReportNetwork *network, GString *out)
{
    g_string_append(out, "source\tgpu\tcollective\tbroken_fabric\tlargest_nodes");
    for (guint t = 0; t < REPORT_NETWORK_N_TESTS; t++)
        g_string_append_printf(out, "\t%s_n\t%s_median\t%s_p90\t%s_bias", test_names[t],
                               test_names[t], test_names[t], test_names[t]);
    g_string_append_c(out, '\n');
    for (guint i = 0; i < network->rows->len; i++) {
        const ReportNetworkRow *r = network->rows->pdata[i];
        g_string_append_printf(out, "%s\t%s\t%s\t%s\t%u", r->source, r->gpu, r->collective,
                               r->broken ? "yes" : "no", r->nodes);
        for (guint t = 0; t < REPORT_NETWORK_N_TESTS; t++) {
            ReportAccuracy e = errors_of(network, t, r, FALSE);
            g_string_append_printf(out, "\t%u\t%s\t%s\t%s", e.n, report_plain(e.median, 4).text,
                                   report_plain(e.p90, 4).text, report_plain(e.bias, 4).text);
        }
        g_string_append_c(out, '\n');
    }
}

static void
text_line(ReportTable *table, ReportNetworkTest test, const char *name, ReportAccuracy e,
          guint nodes)
{
    report_table_cell(table, "%s", name);
    report_table_cell(table, "%u", e.n);
    report_table_cell(table, "%s", report_percent(e.median).text);
    report_table_cell(table, "%s", report_percent(e.p90).text);
    report_table_cell(table, "%s%s", e.bias > 0 ? "+" : "", report_percent(e.bias).text);
    gboolean grows = test == REPORT_NETWORK_NODES || test == REPORT_NETWORK_FIRST;
    report_table_cell(table, "%s", grows && nodes > 0 ? report_fixed(nodes, 0).text : "");
}

/* The most nodes that rows of a source with this test were predicted for. */
static guint
nodes_of(const ReportNetwork *network, ReportNetworkTest test, const ReportNetworkRow *like)
{
    guint most = 0;
    for (guint i = 0; i < network->rows->len; i++) {
        const ReportNetworkRow *r = network->rows->pdata[i];
        if (r->broken == like->broken && strcmp(r->source, like->source) == 0 &&
            r->errors[test]->len > 0)
            most = MAX(most, r->nodes);
    }
    return most;
}

/* Sources whose fabric is whole, their sum, the others. */
static void
text_test(const ReportNetwork *network, ReportNetworkTest test, GString *out)
{
    static const char *const heads[] = {"source", "n", "median", "p90", "bias", "nodes", NULL};
    g_autoptr(ReportTable) table = report_table_new("lrrrrr", heads);
    for (guint broken = 0; broken < 2; broken++) {
        for (guint i = 0; i < network->rows->len; i++) {
            const ReportNetworkRow *r = network->rows->pdata[i];
            g_autofree char *name = g_strconcat(r->source, r->broken ? " *" : "", NULL);
            ReportAccuracy e = errors_of(network, test, r, TRUE);
            if ((guint)r->broken == broken && begins_source(network, i) && e.n > 0)
                text_line(table, test, name, e, nodes_of(network, test, r));
        }
        if (broken == 0)
            text_line(table, test, "all", errors_of(network, test, NULL, TRUE), 0);
    }
    g_string_append_printf(out, "%s\n\n", test_words[test]);
    report_table_print(table, 0, out);
    g_string_append_c(out, '\n');
}

static guint
count_tested(const ReportNetwork *network, ReportNetworkTest test)
{
    guint n = 0;
    for (guint i = 0; i < network->rows->len; i++)
        n += ((const ReportNetworkRow *)network->rows->pdata[i])->errors[test]->len;
    return n;
}

static void
network_text(const ReportNetwork *network, GString *out)
{
    guint broken = 0;
    for (guint t = 0; t < REPORT_NETWORK_N_TESTS; t++)
        if (count_tested(network, t) > 0)
            text_test(network, t, out);
    g_string_append(out, "Errors are |predicted / measured - 1| of time.\n");
    for (guint i = 0; i < network->rows->len; i++)
        broken += ((const ReportNetworkRow *)network->rows->pdata[i])->broken ? 1 : 0;
    if (broken > 0)
        g_string_append(out, "* the fabric is broken or not known (quality C): not in 'all'.\n");
    report_skipped_text(network->skipped, network->n_measured, out);
}

void
report_network(const ReportNetwork *network, const char *format, GString *out)
{
    if (strcmp(format, "json") == 0)
        network_json(network, out);
    else if (strcmp(format, "tsv") == 0)
        network_tsv(network, out);
    else
        network_text(network, out);
}
