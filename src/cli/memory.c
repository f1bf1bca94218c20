/* dtsim memory: will it fit; by kind, by stage and over time; and what would help. */
#include "config.h"

#include "cli/advice.h"
#include "cli/command.h"
#include "report/gantt.h"
#include "report/timeline.h"

enum { ALL_RANKS = G_MININT };

typedef struct {
    char *timeline, *plot;
    gint64 rank; /* pipeline rank, or ALL_RANKS */
    gboolean no_advice;
} Wish;

static void
wish_clear(Wish *w)
{
    g_free(w->timeline);
    g_free(w->plot);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Wish, wish_clear)

static gboolean
wish_check(const Wish *w, gint64 pp, GError **error)
{
    if (w->timeline != NULL && w->timeline[0] == '\0')
        g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                            "--timeline: is empty; write --timeline FILE");
    else if (w->rank >= pp || (w->rank < 0 && w->rank != ALL_RANKS))
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "--rank: there is no pipeline rank %" G_GINT64_FORMAT
                    "; write 0 to %" G_GINT64_FORMAT,
                    w->rank, pp - 1);
    else if (w->rank >= 0 && w->timeline == NULL && w->plot == NULL)
        g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                            "--rank: picks a rank of the time line, and none is asked for; add "
                            "--timeline FILE or --plot FILE");
    else
        return w->plot == NULL || report_plot_format(w->plot, NULL, error);
    return FALSE;
}

static gboolean
plot(const CliScenario *s, const ReportTimeline *timeline, const char *path, GError **error)
{
    const PlanSpec *p = &s->cased->plan->spec;
    g_autofree char *title =
        g_strdup_printf("%s on %s: %s, tp %" G_GINT64_FORMAT ", pp %" G_GINT64_FORMAT
                        ", dp %" G_GINT64_FORMAT ", ZeRO %" G_GINT64_FORMAT,
                        s->shape->name, s->machine->system->name, s->cased->schedule->name, p->tp,
                        p->pp, p->dp, p->zero);
    return report_timeline_plot(timeline, title, s->result->time_ns, s->result->memory_limit_bytes,
                                path, error);
}

/* The simulation, with the time line that is asked for. */
static gboolean
simulate(CliScenario *s, const Wish *w, StepOptions options, GError **error)
{
    if (w->timeline == NULL && w->plot == NULL)
        return cli_scenario_simulate(s, &options, error);
    g_autoptr(ReportTimeline) timeline =
        report_timeline_open(w->timeline, w->plot != NULL, w->rank, error);
    if (timeline == NULL)
        return FALSE;
    options.memory = report_timeline_add;
    options.memory_user = timeline;
    return cli_scenario_simulate(s, &options, error) && report_timeline_close(timeline, error) &&
           (w->plot == NULL || plot(s, timeline, w->plot, error));
}

static int
memory_run(int argc, char **argv, GError **error)
{
    g_autoptr(CliScenario) s = cli_scenario_new();
    g_auto(Wish) w = {.rank = ALL_RANKS};
    const GOptionEntry own[] = {
        {"timeline", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_FILENAME, &w.timeline,
         "Memory over time as TSV: a line each change", "FILE"},
        {"plot", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_FILENAME, &w.plot,
         "Picture of memory over time, .svg or .png (gnuplot)", "FILE"},
        {"rank", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_INT64, &w.rank,
         "Pipeline rank of the time line (default: all)", "N"},
        {"no-advice", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_NONE, &w.no_advice,
         "Do not simulate what would help", NULL},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    gboolean done;
    if (!cli_scenario_load(s, "memory",
                           "Says whether the plan fits into the GPUs: the peak of each pipeline\n"
                           "rank by kind, and what would help. Exit status 1 when it does not fit.",
                           own, argc, argv, &done, error) ||
        done)
        return CLI_DONE;
    if (!wish_check(&w, s->cased->plan->spec.pp, error))
        return CLI_USAGE;
    StepOptions options = cli_inputs_step_options(s->in);
    if (!simulate(s, &w, options, error))
        return CLI_USAGE;
    void (*const writers[])(const ReportRun *, GString *) = {report_memory_text, report_memory_json,
                                                             report_memory_tsv};
    gboolean told = g_strcmp0(cli_format_name(&s->format), "tsv") != 0;
    if (told && !w.no_advice)
        s->advice = cli_advice_new(s, &options);
    return cli_scenario_finish(s, writers[s->format.index], error);
}

const CliCommand cli_memory = {"memory", "will it fit, and what would help", memory_run};
