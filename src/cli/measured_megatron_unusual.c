/* Arguments of Megatron that change time or memory and have no column in a table of runs. */
#include "config.h"

#include "cli/measured_megatron_args.h"

#include <string.h>

/* Of a list, as "['p2p', 'p2p']", every word is to be the usual one; None and False are as good. `only_with`: says
 * something only where this is more than one. */
static const struct {
    const char *argument, *usual, *only_with;
} usuals[] = {
    {"ds_sequence_parallel_size", "1", NULL},
    {"hybrid_override_pattern", "", NULL},
    {"hybrid_layer_pattern", "", NULL},
    {"is_hybrid_model", "", NULL},
    {"window_size", "-1", NULL},
    {"pipeline_model_parallel_layout", "", NULL},
    {"cp_comm_type", "p2p", "context_parallel_size"},
    {"optimizer", "adam", NULL},
    {"optimizer_cpu_offload", "", NULL},
    {"cpu_optimizer", "", NULL},
    {"use_precision_aware_optimizer", "", NULL}, /* moments and masters in fewer bytes */
};

static gboolean
is_usual(const char *value, const char *usual)
{
    static const char between[] = "[](), '\"";
    if (strcmp(value, "False") == 0)
        return TRUE;
    for (value += strspn(value, between); *value != '\0'; value += strspn(value, between)) {
        gsize n = strcspn(value, between);
        if (n != strlen(usual) || strncmp(value, usual, n) != 0)
            return FALSE;
        value += n;
    }
    return TRUE;
}

const char *
cli_megatron_unusual(const CalibrateTraining *run)
{
    for (guint i = 0; i < G_N_ELEMENTS(usuals); i++) {
        if (usuals[i].only_with != NULL &&
            cli_megatron_count(run, usuals[i].only_with, NULL, 1) <= 1)
            continue;
        if (!is_usual(cli_megatron_text(run, usuals[i].argument), usuals[i].usual))
            return usuals[i].argument;
    }
    return NULL;
}
