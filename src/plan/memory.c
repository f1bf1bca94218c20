/* What one GPU holds: parameters, gradients, optimizer state, activations, buffers (SPEC.md 9 and
 * 10). */
#include "config.h"

#include <math.h>

#include "plan/plan.h"

static gint64
ceil_div(gint64 value, gint64 divisor)
{
    return (value + divisor - 1) / divisor;
}

static gint64
embedding_rows(const Plan *plan)
{
    return plan->vocab_padded / plan->spec.tp;
}

gint64
plan_stage_parameters(const Plan *plan, gint64 stage)
{
    const LlmShape *shape = plan->shape;
    LlmParameters p = llm_parameters(shape);
    gint64 n = plan->layers[stage] * llm_layer_parameters_per_rank(shape, plan->spec.tp);

    g_assert(stage >= 0 && stage < plan->n_stages);
    if (stage == 0) /* positions and norms are whole on every tensor parallel rank */
        n += embedding_rows(plan) * shape->hidden + p.position + p.embedding_norm;
    if (stage == plan->n_stages - 1) {
        n += p.final_norm;
        if (!shape->tied || plan->rank_of[0] != plan->rank_of[stage])
            /* the head, or its rank's copy of the embedding */
            n += embedding_rows(plan) * shape->hidden;
        if (shape->head_bias)
            n += embedding_rows(plan);
    }
    return n;
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

gint64
plan_parameter_bytes(const Plan *plan)
{
    return cluster_dtype_bytes(plan->spec.dtype) == 4 ? 4 : 2; /* fp8 trains 16-bit weights */
}

gint64
plan_gradient_bytes(const Plan *plan)
{
    return plan->spec.gradient_fp32 ? 4 : plan_parameter_bytes(plan);
}

/* Bytes of optimizer state per parameter: Adam's two fp32 moments, the fp32 master copy when the
 * weights are 16-bit, and Megatron's fp32 copy of 16-bit gradients (DeepSpeed casts as it goes). */
static gint64
optimizer_bytes_each(const Plan *plan)
{
    if (plan_parameter_bytes(plan) == 4)
        return 8;
    return plan_gradient_bytes(plan) == 4 || plan->spec.deepspeed_pipeline ? 12 : 16;
}

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

/* DeepSpeed's ZeRO copies gradients into a reduce bucket and weights into a gather bucket. */
#define DEEPSPEED_BUCKET_ELEMENTS 500000000

/* The whole-sequence buffer that sequence parallel all-gathers into, receive buffers, buckets. */
static gint64
communication_bytes(const Plan *plan, gint64 pp_rank, gint64 parameters)
{
    const PlanSpec *s = &plan->spec;
    gint64 bytes = receive_buffers(plan, pp_rank) * plan_p2p_bytes(plan);
    gint64 element = plan_parameter_bytes(plan);

    if (s->sequence_parallel)
        bytes += s->seq / s->cp * s->micro_batch * plan->shape->hidden * element;
    if (s->deepspeed_pipeline && s->zero >= 1)
        bytes += MIN(parameters, DEEPSPEED_BUCKET_ELEMENTS) * (plan_gradient_bytes(plan) + element);
    return bytes;
}

PlanStaticMemory
plan_static_memory_of(const Plan *plan, gint64 pp_rank, const gint64 *stages, guint n_stages,
                      guint weight_versions)
{
    const PlanSpec *s = &plan->spec;
    gint64 n = 0, fp8_bytes = 0;

    for (guint i = 0; i < n_stages; i++) {
        n += plan_stage_parameters(plan, stages[i]);
        if (s->dtype == CLUSTER_FP8) /* copies of the layers' weights, as is and transposed */
            fp8_bytes +=
                2 * plan->layers[stages[i]] * llm_layer_parameters_per_rank(plan->shape, s->tp);
    }
    gint64 shard = s->zero >= 1 ? ceil_div(n, s->dp * s->cp) : n;
    return (PlanStaticMemory){
        .parameters_bytes = n * plan_parameter_bytes(plan) * weight_versions + fp8_bytes,
        .gradients_bytes = n * plan_gradient_bytes(plan),
        .optimizer_bytes = shard * optimizer_bytes_each(plan),
        .fixed_bytes = plan->system->fixed_memory_bytes,
        .communication_bytes = communication_bytes(plan, pp_rank, n),
    };
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

static gint64
whole(double bytes)
{
    return (gint64)ceil(bytes);
}

gint64
plan_stage_activation_bytes(const Plan *plan, gint64 stage)
{
    double bytes = (double)plan->layers[stage] *
                   llm_activation_bytes(plan->shape, &plan->cut, LLM_PIECE_LAYER);

    g_assert(stage >= 0 && stage < plan->n_stages);
    if (stage == 0)
        bytes += llm_activation_bytes(plan->shape, &plan->cut, LLM_PIECE_EMBEDDING);
    if (stage == plan->n_stages - 1)
        bytes += llm_activation_bytes(plan->shape, &plan->cut, LLM_PIECE_HEAD);
    return whole(bytes);
}

/* Layers run their backward one after another: the largest, not the sum. */
gint64
plan_stage_transient_bytes(const Plan *plan, gint64 stage)
{
    double bytes = 0;

    g_assert(stage >= 0 && stage < plan->n_stages);
    if (plan->layers[stage] > 0)
        bytes = llm_transient_bytes(plan->shape, &plan->cut, LLM_PIECE_LAYER);
    if (stage == 0)
        bytes = MAX(bytes, llm_transient_bytes(plan->shape, &plan->cut, LLM_PIECE_EMBEDDING));
    return whole(bytes);
}

gint64
plan_stage_logits_bytes(const Plan *plan, gint64 stage)
{
    g_assert(stage >= 0 && stage < plan->n_stages);
    if (stage != plan->n_stages - 1)
        return 0;
    return whole(llm_transient_bytes(plan->shape, &plan->cut, LLM_PIECE_HEAD));
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

/* Of what a microbatch keeps on a stage, the part that its weight gradient still needs once its input
 * gradient is done, and what the input gradient leaves for it. */
gint64
plan_stage_weight_grad_bytes(const Plan *plan, gint64 stage)
{
    double bytes = (double)plan->layers[stage] *
                   llm_weight_grad_bytes(plan->shape, &plan->cut, LLM_PIECE_LAYER);

    if (stage == 0)
        bytes += llm_weight_grad_bytes(plan->shape, &plan->cut, LLM_PIECE_EMBEDDING);
    if (stage == plan->n_stages - 1)
        bytes += llm_weight_grad_bytes(plan->shape, &plan->cut, LLM_PIECE_HEAD);
    return whole(bytes);
}
