/* What a framework decides when nobody else does: one row each.  Sources: SPEC.md 6.4, 7.7, 9; Megatron-LM
 * arguments.py and distributed_data_parallel_config.py, DeepSpeed runtime/zero/config.py and stage_1_and_2.py,
 * PyTorch fully_shard, torchtitan distributed/fsdp.py, Composer's FSDP configuration, nanotron
 * optim/gradient_accumulator.py. */
#include "config.h"

#include "plan/resolve.h"

const char *const plan_framework_names[] = {"megatron",    "deepspeed", "fsdp", "torchtitan",
                                            "llm-foundry", "nanotron",  NULL};
G_STATIC_ASSERT(G_N_ELEMENTS(plan_framework_names) == PLAN_N_FRAMEWORKS + 1);
const char *const plan_optimizer_names[] = {"adam", "sgd", "adafactor", "muon", "adam-8bit", NULL};
G_STATIC_ASSERT(G_N_ELEMENTS(plan_optimizer_names) == PLAN_N_OPTIMIZERS + 1);

typedef struct {
    gint64 zero;
    gboolean sequence_parallel, gradient_fp32, gradient_fusion, gradient_scale, fused_loss;
    int overlap_grad_reduce, overlap_param_gather, align_grad_reduce, p2p_sync, deepspeed_pipeline;
    gint64 prefetch_units, prefetch_elements, live_elements, resident_elements, bucket_elements;
    LlmRecompute recompute;
    PlanRecomputeMethod recompute_method;
    gint64 recompute_layers;
    LlmCpKind cp_kind;
} Rules;

static const Rules rules[PLAN_N_FRAMEWORKS] = {
    /* Megatron's own overlap defaults are off; whoever runs the distributed optimizer turns them on. */
    [PLAN_MEGATRON] = {.zero = 1,
                       .sequence_parallel = TRUE,
                       .gradient_fp32 = TRUE,
                       .gradient_fusion = TRUE,
                       .gradient_scale = TRUE,
                       .overlap_grad_reduce = TRUE,
                       .overlap_param_gather = TRUE,
                       .align_grad_reduce = TRUE,
                       .p2p_sync = TRUE, /* batch_p2p_sync */
                       .prefetch_units = 1,
                       .recompute = LLM_RECOMPUTE_SELECTIVE},
    /* overlap_comm is off but for stage 3; gradients are 16-bit and divided before they are summed. */
    [PLAN_DEEPSPEED] = {.zero = 1,
                        .gradient_scale = TRUE,
                        .overlap_grad_reduce = PLAN_AUTO,
                        .overlap_param_gather = PLAN_AUTO,
                        .deepspeed_pipeline = PLAN_AUTO,
                        .prefetch_elements = 50000000,
                        .live_elements = 1000000000,
                        .resident_elements = 100000,
                        .bucket_elements = 500000000,
                        .cp_kind = LLM_CP_A2A},
    /* Gradients are averaged by the collective, in the dtype of the gathered parameters; the next unit is
     * gathered while one computes. */
    [PLAN_FSDP] = {.zero = 3,
                   .sequence_parallel = TRUE,
                   .overlap_grad_reduce = TRUE,
                   .overlap_param_gather = TRUE,
                   .prefetch_units = 1,
                   .cp_kind = LLM_CP_ALL_GATHER},
    /* fp32 reduction; every second layer is recomputed ("selective", option 2). */
    [PLAN_TORCHTITAN] = {.zero = 3,
                         .sequence_parallel = TRUE,
                         .gradient_fp32 = TRUE,
                         .overlap_grad_reduce = TRUE,
                         .overlap_param_gather = TRUE,
                         .prefetch_units = 1,
                         .recompute = LLM_RECOMPUTE_FULL,
                         .recompute_method = PLAN_RECOMPUTE_EVERY,
                         .recompute_layers = 2,
                         .cp_kind = LLM_CP_ALL_GATHER},
    /* FSDP1, FULL_SHARD, mixed precision PURE (everything that travels is 16-bit), fused cross-entropy; Composer
     * opens no no_sync region around FSDP. */
    [PLAN_LLM_FOUNDRY] = {.zero = 3,
                          .sequence_parallel = TRUE,
                          .fused_loss = TRUE,
                          .overlap_grad_reduce = TRUE,
                          .overlap_param_gather = TRUE,
                          .prefetch_units = 1},
    /* torch DDP with its 25 MiB buckets of 16-bit gradients, a hook that adds them to fp32 and reduces that;
     * parameters are gathered after the step. TP mode REDUCE_SCATTER is sequence parallelism. */
    [PLAN_NANOTRON] = {.zero = 1,
                       .sequence_parallel = TRUE,
                       .gradient_fp32 = TRUE,
                       .overlap_grad_reduce = TRUE,
                       .bucket_elements = 25 * 1024 * 1024 / 2},
};

PlanSpec
plan_spec_for(PlanFramework framework)
{
    g_assert(framework < PLAN_N_FRAMEWORKS);
    const Rules *r = &rules[framework];
    return (PlanSpec){
        .tp = 1,
        .pp = 1,
        .cp = 1,
        .ep = 1,
        .vpp = 1,
        .micro_batch = 1,
        .framework = framework,
        .zero = r->zero,
        .sequence_parallel = r->sequence_parallel,
        .reshard_after_forward = PLAN_AUTO,
        .reduce = PLAN_REDUCE_AUTO,
        .bucket = PLAN_BUCKET_AUTO,
        .unit_layers = 1,
        .prefetch_units = r->prefetch_units,
        .prefetch_elements = r->prefetch_elements,
        .live_elements = r->live_elements,
        .resident_elements = r->resident_elements,
        .gradient_scale = r->gradient_scale,
        .recompute = r->recompute,
        .recompute_modules = LLM_MODULE_CORE_ATTENTION,
        .recompute_method = r->recompute_method,
        .recompute_layers = MAX(r->recompute_layers, 1),
        .attention = LLM_ATTENTION_FLASH,
        .dtype = CLUSTER_BF16,
        .fused_loss = r->fused_loss,
        .cp_kind = r->cp_kind,
        .seed = 1,
        .optimizer = PLAN_ADAM,
        .fragmentation = PLAN_AUTO,
        .gradient_fp32 = r->gradient_fp32,
        .gradient_fusion = r->gradient_fusion,
        .dropout = -1,
        .schedule = "1f1b",
        .overlap_grad_reduce = r->overlap_grad_reduce,
        .overlap_param_gather = r->overlap_param_gather,
        .align_grad_reduce = r->align_grad_reduce,
        .p2p = PLAN_P2P_AUTO,
        .p2p_sync = r->p2p_sync,
        .clip = 1.0,
        .bucket_elements = r->bucket_elements,
        .deepspeed_pipeline = r->deepspeed_pipeline,
    };
}

PlanSpec
plan_spec_default(void)
{
    return plan_spec_for(PLAN_MEGATRON);
}

gboolean
plan_runs_pytorch(const PlanSpec *spec)
{
    return spec->framework == PLAN_FSDP || spec->framework == PLAN_TORCHTITAN ||
           spec->framework == PLAN_LLM_FOUNDRY;
}

/* Of what comes and goes. SPEC.md 10.5: 2 to 10 % without expandable segments; nanotron's unfused kernels lose
 * more (published runs of its benchmark without tensor parallelism: 8 to 14 %). */
static double
fragmentation_of(PlanFramework framework)
{
    return framework == PLAN_MEGATRON ? 0.03 : framework == PLAN_NANOTRON ? 0.12 : 0.05;
}

static PlanReduce
reduce_of(const PlanSpec *spec)
{
    if (spec->zero < 2)
        return PLAN_REDUCE_LAST;
    /* PyTorch's pipeline runtime sets requires_gradient_sync on the last microbatch only */
    return plan_runs_pytorch(spec) && spec->pp > 1 ? PLAN_REDUCE_LAST : PLAN_REDUCE_EACH;
}

static PlanBucket
bucket_of(const PlanSpec *spec)
{
    if (spec->zero == 3 || plan_runs_pytorch(spec))
        return PLAN_BUCKET_UNITS;
    return spec->framework == PLAN_MEGATRON && spec->zero < 2 ? PLAN_BUCKET_FIRST_STAGE
                                                              : PLAN_BUCKET_ALL;
}

void
plan_resolve_framework(PlanSpec *spec)
{
    gboolean deepspeed = spec->framework == PLAN_DEEPSPEED;
    if (spec->deepspeed_pipeline == PLAN_AUTO)
        spec->deepspeed_pipeline = spec->pp > 1;
    if (spec->overlap_grad_reduce == PLAN_AUTO)
        spec->overlap_grad_reduce = !deepspeed || spec->zero == 3;
    if (spec->deepspeed_pipeline) /* its engine reduces after the last microbatch, and fuses nothing */
        spec->overlap_grad_reduce = spec->gradient_fusion = FALSE;
    if (spec->overlap_param_gather == PLAN_AUTO)
        spec->overlap_param_gather = spec->zero == 3 || !deepspeed;
    if (spec->zero == 0 || (spec->zero < 3 && !spec->overlap_grad_reduce))
        spec->overlap_param_gather = FALSE;
    if (spec->reduce == PLAN_REDUCE_AUTO)
        spec->reduce = reduce_of(spec);
    if (spec->bucket == PLAN_BUCKET_AUTO)
        spec->bucket = bucket_of(spec);
    if (spec->reshard_after_forward == PLAN_AUTO) /* torchtitan: not with a pipeline */
        spec->reshard_after_forward =
            spec->zero == 3 && !(spec->framework == PLAN_TORCHTITAN && spec->pp > 1);
    if (spec->zero < 3)
        spec->reshard_after_forward = FALSE;
    if (spec->shard_size == 0 && spec->zero > 0)
        spec->shard_size = spec->dp * spec->cp;
    if (spec->fragmentation < 0)
        spec->fragmentation = fragmentation_of(spec->framework);
    spec->unit_layers = MAX(spec->unit_layers, 1);
}
