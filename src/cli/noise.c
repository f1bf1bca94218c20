/* Noise and faults on the command line. Options that may be repeated add up. */
#include "config.h"

#include "cli/noise.h"

#include <stddef.h>
#include <string.h>

static const char *const details[] = {"auto", "op", "segment", NULL};

static const CliOption noise_options[] = {
    CLI_TEXT("gpu-spread", gpu_spread, "SHARE", "Standard deviation of the GPUs' speeds, as 2%"),
    CLI_TEXT("jitter", jitter, "SHARE", "... of each kernel's and collective's time, as 1%"),
    CLI_TEXT("slow", slow, "WHERE=TIMES",
             "gpu:17=1.3, node:3=1.2, nic:5.2=50%, nvlink:17=2 or a link (repeatable)"),
    CLI_TEXT("flap", flap, "WHERE@WHEN+FOR",
             "Link down: nic:5.2@100ms+50ms, nic@2/h+50ms (repeatable)"),
    CLI_TEXT("daemon", daemon, "[WHO:]TAKES/EVERY",
             "What stands still: 10ms/1s, rank:10ms/1s, gpu:1ms/1s (repeatable)"),
    CLI_COUNT("sample", sample, 1, CLI_MANY,
              "Which drawing of what is left to chance (default: 1)"),
    CLI_CHOICE("detail", detail, details, "WHAT",
               "op; or segment: runs of kernels as one (auto: op without noise)"),
};

CliOptionTable
cli_noise_options(void)
{
    return (CliOptionTable){noise_options, G_N_ELEMENTS(noise_options)};
}

gboolean
cli_noise_is_repeatable(const CliOption *option)
{
    return option->offset == offsetof(CliInputs, slow) ||
           option->offset == offsetof(CliInputs, flap) ||
           option->offset == offsetof(CliInputs, daemon);
}

gboolean
cli_noise_set(CliInputs *in, const CliOption *option, const char *text, GError **error)
{
    if (option->offset == offsetof(CliInputs, gpu_spread))
        return step_noise_parse_share(option->name, text, &in->noise->gpu_spread_frac, error);
    if (option->offset == offsetof(CliInputs, jitter))
        return step_noise_parse_share(option->name, text, &in->noise->jitter_frac, error);
    if (option->offset == offsetof(CliInputs, slow))
        return step_noise_parse_slow(in->noise, text, error);
    if (option->offset == offsetof(CliInputs, flap))
        return step_noise_parse_flaps(in->noise, text, error);
    if (option->offset == offsetof(CliInputs, daemon))
        return step_noise_parse_daemons(in->noise, text, error);
    return TRUE;
}

char *
cli_noise_print(const CliInputs *in)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(noise_options); i++) {
        const CliOption *o = &noise_options[i];
        const char *value =
            o->type == CLI_OPTION_TEXT ? G_STRUCT_MEMBER(char *, in, o->offset) : NULL;
        if (value != NULL)
            g_string_append_printf(text, "%s--%s %s", text->len > 0 ? " " : "", o->name, value);
    }
    return g_strdup(text->str);
}

void
cli_noise_apply(const CliInputs *in, StepOptions *options)
{
    const StepNoise *n = in->noise;
    gboolean any = n->slow->len > 0 || n->flaps->len > 0 || step_noise_is_random(n);
    in->noise->seed = (guint64)in->spec.seed;
    in->noise->sample = (guint)MAX(in->sample, 1);
    options->noise = any ? n : NULL;
    options->fused = in->detail == 2 || (in->detail == 0 && any && step_noise_is_random(n));
}
