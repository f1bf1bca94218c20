/* Bytes as --stage-layers: refused with an error, or every layer is placed. */
#include "config.h"

#include <stdint.h>

#include "plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LlmShape shape = {.name = (char *)"small",
                      .layers = 12,
                      .hidden = 64,
                      .heads = 4,
                      .kv_heads = 4,
                      .head_dim = 16,
                      .ffn = 256,
                      .vocab = 1000,
                      .max_positions = 128};
    ClusterSystem system = {.gpu_name = (char *)"gpu", .gpus_per_node = 8};
    PlanSpec spec = plan_spec_default();
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    gint64 sum = 0;

    system.peak_flops[CLUSTER_BF16] = 1;
    spec.pp = 4;
    spec.stage_layers = text;
    g_autoptr(Plan) plan = plan_new(&spec, &shape, &system, &error);
    g_assert_true((plan == NULL) == (error != NULL));
    for (gint64 s = 0; plan != NULL && s < plan->n_stages; s++)
        sum += plan->layers[s];
    g_assert_true(plan == NULL || sum == shape.layers);
    return 0;
}
