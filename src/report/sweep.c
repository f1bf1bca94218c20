/* The points of a sweep: text, JSON, TSV, plot. */
#include "config.h"

#include "report/sweep.h"

#include "conf/complaint.h"
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

/* Quantities that are a time, in proportion to it, or to its inverse. */
static const gboolean of_time[] = {FALSE, TRUE, TRUE, TRUE, FALSE};

/* The relative error of the time, of the quantity; NAN of the others. */
static double
error_of(const ReportPoint *p, guint quantity)
{
    return of_time[quantity] ? value_of(p, quantity) * p->certainty.error_s / p->time_s : NAN;
}

static guint
n_axes(const ReportSweep *sweep)
{
    guint n = 0;
    while (n < REPORT_SWEEP_AXES && sweep->axes[n].option != NULL)
        n++;
    return n;
}

/* Whether the points differ in their schedule and so perhaps in their chunks. */
static gboolean
has_names(const ReportSweep *sweep)
{
    for (guint a = 0; a < n_axes(sweep); a++)
        if (sweep->axes[a].names != NULL)
            return TRUE;
    return FALSE;
}

/* Caller frees. */
static char *
value_on(const ReportSweep *sweep, const ReportPoint *p, guint a)
{
    const GPtrArray *names = sweep->axes[a].names;
    return names != NULL ? g_strdup(names->pdata[p->at[a]]) : g_strdup_printf(G, p->at[a]);
}

/* Points are compared by the GPU time that a token takes. Caller frees. */
static ReportRival *
rivals_of(const ReportSweep *sweep)
{
    ReportRival *rivals = g_new0(ReportRival, sweep->points->len);
    for (guint i = 0; i < sweep->points->len; i++) {
        const ReportPoint *p = &g_array_index(sweep->points, ReportPoint, i);
        if (p->refused == NULL)
            rivals[i] = (ReportRival){.time_s = p->time_s,
                                      .scale = 1 / (p->time_s * p->tokens_per_s_per_gpu),
                                      .doubts = p->doubts,
                                      .certainty = p->certainty,
                                      .fits = p->fits,
                                      .stale = p->asynchronous};
    }
    return rivals;
}

static void
sweep_tsv(const ReportSweep *sweep, GString *out)
{
    gboolean named = has_names(sweep);
    g_autofree ReportRival *rivals = rivals_of(sweep);
    g_autofree gboolean *best = report_rivals_of_best(rivals, sweep->points->len);
    for (guint a = 0; a < n_axes(sweep); a++)
        g_string_append_printf(out, "%s\t", sweep->axes[a].option);
    g_string_append(out, "gpus\tglobal_batch_size\ttime_s\ttokens_per_s_per_gpu\tmfu\t"
                         "bubble_fraction\tclosed_form_bubble\tpeak_gb\tfits\trefused");
    g_string_append_printf(out, "%s%s\twithin_error_of_best\n", named ? "\tchunks" : "",
                           report_certainty_columns);
    for (guint i = 0; i < sweep->points->len; i++) {
        const ReportPoint *p = &g_array_index(sweep->points, ReportPoint, i);
        for (guint a = 0; a < n_axes(sweep); a++) {
            g_autofree char *value = value_on(sweep, p, a);
            g_string_append_printf(out, "%s\t", value);
        }
        if (p->refused != NULL) {
            g_string_append_printf(out, "\t\t\t\t\t\t\t\t\t%s%s", p->refused, named ? "\t" : "");
            report_certainty_fields(report_no_certainty, out);
            g_string_append(out, "\t\n");
            continue;
        }
        g_string_append_printf(out, G "\t" G, p->gpus, p->global_batch);
        const double values[] = {p->time_s,          p->tokens_per_s_per_gpu, p->mfu,
                                 p->bubble_fraction, p->closed_form_bubble,   p->peak_gb};
        for (guint k = 0; k < G_N_ELEMENTS(values); k++)
            g_string_append_printf(out, "\t%s", report_plain(values[k], 6).text);
        g_string_append_printf(out, "\t%s\t", p->fits ? "yes" : "no");
        if (named)
            g_string_append_printf(out, "\t" G, p->vpp);
        report_certainty_fields(p->certainty, out);
        g_string_append_printf(out, "\t%s\n", best[i] ? "yes" : "no");
    }
}

static void
sweep_json(const ReportSweep *sweep, GString *out)
{
    g_autoptr(JsonBuilder) b = json_builder_new();
    g_autofree ReportRival *rivals = rivals_of(sweep);
    g_autofree gboolean *best = report_rivals_of_best(rivals, sweep->points->len);
    report_json_object(b, NULL);
    report_json_array(b, "points");
    for (guint i = 0; i < sweep->points->len; i++) {
        const ReportPoint *p = &g_array_index(sweep->points, ReportPoint, i);
        report_json_object(b, NULL);
        for (guint a = 0; a < n_axes(sweep); a++) {
            const ReportAxis *axis = &sweep->axes[a];
            if (axis->names != NULL)
                report_json_text(b, axis->option, axis->names->pdata[p->at[a]]);
            else
                report_json_int(b, axis->option, p->at[a]);
        }
        if (p->refused != NULL) {
            report_json_text(b, "refused", p->refused);
        } else {
            report_json_int(b, "gpus", p->gpus);
            report_json_int(b, "global_batch_size", p->global_batch);
            report_json_double(b, "time_s", p->time_s);
            report_certainty_members(b, p->certainty);
            report_json_bool(b, "within_error_of_best", best[i]);
            report_json_double(b, "tokens_per_s_per_gpu", p->tokens_per_s_per_gpu);
            report_json_double(b, "mfu", p->mfu);
            report_json_double(b, "bubble_fraction", p->bubble_fraction);
            report_json_double(b, "closed_form_bubble", p->closed_form_bubble);
            report_json_double(b, "peak_gb", p->peak_gb);
            report_json_bool(b, "fits", p->fits);
            report_json_int(b, "chunks", p->vpp);
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
    for (guint a = 0; a < n_axes(sweep); a++) {
        g_autofree char *value = value_on(sweep, p, a);
        report_table_cell(table, "%s", value);
    }
    if (has_names(sweep))
        report_table_cell(table, G, p->vpp);
    report_table_cell(table, G, p->gpus);
    report_table_cell(table, G, p->global_batch);
    report_table_cell(table, "%s", report_time(p->time_s).text);
    report_table_cell(table, "%s", report_time(p->certainty.error_s).text);
    report_table_cell(table, "%s", report_grouped(p->tokens_per_s_per_gpu).text);
    report_table_cell(table, "%s", report_percent(p->mfu).text);
    report_table_cell(table, "%s", report_percent(p->bubble_fraction).text);
    report_table_cell(table, "%s",
                      isnan(p->closed_form_bubble) ? "-"
                                                   : report_percent(p->closed_form_bubble).text);
    report_table_cell(table, "%s", report_fixed(p->peak_gb, 2).text);
    report_table_cell(table, "%s", p->fits ? "fits" : "DOES NOT FIT");
}

static ReportTable *
text_table(const ReportSweep *sweep)
{
    static const char *const rest[] = {"gpus", "batch",  "iteration", "+-",      "tokens/s/GPU",
                                       "MFU",  "bubble", "formula",   "peak GB", "memory"};
    const char *heads[REPORT_SWEEP_AXES + 1 + G_N_ELEMENTS(rest) + 1] = {NULL};
    g_autoptr(GString) align = g_string_new(NULL);
    guint n = 0;
    for (guint a = 0; a < n_axes(sweep); a++) {
        heads[n++] = sweep->axes[a].option;
        g_string_append_c(align, sweep->axes[a].names != NULL ? 'l' : 'r');
    }
    if (has_names(sweep)) {
        heads[n++] = "chunks";
        g_string_append_c(align, 'r');
    }
    for (guint i = 0; i < G_N_ELEMENTS(rest); i++)
        heads[n++] = rest[i];
    g_string_append(align, "rrrrrrrrrl");
    return report_table_new(align->str, heads);
}

/* "tp 8, schedule zb_h1". Caller frees. */
static char *
point_name(const ReportSweep *sweep, const ReportPoint *p)
{
    GString *name = g_string_new(NULL);
    for (guint a = 0; a < n_axes(sweep); a++) {
        g_autofree char *value = value_on(sweep, p, a);
        g_string_append_printf(name, "%s%s %s", a > 0 ? ", " : "", sweep->axes[a].option, value);
    }
    return g_string_free(name, FALSE);
}

static void
sweep_text(const ReportSweep *sweep, GString *out)
{
    g_autoptr(ReportTable) table = text_table(sweep);
    for (guint i = 0; i < sweep->points->len; i++) {
        const ReportPoint *p = &g_array_index(sweep->points, ReportPoint, i);
        if (p->refused == NULL)
            text_point(table, sweep, p);
    }
    report_table_print(table, 0, out);
    g_autofree ReportRival *rivals = rivals_of(sweep);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < sweep->points->len; i++) {
        const ReportPoint *p = &g_array_index(sweep->points, ReportPoint, i);
        char *name = point_name(sweep, p);
        g_ptr_array_add(names, name);
        rivals[i].name = name;
        if (p->refused != NULL)
            g_string_append_printf(out, "refused: %s: %s\n", name, p->refused);
    }
    report_certainty_block(rivals, sweep->points->len, "tokens/s/GPU", out);
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

/* "zb_h1, pp 8": what is the same on a curve. Caller frees. */
static char *
curve_name(const ReportSweep *sweep, const ReportPoint *p, guint x)
{
    g_autoptr(GString) name = g_string_new(NULL);
    for (guint a = 0; a < n_axes(sweep); a++) {
        if (a == x)
            continue;
        g_autofree char *value = value_on(sweep, p, a);
        g_string_append(name, name->len > 0 ? ", " : "");
        if (sweep->axes[a].names == NULL)
            g_string_append_printf(name, "%s ", sweep->axes[a].option);
        g_string_append(name, value);
    }
    return g_strdup(name->len > 0 ? name->str : "simulated");
}

/* The curve of point `first`: all points that differ from it on axis x alone, of which it is the first. */
static void
append_curve(const ReportSweep *sweep, guint quantity, guint x, guint first, GString *data)
{
    const ReportPoint *all = (const ReportPoint *)(gpointer)sweep->points->data,
                      *start = &all[first];
    gboolean any = FALSE;
    g_autofree char *name = curve_name(sweep, start, x);
    if (start->at[x] != all[0].at[x])
        return;
    for (guint i = first; i < sweep->points->len; i++) {
        const ReportPoint *p = &all[i];
        gboolean same = p->refused == NULL;
        for (guint a = 0; a < n_axes(sweep); a++)
            same = same && (a == x || p->at[a] == start->at[a]);
        if (!same)
            continue;
        if (!any && data->len > 0)
            g_string_append(data, "\n\n");
        any = TRUE;
        double closed = quantity == 0 ? p->closed_form_bubble : NAN;
        double error = error_of(p, quantity);
        g_string_append_printf(data, G "\t%s\t%s\t%s\t%s\n", p->at[x],
                               report_plain(value_of(p, quantity), 9).text,
                               isnan(closed) ? "NaN" : report_plain(closed, 9).text, name,
                               isnan(error) ? "NaN" : report_plain(error, 9).text);
    }
}

static guint
n_values(const ReportSweep *sweep, guint a)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (guint i = 0; i < sweep->points->len; i++)
        g_hash_table_add(seen, &g_array_index(sweep->points, ReportPoint, i).at[a]);
    return g_hash_table_size(seen);
}

/* The axis of numbers with most values, the first of these; n_axes where there is none. */
static guint
plot_axis(const ReportSweep *sweep)
{
    guint best = n_axes(sweep), most = 0;
    for (guint a = 0; a < n_axes(sweep); a++) {
        guint n = n_values(sweep, a);
        if (sweep->axes[a].names != NULL || n <= most)
            continue;
        best = a;
        most = n;
    }
    return best;
}

gboolean
report_sweep_plot(const ReportSweep *sweep, guint quantity, const char *title, const char *path,
                  GError **error)
{
    guint x = plot_axis(sweep);
    if (x == n_axes(sweep)) {
        g_set_error_literal(error, CONF_ERROR, CONF_ERROR_VALUE,
                            "--plot: there is no range of numbers to draw against; add one, as "
                            "--microbatches 8..64*2");
        return FALSE;
    }
    g_autoptr(GString) data = g_string_new(NULL);
    for (guint i = 0; i < sweep->points->len; i++)
        append_curve(sweep, quantity, x, i, data);
    g_autofree char *words =
        g_strdup_printf("%s\t%s\t%s\t%d", title, sweep->axes[x].option, labels[quantity],
                        quantity == 0       ? 1
                        : of_time[quantity] ? 2
                                            : 0);
    return report_plot("sweep.gp", data, words, path, error);
}
