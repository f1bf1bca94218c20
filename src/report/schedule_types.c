/* What pipeline schedules there are. */
#include "config.h"

#include "report/schedules.h"

#include "report/json_number.h"
#include "report/table.h"

#include <string.h>

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
        const char *note = t->reconstruction ? " (a reconstruction)" : "";
        if (tsv)
            g_string_append_printf(out, "%s\t%u\t%u\t%s%s\n", t->name, t->min_vpp, t->max_vpp,
                                   t->summary, note);
        report_table_cell(table, "%s", t->name);
        report_table_cell(table, "%s%s", t->summary, note);
        report_json_object(b, NULL);
        report_json_text(b, "schedule", t->name);
        report_json_int(b, "min_vpp", t->min_vpp);
        report_json_int(b, "max_vpp", t->max_vpp);
        report_json_text(b, "summary", t->summary);
        report_json_bool(b, "reconstruction", t->reconstruction);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    json_builder_end_object(b);
    if (strcmp(format, "json") == 0)
        report_json_print(b, out);
    else if (!tsv)
        report_table_print(table, 0, out);
}
