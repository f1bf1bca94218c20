/* The list of report formats, and names and ratios that several of them print. */
#include "config.h"

#include "report/run.h"

#include <math.h>

const ReportFormat *const report_formats[] = {&report_text, &report_json, &report_tsv, NULL};
const char *const report_format_names[] = {"text", "json", "tsv", NULL};

const char *const report_barrier_names[] = {"global", "none", "post-validation", NULL};

/* Achieved over peak of all GPUs: flops / (t * gpus * peak). */
static double
utilisation(const ReportRun *run, double flops)
{
    const Plan *plan = run->plan;
    gint64 peak = plan->system->peak_flops[plan->spec.dtype];
    double t = (double)run->result->time_ns * 1e-9;
    return peak > 0 && t > 0 ? flops / (t * (double)plan->gpus * (double)peak) : NAN;
}

double
report_mfu(const ReportRun *run)
{
    return utilisation(run, run->result->model_flops);
}

double
report_hfu(const ReportRun *run)
{
    return utilisation(run, run->result->hardware_flops);
}

double
report_tokens_per_s(const ReportRun *run)
{
    return run->result->time_ns > 0
               ? (double)run->plan->tokens / ((double)run->result->time_ns * 1e-9)
               : NAN;
}

double
report_closed_form_bubble(const Schedule *schedule)
{
    const ScheduleType *type = schedule_find(schedule->name, NULL);
    double F = 1, B = 2;
    double makespan = type != NULL && type->makespan != NULL
                          ? type->makespan(&schedule->params, F, B / 2, B / 2)
                          : -1;
    double ideal = schedule->params.microbatches * schedule->params.vpp * (F + B);
    return makespan > 0 ? (makespan - ideal) / makespan : NAN;
}
