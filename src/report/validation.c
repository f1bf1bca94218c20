/* Predicted against measured, worst first. */
#include "config.h"

#include "report/validation.h"

#include "report/json_number.h"
#include "report/number.h"
#include "report/section.h"
#include "report/table.h"
#include "units/quantile.h"

#include <math.h>
#include <string.h>

#define ID_SHOWN 36 /* letters of a row's id in the text */

static double
time_error(const ReportValidated *r)
{
    return r->skipped == NULL ? r->predicted_s / r->measured_s - 1 : NAN;
}

static double
memory_error(const ReportValidated *r)
{
    return r->skipped == NULL ? r->predicted_gb / r->measured_gb - 1 : NAN;
}

/* Has it a predicted time? */
static gboolean
is_simulated(const ReportValidated *r)
{
    return r->skipped == NULL && !isnan(r->predicted_s);
}

static ReportErrors
errors_of(const GArray *rows, const char *source, double (*error)(const ReportValidated *))
{
    g_autoptr(GArray) absolute = g_array_new(FALSE, FALSE, sizeof(double));
    ReportErrors e = {0, NAN, NAN, NAN, 0};
    double sum = 0, bias = 0;
    for (guint i = 0; i < rows->len; i++) {
        const ReportValidated *r = &g_array_index(rows, ReportValidated, i);
        double x = error(r), size = fabs(x);
        if (isnan(x) || (source != NULL && strcmp(source, r->source) != 0))
            continue;
        g_array_append_val(absolute, size);
        sum += size;
        bias += x;
        e.within += size <= 0.1 + 1e-9 ? 1 : 0; /* 11 of 10 is a tenth more, rounded or not */
    }
    e.n = absolute->len;
    if (e.n == 0)
        return e;
    g_array_sort(absolute, units_compare_doubles);
    const double *values = (const double *)(gpointer)absolute->data;
    e.mean_absolute = sum / e.n;
    e.bias = bias / e.n;
    e.median_absolute =
        e.n % 2 == 1 ? values[e.n / 2] : (values[e.n / 2 - 1] + values[e.n / 2]) / 2;
    return e;
}

ReportErrors
report_time_errors(const GArray *rows, const char *source_or_null)
{
    return errors_of(rows, source_or_null, time_error);
}

ReportSigmas
report_time_sigmas(const GArray *rows, const char *source_or_null)
{
    ReportSigmas s = {0, 0, 0};
    for (guint i = 0; i < rows->len; i++) {
        const ReportValidated *r = &g_array_index(rows, ReportValidated, i);
        if (isnan(time_error(r)) ||
            (source_or_null != NULL && strcmp(source_or_null, r->source) != 0))
            continue;
        double sigmas = fabs(r->predicted_s - r->measured_s) / r->certainty.error_s;
        s.n++;
        s.within_one += sigmas <= 1;
        s.within_two += sigmas <= 2;
    }
    return s;
}

ReportErrors
report_memory_errors(const GArray *rows, const char *source_or_null)
{
    return errors_of(rows, source_or_null, memory_error);
}

/* Each text once, in the order of first appearance. */
static GPtrArray *
distinct(const GArray *rows, gboolean reasons)
{
    GPtrArray *seen = g_ptr_array_new();
    for (guint i = 0; i < rows->len; i++) {
        const ReportValidated *r = &g_array_index(rows, ReportValidated, i);
        const char *text = reasons ? r->skipped : r->source;
        if (text != NULL && !g_ptr_array_find_with_equal_func(seen, text, g_str_equal, NULL))
            g_ptr_array_add(seen, (gpointer)text);
    }
    return seen;
}

ReportFits
report_fit_counts(const GArray *rows, const char *source_or_null)
{
    ReportFits f = {0, 0, 0, 0};
    for (guint i = 0; i < rows->len; i++) {
        const ReportValidated *r = &g_array_index(rows, ReportValidated, i);
        if (r->skipped != NULL ||
            (source_or_null != NULL && strcmp(source_or_null, r->source) != 0))
            continue;
        guint *counted = r->measured_oom ? (r->fits ? &f.oom_fits : &f.oom_not)
                         : r->fits       ? &f.ran_fits
                                         : &f.ran_not;
        ++*counted;
    }
    return f;
}

static void
json_errors(JsonBuilder *b, const char *key, ReportErrors e)
{
    report_json_object(b, key);
    report_json_int(b, "n", e.n);
    report_json_double(b, "mean_absolute_error", e.mean_absolute);
    report_json_double(b, "median_absolute_error", e.median_absolute);
    report_json_double(b, "bias", e.bias);
    report_json_int(b, "within_10_percent", e.within);
    json_builder_end_object(b);
}

static void
json_fits(JsonBuilder *b, ReportFits f)
{
    report_json_int(b, "oom_rows", f.oom_fits + f.oom_not);
    report_json_int(b, "oom_predicted", f.oom_not);
    report_json_int(b, "fit_rows", f.ran_fits + f.ran_not);
    report_json_int(b, "fit_predicted", f.ran_fits);
}

static void
json_times(JsonBuilder *b, const GArray *rows, const char *source_or_null)
{
    ReportSigmas sigmas = report_time_sigmas(rows, source_or_null);
    json_errors(b, "time", report_time_errors(rows, source_or_null));
    report_json_int(b, "time_within_one_sigma", sigmas.within_one);
    report_json_int(b, "time_within_two_sigmas", sigmas.within_two);
}

static guint
count_skipped(const GArray *rows, const char *reason)
{
    guint n = 0;
    for (guint i = 0; i < rows->len; i++) {
        const char *skipped = g_array_index(rows, ReportValidated, i).skipped;
        n += skipped != NULL && (reason == NULL || strcmp(skipped, reason) == 0) ? 1 : 0;
    }
    return n;
}

static void
json_rows(JsonBuilder *b, const GArray *rows)
{
    report_json_array(b, "rows");
    for (guint i = 0; i < rows->len; i++) {
        const ReportValidated *r = &g_array_index(rows, ReportValidated, i);
        report_json_object(b, NULL);
        report_json_text(b, "id", r->id);
        report_json_text(b, "source", r->source);
        report_json_double(b, "measured_s", r->measured_s);
        report_json_double(b, "predicted_s", r->predicted_s);
        report_json_double(b, "error", time_error(r));
        report_certainty_members(b, is_simulated(r) ? r->certainty : report_no_certainty);
        report_json_double(b, "measured_peak_mem_GB", r->measured_gb);
        report_json_double(b, "predicted_peak_mem_GB", r->predicted_gb);
        json_builder_set_member_name(b, "fits");
        if (r->skipped == NULL)
            json_builder_add_boolean_value(b, r->fits);
        else
            json_builder_add_null_value(b);
        report_json_bool(b, "measured_oom", r->measured_oom);
        report_json_text(b, "skipped", r->skipped);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
}

static void
validation_json(const GArray *rows, GString *out)
{
    g_autoptr(JsonBuilder) b = json_builder_new();
    g_autoptr(GPtrArray) sources = distinct(rows, FALSE);
    report_json_object(b, NULL);
    json_rows(b, rows);
    report_json_object(b, "summary");
    report_json_int(b, "rows", rows->len);
    report_json_int(b, "skipped", count_skipped(rows, NULL));
    json_times(b, rows, NULL);
    json_errors(b, "memory", report_memory_errors(rows, NULL));
    json_fits(b, report_fit_counts(rows, NULL));
    report_json_array(b, "sources");
    for (guint i = 0; i < sources->len; i++) {
        report_json_object(b, NULL);
        report_json_text(b, "source", sources->pdata[i]);
        json_times(b, rows, sources->pdata[i]);
        json_errors(b, "memory", report_memory_errors(rows, sources->pdata[i]));
        json_fits(b, report_fit_counts(rows, sources->pdata[i]));
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    json_builder_end_object(b);
    json_builder_end_object(b);
    report_json_print(b, out);
}

static void
validation_tsv(const GArray *rows, GString *out)
{
    g_string_append(out, "id\tsource\tmeasured_s\tpredicted_s\terror\tmeasured_peak_mem_GB\t"
                         "predicted_peak_mem_GB\tfits\tmeasured_oom\tskipped");
    g_string_append_printf(out, "%s\n", report_certainty_columns);
    for (guint i = 0; i < rows->len; i++) {
        const ReportValidated *r = &g_array_index(rows, ReportValidated, i);
        const double values[] = {r->measured_s, r->predicted_s, time_error(r), r->measured_gb,
                                 r->predicted_gb};
        g_string_append_printf(out, "%s\t%s", r->id, r->source);
        for (guint k = 0; k < G_N_ELEMENTS(values); k++)
            g_string_append_printf(out, "\t%s", report_plain(values[k], 6).text);
        g_string_append_printf(out, "\t%s\t%s\t%s",
                               r->skipped != NULL ? ""
                               : r->fits          ? "yes"
                                                  : "no",
                               r->measured_oom ? "yes" : "no",
                               r->skipped != NULL ? r->skipped : "");
        report_certainty_fields(is_simulated(r) ? r->certainty : report_no_certainty, out);
        g_string_append_c(out, '\n');
    }
}

/* Largest error of time first; rows without one after them by their error of memory; then by place. */
static int
compare_rows(gconstpointer a, gconstpointer b)
{
    const ReportValidated *x = *(const ReportValidated *const *)a;
    const ReportValidated *y = *(const ReportValidated *const *)b;
    double tx = isnan(time_error(x)) ? -1 : fabs(time_error(x));
    double ty = isnan(time_error(y)) ? -1 : fabs(time_error(y));
    double mx = isnan(memory_error(x)) ? -1 : fabs(memory_error(x));
    double my = isnan(memory_error(y)) ? -1 : fabs(memory_error(y));
    if (tx != ty)
        return tx > ty ? -1 : 1;
    if (mx != my)
        return mx > my ? -1 : 1;
    return (x > y) - (x < y);
}

static void
text_worst(const GArray *rows, guint worst, GString *out)
{
    static const char *const heads[] = {"row",         "measured",     "predicted", "+-", "error",
                                        "measured GB", "predicted GB", "error",     NULL};
    g_autoptr(GPtrArray) order = g_ptr_array_new();
    for (guint i = 0; i < rows->len; i++) {
        ReportValidated *r = &g_array_index(rows, ReportValidated, i);
        if (r->skipped == NULL)
            g_ptr_array_add(order, r);
    }
    g_ptr_array_sort(order, compare_rows);
    g_autoptr(ReportTable) table = report_table_new("lrrrrrrr", heads);
    for (guint i = 0; i < order->len && i < worst; i++) {
        const ReportValidated *r = order->pdata[i];
        report_table_cell(table, "%.*s%s", ID_SHOWN, r->id, strlen(r->id) > ID_SHOWN ? "..." : "");
        report_table_cell(table, "%s",
                          isnan(r->measured_s) ? "-" : report_time(r->measured_s).text);
        report_table_cell(table, "%s", report_time(r->predicted_s).text);
        report_table_cell(table, "%s",
                          is_simulated(r) ? report_time(r->certainty.error_s).text : "-");
        report_table_cell(table, "%s", report_signed_percent(time_error(r)).text);
        report_table_cell(table, "%s",
                          r->measured_oom ? "OOM" : report_fixed(r->measured_gb, 2).text);
        report_table_cell(table, "%s", report_fixed(r->predicted_gb, 2).text);
        report_table_cell(table, "%s", report_signed_percent(memory_error(r)).text);
    }
    report_table_print(table, 0, out);
    if (order->len > worst)
        g_string_append_printf(out, "... and %u rows with smaller errors\n", order->len - worst);
}

static void
text_errors(ReportTable *table, const char *name, ReportErrors time, ReportErrors memory)
{
    const ReportErrors both[] = {time, memory};
    report_table_cell(table, "%s", name);
    for (guint i = 0; i < 2; i++) {
        report_table_cell(table, "%u", both[i].n);
        report_table_cell(table, "%s", report_percent(both[i].mean_absolute).text);
        report_table_cell(table, "%s", report_percent(both[i].median_absolute).text);
        report_table_cell(table, "%s", report_signed_percent(both[i].bias).text);
    }
}

static guint
count_right(ReportFits f)
{
    return f.ran_fits + f.oom_not;
}

static guint
count_all(ReportFits f)
{
    return count_right(f) + f.ran_not + f.oom_fits;
}

/* Rows that measured memory and are within a tenth; what ran and what did not, by what was predicted. */
static void
text_fits(ReportTable *table, const char *name, ReportErrors memory, ReportFits f)
{
    guint all = count_all(f);
    report_table_cell(table, "%s", name);
    report_table_cell(table, "%u", memory.n);
    report_table_cell(table, "%s",
                      report_percent(memory.n > 0 ? (double)memory.within / memory.n : NAN).text);
    const guint counts[] = {f.ran_fits, f.ran_not, f.oom_fits, f.oom_not};
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++)
        report_table_cell(table, "%u", counts[i]);
    report_table_cell(table, "%s",
                      report_percent(all > 0 ? (double)count_right(f) / all : NAN).text);
}

/* By the size of the error of memory alone, and by place. */
static int
compare_memory(gconstpointer a, gconstpointer b)
{
    const ReportValidated *x = *(const ReportValidated *const *)a;
    const ReportValidated *y = *(const ReportValidated *const *)b;
    double mx = fabs(memory_error(x)), my = fabs(memory_error(y));
    if (mx != my)
        return mx > my ? -1 : 1;
    return (x > y) - (x < y);
}

static void
text_worst_memory(const GArray *rows, guint worst, GString *out)
{
    static const char *const heads[] = {"worst memory", "source", "measured GB",
                                        "predicted GB", "error",  NULL};
    g_autoptr(GPtrArray) order = g_ptr_array_new();
    for (guint i = 0; i < rows->len; i++) {
        ReportValidated *r = &g_array_index(rows, ReportValidated, i);
        if (!isnan(memory_error(r)))
            g_ptr_array_add(order, r);
    }
    g_ptr_array_sort(order, compare_memory);
    g_autoptr(ReportTable) table = report_table_new("llrrr", heads);
    for (guint i = 0; i < order->len && i < worst; i++) {
        const ReportValidated *r = order->pdata[i];
        report_table_cell(table, "%.*s%s", ID_SHOWN, r->id, strlen(r->id) > ID_SHOWN ? "..." : "");
        report_table_cell(table, "%s", r->source);
        report_table_cell(table, "%s", report_fixed(r->measured_gb, 2).text);
        report_table_cell(table, "%s", report_fixed(r->predicted_gb, 2).text);
        report_table_cell(table, "%s", report_signed_percent(memory_error(r)).text);
    }
    g_string_append_c(out, '\n');
    report_table_print(table, 0, out);
}

static void
text_memory(const GArray *rows, const GPtrArray *sources, guint worst, GString *out)
{
    static const char *const heads[] = {"source",        "memory n",      "within 10 %",
                                        "ran: fits",     "ran: does not", "OOM: fits",
                                        "OOM: does not", "right",         NULL};
    ReportErrors all = report_memory_errors(rows, NULL);
    ReportFits fits = report_fit_counts(rows, NULL);
    if (all.n + fits.oom_fits + fits.oom_not == 0)
        return;
    if (all.n > 0 && worst > 0)
        text_worst_memory(rows, worst, out);
    g_autoptr(ReportTable) table = report_table_new("lrrrrrrr", heads);
    for (guint i = 0; i < sources->len; i++) {
        ReportFits f = report_fit_counts(rows, sources->pdata[i]);
        if (count_all(f) > 0)
            text_fits(table, sources->pdata[i], report_memory_errors(rows, sources->pdata[i]), f);
    }
    text_fits(table, "all", all, fits);
    g_string_append(out,
                    "\nPredicted to fit, or not, of runs that ran and runs out of memory.\n\n");
    report_table_print(table, 0, out);
}

/* Below the table with the bars. Errors that are normal, and as large as they say, lie within one sigma in 68 of 100
 * rows. */
static void
text_sigmas(const GArray *rows, GString *out)
{
    ReportSigmas s = report_time_sigmas(rows, NULL);
    g_autoptr(GArray) simulated = g_array_new(FALSE, FALSE, sizeof(ReportCertainty));
    for (guint i = 0; i < rows->len; i++) {
        const ReportValidated *r = &g_array_index(rows, ReportValidated, i);
        if (is_simulated(r))
            g_array_append_val(simulated, r->certainty);
    }
    g_string_append_c(out, '\n');
    report_append_certainties((const ReportCertainty *)(gpointer)simulated->data, simulated->len,
                              out);
    if (s.n == 0)
        return;
    g_autofree char *one = g_strdup(report_percent((double)s.within_one / s.n).text);
    g_autofree char *text = g_strdup_printf(
        "Measured times within one sigma of what was predicted: %u of %u (%s), within two: %u (%s). "
        "Of runs that err independently 68 and 95 %% would be; those of one source err together, and "
        "the 161 published A100 runs are what the bars are set from.",
        s.within_one, s.n, one, s.within_two, report_percent((double)s.within_two / s.n).text);
    report_paragraph(out, "  ", text);
}

static void
validation_text(const GArray *rows, guint worst, GString *out)
{
    static const char *const heads[] = {"source",   "time n",   "mean abs", "median", "bias",
                                        "memory n", "mean abs", "median",   "bias",   NULL};
    g_autoptr(GPtrArray) sources = distinct(rows, FALSE);
    g_autoptr(GPtrArray) reasons = distinct(rows, TRUE);
    /* rows without a measured time have their own table below */
    gboolean bars = report_time_errors(rows, NULL).n + report_memory_errors(rows, NULL).n == 0 ||
                    report_time_errors(rows, NULL).n > 0;
    if (bars) {
        text_worst(rows, worst, out);
        g_string_append_c(out, '\n');
    }
    g_string_append(out, "Errors are (predicted - measured) / measured.\n\n");
    g_autoptr(ReportTable) table = report_table_new("lrrrrrrrr", heads);
    for (guint i = 0; i < sources->len; i++) {
        ReportErrors time = report_time_errors(rows, sources->pdata[i]);
        ReportErrors memory = report_memory_errors(rows, sources->pdata[i]);
        if (time.n + memory.n > 0)
            text_errors(table, sources->pdata[i], time, memory);
    }
    text_errors(table, "all", report_time_errors(rows, NULL), report_memory_errors(rows, NULL));
    report_table_print(table, 0, out);
    if (bars)
        text_sigmas(rows, out);
    text_memory(rows, sources, worst, out);
    ReportFits fits = report_fit_counts(rows, NULL);
    g_string_append_printf(out, "\nran: %u of %u predicted to fit", fits.ran_fits,
                           fits.ran_fits + fits.ran_not);
    if (fits.oom_fits + fits.oom_not > 0)
        g_string_append_printf(out, "; ran out of memory: %u of %u predicted not to fit",
                               fits.oom_not, fits.oom_fits + fits.oom_not);
    g_string_append_printf(out, "\nskipped: %u of %u rows\n", count_skipped(rows, NULL), rows->len);
    for (guint i = 0; i < reasons->len; i++) {
        g_autofree char *head = g_strdup_printf("  %4u  ", count_skipped(rows, reasons->pdata[i]));
        report_paragraph(out, head, reasons->pdata[i]);
    }
}

void
report_validation(const GArray *rows, guint worst, const char *format, GString *out)
{
    if (strcmp(format, "json") == 0)
        validation_json(rows, out);
    else if (strcmp(format, "tsv") == 0)
        validation_tsv(rows, out);
    else
        validation_text(rows, worst, out);
}
