/* What one GPU holds for the whole iteration: parameters, gradients, optimizer state, buffers (SPEC.md 9).
 *
 * Dense parameters and experts are cut over different ranks, each by its own number, rounded up. Megatron starts
 * each parameter at a multiple of 64 elements and ends each bucket at a multiple of lcm(dp, 128): below 1 MB a
 * rank, not counted. */
#include "config.h"

#include <math.h>

#include "plan/plan.h"

#include "plan/resolve.h"

static gint64
ceil_div(gint64 value, gint64 divisor)
{
    return (value + divisor - 1) / divisor;
}

static gint64
whole(double bytes)
{
    return (gint64)ceil(bytes);
}

/* --- parameters --------------------------------------------------------------------------------- */

static LlmPieceParameters
plus(LlmPieceParameters a, LlmPieceParameters b, gint64 times)
{
    return (LlmPieceParameters){a.dense + times * b.dense, a.expert + times * b.expert};
}

static LlmPieceParameters
of_piece(const Plan *plan, LlmPiece piece)
{
    return llm_piece_parameters(plan->shape, &plan->cut, piece);
}

/* Of the transformer layers of a stage. */
static LlmPieceParameters
of_layers(const Plan *plan, gint64 stage)
{
    LlmPieceParameters n = {0};
    gint64 counts[LLM_N_PIECES] = {0};

    for (gint64 i = 0; i < plan->layers[stage]; i++)
        counts[plan_layer_piece(plan, stage, i)]++;
    for (guint piece = 0; piece < LLM_N_PIECES; piece++)
        if (counts[piece] > 0)
            n = plus(n, of_piece(plan, piece), counts[piece]);
    return n;
}

/* The head of a tied model is the embedding itself when both are on one rank, else its copy. */
static LlmPieceParameters
of_stage(const Plan *plan, gint64 stage)
{
    LlmPieceParameters n = of_layers(plan, stage);

    g_assert(stage >= 0 && stage < plan->n_stages);
    if (plan_stage_has_embedding(plan, stage))
        n = plus(n, of_piece(plan, LLM_PIECE_EMBEDDING), 1);
    if (plan_stage_has_head(plan, stage)) {
        n = plus(n, of_piece(plan, LLM_PIECE_HEAD), 1);
        if (plan->shape->tied && plan->rank_of[0] == plan->rank_of[stage])
            n.dense -= plan->vocab_padded / plan->spec.tp * plan->shape->hidden;
    }
    if (plan_stage_mtp(plan, stage) > 0)
        n = plus(n, of_piece(plan, LLM_PIECE_MTP), plan_stage_mtp(plan, stage));
    return n;
}

gint64
plan_stage_parameters(const Plan *plan, gint64 stage)
{
    LlmPieceParameters n = of_stage(plan, stage);
    return n.dense + n.expert;
}

gint64
plan_stage_expert_parameters(const Plan *plan, gint64 stage)
{
    return of_stage(plan, stage).expert;
}

gint64
plan_rank_parameters(const Plan *plan, gint64 pp_rank)
{
    gint64 n = 0;

    g_assert(pp_rank >= 0 && pp_rank < plan->spec.pp);
    for (gint64 s = 0; s < plan->n_stages; s++)
        if (plan->rank_of[s] == pp_rank)
            n += plan_stage_parameters(plan, s);
    return n;
}

/* --- bytes of one -------------------------------------------------------------------------------- */

gint64
plan_parameter_bytes(const Plan *plan)
{
    return cluster_dtype_bytes(plan->spec.dtype) == 4 ? 4 : 2; /* fp8 trains 16-bit weights */
}

gint64
plan_stored_bytes(const Plan *plan)
{
    return plan_runs_pytorch(&plan->spec) ? 4 : plan_parameter_bytes(plan);
}

gint64
plan_gradient_bytes(const Plan *plan)
{
    return plan->spec.gradient_fp32 ? 4 : plan_parameter_bytes(plan);
}

gint64
plan_gather_bytes(const Plan *plan)
{
    return plan->spec.fp8_gather ? 1 : plan_parameter_bytes(plan);
}

/* --- buffers ------------------------------------------------------------------------------------- */

/* Receive buffers of the pipeline: one tensor each way; interleaved runs with groups N > P receive
 * up to N - P tensors ahead on the first rank (forward) and the last (backward) (SPEC.md 2, M3). */
static gint64
receive_buffers(const Plan *plan, gint64 pp_rank)
{
    const PlanSpec *s = &plan->spec;
    gboolean wraps = s->vpp > 1, end = pp_rank == 0 || pp_rank == s->pp - 1;

    if (s->pp == 1)
        return 0;
    return (pp_rank > 0 || wraps) + (pp_rank < s->pp - 1 || wraps) +
           (wraps && end ? MAX(s->group - s->pp, 0) : 0);
}

/* DeepSpeed's pipeline without its own spec copies into buckets of this size. */
#define DEEPSPEED_BUCKET_ELEMENTS 500000000

/* DeepSpeed's ZeRO copies gradients into a reduce bucket, into two by turns when the reduction overlaps, and
 * weights into a gather bucket (stages 1 and 2). */
static gint64
deepspeed_buckets(const Plan *plan, gint64 parameters)
{
    const PlanSpec *s = &plan->spec;
    if (s->zero == 0 || (s->framework != PLAN_DEEPSPEED && !s->deepspeed_pipeline))
        return 0;
    gint64 elements =
        s->framework == PLAN_DEEPSPEED ? s->bucket_elements : DEEPSPEED_BUCKET_ELEMENTS;
    gint64 gradients = plan_gradient_bytes(plan) * (s->overlap_grad_reduce ? 2 : 1);
    return MIN(parameters, elements) * (gradients + (s->zero < 3 ? plan_parameter_bytes(plan) : 0));
}

/* DeepEP's ring buffers, 10 channels (20 SMs): over NVLink 256 tokens a channel from each of 8 GPUs; over the
 * network 128 tokens a channel and node, for sending and for receiving. A token in 16 bits. */
static gint64
deepep_buffers(const Plan *plan)
{
    const LlmCut *cut = &plan->cut;
    gint64 token = plan->shape->hidden * 2, channels = 10;
    if (cut->dispatch != LLM_DISPATCH_FLEX || cut->ep * cut->etp == 1 || plan->shape->experts == 0)
        return 0;
    gint64 local = MIN(cut->ep * cut->etp, plan->ranks_per_node);
    gint64 bytes = channels * local * 256 * token;
    return bytes + (cut->ep_nodes > 1 ? channels * cut->ep_nodes * 128 * token * 2 : 0);
}

/* The whole-sequence buffer that sequence parallel all-gathers into (nanotron: one for inputs, one for gradients),
 * receive buffers, buckets. */
static gint64
communication_bytes(const Plan *plan, gint64 pp_rank, gint64 parameters)
{
    const PlanSpec *s = &plan->spec;
    gint64 bytes = receive_buffers(plan, pp_rank) * plan_p2p_bytes(plan);

    if (s->sequence_parallel)
        bytes += s->seq / s->cp * s->micro_batch * plan->shape->hidden *
                 plan_parameter_bytes(plan) * (s->framework == PLAN_NANOTRON ? 2 : 1);
    return bytes + deepspeed_buckets(plan, parameters) + deepep_buffers(plan);
}

/* --- static memory ---------------------------------------------------------------------------------- */

/* All stages of a rank together. */
typedef struct {
    LlmPieceParameters all;
    LlmPieceParameters layers; /* of them, of transformer layers: what fp8 copies are of */
    gint64 resident;           /* of cut parameters, norms and biases that stay gathered */
    gint64 owned;              /* on this rank when cut by ZeRO */
} Held;

static Held
held_of(const Plan *plan, const gint64 *stages, guint n_stages)
{
    const PlanSpec *s = &plan->spec;
    Held held = {0};

    for (guint i = 0; i < n_stages; i++) {
        held.all = plus(held.all, of_stage(plan, stages[i]), 1);
        held.layers = plus(held.layers, of_layers(plan, stages[i]), 1);
        if (s->zero == 3 && plan->shape->hidden <= s->resident_elements)
            for (gint64 l = 0; l < plan->layers[stages[i]]; l++)
                held.resident += llm_piece_replicated(plan->shape, &plan->cut,
                                                      plan_layer_piece(plan, stages[i], l));
    }
    held.owned = ceil_div(held.all.dense, plan_shard_ranks(plan, FALSE)) +
                 ceil_div(held.all.expert, plan_shard_ranks(plan, TRUE));
    return held;
}

/* Weights, with copies of the layers' in 8 bits, as is and transposed: instead of the 16-bit ones where they are
 * gathered in 8 bits, else beside them. What is cut is cast as it is gathered. */
static gint64
parameter_bytes(const Plan *plan, const Held *held, guint versions)
{
    const PlanSpec *s = &plan->spec;
    gint64 n = held->all.dense + held->all.expert,
           layers = held->layers.dense + held->layers.expert;
    gint64 each = plan_stored_bytes(plan);

    if (s->zero == 3)
        return held->owned * each * versions + held->resident * plan_parameter_bytes(plan);
    if (s->dtype != CLUSTER_FP8)
        return n * each * versions;
    if (s->fp8_gather)
        return (n - layers) * each * versions + 2 * layers;
    return n * each * versions + 2 * layers;
}

/* Of a gradient that stays for the iteration: as accumulated, with torch's DDP buckets of 16-bit gradients under
 * nanotron's fp32 ones, and the 16-bit ones of the last microbatch under those of DeepSpeed's bf16_optimizer.py,
 * which drops them when the next backward begins; cut by ZeRO 2 and 3, of FSDP in the dtype of its fp32 shard. */
static gint64
gradient_bytes(const Plan *plan, const Held *held)
{
    const PlanSpec *s = &plan->spec;
    gint64 n = held->all.dense + held->all.expert, each = plan_gradient_bytes(plan);

    if (plan_runs_pytorch(s))
        return (s->zero == 3 ? held->owned : n) * 4;
    gboolean both =
        s->framework == PLAN_NANOTRON || (s->framework == PLAN_DEEPSPEED && s->zero < 2);
    if (both && each > plan_parameter_bytes(plan))
        each += plan_parameter_bytes(plan);
    return (s->zero >= 2 ? held->owned : n) * each;
}

static gint64
state_bytes(const Plan *plan, const Held *held)
{
    return whole((double)held->owned * plan_optimizer_bytes(plan));
}

/* Moves what is offloaded from the GPU's side of the account to the host's or NVMe's. */
static void
offload(const Plan *plan, const Held *held, PlanStaticMemory *m)
{
    const PlanSpec *s = &plan->spec;
    gint64 *to = s->optimizer_device == PLAN_DEVICE_NVME ? &m->nvme_bytes : &m->host_bytes;

    if (s->optimizer_device != PLAN_DEVICE_GPU) {
        gint64 moved = whole((double)m->optimizer_bytes * s->offload_frac);
        m->optimizer_bytes -= moved;
        *to += moved;
        /* the CPU's Adam reads fp32 gradients there; cut ones of DeepSpeed and FSDP leave the GPU at once */
        gboolean leaves = s->zero >= 2 && s->framework != PLAN_MEGATRON;
        m->host_bytes += whole((double)held->owned * 4 * s->offload_frac);
        if (leaves)
            m->gradients_bytes -= whole((double)m->gradients_bytes * s->offload_frac);
    }
    if (s->parameter_device != PLAN_DEVICE_GPU) {
        gint64 moved = held->owned * plan_stored_bytes(plan);
        m->parameters_bytes -= moved;
        *(s->parameter_device == PLAN_DEVICE_NVME ? &m->nvme_bytes : &m->host_bytes) += moved;
    }
}

PlanStaticMemory
plan_static_memory_of(const Plan *plan, gint64 pp_rank, const gint64 *stages, guint n_stages,
                      guint weight_versions)
{
    Held held = held_of(plan, stages, n_stages);
    gint64 layers = 0;
    for (guint i = 0; i < n_stages; i++)
        layers += plan->layers[stages[i]];
    PlanStaticMemory m = {
        .parameters_bytes = parameter_bytes(plan, &held, weight_versions),
        .gradients_bytes = gradient_bytes(plan, &held),
        .optimizer_bytes = state_bytes(plan, &held),
        .fixed_bytes = plan->system->fixed_memory_bytes,
        .communication_bytes =
            communication_bytes(plan, pp_rank, held.all.dense + held.all.expert) +
            plan_run_ahead_bytes(plan, pp_rank, layers),
    };
    offload(plan, &held, &m);
    return m;
}

PlanStaticMemory
plan_static_memory(const Plan *plan, gint64 pp_rank)
{
    g_autofree gint64 *stages = g_new(gint64, plan->n_stages);
    guint n = 0;

    for (gint64 s = 0; s < plan->n_stages; s++)
        if (plan->rank_of[s] == pp_rank)
            stages[n++] = s;
    return plan_static_memory_of(plan, pp_rank, stages, n, 1);
}

/* [s/cp (/t with sequence parallel), b, h] in the pipeline's dtype; without it every tensor
 * parallel rank sends the whole tensor, unless scatter-gather cuts it by t on the way (SPEC.md
 * 6.1). */
gint64
plan_p2p_bytes(const Plan *plan)
{
    const PlanSpec *s = &plan->spec;
    gint64 elements = s->seq / s->cp * s->micro_batch * plan->shape->hidden;

    if (s->sequence_parallel || s->scatter_gather)
        elements = ceil_div(elements, s->tp);
    return elements * plan_parameter_bytes(plan);
}
