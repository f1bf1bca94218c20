/* A sub-command: one file, one const struct, one line in the list of commands.c. */
#pragma once

#include <glib.h>

#define CLI_ERROR (cli_error_quark())
GQuark cli_error_quark(void);
typedef enum { CLI_ERROR_USAGE, CLI_ERROR_OUTPUT } CliError;

/* Exit statuses. */
enum { CLI_DONE = 0, CLI_NO = 1, CLI_USAGE = 2 };

typedef struct {
    const char *name;
    const char *summary; /* one line */
    /* argv[0] is the command's name. Returns the exit status; with *error set main() prints it as
     * one line and exits with CLI_USAGE. */
    int (*run)(int argc, char **argv, GError **error);
} CliCommand;

/* In the order in which the help lists them; NULL-terminated. */
extern const CliCommand *const cli_commands[];

extern const CliCommand cli_run, cli_explain, cli_memory, cli_sweep, cli_collective, cli_validate,
    cli_models, cli_systems, cli_topology, cli_schedules, cli_shapes, cli_calibrate;
