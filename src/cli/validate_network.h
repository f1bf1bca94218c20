/* dtsim validate --only network: collectives against published measurements. */
#pragma once

#include "cli/format.h"

/* `tolerance`: of the median error between sizes; NAN: any. Returns the exit status. */
int cli_validate_network(const CliFormat *format, double tolerance, char **files, GError **error);
