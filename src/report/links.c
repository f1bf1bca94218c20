/* Links by how full they are: ports, NICs and what is above them. */
#include "config.h"

#include "report/links.h"

#include <string.h>

#include "report/json_number.h"
#include "report/number.h"
#include "report/table.h"

void
report_links_member(JsonBuilder *b, const ReportRun *run)
{
    const GArray *links = run->result->links;
    report_json_object(b, "network");
    report_json_array(b, "links");
    for (guint i = 0; i < links->len; i++) {
        const StepLink *link = &g_array_index(links, StepLink, i);
        report_json_object(b, NULL);
        report_json_text(b, "name", link->name);
        report_json_text(b, "kind", link->kind);
        report_json_int(b, "alike", (gint64)link->alike);
        report_json_double(b, "bytes", link->bytes);
        report_json_double(b, "capacity_Bps", link->capacity_Bps);
        report_json_double(b, "busy_s", (double)link->busy_ns * 1e-9);
        report_json_double(b, "utilisation", link->utilisation);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    json_builder_end_object(b);
}

/* One of its kind was before it in the list, and so is busier. */
static gboolean
is_shown(const GArray *links, guint i)
{
    const char *kind = g_array_index(links, StepLink, i).kind;
    for (guint k = 0; k < i; k++)
        if (strcmp(g_array_index(links, StepLink, k).kind, kind) == 0)
            return TRUE;
    return FALSE;
}

void
report_append_links(const ReportRun *run, GString *out)
{
    static const char *const heads[] = {"kind",   "busiest",     "like it", "sent",
                                        "in use", "utilisation", NULL};
    const GArray *links = run->result->links;
    double whole = (double)MAX(run->result->time_ns, 1);
    if (links->len == 0)
        return;
    g_string_append(out, "\nLinks\n");
    g_autoptr(ReportTable) table = report_table_new("llrrrr", heads);
    for (guint i = 0; i < links->len; i++) {
        const StepLink *link = &g_array_index(links, StepLink, i);
        if (is_shown(links, i))
            continue;
        report_table_cell(table, "%s", link->kind);
        report_table_cell(table, "%s", link->name);
        report_table_cell(table, "%" G_GUINT64_FORMAT, link->alike);
        report_table_cell(table, "%s", report_gb(link->bytes).text);
        report_table_cell(table, "%s", report_percent((double)link->busy_ns / whole).text);
        report_table_cell(table, "%s", report_percent(link->utilisation).text);
    }
    report_table_print(table, 2, out);
}
