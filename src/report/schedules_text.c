/* Schedules beside each other as a page of text: a table, the refused with the reason, pictures. */
#include "config.h"

#include "report/schedules.h"

#include "report/number.h"
#include "report/section.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

#define DIGITS 10
#define PICTURES_MOST 6 /* beyond it they would bury the table */

/* Chunks alive on the worst rank in microbatches of its whole stage: "5.5". */
static void
append_in_flight(ReportTable *table, const ReportSchedule *s)
{
    guint most = 0;
    for (guint i = 0; i < s->params.pp; i++)
        most = MAX(most, s->peak_weight_grad[i]);
    report_table_cell(table, "%s", report_plain((double)most / s->params.vpp, 4).text);
}

/* Of a file, without its folder. */
static void
append_name(ReportTable *table, const ReportSchedule *s)
{
    g_autofree char *name = g_path_get_basename(s->name);
    report_table_cell(table, "%s", name);
}

static void
append_bubbles(ReportTable *table, const ReportSchedule *s)
{
    report_table_cell(table, "%s %%", report_fixed(s->bubble_fraction * 100, 2).text);
    report_table_cell(table, "%s %%", report_fixed(s->bubble_over_ideal * 100, 2).text);
}

static void
unit_row(ReportTable *table, const ReportSchedule *s)
{
    append_name(table, s);
    report_table_cell(table, "%u", s->params.vpp);
    report_table_cell(table, "%s", report_plain(s->makespan, DIGITS).text);
    report_table_cell(table, "%s",
                      isnan(s->closed_form) ? "-" : report_plain(s->closed_form, DIGITS).text);
    report_table_cell(table, "%s", report_plain(s->busy_max, DIGITS).text);
    report_table_cell(table, "%s", report_plain(s->max_span, DIGITS).text);
    append_bubbles(table, s);
    append_in_flight(table, s);
}

static void
real_row(ReportTable *table, const ReportSchedule *s, double best)
{
    append_name(table, s);
    report_table_cell(table, "%u", s->params.vpp);
    report_table_cell(table, "%s", report_time(s->time_s).text);
    report_table_cell(table, "%s", report_time(s->certainty.error_s).text);
    report_table_cell(table, "%s x", report_fixed(s->time_s / best, 3).text);
    append_bubbles(table, s);
    report_table_cell(table, "%s", report_time(s->max_span).text);
    append_in_flight(table, s);
    report_table_cell(table, "%s", report_gb((double)s->peak_bytes).text);
    report_table_cell(table, "%u", s->peak_rank);
    report_table_cell(table, "%s", report_gb((double)s->p2p_bytes).text);
    report_table_cell(table, "%s", s->fits ? "fits" : "DOES NOT FIT");
}

/* Of those that fit; where none does, of all. */
static double
best_time(const ReportSchedules *schedules)
{
    double best[2] = {INFINITY, INFINITY};
    for (guint i = 0; i < schedules->rows->len; i++) {
        const ReportSchedule *s = schedules->rows->pdata[i];
        if (s->refused == NULL)
            best[s->fits] = MIN(best[s->fits], s->time_s);
    }
    return isfinite(best[TRUE]) ? best[TRUE] : best[FALSE];
}

static void
append_table(const ReportSchedules *schedules, GString *out)
{
    static const char *const unit_heads[] = {"schedule",  "vpp",      "makespan",   "by formula",
                                             "busy",      "max span", "idle/total", "idle/ideal",
                                             "in flight", NULL};
    static const char *const real_heads[] = {
        "schedule", "vpp",       "iteration",   "+-",   "to best", "idle/total", "idle/ideal",
        "max span", "in flight", "peak memory", "rank", "p2p/GPU", "memory",     NULL};
    g_autoptr(ReportTable) table = schedules->real ? report_table_new("lrrrrrrrrrrrl", real_heads)
                                                   : report_table_new("lrrrrrrrr", unit_heads);
    double best = best_time(schedules);
    guint n = 0;
    for (guint i = 0; i < schedules->rows->len; i++) {
        const ReportSchedule *s = schedules->rows->pdata[i];
        n += s->refused == NULL ? 1 : 0;
        if (s->refused == NULL && schedules->real)
            real_row(table, s, best);
        else if (s->refused == NULL)
            unit_row(table, s);
    }
    if (n > 0)
        report_table_print(table, 2, out);
}

/* "dualpipe, chimera: two replicas of the model, ..." */
static void
append_names(const ReportSchedules *schedules, gboolean (*has)(const ReportSchedule *s),
             const char *what, GString *out)
{
    g_autoptr(GString) names = g_string_new(NULL);
    for (guint i = 0; i < schedules->rows->len; i++) {
        const ReportSchedule *s = schedules->rows->pdata[i];
        if (s->refused == NULL && has(s))
            g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "", s->name);
    }
    if (names->len == 0)
        return;
    g_string_append_printf(names, ": %s", what);
    report_paragraph(out, "  ", names->str);
}

static gboolean
has_replicas(const ReportSchedule *s)
{
    return s->n_replicas > 1;
}

static gboolean
has_versions(const ReportSchedule *s)
{
    return s->weight_versions > 1;
}

static gboolean
is_reconstruction(const ReportSchedule *s)
{
    return s->reconstruction;
}

static void
append_notes(const ReportSchedules *schedules, GString *out)
{
    g_string_append(out, "\n");
    report_paragraph(out, "  ",
                     "in flight: microbatches of a whole stage whose activations the worst "
                     "rank keeps, freed at the weight gradient; max span: longest time from "
                     "a rank's first operation to its last.");
    append_names(schedules, has_replicas, "two replicas of the model, each rank holds two stages.",
                 out);
    append_names(schedules, has_versions,
                 schedules->real
                     ? "asynchronous, with several versions of the weights; the iteration is one "
                       "steady period."
                     : "asynchronous, with several versions of the weights; by formula one steady "
                       "period, without the makespan's fill.",
                 out);
    append_names(schedules, is_reconstruction,
                 "a reconstruction, not checked against its authors' own order.", out);
}

static void
append_refused(const GPtrArray *rows, GString *out)
{
    gboolean any = FALSE;
    for (guint i = 0; i < rows->len; i++) {
        const ReportSchedule *s = rows->pdata[i];
        if (s->refused == NULL)
            continue;
        if (!any)
            g_string_append(out, "\n  Refused\n");
        any = TRUE;
        g_autofree char *head = g_strdup_printf("  %s: ", s->name);
        report_paragraph(out, head, s->refused);
    }
}

static void
append_pictures(const GPtrArray *rows, GString *out)
{
    guint n = 0;
    for (guint i = 0; i < rows->len; i++)
        n += ((const ReportSchedule *)rows->pdata[i])->picture != NULL;
    if (n == 0)
        return;
    if (n > PICTURES_MOST) {
        g_string_append(out,
                        "\n  Pictures: name a few, as --schedule 1f1b,zb_h1, or --plot all.svg.\n");
        return;
    }
    for (guint i = 0; i < rows->len; i++) {
        const ReportSchedule *s = rows->pdata[i];
        if (s->picture != NULL)
            g_string_append_printf(out, "\n  %s\n%s", s->name, s->picture);
    }
    g_string_append(out, "\n  F forward, B backward, I input gradient, W weight gradient, of "
                         "which microbatch\n  (last digit where narrow); . idle\n");
}

void
report_schedules_text(const ReportSchedules *schedules, GString *out)
{
    const GPtrArray *rows = schedules->rows;
    report_paragraph(out, "", schedules->head);
    g_string_append(out, "\n");
    append_table(schedules, out);
    if (schedules->real) {
        g_string_append_c(out, '\n');
        g_autofree ReportRival *rivals = report_schedules_rivals(schedules);
        report_certainty_block(rivals, rows->len, "iteration", out);
    }
    if (rows->len > 1)
        append_notes(schedules, out);
    append_refused(rows, out);
    append_pictures(rows, out);
}
