/* The plan of a published run: its framework's rules, and what the columns say otherwise. */
#include "config.h"

#include "cli/measured_read.h"

#include <string.h>

/* The first that matches; Megatron's rules for the rest. */
static const struct {
    const char *word;
    PlanFramework framework;
} frameworks[] = {
    {"nanotron", PLAN_NANOTRON}, {"torchtitan", PLAN_TORCHTITAN}, {"llm-foundry", PLAN_LLM_FOUNDRY},
    {"fsdp", PLAN_FSDP},         {"deepspeed", PLAN_DEEPSPEED},
};

static PlanFramework
framework_of(const char *text)
{
    for (guint i = 0; i < G_N_ELEMENTS(frameworks); i++)
        if (cli_measured_has(text, frameworks[i].word))
            return frameworks[i].framework;
    return PLAN_MEGATRON;
}

const char *
cli_measured_plan_refusal(const CliMeasurements *m, guint row)
{
    const char *precision = cli_measurements_text(m, row, "precision");
    const char *framework = cli_measurements_text(m, row, "framework");
    if (g_str_has_prefix(cli_measurements_text(m, row, "zero_stage"), "auto"))
        return "a compiler chose what is sharded";
    if (cli_measured_has(precision, "nvfp4"))
        return "4-bit training is not supported";
    if (cli_measured_has(precision, "compute, fp32"))
        return "8-bit matrix products over 32-bit weights are not supported";
    if (cli_measured_has(cli_measurements_text(m, row, "optimizer"), "none"))
        return "no optimizer step";
    if (cli_measured_has(framework, "maxtext"))
        return "a compiler chose what is recomputed and when parameters are gathered";
    return NULL;
}

static gboolean
read_degrees(const CliMeasurements *m, guint row, PlanSpec *p, GError **error)
{
    const struct {
        const char *column;
        gint64 *field;
        gint64 fallback;
    } counts[] = {{"tp", &p->tp, 1},
                  {"pp", &p->pp, 1},
                  {"dp", &p->dp, 1},
                  {"cp", &p->cp, 1},
                  {"ep", &p->ep, 1},
                  {"etp", &p->etp, 0},
                  {"vpp", &p->vpp, 1},
                  {"gpus", &p->gpus, 0},
                  {"seq_len", &p->seq, 0},
                  {"micro_batch", &p->micro_batch, 1},
                  {"global_batch", &p->global_batch, 0}};
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++)
        if (!cli_measurements_int(m, row, counts[i].column, counts[i].fallback, counts[i].field,
                                  error))
            return FALSE;
    return TRUE;
}

/* "0", "1 (distributed optimizer)", "3 (FSDP2)", "3 (HSDP 8)", "FSDP optim_grads_params". */
static void
read_sharding(const CliMeasurements *m, guint row, PlanSpec *p)
{
    const char *zero = cli_measurements_text(m, row, "zero_stage");
    const char *notes = cli_measurements_text(m, row, "arch_notes");
    gint64 ranks = p->dp * p->cp, shard = 0;
    p->zero = zero[0] >= '1' && zero[0] <= '3'                    ? zero[0] - '0'
              : cli_measured_has(zero, "fsdp optim_grads_params") ? 3
              : cli_measured_has(zero, "fsdp optim_grads")        ? 2
              : cli_measured_has(zero, "fsdp optim")              ? 1
                                                                  : 0;
    gint64 instances = cli_measured_note(notes, "num-distributed-optimizer-instances", 1);
    if (instances > 1 && ranks % instances == 0)
        shard = ranks / instances;
    if (p->zero == 3 && cli_measured_has(zero, "hsdp"))
        shard = cli_measured_note(zero, "HSDP", 0);
    p->shard_size = shard > 0 && shard < ranks && p->zero > 0 ? shard : 0;
}

/* Words of recompute_detail, of Megatron's modules and of people. */
static const struct {
    const char *word;
    guint module;
} modules[] = {
    {"mla_up_proj", LLM_MODULE_MLA_UP},
    {"layernorm", LLM_MODULE_NORM},
    {"norm,", LLM_MODULE_NORM},
    {"moe_act", LLM_MODULE_MOE_ACTIVATION},
    {", act", LLM_MODULE_MOE_ACTIVATION},
    {"'mlp'", LLM_MODULE_MLP},
    {"'moe'", LLM_MODULE_MOE},
    {"shared_experts", LLM_MODULE_SHARED_EXPERTS},
    {"core_attn", LLM_MODULE_CORE_ATTENTION},
};

/* "op" is PyTorch's policy by operator. */
static void
read_recompute(const CliMeasurements *m, guint row, PlanSpec *p)
{
    const char *recompute = cli_measurements_text(m, row, "recompute");
    const char *detail = cli_measurements_text(m, row, "recompute_detail");
    guint bits = 0;
    p->recompute = g_str_has_prefix(recompute, "full")        ? LLM_RECOMPUTE_FULL
                   : g_str_has_prefix(recompute, "selective") ? LLM_RECOMPUTE_SELECTIVE
                                                              : LLM_RECOMPUTE_NONE;
    p->recompute_method =
        p->recompute == LLM_RECOMPUTE_FULL && cli_measured_says(detail, "method", "block")
            ? PLAN_RECOMPUTE_BLOCK
            : PLAN_RECOMPUTE_UNIFORM;
    p->recompute_layers = cli_measured_note(detail, "num_layers", 1);
    for (guint i = 0; i < G_N_ELEMENTS(modules); i++)
        if (cli_measured_has(detail, modules[i].word))
            bits |= modules[i].module;
    if (cli_measured_has(detail, "selective op") || cli_measured_has(detail, "per-op"))
        bits = LLM_MODULE_SECOND_GEMM;
    p->recompute_modules = bits != 0 ? bits : LLM_MODULE_CORE_ATTENTION;
}

/* Megatron's own option decides; its default was an all-gather; product notes name libraries. */
static LlmDispatch
dispatch_of(const char *notes, const char *overlap, const char *framework)
{
    if (cli_measured_has(overlap, "deepep") || cli_measured_has(overlap, "hybridep") ||
        cli_measured_has(framework, "deepep") ||
        cli_measured_says(notes, "moe-token-dispatcher-type", "flex"))
        return LLM_DISPATCH_FLEX;
    if (strstr(notes, "transformer-impl") != NULL &&
        !cli_measured_says(notes, "moe-token-dispatcher-type", "alltoall"))
        return LLM_DISPATCH_ALL_GATHER;
    return LLM_DISPATCH_ALL_TO_ALL;
}

/* Megatron-Bridge turns both overlaps of data parallelism on by itself (bridge.training.comm_overlap:
 * CommOverlapConfig), NeMo 2 before it ("TP/DP/PP overlap"), and so do the configurations of Megatron's zoo of
 * mixtures (Megatron-MoE-ModelZoo model_configs: --overlap-grad-reduce, --overlap-param-gather). */
static gboolean
overlaps_data_parallel(const CliMeasurements *m, guint row)
{
    return cli_measured_has(cli_measurements_text(m, row, "framework"), "megatron-bridge") ||
           cli_measured_has(cli_measurements_text(m, row, "overlap"), "tp/dp") ||
           strcmp(cli_measurements_text(m, row, "source"), "megatron_moe_modelzoo") == 0;
}

/* Overlap only where the row says so, but where the framework cannot do without. */
static void
read_overlap(const CliMeasurements *m, guint row, PlanSpec *p)
{
    const char *overlap = cli_measurements_text(m, row, "overlap");
    gboolean none = cli_measured_has(overlap, "none") || cli_measured_has(overlap, "no overlap") ||
                    overlap[0] == '\0';
    gboolean both = overlaps_data_parallel(m, row);
    gboolean names = cli_measured_has(overlap, "grad") || cli_measured_has(overlap, "ddp") ||
                     cli_measured_has(overlap, "dp");
    if (p->zero < 3) {
        p->overlap_grad_reduce = both || (!none && names);
        p->overlap_param_gather =
            p->overlap_grad_reduce && p->zero > 0 && (both || cli_measured_has(overlap, "param"));
    }
    p->scatter_gather = cli_measured_has(overlap, "scatter-gather");
    p->tp_overlap =
        p->tp > 1 && p->sequence_parallel &&
        (cli_measured_has(overlap, "tp-comm-overlap") || cli_measured_has(overlap, "asynctp") ||
         cli_measured_has(overlap, "tp comm overlap") || cli_measured_has(overlap, "tp/dp"));
    p->overlap_moe = p->ep > 1 && (cli_measured_has(overlap, "overlap-moe-expert-parallel-comm") ||
                                   cli_measured_has(overlap, "a2a_overlap=true"));
    p->delay_wgrad = p->overlap_moe && cli_measured_has(overlap, "delay-wgrad");
}

static ClusterDtype
dtype_of(const char *precision)
{
    return g_str_has_prefix(precision, "fp16")   ? CLUSTER_FP16
           : g_str_has_prefix(precision, "fp32") ? CLUSTER_FP32
           : cli_measured_has(precision, "fp8")  ? CLUSTER_FP8
                                                 : CLUSTER_BF16;
}

/* Frameworks accumulate gradients in fp32 under bf16 and in fp16 under fp16, PyTorch's as they reduce. */
static void
read_numbers(const CliMeasurements *m, guint row, PlanSpec *p)
{
    const char *precision = cli_measurements_text(m, row, "precision");
    const char *overlap = cli_measurements_text(m, row, "overlap");
    const char *notes = cli_measurements_text(m, row, "arch_notes");
    const char *optimizer = cli_measurements_text(m, row, "optimizer");
    p->dtype = dtype_of(precision);
    if (p->framework == PLAN_LLM_FOUNDRY)
        p->gradient_fp32 = cli_measured_has(overlap, "fp32 grad reduce");
    else if (p->framework != PLAN_FSDP && p->framework != PLAN_TORCHTITAN)
        p->gradient_fp32 =
            p->dtype != CLUSTER_FP16 && !cli_measured_has(optimizer, "grad reduce bf16");
    p->fp8_gather =
        p->dtype == CLUSTER_FP8 && (cli_measured_says(notes, "fp8-param-gather", "true") ||
                                    cli_measured_has(precision, "float8 all-gather") ||
                                    cli_measured_has(precision, "fp8 all-gather"));
    /* Megatron's own fusion casts the logits to fp32 all the same, TransformerEngine's does not. */
    p->fused_loss = p->fused_loss || cli_measured_says(notes, "cross-entropy-fusion-impl", "te");
    /* torchtitan of the time of torch 2.9 compiles its loss as well (compile.components), that of 2.7 its layers. */
    if (p->framework == PLAN_TORCHTITAN &&
        cli_measured_has(cli_measurements_text(m, row, "framework"), "torch.compile") &&
        cli_measured_has(cli_measurements_text(m, row, "source_note"), "torch 2.9"))
        p->fused_loss = TRUE;
    if (cli_measured_says(notes, "no-gradient-accumulation-fusion", "true") ||
        p->framework == PLAN_DEEPSPEED)
        p->gradient_fusion = FALSE;
}

static void
read_experts(const CliMeasurements *m, guint row, PlanSpec *p)
{
    const char *notes = cli_measurements_text(m, row, "arch_notes");
    /* Megatron-Bridge's recipes of mixtures cut no expert (expert_tensor_parallel_size 1). */
    if (p->etp == 0 &&
        cli_measured_has(cli_measurements_text(m, row, "framework"), "megatron-bridge"))
        p->etp = 1;
    p->dispatch = dispatch_of(notes, cli_measurements_text(m, row, "overlap"),
                              cli_measurements_text(m, row, "framework"));
    p->capacity_factor = cli_measured_decimal(notes, "moe-expert-capacity-factor", 0);
    p->pad_to_capacity = p->capacity_factor > 0 &&
                         cli_measured_says(notes, "moe-pad-expert-input-to-capacity", "true");
}

/* Layers that only divide when both ends count as one each ran so: Llama 3 405B has 126 and Qwen3 235B 94 for
 * that (Megatron-Bridge recipes; Megatron-MoE-ModelZoo Qwen3-235B-A22B.yaml). */
static void
read_stages(const CliMeasurements *m, guint row, const LlmShape *shape, PlanSpec *p)
{
    const char *notes = cli_measurements_text(m, row, "arch_notes");
    p->first_stage_layers = cli_measured_note(notes, "decoder-first-pipeline-num-layers", 0);
    p->last_stage_layers = cli_measured_note(notes, "decoder-last-pipeline-num-layers", 0);
    p->account_for_embedding =
        cli_measured_says(notes, "account-for-embedding-in-pipeline-split", "true");
    p->account_for_loss = cli_measured_says(notes, "account-for-loss-in-pipeline-split", "true");
    gint64 stages = p->pp * p->vpp;
    if (stages > 1 && p->first_stage_layers + p->last_stage_layers == 0 &&
        shape->layers % stages != 0 && (shape->layers + 2) % stages == 0)
        p->account_for_embedding = p->account_for_loss = TRUE;
    p->schedule = p->vpp > 1 ? "interleaved" : "1f1b";
}

gboolean
cli_measured_plan(const CliMeasurements *m, guint row, const LlmShape *shape, PlanSpec *ret_spec,
                  GError **error)
{
    PlanFramework framework = framework_of(cli_measurements_text(m, row, "framework"));
    PlanSpec p = plan_spec_for(framework);
    if (!read_degrees(m, row, &p, error))
        return FALSE;
    p.sequence_parallel = strcmp(cli_measurements_text(m, row, "sp"), "1") == 0;
    p.attention = strcmp(cli_measurements_text(m, row, "flash_attn"), "1") == 0
                      ? LLM_ATTENTION_FLASH
                      : LLM_ATTENTION_UNFUSED;
    read_sharding(m, row, &p);
    read_recompute(m, row, &p);
    read_overlap(m, row, &p);
    read_numbers(m, row, &p);
    read_stages(m, row, shape, &p);
    if (shape->experts > 0)
        read_experts(m, row, &p);
    else
        p.etp = 0; /* says nothing where there are no experts */
    *ret_spec = p;
    return TRUE;
}
