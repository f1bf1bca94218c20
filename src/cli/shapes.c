/* dtsim shapes: the kernels and collectives that a plan needs the times of, for the calibrator. */
#include "config.h"

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/scenario.h"
#include "report/shapes.h"

#define MOST_WORTH 100000

static int
shapes_run(int argc, char **argv, GError **error)
{
    g_autoptr(CliScenario) s = cli_scenario_new();
    g_autofree char *worth = NULL;
    const GOptionEntry own[] = {
        {"worth", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_STRING, &worth,
         "Only the N whose measurement would make the iteration's time surest", "N"},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    gboolean done;
    if (!cli_scenario_load(
            s, "shapes",
            "Prints every kernel and collective that a simulation of the plan looks\n"
            "up, with how often one GPU runs it, as dtsim-calibrate --shapes reads it.",
            own, argc, argv, &done, error) ||
        done)
        return CLI_DONE;
    gint64 n = 0;
    if (worth != NULL && !cli_parse_count("--worth", worth, 1, MOST_WORTH, &n, error))
        return CLI_USAGE;
    StepOptions options = cli_inputs_step_options(s->in);
    if (!cli_scenario_simulate(s, &options, error))
        return CLI_USAGE;
    ReportRun run = cli_scenario_report(s);
    const ReportShapes shapes = {&run, (guint)n};
    g_autoptr(GString) out = g_string_new(NULL);
    report_shapes(&shapes, cli_format_name(&s->format), out);
    return cli_output_write(s->format.output, out, error) ? CLI_DONE : CLI_USAGE;
}

const CliCommand cli_shapes = {"shapes", "what to measure for a plan, for dtsim-calibrate",
                               shapes_run};
