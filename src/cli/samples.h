/* dtsim run --samples: many drawings of what is left to chance. */
#pragma once

#include "cli/scenario.h"

/* The texts of --samples and --threads; NULL: not given. */
typedef struct {
    char *samples, *threads;
} CliSampling;

/* Options that go with it, and those that do not: before anything is run. */
gboolean cli_sampling_check(const CliSampling *wish, const CliInputs *in, gboolean trace,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Simulates, and writes the report where --output says; `plot`: a picture, or NULL. */
gboolean cli_sampling_run(const CliSampling *wish, CliScenario *s, const char *plot,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
