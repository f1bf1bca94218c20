/* dtsim memory: will it fit; by kind and by stage. */
#include "config.h"

#include "cli/command.h"
#include "cli/scenario.h"

static int
memory_run(int argc, char **argv, GError **error)
{
    g_autoptr(CliScenario) s = cli_scenario_new();
    gboolean done;
    if (!cli_scenario_load(s, "memory",
                           "Says whether the plan fits into the GPUs: the peak of each pipeline\n"
                           "rank by kind. Exit status 1 when it does not fit.",
                           NULL, argc, argv, &done, error) ||
        done)
        return CLI_DONE;
    StepOptions options = cli_inputs_step_options(s->in);
    if (!cli_scenario_simulate(s, &options, error))
        return CLI_USAGE;
    void (*const writers[])(const ReportRun *, GString *) = {report_memory_text, report_memory_json,
                                                             report_memory_tsv};
    return cli_scenario_finish(s, writers[s->format.index], error);
}

const CliCommand cli_memory = {"memory", "will it fit", memory_run};
