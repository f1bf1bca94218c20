/* dtsim validate --only kernels: a sample of measured kernels fitted, the others predicted. */
#pragma once

#include "cli/format.h"

typedef struct {
    const char *gpu; /* of files that do not say it; NULL: not given */
    double sample_frac;
    gint64 seed;
    double tolerance; /* of the median error of times of 10 us and more; NAN: any */
} CliKernelOptions;

/* Returns the exit status. */
int cli_validate_kernels(const CliFormat *format, const CliKernelOptions *options, char **files,
                         GError **error);
