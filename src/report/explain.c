/* The tree of reasons behind the iteration time. */
#include "config.h"

#include "report/run.h"

#include "report/certainty.h"
#include "report/json_number.h"
#include "report/links.h"
#include "report/number.h"
#include "report/section.h"
#include "report/shapes.h"
#include "report/table.h"
#include "report/traffic.h"

#include <math.h>

#define SHOWN_SHARE 0.001 /* of the whole: smaller parts are counted together */

static void
text_node(ReportTable *table, const Why *why, double whole, guint depth)
{
    double share = whole > 0 ? why->value / whole : 0;
    g_autofree char *bar = g_strnfill((gsize)lround(CLAMP(share, 0, 1) * 40), '#');
    report_table_cell(table, "%*s%s", (int)(2 * depth), "", why->name);
    report_table_cell(table, "%s", report_time(why->value).text);
    report_table_cell(table, "+- %s", report_time(why->error).text);
    report_table_cell(table, "%s", report_percent(share).text);
    report_table_cell(table, "%s", bar);
    double small = 0;
    guint n_small = 0;
    for (guint i = 0; why->parts != NULL && i < why->parts->len; i++) {
        const Why *part = why->parts->pdata[i];
        if (whole > 0 && part->value / whole < SHOWN_SHARE) {
            small += part->value;
            n_small++;
        } else {
            text_node(table, part, whole, depth + 1);
        }
    }
    if (n_small == 0 || small <= 0)
        return;
    report_table_cell(table, "%*s%u smaller part%s", (int)(2 * depth + 2), "", n_small,
                      n_small == 1 ? "" : "s");
    report_table_cell(table, "%s", report_time(small).text);
    report_table_cell(table, " ");
    report_table_cell(table, "%s", report_percent(small / whole).text);
    report_table_cell(table, " ");
}

static void
append_certainty(const StepResult *r, GString *out)
{
    g_autofree char *words = report_certainty_words(report_certainty(r));
    g_autofree char *text = g_strdup_printf(
        "+- is one sigma; parts err together in part. Compute and communication are %s.", words);
    g_string_append_c(out, '\n');
    report_paragraph(out, "  ", text);
    report_append_unmeasured(r, out);
}

void
report_explain_text(const ReportRun *run, GString *out)
{
    const Why *why = run->result->time_why;
    g_string_append_printf(
        out, "Critical path of one iteration: %s on %s, %" G_GINT64_FORMAT " GPUs\n\n",
        run->plan->shape->name, run->plan->system->name, run->plan->gpus);
    g_autoptr(ReportTable) table = report_table_new("lrrrl", NULL);
    text_node(table, why, why->value, 0);
    report_table_print(table, 0, out);
    append_certainty(run->result, out);
    report_append_traffic(run, out);
    report_append_links(run, out);
    g_string_append(out, "\nWhy\n");
    report_append_reasons(run, out);
}

/* `run` of the whole, with what is worth measuring; NULL of its parts. */
static void
json_node(JsonBuilder *b, const Why *why, const ReportRun *run)
{
    report_json_object(b, NULL);
    report_json_text(b, "name", why->name);
    report_json_double(b, "seconds", why->value);
    report_certainty_members(b, report_certainty_of_part(why));
    if (run != NULL)
        report_worth_members(b, run);
    if (why->parts != NULL && why->parts->len > 0) {
        report_json_array(b, "parts");
        for (guint i = 0; i < why->parts->len; i++)
            json_node(b, why->parts->pdata[i], NULL);
        json_builder_end_array(b);
    }
    json_builder_end_object(b);
}

void
report_explain_json(const ReportRun *run, GString *out)
{
    g_autoptr(JsonBuilder) b = json_builder_new();
    json_node(b, run->result->time_why, run);
    report_json_print(b, out);
}

static void
tsv_node(GString *out, const Why *why, const char *path)
{
    g_autofree char *name = g_strconcat(path, path[0] != '\0' ? "/" : "", why->name, NULL);
    g_string_append_printf(out, "%s\t%s", name, report_plain(why->value, 9).text);
    report_certainty_fields(report_certainty_of_part(why), out);
    g_string_append_c(out, '\n');
    for (guint i = 0; why->parts != NULL && i < why->parts->len; i++)
        tsv_node(out, why->parts->pdata[i], name);
}

void
report_explain_tsv(const ReportRun *run, GString *out)
{
    g_string_append_printf(out, "path\tseconds%s\n", report_certainty_columns);
    tsv_node(out, run->result->time_why, "");
}
