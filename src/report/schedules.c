/* Schedules beside each other: their order, JSON, TSV, and the page of pictures. */
#include "config.h"

#include "report/schedules.h"

#include "report/json_number.h"
#include "report/number.h"

#include <math.h>
#include <string.h>

#define DIGITS 10
#define G "%" G_GINT64_FORMAT

const char *const report_schedule_orders[] = {"listed", "time", "memory", "name", NULL};

void
report_schedule_free(ReportSchedule *s)
{
    if (s == NULL)
        return;
    g_free(s->name);
    g_free(s->refused);
    g_free(s->idle);
    g_free(s->span);
    g_free(s->peak_input_grad);
    g_free(s->peak_weight_grad);
    g_free(s->picture);
    g_free(s->peak_memory_bytes);
    g_clear_pointer(&s->doubts, g_array_unref);
    report_gantt_free(s->gantt);
    g_free(s);
}

typedef struct {
    ReportSchedule *s;
    guint at; /* as listed */
    double key;
} Place;

static gint
compare_places(gconstpointer a, gconstpointer b, gpointer order)
{
    const Place *x = a, *y = b;
    gboolean x_ran = x->s->refused == NULL, y_ran = y->s->refused == NULL;
    if (x_ran != y_ran)
        return x_ran ? -1 : 1;
    if (GPOINTER_TO_UINT(order) == 3 && strcmp(x->s->name, y->s->name) != 0)
        return strcmp(x->s->name, y->s->name);
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Chunks alive on the worst rank, in microbatches of a whole rank's stage. */
static double
in_flight(const ReportSchedule *s)
{
    guint most = 0;
    for (guint i = 0; i < s->params.pp; i++)
        most = MAX(most, s->peak_weight_grad[i]);
    return (double)most / s->params.vpp;
}

void
report_schedules_sort(ReportSchedules *schedules, guint order)
{
    GPtrArray *rows = schedules->rows;
    g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(Place));
    if (order == 0)
        return;
    for (guint i = 0; i < rows->len; i++) {
        ReportSchedule *s = rows->pdata[i];
        Place place = {s, i, 0};
        if (s->refused == NULL && order == 1)
            place.key = schedules->real ? s->time_s : s->makespan;
        else if (s->refused == NULL && order == 2)
            place.key = schedules->real ? (double)s->peak_bytes : in_flight(s);
        g_array_append_val(places, place);
    }
    g_array_sort_with_data(places, compare_places, GUINT_TO_POINTER(order));
    for (guint i = 0; i < rows->len; i++)
        rows->pdata[i] = g_array_index(places, Place, i).s;
}

ReportRival *
report_schedules_rivals(const ReportSchedules *schedules)
{
    ReportRival *rivals = g_new0(ReportRival, schedules->rows->len);
    for (guint i = 0; i < schedules->rows->len; i++) {
        const ReportSchedule *s = schedules->rows->pdata[i];
        if (s->refused == NULL)
            rivals[i] = (ReportRival){.name = s->name,
                                      .time_s = s->time_s,
                                      .scale = 1,
                                      .doubts = s->doubts,
                                      .certainty = s->certainty,
                                      .fits = s->fits,
                                      .stale = s->weight_versions > 1};
    }
    return rivals;
}

static void
json_counts(JsonBuilder *b, const char *key, const guint *values, guint n)
{
    report_json_array(b, key);
    for (guint i = 0; i < n; i++)
        json_builder_add_int_value(b, values[i]);
    json_builder_end_array(b);
}

static void
json_times(JsonBuilder *b, const char *key, const double *values, guint n)
{
    report_json_array(b, key);
    for (guint i = 0; i < n; i++)
        report_json_double(b, NULL, values[i]);
    json_builder_end_array(b);
}

static void
json_units(JsonBuilder *b, const ReportSchedule *s)
{
    static const char *const names[REPORT_N_UNITS] = {"F", "I", "W", "pair", "comm"};
    report_json_object(b, "units");
    for (guint i = 0; i < REPORT_N_UNITS; i++)
        report_json_double(b, names[i], s->units[i]);
    json_builder_end_object(b);
}

static void
json_real(JsonBuilder *b, const ReportSchedule *s, gboolean best)
{
    report_json_double(b, "time_s", s->time_s);
    report_certainty_members(b, s->certainty);
    report_json_bool(b, "within_error_of_best", best);
    report_json_double(b, "max_span_s", s->max_span);
    report_json_array(b, "peak_memory_bytes");
    for (guint i = 0; i < s->params.pp; i++)
        json_builder_add_int_value(b, s->peak_memory_bytes[i]);
    json_builder_end_array(b);
    report_json_int(b, "p2p_bytes", s->p2p_bytes);
    report_json_bool(b, "fits", s->fits);
}

static void
json_row(JsonBuilder *b, const ReportSchedule *s, gboolean real, gboolean best)
{
    guint n = s->params.pp;
    report_json_object(b, NULL);
    report_json_text(b, "schedule", s->name);
    report_json_int(b, "pp", n);
    report_json_int(b, "microbatches", s->params.microbatches);
    report_json_int(b, "vpp", s->params.vpp);
    report_json_int(b, "group", s->params.group > 0 ? s->params.group : n);
    if (s->refused != NULL) {
        report_json_text(b, "refused", s->refused);
        json_builder_end_object(b);
        return;
    }
    report_json_double(b, "makespan", s->makespan);
    report_json_double(b, "busy_max", s->busy_max);
    report_json_double(b, "max_span", s->max_span);
    report_json_double(b, "bubble_fraction", s->bubble_fraction);
    report_json_double(b, "bubble_over_ideal", s->bubble_over_ideal);
    report_json_double(b, "closed_form_makespan", s->closed_form);
    json_times(b, "idle", s->idle, n);
    json_times(b, "span", s->span, n);
    json_counts(b, "peak_activations_at_input_grad", s->peak_input_grad, n);
    json_counts(b, "peak_activations_at_weight_grad", s->peak_weight_grad, n);
    report_json_int(b, "replicas", s->n_replicas);
    report_json_int(b, "weight_versions", s->weight_versions);
    report_json_bool(b, "reconstruction", s->reconstruction);
    if (real)
        json_real(b, s, best);
    else
        json_units(b, s);
    json_builder_end_object(b);
}

static void
schedules_json(const ReportSchedules *schedules, GString *out)
{
    g_autoptr(JsonBuilder) b = json_builder_new();
    g_autofree ReportRival *rivals = report_schedules_rivals(schedules);
    g_autofree gboolean *best = report_rivals_of_best(rivals, schedules->rows->len);
    report_json_object(b, NULL);
    report_json_array(b, "schedules");
    for (guint i = 0; i < schedules->rows->len; i++)
        json_row(b, schedules->rows->pdata[i], schedules->real, best[i]);
    json_builder_end_array(b);
    json_builder_end_object(b);
    report_json_print(b, out);
}

/* Values of a row; where it was refused, as many empty fields. */
static void
tsv_values(const ReportSchedule *s, const double *values, guint n, GString *out)
{
    for (guint k = 0; k < n; k++)
        g_string_append_printf(out, "\t%s",
                               s->refused != NULL ? "" : report_plain(values[k], DIGITS).text);
}

static void
schedules_tsv(const ReportSchedules *schedules, GString *out)
{
    gboolean real = schedules->real;
    g_autofree ReportRival *rivals = report_schedules_rivals(schedules);
    g_autofree gboolean *best = report_rivals_of_best(rivals, schedules->rows->len);
    g_string_append(out, "schedule\tpp\tmicrobatches\tvpp\t");
    g_string_append(out,
                    real ? "time_s\tmakespan_s\tmax_span_s\tbubble_fraction\tbubble_over_ideal\t"
                           "peak_microbatches\tpeak_memory_bytes\tpeak_memory_rank\tp2p_bytes\t"
                           "fits\trefused"
                         : "makespan\tbusy_max\tmax_span\tbubble_fraction\tbubble_over_ideal\t"
                           "closed_form_makespan\trefused");
    if (real)
        g_string_append_printf(out, "%s\twithin_error_of_best", report_certainty_columns);
    g_string_append_c(out, '\n');
    for (guint i = 0; i < schedules->rows->len; i++) {
        const ReportSchedule *s = schedules->rows->pdata[i];
        g_string_append_printf(out, "%s\t%u\t%u\t%u", s->name, s->params.pp, s->params.microbatches,
                               s->params.vpp);
        if (real) {
            const double values[] = {
                s->time_s,          s->makespan,          s->max_span,
                s->bubble_fraction, s->bubble_over_ideal, s->refused != NULL ? NAN : in_flight(s)};
            tsv_values(s, values, G_N_ELEMENTS(values), out);
            if (s->refused != NULL)
                g_string_append(out, "\t\t\t\t");
            else
                g_string_append_printf(out, "\t" G "\t%u\t" G "\t%s", s->peak_bytes, s->peak_rank,
                                       s->p2p_bytes, s->fits ? "yes" : "no");
        } else {
            const double values[] = {s->makespan,        s->busy_max,          s->max_span,
                                     s->bubble_fraction, s->bubble_over_ideal, s->closed_form};
            tsv_values(s, values, G_N_ELEMENTS(values), out);
        }
        g_string_append_printf(out, "\t%s", s->refused != NULL ? s->refused : "");
        if (real) {
            report_certainty_fields(s->refused != NULL ? report_no_certainty : s->certainty, out);
            g_string_append_printf(out, "\t%s", s->refused != NULL ? "" : best[i] ? "yes" : "no");
        }
        g_string_append_c(out, '\n');
    }
}

void
report_schedules(const ReportSchedules *schedules, const char *format, GString *out)
{
    if (strcmp(format, "json") == 0)
        schedules_json(schedules, out);
    else if (strcmp(format, "tsv") == 0)
        schedules_tsv(schedules, out);
    else
        report_schedules_text(schedules, out);
}

/* "zb_h1: makespan 54, bubble 11.1 %" */
static char *
panel_title(const ReportSchedule *s, gboolean real)
{
    g_autofree char *chunks =
        s->params.vpp > 1 ? g_strdup_printf(", %u chunks a rank", s->params.vpp) : g_strdup("");
    g_autofree char *time = real
                                ? g_strdup_printf("iteration %s +- %s", report_time(s->time_s).text,
                                                  report_time(s->certainty.error_s).text)
                                : g_strdup_printf("makespan %s", report_plain(s->makespan, 5).text);
    return g_strdup_printf("%s%s%s: %s, bubble %s %%%s", s->name, chunks,
                           s->reconstruction ? " (reconstruction)" : "", time,
                           report_fixed(s->bubble_fraction * 100, 1).text,
                           real && !s->fits ? ", does not fit" : "");
}

gboolean
report_schedules_plot(const ReportSchedules *schedules, const char *title, const char *path,
                      GError **error)
{
    g_autoptr(GArray) panels = g_array_new(FALSE, FALSE, sizeof(ReportPanel));
    g_autoptr(GPtrArray) titles = g_ptr_array_new_with_free_func(g_free);
    gint64 most = 0;
    for (guint i = 0; i < schedules->rows->len; i++) {
        const ReportSchedule *s = schedules->rows->pdata[i];
        most = s->refused == NULL ? MAX(most, report_gantt_end(s->gantt)) : most;
    }
    gboolean seconds = most >= 2000000000;
    for (guint i = 0; i < schedules->rows->len; i++) {
        const ReportSchedule *s = schedules->rows->pdata[i];
        if (s->refused != NULL)
            continue;
        ReportPanel panel = {s->gantt, panel_title(s, schedules->real), seconds ? 1e9 : 1e6};
        if (!schedules->real)
            panel.scale = (double)report_gantt_end(s->gantt) / s->makespan;
        g_ptr_array_add(titles, (gpointer)panel.title);
        g_array_append_val(panels, panel);
    }
    ReportPage page = {title, !schedules->real ? "" : seconds ? "s" : "ms"};
    return report_gantt_page(&page, (const ReportPanel *)(gpointer)panels->data, panels->len, path,
                             error);
}
