/* Small models and a machine for tests that run whole iterations. */
#pragma once

#include "step/step.h"

typedef struct {
    ClusterSystem *system;
    CostBook *cost;
    NetBook *net;
} Machine;

static inline Machine
machine_new(const char *name, const char *const *overrides)
{
    GError *error = NULL;
    Machine m = {0};
    m.system = cluster_system_load(name, overrides, &error);
    g_assert_no_error(error);
    m.cost = cost_book_load(m.system, &error);
    g_assert_no_error(error);
    m.net = net_book_load(m.system, &error);
    g_assert_no_error(error);
    return m;
}

static inline void
machine_clear(Machine *m)
{
    net_book_free(m->net);
    cost_book_free(m->cost);
    cluster_system_free(m->system);
}

/* 8 layers of hidden 256 in the manner of Llama: 8 heads, 4 of keys, SwiGLU. */
static inline LlmShape
shape_dense(void)
{
    return (LlmShape){.name = (char *)"dense",
                      .family = (char *)"llama",
                      .layers = 8,
                      .hidden = 256,
                      .heads = 8,
                      .kv_heads = 4,
                      .head_dim = 32,
                      .ffn = 512,
                      .vocab = 1024,
                      .max_positions = 512,
                      .gated = TRUE,
                      .final_norm = TRUE,
                      .position = LLM_POSITION_ROPE,
                      .norm = LLM_NORM_RMS};
}

/* ... of GPT-2: biases, dropout, learned positions, tied embedding. */
static inline LlmShape
shape_gpt(void)
{
    LlmShape s = shape_dense();
    s.name = (char *)"gpt";
    s.family = (char *)"gpt2";
    s.kv_heads = 8;
    s.ffn = 1024;
    s.gated = FALSE;
    s.position_rows = s.max_positions;
    s.position = LLM_POSITION_LEARNED;
    s.norm = LLM_NORM_LAYER;
    s.tied = s.dropout = s.qkv_bias = s.out_bias = s.mlp_bias = TRUE;
    return s;
}

/* ... of Mixtral: 8 experts, 2 a token, in every layer. */
static inline LlmShape
shape_moe(void)
{
    LlmShape s = shape_dense();
    s.name = (char *)"moe";
    s.family = (char *)"mixtral";
    s.experts = 8;
    s.experts_per_token = 2;
    s.expert_ffn = 512;
    s.moe_every = 1;
    return s;
}

/* ... of DeepSeek-V3: latent attention, a dense layer first, 16 small experts, a shared one, and one
 * prediction module. */
static inline LlmShape
shape_latent(void)
{
    LlmShape s = shape_moe();
    s.name = (char *)"latent";
    s.family = (char *)"deepseek_v3";
    s.experts = 16;
    s.experts_per_token = 4;
    s.expert_ffn = 128;
    s.shared_ffn = 128;
    s.dense_layers = 1;
    s.router_bias = TRUE;
    s.q_lora = 96;
    s.kv_lora = 64;
    s.qk_nope_dim = 32;
    s.qk_rope_dim = 16;
    s.v_dim = 32;
    s.head_dim = s.qk_nope_dim + s.qk_rope_dim;
    s.kv_heads = s.heads;
    s.mtp_layers = 1;
    return s;
}

/* ... of gpt-oss: experts with biases, every second layer sees 64 tokens back. */
static inline LlmShape
shape_window(void)
{
    LlmShape s = shape_moe();
    s.name = (char *)"window";
    s.family = (char *)"gpt_oss";
    s.sliding_window = 64;
    s.global_every = 2;
    s.router_bias = s.expert_bias = s.qkv_bias = s.out_bias = s.attention_sinks = TRUE;
    return s;
}

/* NULL with an error: the plan, its schedule or the run is refused. `ret_plan`, `ret_schedule` may be NULL. */
static inline StepResult *
machine_run(const Machine *m, const LlmShape *shape, const PlanSpec *spec,
            const StepOptions *options, Plan **ret_plan, Schedule **ret_schedule, GError **error)
{
    PlanSpec named = *spec;
    if (named.schedule == NULL)
        named.schedule = named.vpp > 1 ? "interleaved_megatron" : "1f1b";
    const ScheduleType *type = schedule_find(named.schedule, error);
    if (type == NULL)
        return NULL;
    named.schedule = type->name;
    g_autoptr(Plan) plan = plan_new(&named, shape, m->system, error);
    if (plan == NULL)
        return NULL;
    ScheduleParams params = {.pp = (guint)plan->spec.pp,
                             .microbatches = (guint)plan->spec.microbatches,
                             .vpp = (guint)plan->spec.vpp,
                             .group = (guint)spec->group};
    g_autoptr(Schedule) schedule = schedule_new(type, &params, error);
    if (schedule == NULL)
        return NULL;
    plan_set_placement(plan, schedule->rank_of);
    const StepOptions none = {0};
    StepResult *r = step_run(plan, schedule, m->cost, m->net, options ? options : &none, error);
    if (r == NULL)
        return NULL;
    if (ret_plan != NULL)
        *ret_plan = g_steal_pointer(&plan);
    if (ret_schedule != NULL)
        *ret_schedule = g_steal_pointer(&schedule);
    return r;
}
