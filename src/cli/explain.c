/* dtsim explain: the critical path, and the reasons behind each number. */
#include "config.h"

#include "cli/command.h"
#include "cli/scenario.h"

static int
explain_run(int argc, char **argv, GError **error)
{
    g_autoptr(CliScenario) s = cli_scenario_new();
    gboolean done;
    if (!cli_scenario_load(s, "explain",
                           "Simulates one iteration and splits its critical path by kind of work\n"
                           "and by operation: what the time consists of, and why.",
                           NULL, argc, argv, &done, error) ||
        done)
        return CLI_DONE;
    StepOptions options = cli_inputs_step_options(s->in);
    if (!cli_scenario_simulate(s, &options, error))
        return CLI_USAGE;
    void (*const writers[])(const ReportRun *, GString *) = {
        report_explain_text, report_explain_json, report_explain_tsv};
    int status = cli_scenario_finish(s, writers[s->format.index], error);
    return status == CLI_NO ? CLI_DONE : status; /* whether it fits was not the question */
}

const CliCommand cli_explain = {"explain", "where the time goes, and why", explain_run};
