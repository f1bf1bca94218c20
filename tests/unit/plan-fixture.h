/* Shapes and systems that the plan's tests share. */
#pragma once

#include "plan/plan.h"

/* GPT-3 175B with Megatron's padded vocabulary; LayerNorm, biases, tied. */
static inline LlmShape
fixture_gpt3(void)
{
    return (LlmShape){.name = (char *)"gpt3-175b",
                      .family = (char *)"gpt",
                      .layers = 96,
                      .hidden = 12288,
                      .heads = 96,
                      .kv_heads = 96,
                      .head_dim = 128,
                      .ffn = 4 * 12288,
                      .vocab = 51200,
                      .max_positions = 2048,
                      .position_rows = 2048,
                      .tied = TRUE,
                      .qkv_bias = TRUE,
                      .out_bias = TRUE,
                      .mlp_bias = TRUE,
                      .final_norm = TRUE,
                      .dropout = TRUE,
                      .position = LLM_POSITION_LEARNED,
                      .norm = LLM_NORM_LAYER};
}

static inline LlmShape
fixture_llama3(gint64 layers, gint64 hidden, gint64 heads, gint64 ffn)
{
    return (LlmShape){.name = (char *)"llama3",
                      .family = (char *)"llama",
                      .layers = layers,
                      .hidden = hidden,
                      .heads = heads,
                      .kv_heads = 8,
                      .head_dim = 128,
                      .ffn = ffn,
                      .vocab = 128256,
                      .max_positions = 8192,
                      .gated = TRUE,
                      .final_norm = TRUE,
                      .position = LLM_POSITION_ROPE,
                      .norm = LLM_NORM_RMS};
}

static inline LlmShape
fixture_llama3_70b(void)
{
    return fixture_llama3(80, 8192, 64, 28672);
}

static inline LlmShape
fixture_llama3_8b(void)
{
    return fixture_llama3(32, 4096, 32, 14336);
}

static inline ClusterSystem
fixture_a100(void)
{
    return (ClusterSystem){
        .name = (char *)"dgx-a100-80g",
        .gpu_name = (char *)"A100",
        .peak_flops = {19500000000000, 156000000000000, 312000000000000, 312000000000000, 0},
        .gpus_per_node = 8,
        .nics_per_node = 8,
        .fixed_memory_bytes = 3000000000};
}

static inline ClusterSystem
fixture_v100(void)
{
    return (ClusterSystem){.name = (char *)"dgx1-v100",
                           .gpu_name = (char *)"V100",
                           .peak_flops = {15700000000000, 0, 125000000000000, 0, 0},
                           .gpus_per_node = 8,
                           .nics_per_node = 4};
}

/* Defaults, cut by tp and pp. */
static inline PlanSpec
fixture_spec(gint64 tp, gint64 pp, gint64 dp)
{
    PlanSpec spec = plan_spec_default();

    spec.tp = tp;
    spec.pp = pp;
    spec.dp = dp;
    return spec;
}

static inline Plan *
fixture_plan(const PlanSpec *spec, const LlmShape *shape, const ClusterSystem *system)
{
    GError *error = NULL;
    Plan *plan = plan_new(spec, shape, system, &error);

    g_assert_no_error(error);
    g_assert_nonnull(plan);
    return plan;
}

/* The plan is refused and the message holds `says`. */
static inline void
fixture_refused(const PlanSpec *spec, const LlmShape *shape, const ClusterSystem *system,
                const char *says)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(plan_new(spec, shape, system, &error));
    g_assert_error(error, PLAN_ERROR, PLAN_ERROR_ILLEGAL);
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, says));
    g_assert_null(strchr(error->message, '\n'));
}
