/* The options of noise and faults: their table, reading them, printing them. */
#pragma once

#include "cli/inputs.h"
#include "step/step.h"

/* Takes the text of one of them into in->noise; another option's is not looked at. */
gboolean cli_noise_set(CliInputs *in, const CliOption *option, const char *text,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* What was said before stays, and this is added. */
gboolean cli_noise_is_repeatable(const CliOption *option);
/* "--jitter 1% --slow gpu:17=1.3": those that were given. Caller frees. */
char *cli_noise_print(const CliInputs *in);
/* What the options of step want of it. */
void cli_noise_apply(const CliInputs *in, StepOptions *options);
