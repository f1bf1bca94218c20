/* Bytes as the plan's lists in text: --expert-histogram, --recompute-stages and --recompute-modules are refused with
 * an error, or mean something. */
#include "config.h"

#include <math.h>
#include <stdint.h>

#include "plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const LlmShape shape = {.name = (char *)"small",
                               .layers = 8,
                               .hidden = 64,
                               .heads = 4,
                               .kv_heads = 4,
                               .head_dim = 16,
                               .ffn = 256,
                               .vocab = 1000,
                               .max_positions = 128,
                               .experts = 4,
                               .experts_per_token = 2,
                               .expert_ffn = 128,
                               .moe_every = 1};

static void
check(const PlanSpec *spec)
{
    ClusterSystem system = {.gpu_name = (char *)"gpu", .gpus_per_node = 8};
    g_autoptr(GError) error = NULL;

    system.peak_flops[CLUSTER_BF16] = 1;
    g_autoptr(Plan) plan = plan_new(spec, &shape, &system, &error);
    g_assert_true((plan == NULL) == (error != NULL));
    if (plan == NULL)
        return;
    double load = plan->cut.expert_load;
    g_assert_true(isfinite(load) && load > 0 && load <= (double)shape.experts + 1e-9);
    for (gint64 s = 0; s < plan->n_stages; s++)
        g_assert_true(plan_stage_activation_bytes(plan, s) <= plan_stage_kept_bytes(plan, s));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    PlanSpec spec = plan_spec_default();
    guint modules = 0;

    spec.pp = 2;
    spec.dp = 4;
    spec.ep = 2;
    spec.microbatches = 2;
    spec.expert_histogram = text;
    check(&spec);
    spec.expert_histogram = NULL;
    spec.recompute = LLM_RECOMPUTE_FULL;
    spec.recompute_method = PLAN_RECOMPUTE_BLOCK;
    spec.recompute_stages = text;
    check(&spec);
    g_autoptr(GError) error = NULL;
    gboolean ok = plan_modules_parse(text, &modules, &error);
    g_assert_true(ok == (error == NULL) && modules <= LLM_MODULE_ALL);
    return 0;
}
