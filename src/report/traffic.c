#include "config.h"

#include "report/traffic.h"

#include "report/json_number.h"
#include "report/number.h"
#include "report/table.h"

#define ROWS 12 /* of the table; smaller ones are counted together */

static double
sent_by(const StepStage *stage)
{
    double sum = 0;
    for (guint i = 0; i < stage->traffic->len; i++)
        sum += g_array_index(stage->traffic, StepTraffic, i).sent_bytes;
    return sum;
}

void
report_traffic_member(JsonBuilder *b, const ReportRun *run)
{
    report_json_object(b, "communication");
    report_json_array(b, "per_stage");
    for (guint i = 0; i < run->result->stages->len; i++) {
        const StepStage *stage = &g_array_index(run->result->stages, StepStage, i);
        report_json_object(b, NULL);
        report_json_int(b, "pp_rank", stage->pp_rank);
        report_json_double(b, "sent_bytes", sent_by(stage));
        report_json_double(b, "nvlink_bytes", stage->nvlink_bytes);
        report_json_double(b, "nic_bytes", stage->nic_bytes);
        report_json_array(b, "operations");
        for (guint k = 0; k < stage->traffic->len; k++) {
            const StepTraffic *t = &g_array_index(stage->traffic, StepTraffic, k);
            report_json_object(b, NULL);
            report_json_text(b, "name", t->name);
            report_json_text(b, "collective", net_op_name(t->op));
            report_json_int(b, "ranks", t->ranks);
            report_json_int(b, "count", (gint64)t->count);
            report_json_double(b, "bytes", t->bytes);
            report_json_double(b, "sent_bytes", t->sent_bytes);
            json_builder_end_object(b);
        }
        json_builder_end_array(b);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    json_builder_end_object(b);
}

static gint
by_sent(gconstpointer x, gconstpointer y)
{
    const StepTraffic *a = x, *b = y;
    if (a->sent_bytes != b->sent_bytes)
        return a->sent_bytes > b->sent_bytes ? -1 : 1;
    gint names = g_strcmp0(a->name, b->name);
    return names != 0 ? names : a->ranks < b->ranks ? -1 : a->ranks > b->ranks;
}

static void
row(ReportTable *table, const StepTraffic *t)
{
    report_table_cell(table, "%s", t->name);
    report_table_cell(table, "%s", net_op_name(t->op));
    report_table_cell(table, "%u", t->ranks);
    report_table_cell(table, "%" G_GUINT64_FORMAT, t->count);
    report_table_cell(table, "%s", report_gb(t->bytes / (double)t->count).text);
    report_table_cell(table, "%s", report_gb(t->sent_bytes).text);
}

void
report_append_traffic(const ReportRun *run, GString *out)
{
    const StepStage *most = NULL;
    for (guint i = 0; i < run->result->stages->len; i++) {
        const StepStage *stage = &g_array_index(run->result->stages, StepStage, i);
        if (most == NULL || sent_by(stage) > sent_by(most))
            most = stage;
    }
    if (most == NULL || most->traffic->len == 0)
        return;
    g_autoptr(GArray) sorted = g_array_copy(most->traffic);
    g_array_sort(sorted, by_sent);
    g_string_append_printf(
        out, "\nWhat one GPU sends in an iteration: %s (pipeline rank %" G_GINT64_FORMAT ")\n",
        report_gb(sent_by(most)).text, most->pp_rank);
    static const char *const heads[] = {"what", "as", "among", "times", "size", "sent", NULL};
    g_autoptr(ReportTable) table = report_table_new("llrrrr", heads);
    double small = 0;
    for (guint i = 0; i < sorted->len; i++) {
        const StepTraffic *t = &g_array_index(sorted, StepTraffic, i);
        if (i < ROWS)
            row(table, t);
        else
            small += t->sent_bytes;
    }
    report_table_print(table, 2, out);
    if (sorted->len > ROWS)
        g_string_append_printf(out, "  and %u more, %s together\n", sorted->len - ROWS,
                               report_gb(small).text);
}
