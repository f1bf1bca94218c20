/* Findings, a line each with its place; what is measured; what is missing; the count. */
#include "config.h"

#include "report/checked.h"

#include "report/json_number.h"
#include "report/table.h"

#include <string.h>

#define FEW 5 /* odd rows of a table and rule that are told unasked */

static const CalibrateFinding *
finding_at(const CalibrateCheck *check, guint i)
{
    return &g_array_index(check->findings, CalibrateFinding, i);
}

static const CalibrateCovered *
covered_at(const CalibrateCheck *check, guint i)
{
    return &g_array_index(check->covered, CalibrateCovered, i);
}

static void
finding_text(const CalibrateFinding *f, GString *out)
{
    g_string_append_printf(out, "%s.tsv:", cluster_table_name(f->table));
    if (f->line > 0)
        g_string_append_printf(out, "%u:", f->line);
    g_string_append_printf(out, " %s: %s: %s\n", f->wrong ? "wrong" : "odd",
                           calibrate_rule_name(f->rule), f->text);
}

/* How many from the i-th on are of one table, rule and weight. */
static guint
run_length(const CalibrateCheck *check, guint i)
{
    const CalibrateFinding *f = finding_at(check, i);
    guint n = 0;
    while (i + n < check->findings->len) {
        const CalibrateFinding *g = finding_at(check, i + n);
        if (g->table != f->table || g->rule != f->rule || g->wrong != f->wrong)
            break;
        n++;
    }
    return n;
}

static void
findings_text(const CalibrateCheck *check, gboolean all, GString *out)
{
    for (guint i = 0; i < check->findings->len;) {
        const CalibrateFinding *f = finding_at(check, i);
        guint n = run_length(check, i);
        guint told = all || f->wrong ? n : MIN(n, FEW);
        for (guint j = 0; j < told; j++)
            finding_text(finding_at(check, i + j), out);
        if (told < n)
            g_string_append_printf(out, "%s.tsv: odd: %s: %u more, less odd; write --all\n",
                                   cluster_table_name(f->table), calibrate_rule_name(f->rule),
                                   n - told);
        i += n;
    }
    if (check->findings->len > 0)
        g_string_append_c(out, '\n');
}

static void
check_text(const char *system, const CalibrateCheck *check, gboolean all, GString *out)
{
    static const char *const heads[] = {"table", "of", "rows", "from-to", NULL};
    findings_text(check, all, out);
    g_string_append_printf(out, "%s measures\n", system);
    g_autoptr(ReportTable) table = report_table_new("llrl", heads);
    for (guint i = 0; i < check->covered->len; i++) {
        const CalibrateCovered *c = covered_at(check, i);
        gboolean same = i > 0 && covered_at(check, i - 1)->table == c->table;
        report_table_cell(table, "%s%s", same ? "" : cluster_table_name(c->table),
                          same ? "" : ".tsv");
        report_table_cell(table, "%s", c->of);
        report_table_cell(table, "%u", c->n_rows);
        report_table_cell(table, "%s", c->range);
    }
    report_table_print(table, 2, out);
    if (check->missing->len > 0)
        g_string_append(out, "\nfor planning a usual LLM it lacks\n");
    for (guint i = 0; i < check->missing->len; i++)
        g_string_append_printf(out, "  %s\n", (const char *)check->missing->pdata[i]);
    g_string_append_printf(out, "\n%u row%s; findings: %u wrong, %u odd\n", check->n_rows,
                           check->n_rows == 1 ? "" : "s", check->n_wrong, check->n_odd);
}

static void
check_json(const char *system, const CalibrateCheck *check, GString *out)
{
    g_autoptr(JsonBuilder) b = json_builder_new();
    report_json_object(b, NULL);
    report_json_text(b, "system", system);
    report_json_int(b, "rows", check->n_rows);
    report_json_int(b, "wrong", check->n_wrong);
    report_json_int(b, "odd", check->n_odd);
    report_json_array(b, "findings");
    for (guint i = 0; i < check->findings->len; i++) {
        const CalibrateFinding *f = finding_at(check, i);
        report_json_object(b, NULL);
        report_json_text(b, "table", cluster_table_name(f->table));
        if (f->line > 0)
            report_json_int(b, "line", f->line);
        report_json_text(b, "rule", calibrate_rule_name(f->rule));
        report_json_bool(b, "wrong", f->wrong);
        report_json_text(b, "text", f->text);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    report_json_array(b, "measured");
    for (guint i = 0; i < check->covered->len; i++) {
        const CalibrateCovered *c = covered_at(check, i);
        report_json_object(b, NULL);
        report_json_text(b, "table", cluster_table_name(c->table));
        report_json_text(b, "of", c->of);
        report_json_int(b, "rows", c->n_rows);
        report_json_text(b, "range", c->range);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    report_json_array(b, "missing");
    for (guint i = 0; i < check->missing->len; i++)
        json_builder_add_string_value(b, check->missing->pdata[i]);
    json_builder_end_array(b);
    json_builder_end_object(b);
    report_json_print(b, out);
}

/* Findings alone; line 0 is a whole table. */
static void
check_tsv(const CalibrateCheck *check, GString *out)
{
    g_string_append(out, "table\tline\tweight\trule\ttext\n");
    for (guint i = 0; i < check->findings->len; i++) {
        const CalibrateFinding *f = finding_at(check, i);
        g_string_append_printf(out, "%s\t%u\t%s\t%s\t%s\n", cluster_table_name(f->table), f->line,
                               f->wrong ? "wrong" : "odd", calibrate_rule_name(f->rule), f->text);
    }
}

void
report_checked(const char *system, const CalibrateCheck *check, gboolean all, const char *format,
               GString *out)
{
    if (strcmp(format, "json") == 0)
        check_json(system, check, out);
    else if (strcmp(format, "tsv") == 0)
        check_tsv(check, out);
    else
        check_text(system, check, all, out);
}
