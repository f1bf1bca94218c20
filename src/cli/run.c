/* dtsim run: one iteration of training, simulated and reported. */
#include "config.h"

#include "cli/command.h"
#include "cli/samples.h"
#include "cli/scenario.h"
#include "report/gantt.h"
#include "report/trace.h"

static void
gantt_token(void *user, guint pp_rank, ScheduleToken token, gint64 start_ns, gint64 end_ns)
{
    report_gantt_add(user, pp_rank, token, start_ns, end_ns);
}

/* The simulation, with what --trace and --plot ask to be kept. */
static gboolean
simulate(CliScenario *s, const char *trace_path, ReportGantt *gantt, GError **error)
{
    StepOptions options = cli_inputs_step_options(s->in);
    if (gantt != NULL) {
        options.token = gantt_token;
        options.token_user = gantt;
    }
    if (trace_path == NULL)
        return cli_scenario_simulate(s, &options, error);
    ReportTrace *trace = report_trace_open(trace_path, error);
    if (trace == NULL)
        return FALSE;
    options.trace = report_trace_op;
    options.trace_user = trace;
    if (!cli_scenario_simulate(s, &options, error)) {
        report_trace_abandon(trace);
        return FALSE;
    }
    return report_trace_close(trace, error);
}

static gboolean
plot(const CliScenario *s, const ReportGantt *gantt, const char *path, GError **error)
{
    const PlanSpec *p = &s->cased->plan->spec;
    g_autofree char *title =
        g_strdup_printf("%s on %s: %s, tp %" G_GINT64_FORMAT ", pp %" G_GINT64_FORMAT
                        ", vpp %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT " microbatches",
                        s->shape->name, s->machine->system->name, s->cased->schedule->name, p->tp,
                        p->pp, p->vpp, p->microbatches);
    return report_gantt_plot(gantt, title, path, error);
}

static int
run_run(int argc, char **argv, GError **error)
{
    g_autoptr(CliScenario) s = cli_scenario_new();
    g_autofree char *trace = NULL, *plot_path = NULL, *samples = NULL, *threads = NULL;
    const GOptionEntry own[] = {
        {"trace", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_FILENAME, &trace,
         "Every operation in Chrome's trace format (Perfetto)", "FILE"},
        {"plot", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_FILENAME, &plot_path,
         "Picture of the pipeline, or of the samples, .svg or .png (gnuplot)", "FILE"},
        {"samples", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_STRING, &samples,
         "How many drawings of what is left to chance, for their distribution", "N"},
        {"threads", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_STRING, &threads,
         "... on so many threads (default: one for each core)", "N"},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    gboolean done;
    if (!cli_scenario_load(s, "run",
                           "Simulates one iteration of training and reports its time, throughput,\n"
                           "pipeline and memory. Exit status 1 when it does not fit.",
                           own, argc, argv, &done, error) ||
        done)
        return CLI_DONE;
    if (trace != NULL && trace[0] == '\0') {
        g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                            "--trace: is empty; write --trace FILE");
        return CLI_USAGE;
    }
    const CliSampling sampling = {samples, threads};
    if ((plot_path != NULL && !report_plot_format(plot_path, NULL, error)) ||
        !cli_sampling_check(&sampling, s->in, trace != NULL, error))
        return CLI_USAGE;
    if (samples != NULL)
        return cli_sampling_run(&sampling, s, plot_path, error) ? CLI_DONE : CLI_USAGE;
    g_autoptr(ReportGantt) gantt =
        plot_path != NULL ? report_gantt_new((guint)s->cased->plan->spec.pp) : NULL;
    if (!simulate(s, trace, gantt, error))
        return CLI_USAGE;
    if (gantt != NULL && !plot(s, gantt, plot_path, error))
        return CLI_USAGE;
    return cli_scenario_finish(s, report_formats[s->format.index]->write, error);
}

const CliCommand cli_run = {"run", "simulate one iteration (the default)", run_run};
