/* Facts that differ, ratios of B's times to A's by series, and the rows farthest from the rest of theirs. */
#include "config.h"

#include "report/diffed.h"

#include "report/json_number.h"
#include "report/number.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

static const CalibrateSeriesDiff *
series_at(const CalibrateDiff *diff, guint i)
{
    return &g_array_index(diff->series, CalibrateSeriesDiff, i);
}

static const CalibrateRowDiff *
row_at(const CalibrateDiff *diff, guint i)
{
    return &g_array_index(diff->worst, CalibrateRowDiff, i);
}

/* Three decimals, or three digits of what is small. */
static ReportNumber
ratio_text(double x)
{
    return isnan(x) || x >= 0.1 ? report_fixed(x, 3) : report_plain(x, 3);
}

/* Slowdowns have no unit; times are in us in the tables, and here in what reads well. */
static ReportNumber
value_text(ClusterTable table, double value)
{
    return table == CLUSTER_TABLE_OVERLAP ? report_fixed(value, 3) : report_time(value / 1e9);
}

static void
facts_text(const CalibrateDiff *diff, GString *out)
{
    static const char *const heads[] = {"system.conf", "A", "B", "B / A", NULL};
    g_autoptr(ReportTable) table = report_table_new("lrrr", heads);
    for (guint i = 0; i < diff->facts->len; i++) {
        const CalibrateFact *f = &g_array_index(diff->facts, CalibrateFact, i);
        report_table_cell(table, "%s.%s", f->section, f->key);
        for (guint side = 0; side < CALIBRATE_N_SIDES; side++)
            report_table_cell(table, "%s", *f->text[side] == '\0' ? "-" : f->text[side]);
        report_table_cell(table, "%s", ratio_text(f->ratio).text);
    }
    if (diff->facts->len > 0)
        report_table_print(table, 2, out);
    else
        g_string_append(out, "  system.conf: no difference\n");
}

static void
ratios_cells(ReportTable *table, const CalibrateRatios *r)
{
    report_table_cell(table, "%u", r->n);
    report_table_cell(table, "%s", ratio_text(r->median).text);
    report_table_cell(table, "%s", ratio_text(r->p10).text);
    report_table_cell(table, "%s", ratio_text(r->p90).text);
}

static void
series_text(const CalibrateDiff *diff, GString *out)
{
    static const char *const heads[] = {"table",  "of",  "same", "median", "p10",    "p90", "near",
                                        "median", "p10", "p90",  "only A", "only B", NULL};
    if (diff->series->len == 0)
        return;
    g_string_append(out,
                    "\nB's time over A's: rows of both (same); A's other rows and what B's rows "
                    "around them say (near)\n");
    g_autoptr(ReportTable) table = report_table_new("llrrrrrrrrrr", heads);
    for (guint i = 0; i < diff->series->len; i++) {
        const CalibrateSeriesDiff *s = series_at(diff, i);
        gboolean again = i > 0 && series_at(diff, i - 1)->table == s->table;
        report_table_cell(table, "%s%s", again ? "" : cluster_table_name(s->table),
                          again ? "" : ".tsv");
        report_table_cell(table, "%s", s->of);
        ratios_cells(table, &s->same);
        ratios_cells(table, &s->near);
        report_table_cell(table, "%u", s->only[CALIBRATE_A]);
        report_table_cell(table, "%u", s->only[CALIBRATE_B]);
    }
    report_table_print(table, 2, out);
}

static void
rows_text(const CalibrateDiff *diff, GString *out)
{
    static const char *const heads[] = {"line of A", "of B", "of", "at", "A", "B", "B / A", NULL};
    if (diff->worst->len == 0)
        return;
    g_string_append(out, "\nrows of both that are farthest from the median of theirs\n");
    g_autoptr(ReportTable) table = report_table_new("llllrrr", heads);
    for (guint i = 0; i < diff->worst->len; i++) {
        const CalibrateRowDiff *r = row_at(diff, i);
        report_table_cell(table, "%s.tsv:%u", cluster_table_name(r->table), r->line[CALIBRATE_A]);
        report_table_cell(table, "%u", r->line[CALIBRATE_B]);
        report_table_cell(table, "%s", r->of);
        report_table_cell(table, "%s", r->at);
        report_table_cell(table, "%s", value_text(r->table, r->value[CALIBRATE_A]).text);
        report_table_cell(table, "%s", value_text(r->table, r->value[CALIBRATE_B]).text);
        report_table_cell(table, "%s", ratio_text(r->ratio).text);
    }
    report_table_print(table, 2, out);
}

static void
diffed_text(const char *a, const char *b, const CalibrateDiff *diff, GString *out)
{
    g_string_append_printf(out, "A: %s, B: %s\n", a, b);
    facts_text(diff, out);
    series_text(diff, out);
    rows_text(diff, out);
    if (diff->notes->len > 0)
        g_string_append_c(out, '\n');
    for (guint i = 0; i < diff->notes->len; i++)
        g_string_append_printf(out, "%s\n", (const char *)diff->notes->pdata[i]);
}

/* --- JSON ---------------------------------------------------------------------------------------- */

static void
ratios_json(JsonBuilder *b, const char *key, const CalibrateRatios *r)
{
    report_json_object(b, key);
    report_json_int(b, "rows", r->n);
    report_json_double(b, "median", r->median);
    report_json_double(b, "p10", r->p10);
    report_json_double(b, "p90", r->p90);
    json_builder_end_object(b);
}

static void
rows_json(JsonBuilder *b, const CalibrateDiff *diff)
{
    report_json_array(b, "worst");
    for (guint i = 0; i < diff->worst->len; i++) {
        const CalibrateRowDiff *r = row_at(diff, i);
        report_json_object(b, NULL);
        report_json_text(b, "table", cluster_table_name(r->table));
        report_json_int(b, "line_a", r->line[CALIBRATE_A]);
        report_json_int(b, "line_b", r->line[CALIBRATE_B]);
        report_json_text(b, "of", r->of);
        report_json_text(b, "at", r->at);
        gboolean is_time = r->table != CLUSTER_TABLE_OVERLAP;
        report_json_double(b, is_time ? "a_ns" : "a", r->value[CALIBRATE_A]);
        report_json_double(b, is_time ? "b_ns" : "b", r->value[CALIBRATE_B]);
        report_json_double(b, "ratio", r->ratio);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
}

static void
diffed_json(const char *in_a, const char *in_b, const CalibrateDiff *diff, GString *out)
{
    g_autoptr(JsonBuilder) b = json_builder_new();
    report_json_object(b, NULL);
    report_json_text(b, "a", in_a);
    report_json_text(b, "b", in_b);
    report_json_array(b, "facts");
    for (guint i = 0; i < diff->facts->len; i++) {
        const CalibrateFact *f = &g_array_index(diff->facts, CalibrateFact, i);
        g_autofree char *name = g_strconcat(f->section, ".", f->key, NULL);
        report_json_object(b, NULL);
        report_json_text(b, "key", name);
        report_json_text(b, "a", f->text[CALIBRATE_A]);
        report_json_text(b, "b", f->text[CALIBRATE_B]);
        report_json_double(b, "ratio", f->ratio);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    report_json_array(b, "series");
    for (guint i = 0; i < diff->series->len; i++) {
        const CalibrateSeriesDiff *s = series_at(diff, i);
        report_json_object(b, NULL);
        report_json_text(b, "table", cluster_table_name(s->table));
        report_json_text(b, "of", s->of);
        ratios_json(b, "same", &s->same);
        ratios_json(b, "near", &s->near);
        report_json_int(b, "only_a", s->only[CALIBRATE_A]);
        report_json_int(b, "only_b", s->only[CALIBRATE_B]);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    rows_json(b, diff);
    report_json_array(b, "notes");
    for (guint i = 0; i < diff->notes->len; i++)
        json_builder_add_string_value(b, diff->notes->pdata[i]);
    json_builder_end_array(b);
    json_builder_end_object(b);
    report_json_print(b, out);
}

/* --- TSV ----------------------------------------------------------------------------------------- */

/* One row a series. */
static void
diffed_tsv(const CalibrateDiff *diff, GString *out)
{
    g_string_append(out,
                    "table\tof\tsame\tmedian\tp10\tp90\tnear\tnear_median\tnear_p10\tnear_p90\t"
                    "only_a\tonly_b\n");
    for (guint i = 0; i < diff->series->len; i++) {
        const CalibrateSeriesDiff *s = series_at(diff, i);
        const CalibrateRatios *const ratios[] = {&s->same, &s->near};
        g_string_append_printf(out, "%s\t%s", cluster_table_name(s->table), s->of);
        for (guint j = 0; j < G_N_ELEMENTS(ratios); j++)
            g_string_append_printf(
                out, "\t%u\t%s\t%s\t%s", ratios[j]->n, report_plain(ratios[j]->median, 5).text,
                report_plain(ratios[j]->p10, 5).text, report_plain(ratios[j]->p90, 5).text);
        g_string_append_printf(out, "\t%u\t%u\n", s->only[CALIBRATE_A], s->only[CALIBRATE_B]);
    }
}

void
report_diffed(const char *a, const char *b, const CalibrateDiff *diff, const char *format,
              GString *out)
{
    if (strcmp(format, "json") == 0)
        diffed_json(a, b, diff, out);
    else if (strcmp(format, "tsv") == 0)
        diffed_tsv(diff, out);
    else
        diffed_text(a, b, diff, out);
}
