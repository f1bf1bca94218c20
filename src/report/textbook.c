/* Schedules in units of time, as text, JSON, TSV. */
#include "config.h"

#include "report/textbook.h"

#include "report/json_number.h"
#include "report/number.h"
#include "report/section.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

#define DIGITS 10

void
report_textbook_free(ReportTextbook *t)
{
    if (t == NULL)
        return;
    g_free(t->refused);
    g_free(t->idle);
    g_free(t->span);
    g_free(t->peak_input_grad);
    g_free(t->peak_weight_grad);
    g_free(t->picture);
    g_free(t);
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
json_row(JsonBuilder *b, const ReportTextbook *t)
{
    guint n = t->params.pp;
    report_json_object(b, NULL);
    report_json_text(b, "schedule", t->name);
    report_json_int(b, "pp", n);
    report_json_int(b, "microbatches", t->params.microbatches);
    report_json_int(b, "vpp", t->params.vpp);
    report_json_int(b, "group", t->params.group > 0 ? t->params.group : n);
    if (t->refused != NULL) {
        report_json_text(b, "refused", t->refused);
    } else {
        report_json_double(b, "makespan", t->makespan);
        report_json_double(b, "busy_max", t->busy_max);
        report_json_double(b, "max_span", t->max_span);
        report_json_double(b, "bubble_fraction", t->bubble_fraction);
        report_json_double(b, "bubble_over_ideal", t->bubble_over_ideal);
        report_json_double(b, "closed_form_makespan", t->closed_form);
        json_times(b, "idle", t->idle, n);
        json_times(b, "span", t->span, n);
        json_counts(b, "peak_activations_at_input_grad", t->peak_input_grad, n);
        json_counts(b, "peak_activations_at_weight_grad", t->peak_weight_grad, n);
    }
    json_builder_end_object(b);
}

static void
textbook_json(const GPtrArray *rows, GString *out)
{
    g_autoptr(JsonBuilder) b = json_builder_new();
    report_json_object(b, NULL);
    report_json_array(b, "schedules");
    for (guint i = 0; i < rows->len; i++)
        json_row(b, rows->pdata[i]);
    json_builder_end_array(b);
    json_builder_end_object(b);
    report_json_print(b, out);
}

static void
textbook_tsv(const GPtrArray *rows, GString *out)
{
    g_string_append(out, "schedule\tpp\tmicrobatches\tvpp\tmakespan\tbusy_max\tmax_span\t"
                         "bubble_fraction\tbubble_over_ideal\tclosed_form_makespan\trefused\n");
    for (guint i = 0; i < rows->len; i++) {
        const ReportTextbook *t = rows->pdata[i];
        g_string_append_printf(out, "%s\t%u\t%u\t%u", t->name, t->params.pp,
                               t->params.microbatches, t->params.vpp);
        const double values[] = {t->makespan,        t->busy_max,          t->max_span,
                                 t->bubble_fraction, t->bubble_over_ideal, t->closed_form};
        for (guint k = 0; k < G_N_ELEMENTS(values); k++)
            g_string_append_printf(out, "\t%s",
                                   t->refused != NULL ? "" : report_plain(values[k], DIGITS).text);
        g_string_append_printf(out, "\t%s\n", t->refused != NULL ? t->refused : "");
    }
}

static void
text_row(ReportTable *table, const ReportTextbook *t)
{
    guint most = 0;
    for (guint i = 0; i < t->params.pp; i++)
        most = MAX(most, t->peak_input_grad[i]);
    report_table_cell(table, "%s", t->name);
    report_table_cell(table, "%s", report_plain(t->makespan, DIGITS).text);
    report_table_cell(table, "%s",
                      isnan(t->closed_form) ? "-" : report_plain(t->closed_form, DIGITS).text);
    report_table_cell(table, "%s", report_plain(t->busy_max, DIGITS).text);
    report_table_cell(table, "%s", report_plain(t->max_span, DIGITS).text);
    report_table_cell(table, "%s %%", report_fixed(t->bubble_fraction * 100, 2).text);
    report_table_cell(table, "%s %%", report_fixed(t->bubble_over_ideal * 100, 2).text);
    report_table_cell(table, "%u", most);
}

static void
textbook_text(const GPtrArray *rows, const char *units, GString *out)
{
    static const char *const heads[] = {"schedule",   "makespan",   "by formula", "busy",
                                        "max span", "idle/total", "idle/ideal", "in flight", NULL};
    const ReportTextbook *first = rows->pdata[0];
    g_string_append_printf(out, "%u pipeline rank%s, %u microbatch%s, %u chunk%s a rank; %s\n\n",
                           first->params.pp, first->params.pp == 1 ? "" : "s",
                           first->params.microbatches, first->params.microbatches == 1 ? "" : "es",
                           first->params.vpp,
                           first->params.vpp == 1 ? "" : "s", units);
    g_autoptr(ReportTable) table = report_table_new("lrrrrrrr", heads);
    guint n = 0;
    for (guint i = 0; i < rows->len; i++) {
        const ReportTextbook *t = rows->pdata[i];
        if (t->refused == NULL) {
            text_row(table, t);
            n++;
        }
    }
    if (n > 0)
        report_table_print(table, 2, out);
    if (n > 0 && first->params.vpp > 1)
        g_string_append(out, "  in flight: microbatches of one chunk\n");
    for (guint i = 0; i < rows->len; i++) {
        const ReportTextbook *t = rows->pdata[i];
        if (t->refused == NULL)
            continue;
        g_autofree char *head = g_strdup_printf("  %s: ", t->name);
        report_paragraph(out, head, t->refused);
    }
    gboolean any = FALSE;
    for (guint i = 0; i < rows->len; i++) {
        const ReportTextbook *t = rows->pdata[i];
        if (t->picture != NULL)
            g_string_append_printf(out, "\n  %s\n%s", t->name, t->picture);
        any = any || t->picture != NULL;
    }
    if (any)
        g_string_append(out, "\n  F forward, B backward, I input gradient, W weight gradient, of "
                             "which microbatch\n  (its last digits, or none, where narrow); . idle\n");
}

void
report_textbook(const GPtrArray *rows, const char *units, const char *format, GString *out)
{
    if (strcmp(format, "json") == 0)
        textbook_json(rows, out);
    else if (strcmp(format, "tsv") == 0)
        textbook_tsv(rows, out);
    else
        textbook_text(rows, units, out);
}

void
report_schedule_types(const char *format, GString *out)
{
    g_autoptr(JsonBuilder) b = json_builder_new();
    g_autoptr(ReportTable) table = report_table_new("ll", NULL);
    report_json_object(b, NULL);
    report_json_array(b, "schedules");
    gboolean tsv = strcmp(format, "tsv") == 0;
    if (tsv)
        g_string_append(out, "schedule\tmin_vpp\tmax_vpp\tsummary\n");
    for (guint i = 0; schedule_types[i] != NULL; i++) {
        const ScheduleType *t = schedule_types[i];
        if (tsv)
            g_string_append_printf(out, "%s\t%u\t%u\t%s\n", t->name, t->min_vpp, t->max_vpp,
                                   t->summary);
        report_table_cell(table, "%s", t->name);
        report_table_cell(table, "%s", t->summary);
        report_json_object(b, NULL);
        report_json_text(b, "schedule", t->name);
        report_json_int(b, "min_vpp", t->min_vpp);
        report_json_int(b, "max_vpp", t->max_vpp);
        report_json_text(b, "summary", t->summary);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    json_builder_end_object(b);
    if (strcmp(format, "json") == 0)
        report_json_print(b, out);
    else if (!tsv)
        report_table_print(table, 0, out);
}
