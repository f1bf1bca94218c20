/* Errors of kernels that were left out: text, JSON and TSV, all rows and those of some length. */
#include "config.h"

#include "report/kernels.h"

#include "report/accuracy.h"
#include "report/json_number.h"
#include "report/number.h"
#include "report/skipped.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

static const char *const way_names[] = {"model", "roofline", "nearest"};
static const char *const range_names[] = {"long", "all"};
static const double range_us[] = {REPORT_KERNELS_LONG_US, 0.0};

/* Of one row (NULL: of all) and of times of at least so many us. */
static ReportAccuracy
errors_of(const ReportKernels *kernels, const ReportKernelsRow *row, guint way, double from_us)
{
    g_autoptr(GArray) log_ratios = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < kernels->rows->len; i++) {
        const ReportKernelsRow *r = kernels->rows->pdata[i];
        for (guint k = 0; (row == NULL || r == row) && k < r->errors->len; k++) {
            const ReportKernelsError *e = &g_array_index(r->errors, ReportKernelsError, k);
            if (e->measured_us >= from_us)
                g_array_append_val(log_ratios, e->log_ratio[way]);
        }
    }
    return report_accuracy(log_ratios);
}

double
report_kernels_median(const ReportKernels *kernels)
{
    return errors_of(kernels, NULL, REPORT_KERNELS_MODEL, REPORT_KERNELS_LONG_US).median;
}

/* Share of times within one sigma, as the model says it of itself; NAN: none. */
static double
within(const ReportKernelsRow *row, double from_us)
{
    guint n = 0, inside = 0;
    for (guint k = 0; k < row->errors->len; k++) {
        const ReportKernelsError *e = &g_array_index(row->errors, ReportKernelsError, k);
        if (e->measured_us < from_us)
            continue;
        n++;
        inside += fabs(e->log_ratio[REPORT_KERNELS_MODEL]) <= e->error_frac ? 1 : 0;
    }
    return n > 0 ? (double)inside / n : NAN;
}

static void
json_row(JsonBuilder *b, const ReportKernels *kernels, const ReportKernelsRow *row)
{
    for (guint range = 0; range < G_N_ELEMENTS(range_us); range++) {
        report_json_object(b, range_names[range]);
        report_json_int(b, "n", errors_of(kernels, row, 0, range_us[range]).n);
        for (guint way = 0; way < REPORT_KERNELS_N_WAYS; way++) {
            ReportAccuracy e = errors_of(kernels, row, way, range_us[range]);
            report_json_object(b, way_names[way]);
            report_json_double(b, "median_error", e.median);
            report_json_double(b, "p90_error", e.p90);
            report_json_double(b, "bias", e.bias);
            if (row != NULL && way == REPORT_KERNELS_MODEL)
                report_json_double(b, "within_sigma", within(row, range_us[range]));
            json_builder_end_object(b);
        }
        json_builder_end_object(b);
    }
}

static void
kernels_json(const ReportKernels *kernels, GString *out)
{
    g_autoptr(JsonBuilder) b = json_builder_new();
    report_json_object(b, NULL);
    report_json_double(b, "sample_frac", kernels->sample_frac);
    report_json_double(b, "long_from_us", REPORT_KERNELS_LONG_US);
    report_json_array(b, "rows");
    for (guint i = 0; i < kernels->rows->len; i++) {
        const ReportKernelsRow *r = kernels->rows->pdata[i];
        report_json_object(b, NULL);
        report_json_text(b, "kind", r->kind);
        report_json_text(b, "file", r->file);
        report_json_text(b, "source", r->source);
        report_json_text(b, "gpu", r->gpu);
        report_json_text(b, "dtype", r->dtype);
        report_json_int(b, "fitted", r->n_fitted);
        report_json_double(b, "sample_frac", r->sample_frac);
        json_row(b, kernels, r);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    report_json_object(b, "all");
    json_row(b, kernels, NULL);
    json_builder_end_object(b);
    json_builder_end_object(b);
    report_json_print(b, out);
}

static void
kernels_tsv(const ReportKernels *kernels, GString *out)
{
    g_string_append(out, "kind\tfile\tsource\tgpu\tdtype\tfitted");
    for (guint range = 0; range < G_N_ELEMENTS(range_us); range++) {
        g_string_append_printf(out, "\t%s_n", range_names[range]);
        for (guint way = 0; way < REPORT_KERNELS_N_WAYS; way++)
            g_string_append_printf(out, "\t%s_%s_median\t%s_%s_p90\t%s_%s_bias", range_names[range],
                                   way_names[way], range_names[range], way_names[way],
                                   range_names[range], way_names[way]);
        g_string_append_printf(out, "\t%s_within_sigma", range_names[range]);
    }
    g_string_append(out, "\tsample_frac\n");
    for (guint i = 0; i < kernels->rows->len; i++) {
        const ReportKernelsRow *r = kernels->rows->pdata[i];
        g_string_append_printf(out, "%s\t%s\t%s\t%s\t%s\t%u", r->kind, r->file, r->source, r->gpu,
                               r->dtype, r->n_fitted);
        for (guint range = 0; range < G_N_ELEMENTS(range_us); range++) {
            g_string_append_printf(out, "\t%u", errors_of(kernels, r, 0, range_us[range]).n);
            for (guint way = 0; way < REPORT_KERNELS_N_WAYS; way++) {
                ReportAccuracy e = errors_of(kernels, r, way, range_us[range]);
                g_string_append_printf(out, "\t%s\t%s\t%s", report_plain(e.median, 4).text,
                                       report_plain(e.p90, 4).text, report_plain(e.bias, 4).text);
            }
            g_string_append_printf(out, "\t%s", report_plain(within(r, range_us[range]), 4).text);
        }
        g_string_append_printf(out, "\t%s\n", report_plain(r->sample_frac, 4).text);
    }
}

static void
text_line(ReportTable *table, const ReportKernels *kernels, const ReportKernelsRow *row,
          double from_us)
{
    guint n = errors_of(kernels, row, 0, from_us).n;
    if (n == 0)
        return;
    report_table_cell(table, "%s", row != NULL ? row->kind : "all");
    report_table_cell(table, "%s", row != NULL ? row->gpu : "");
    report_table_cell(table, "%s", row != NULL ? row->dtype : "");
    report_table_cell(table, "%s", row != NULL ? report_percent(row->sample_frac).text : "");
    report_table_cell(table, "%s", row != NULL ? report_fixed(row->n_fitted, 0).text : "");
    report_table_cell(table, "%u", n);
    for (guint way = 0; way < REPORT_KERNELS_N_WAYS; way++) {
        ReportAccuracy e = errors_of(kernels, row, way, from_us);
        report_table_cell(table, "%s", report_percent(e.median).text);
        report_table_cell(table, "%s", report_percent(e.p90).text);
    }
    report_table_cell(table, "%s", row != NULL ? report_percent(within(row, from_us)).text : "");
    report_table_cell(table, "%s", row != NULL ? row->source : "");
}

static void
text_range(const ReportKernels *kernels, double from_us, GString *out)
{
    static const char *const heads[] = {"kind",    "gpu",    "dtype",    "sample",   "fitted",
                                        "n",       "median", "p90",      "roofline", "p90",
                                        "nearest", "p90",    "in sigma", "source",   NULL};
    g_autoptr(ReportTable) table = report_table_new("lllrrrrrrrrrrl", heads);
    for (guint i = 0; i < kernels->rows->len; i++)
        text_line(table, kernels, kernels->rows->pdata[i], from_us);
    if (kernels->rows->len > 1)
        text_line(table, kernels, NULL, from_us);
    report_table_print(table, 0, out);
    g_string_append_c(out, '\n');
}

static void
kernels_text(const ReportKernels *kernels, GString *out)
{
    g_string_append_printf(
        out,
        "%s of the shapes fitted, or more where these are few, the others predicted; those of %s us and more:\n\n",
        report_percent(kernels->sample_frac).text, report_plain(REPORT_KERNELS_LONG_US, 3).text);
    text_range(kernels, REPORT_KERNELS_LONG_US, out);
    g_string_append(out, "All:\n\n");
    text_range(kernels, 0.0, out);
    g_string_append(
        out,
        "Errors are |predicted / measured - 1| of time: median and 90th percentile of the model; of the plain\n"
        "roofline (peak, memory rate); of the efficiency of the nearest shape. In sigma: within the model's own error\n"
        "bar of one sigma (68 % if it is right).\n");
    report_skipped_text(kernels->skipped, kernels->n_measured, out);
}

void
report_kernels(const ReportKernels *kernels, const char *format, GString *out)
{
    if (strcmp(format, "json") == 0)
        kernels_json(kernels, out);
    else if (strcmp(format, "tsv") == 0)
        kernels_tsv(kernels, out);
    else
        kernels_text(kernels, out);
}
