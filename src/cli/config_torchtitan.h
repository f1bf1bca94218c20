/* What the reader of torchtitan's files looks for. */
#pragma once

#include "cli/config_file.h"

#define CLI_TORCHTITAN_PARALLELISM "parallelism."

/* Both end with a path of NULL. */
extern const CliConfigKey cli_torchtitan_keys[];
extern const CliOlderKey cli_torchtitan_older[];
