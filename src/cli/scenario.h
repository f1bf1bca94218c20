/* One simulated iteration as run, explain and memory have it: options, loading, simulation. */
#pragma once

#include "cli/case.h"
#include "cli/format.h"
#include "report/run.h"

typedef struct {
    CliInputs *in;
    CliFormat format;
    gboolean show_config;
    CliMachine *machine;
    LlmShape *shape;
    CliCase *cased;
    StepResult *result;
    char *defaults;
    GArray *advice; /* of ReportAdvice; NULL: none asked for */
    double wall_s;
} CliScenario;

CliScenario *cli_scenario_new(void);
void cli_scenario_free(CliScenario *s);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CliScenario, cli_scenario_free)

/* Parses and loads. `extra`: the command's own options or NULL. *ret_done: there is nothing more to do
 * (help or the configuration was printed). */
gboolean cli_scenario_load(CliScenario *s, const char *command, const char *description,
                           const GOptionEntry *extra, int argc, char **argv, gboolean *ret_done,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean cli_scenario_simulate(CliScenario *s, const StepOptions *options,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
ReportRun cli_scenario_report(const CliScenario *s);
/* Writes what `write` makes where --output says, and gives the exit status: CLI_NO when it does not fit. */
int cli_scenario_finish(const CliScenario *s, void (*write)(const ReportRun *run, GString *out),
                        GError **error);
