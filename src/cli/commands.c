/* The list of sub-commands. */
#include "config.h"

#include "cli/command.h"

G_DEFINE_QUARK(cli_error_quark, cli_error)

const CliCommand *const cli_commands[] = {
    &cli_run,      &cli_explain,   &cli_memory,  &cli_sweep,    &cli_collective,
    &cli_validate, &cli_models,    &cli_systems, &cli_topology, &cli_schedules,
    &cli_shapes,   &cli_calibrate, NULL,
};
