/* From what the user says to a simulated iteration: a machine with its books, a plan with its schedule. */
#pragma once

#include "cli/inputs.h"
#include "step/step.h"

typedef struct {
    ClusterSystem *system;
    CostBook *cost;
    NetBook *net;
} CliMachine;

/* `overrides`: NULL or NULL-terminated "section.key=value". */
CliMachine *cli_machine_load(const char *system, const char *const *overrides, GError **error);
void cli_machine_free(CliMachine *machine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CliMachine, cli_machine_free)

typedef struct {
    const CliMachine *machine; /* borrowed */
    const LlmShape *shape;     /* borrowed */
    Plan *plan;
    Schedule *schedule;
    gint64 *costs; /* times of the stages, which a schedule may be searched with */
} CliCase;

/* `placement`: of the stages of a schedule from a file; NULL: as the file has them. */
CliCase *cli_case_new(const CliMachine *machine, const LlmShape *shape, const PlanSpec *spec,
                      const char *placement, GError **error);
void cli_case_free(CliCase *c);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CliCase, cli_case_free)

/* The machine and the shape that the inputs name; `model.` overrides go to the shape. */
CliMachine *cli_inputs_load_machine(const CliInputs *in, GError **error);
LlmShape *cli_inputs_load_shape(const CliInputs *in, GError **error);
/* The plan options, with --nodes turned into GPUs and --vpp into the interleaved schedule. */
gboolean cli_inputs_spec(const CliInputs *in, const ClusterSystem *system, PlanSpec *ret_spec,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* --placement needs a schedule from a file. */
gboolean cli_inputs_check_placement(const CliInputs *in, GError **error) G_GNUC_WARN_UNUSED_RESULT;
StepOptions cli_inputs_step_options(const CliInputs *in);
StepResult *cli_case_run(const CliCase *c, const StepOptions *options, GError **error);
