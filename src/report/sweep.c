/* The points of a sweep: text, JSON, TSV, plot. */
#include "config.h"

#include "report/sweep.h"

#include "report/gantt.h"
#include "report/json_number.h"
#include "report/number.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

#define G "%" G_GINT64_FORMAT

const char *const report_sweep_quantities[] = {
    "bubble_fraction", "time_s", "tokens_per_s_per_gpu", "mfu", "peak_gb", NULL};

static const char *const labels[] = {"bubble: idle time over total time", "iteration time (s)",
                                     "tokens/s/GPU", "model FLOP/s utilisation",
                                     "peak memory (GB)"};

static double
value_of(const ReportPoint *p, guint quantity)
{
    const double values[] = {p->bubble_fraction, p->time_s, p->tokens_per_s_per_gpu, p->mfu,
                             p->peak_gb};
    return values[quantity];
}

static void
sweep_tsv(const ReportSweep *sweep, GString *out)
{
    for (guint a = 0; a < 2 && sweep->axes[a] != NULL; a++)
        g_string_append_printf(out, "%s\t", sweep->axes[a]);
    g_string_append(out, "gpus\tglobal_batch_size\ttime_s\ttokens_per_s_per_gpu\tmfu\t"
                         "bubble_fraction\tclosed_form_bubble\tpeak_gb\tfits\trefused\n");
    for (guint i = 0; i < sweep->points->len; i++) {
        const ReportPoint *p = &g_array_index(sweep->points, ReportPoint, i);
        for (guint a = 0; a < 2 && sweep->axes[a] != NULL; a++)
            g_string_append_printf(out, G "\t", p->at[a]);
        if (p->refused != NULL) {
            g_string_append_printf(out, "\t\t\t\t\t\t\t\t\t%s\n", p->refused);
            continue;
        }
        g_string_append_printf(out, G "\t" G, p->gpus, p->global_batch);
        const double values[] = {p->time_s,          p->tokens_per_s_per_gpu, p->mfu,
                                 p->bubble_fraction, p->closed_form_bubble,   p->peak_gb};
        for (guint k = 0; k < G_N_ELEMENTS(values); k++)
            g_string_append_printf(out, "\t%s", report_plain(values[k], 6).text);
        g_string_append_printf(out, "\t%s\t\n", p->fits ? "yes" : "no");
    }
}

static void
sweep_json(const ReportSweep *sweep, GString *out)
{
    g_autoptr(JsonBuilder) b = json_builder_new();
    report_json_object(b, NULL);
    report_json_array(b, "points");
    for (guint i = 0; i < sweep->points->len; i++) {
        const ReportPoint *p = &g_array_index(sweep->points, ReportPoint, i);
        report_json_object(b, NULL);
        for (guint a = 0; a < 2 && sweep->axes[a] != NULL; a++)
            report_json_int(b, sweep->axes[a], p->at[a]);
        if (p->refused != NULL) {
            report_json_text(b, "refused", p->refused);
        } else {
            report_json_int(b, "gpus", p->gpus);
            report_json_int(b, "global_batch_size", p->global_batch);
            report_json_double(b, "time_s", p->time_s);
            report_json_double(b, "tokens_per_s_per_gpu", p->tokens_per_s_per_gpu);
            report_json_double(b, "mfu", p->mfu);
            report_json_double(b, "bubble_fraction", p->bubble_fraction);
            report_json_double(b, "closed_form_bubble", p->closed_form_bubble);
            report_json_double(b, "peak_gb", p->peak_gb);
            report_json_bool(b, "fits", p->fits);
        }
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    json_builder_end_object(b);
    report_json_print(b, out);
}

static void
text_point(ReportTable *table, const ReportSweep *sweep, const ReportPoint *p)
{
    for (guint a = 0; a < 2 && sweep->axes[a] != NULL; a++)
        report_table_cell(table, G, p->at[a]);
    report_table_cell(table, G, p->gpus);
    report_table_cell(table, G, p->global_batch);
    report_table_cell(table, "%s", report_time(p->time_s).text);
    report_table_cell(table, "%s", report_grouped(p->tokens_per_s_per_gpu).text);
    report_table_cell(table, "%s", report_percent(p->mfu).text);
    report_table_cell(table, "%s", report_percent(p->bubble_fraction).text);
    report_table_cell(table, "%s",
                      isnan(p->closed_form_bubble) ? "-"
                                                   : report_percent(p->closed_form_bubble).text);
    report_table_cell(table, "%s", report_fixed(p->peak_gb, 2).text);
    report_table_cell(table, "%s", p->fits ? "fits" : "DOES NOT FIT");
}

static void
sweep_text(const ReportSweep *sweep, GString *out)
{
    const char *heads[12] = {NULL};
    static const char *const rest[] = {"gpus",    "batch",   "iteration", "tokens/s/GPU", "MFU",
                                       "bubble", "formula", "peak GB",   "memory"};
    guint n = 0;
    for (guint a = 0; a < 2 && sweep->axes[a] != NULL; a++)
        heads[n++] = sweep->axes[a];
    guint first = n;
    for (guint i = 0; i < G_N_ELEMENTS(rest); i++)
        heads[n++] = rest[i];
    g_autoptr(ReportTable) table = report_table_new(first == 1 ? "rrrrrrrrrl" : "rrrrrrrrrrl", heads);
    for (guint i = 0; i < sweep->points->len; i++) {
        const ReportPoint *p = &g_array_index(sweep->points, ReportPoint, i);
        if (p->refused == NULL)
            text_point(table, sweep, p);
    }
    report_table_print(table, 0, out);
    for (guint i = 0; i < sweep->points->len; i++) {
        const ReportPoint *p = &g_array_index(sweep->points, ReportPoint, i);
        if (p->refused == NULL)
            continue;
        g_string_append_printf(out, "refused: %s " G, sweep->axes[0], p->at[0]);
        if (sweep->axes[1] != NULL)
            g_string_append_printf(out, ", %s " G, sweep->axes[1], p->at[1]);
        g_string_append_printf(out, ": %s\n", p->refused);
    }
}

void
report_sweep(const ReportSweep *sweep, const char *format, GString *out)
{
    if (strcmp(format, "json") == 0)
        sweep_json(sweep, out);
    else if (strcmp(format, "tsv") == 0)
        sweep_tsv(sweep, out);
    else
        sweep_text(sweep, out);
}

/* One curve along axis `x`: the points whose other axis has this value. */
static void
append_curve(const ReportSweep *sweep, guint quantity, guint x, gint64 other, GString *data)
{
    const char *curve = sweep->axes[1 - x];
    gboolean any = FALSE;
    for (guint i = 0; i < sweep->points->len; i++) {
        const ReportPoint *p = &g_array_index(sweep->points, ReportPoint, i);
        if (p->refused != NULL || (curve != NULL && p->at[1 - x] != other))
            continue;
        if (!any && data->len > 0)
            g_string_append(data, "\n\n");
        double closed = quantity == 0 ? p->closed_form_bubble : NAN;
        g_string_append_printf(data, G "\t%s\t%s\t", p->at[x],
                               report_plain(value_of(p, quantity), 9).text,
                               isnan(closed) ? "NaN" : report_plain(closed, 9).text);
        if (curve != NULL)
            g_string_append_printf(data, "%s " G "\n", curve, other);
        else
            g_string_append(data, "simulated\n");
        any = TRUE;
    }
}

gboolean
report_sweep_plot(const ReportSweep *sweep, guint quantity, const char *title, const char *path,
                  GError **error)
{
    g_autoptr(GString) data = g_string_new(NULL);
    const ReportPoint *points = (const ReportPoint *)(gpointer)sweep->points->data;
    guint n = sweep->points->len, n_inner = 1;
    while (sweep->axes[1] != NULL && n_inner < n && points[n_inner].at[0] == points[0].at[0])
        n_inner++;
    /* The axis with more points lies along; the other makes the curves. */
    guint x = n_inner > n / n_inner ? 1 : 0;
    guint step = x == 0 ? 1 : n_inner;
    for (guint i = 0; i < (x == 0 ? n_inner : n); i += step)
        append_curve(sweep, quantity, x, points[i].at[1 - x], data);
    g_autofree char *words =
        g_strdup_printf("%s\t%s\t%s\t%d", title, sweep->axes[x], labels[quantity], quantity == 0);
    return report_plot("sweep.gp", data, words, path, error);
}
