/* What would make a plan take less memory: each legal change of it, simulated. */
#pragma once

#include "cli/scenario.h"

/* GArray of ReportAdvice, best first; caller frees. The global batch and the GPUs stay what they are. `s` has been
 * simulated. */
GArray *cli_advice_new(const CliScenario *s, const StepOptions *options);
