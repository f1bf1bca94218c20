/* What both ways of comparing schedules need. */
#include "config.h"

#include "cli/comparison.h"

#include "cli/command.h"
#include "conf/complaint.h"

ReportSchedule *
cli_comparison_add(GPtrArray *rows, const char *name)
{
    ReportSchedule *row = g_new0(ReportSchedule, 1);
    row->name = g_strdup(name);
    g_ptr_array_add(rows, row);
    return row;
}

void
cli_comparison_fill(ReportSchedule *row, const Schedule *schedule, const ScheduleType *type)
{
    guint n = schedule->params.pp;
    row->params = schedule->params;
    row->params.costs = (ScheduleCosts){0}; /* its arrays are not ours */
    row->reconstruction = type != NULL && type->reconstruction;
    row->n_replicas = schedule->n_replicas;
    row->weight_versions = 1;
    for (guint r = 0; type != NULL && type->weight_versions != NULL && r < n; r++)
        row->weight_versions =
            MAX(row->weight_versions, type->weight_versions(&schedule->params, r));
    row->peak_input_grad = g_new(guint, n);
    row->peak_weight_grad = g_new(guint, n);
    schedule_peaks(schedule, row->peak_input_grad, row->peak_weight_grad);
}

gboolean
cli_comparison_dump(const CliComparison *c, const Schedule *schedule, GError **error)
{
    g_autofree char *csv = c->dump != NULL ? schedule_format_as_read(schedule) : NULL;
    g_autofree char *comms = c->dump_comms != NULL ? schedule_format_comms(schedule) : NULL;
    return (csv == NULL || conf_write_text(c->dump, csv, -1, error)) &&
           (comms == NULL || conf_write_text(c->dump_comms, comms, -1, error));
}

gboolean
cli_comparison_agrees(const CliComparison *c, const char *path, const Schedule *schedule,
                      gboolean many, GError **error)
{
    const PlanSpec *asked = &c->in->spec;
    const ScheduleParams *there = &schedule->params;
    const struct {
        const char *name;
        gint64 asked, there;
    } counts[] = {{"pp", asked->pp, there->pp},
                  {"microbatches", asked->microbatches, there->microbatches},
                  {"vpp", asked->vpp, many ? asked->vpp : there->vpp}};
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
        const char *name = counts[i].name;
        if (!cli_inputs_is_given(c->in, name) || counts[i].asked == counts[i].there)
            continue;
        g_autofree char *remedy =
            many ? g_strdup_printf("write --%s %" G_GINT64_FORMAT, name, counts[i].there)
                 : g_strdup_printf("leave --%s out", name);
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "--%s: %" G_GINT64_FORMAT " and %s is for %" G_GINT64_FORMAT "; %s", name,
                    counts[i].asked, path, counts[i].there, remedy);
        return FALSE;
    }
    return TRUE;
}

gboolean
cli_comparison_check(const GPtrArray *rows, GError **error)
{
    for (guint i = 0; i < rows->len; i++)
        if (((const ReportSchedule *)rows->pdata[i])->refused == NULL)
            return TRUE;
    const ReportSchedule *first = rows->pdata[0];
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "schedules: none can be with these numbers; the first, %s: %s", first->name,
                first->refused);
    return FALSE;
}

void
cli_gantt_token(void *user, guint pp_rank, ScheduleToken token, gint64 start, gint64 end)
{
    report_gantt_add(user, pp_rank, token, start, end);
}
