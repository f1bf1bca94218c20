/* The optimizer: state of each parameter, and what a step reads, writes and multiplies (SPEC.md 7.8, 9).
 *
 * State per owned parameter: moments (Adam two, SGD with momentum and Muon one, Adafactor the row and column
 * sums of a matrix: 4 (rows + cols) bytes, taken as of h x h; 8-bit Adam two bytes and two fp32 scales for
 * blocks of 256 elements, as bitsandbytes), an fp32 master copy of 16-bit weights (or 16 bits that complete the
 * bf16 weight to fp32), and where Megatron's step needs fp32 gradients and they are 16-bit, a copy of these.
 * Muon is for the matrices of layers; embeddings, head, norms and biases have Adam. */
#include "config.h"

#include "plan/resolve.h"

#define QUANTISED_BLOCK 256.0
#define NEWTON_SCHULZ_ITERATIONS 5
#define DEEPSPEED_SUB_GROUP 1e9 /* parameters that ZeRO 3 steps at a time (sub_group_size) */

static gboolean
is_16bit(const PlanSpec *spec)
{
    return cluster_dtype_bytes(spec->dtype) < 4;
}

gboolean
plan_resolve_optimizer(PlanSpec *spec, GError **error)
{
    gboolean adam = spec->optimizer == PLAN_ADAM;
    g_assert(spec->optimizer < PLAN_N_OPTIMIZERS);
    if (spec->moment_bytes == 0)
        spec->moment_bytes = spec->optimizer == PLAN_ADAM_8BIT ? 1 : 4;
    if (spec->moment_bytes != 4 && spec->moment_bytes != 2 && spec->moment_bytes != 1)
        return plan_refuse(error,
                           "--moment-bytes: " PLAN_D " is no size of a moment; write 4, 2 or 1",
                           spec->moment_bytes);
    if (!adam && spec->moment_bytes != (spec->optimizer == PLAN_ADAM_8BIT ? 1 : 4))
        return plan_refuse(error,
                           "--moment-bytes: " PLAN_D
                           " is of Adam's moments and the optimizer is %s; leave it out, or write "
                           "--optimizer adam",
                           spec->moment_bytes, plan_optimizer_names[spec->optimizer]);
    if (spec->master_remainder && (!adam || spec->dtype == CLUSTER_FP16 || !is_16bit(spec)))
        return plan_refuse(error,
                           "--master-remainder: 16 bits complete a bf16 weight of Adam to fp32, "
                           "not %s of %s; leave it out",
                           cluster_dtype_name(spec->dtype), plan_optimizer_names[spec->optimizer]);
    if (spec->master_remainder && plan_runs_pytorch(spec))
        return plan_refuse(error,
                           "--master-remainder: %s keeps its shard in fp32 and has no other master "
                           "copy; leave it out",
                           plan_framework_names[spec->framework]);
    if (spec->fp8_gather && spec->dtype != CLUSTER_FP8)
        return plan_refuse(error,
                           "--fp8-param-gather: weights are %s; leave it out, or write --dtype fp8",
                           cluster_dtype_name(spec->dtype));
    if (spec->fp8_gather && spec->zero == 0)
        return plan_refuse(error, "--fp8-param-gather: with --zero 0 no weights are gathered; "
                                  "leave it out, or write --zero 1, 2 or 3");
    return TRUE;
}

/* Bytes of a parameter's moments. */
static double
moment_bytes(const Plan *plan, PlanOptimizer optimizer)
{
    switch (optimizer) {
    case PLAN_ADAM:
        return 2.0 * (double)plan->spec.moment_bytes;
    case PLAN_ADAM_8BIT:
        return 2.0 * (1.0 + 4.0 / QUANTISED_BLOCK);
    case PLAN_ADAFACTOR:
        return 8.0 / (double)plan->shape->hidden;
    case PLAN_SGD:
    case PLAN_MUON:
        return 4.0;
    case PLAN_N_OPTIMIZERS:
        break;
    }
    g_assert_not_reached();
}

/* fp32 copies of 16-bit weights and, if the step needs it, of 16-bit gradients. A shard in fp32 is its own
 * master. */
static double
copy_bytes(const Plan *plan)
{
    const PlanSpec *s = &plan->spec;
    if (plan_stored_bytes(plan) == 4)
        return 0;
    gboolean aware = s->master_remainder || s->moment_bytes < 4; /* reads 16-bit gradients as is */
    gboolean casts = s->framework != PLAN_MEGATRON || s->deepspeed_pipeline || aware;
    return (s->master_remainder ? 2 : 4) + (plan_gradient_bytes(plan) == 4 || casts ? 0 : 4);
}

/* Of the parameters of a piece on one rank, those that Muon takes: its matrices. */
static double
matrices(const Plan *plan, LlmPiece piece)
{
    LlmPieceParameters p = llm_piece_parameters(plan->shape, &plan->cut, piece);
    return (double)(p.dense + p.expert - llm_piece_replicated(plan->shape, &plan->cut, piece));
}

/* The part of all parameters of the model that are matrices of layers. */
static double
matrix_share(const Plan *plan)
{
    double all = 0, of_layers = 0;
    for (gint64 s = 0; s < plan->n_stages; s++) {
        all += (double)plan_stage_parameters(plan, s);
        for (gint64 i = 0; i < plan->layers[s]; i++)
            of_layers += matrices(plan, plan_layer_piece(plan, s, i));
    }
    return of_layers / MAX(all, 1);
}

double
plan_optimizer_bytes(const Plan *plan)
{
    PlanOptimizer optimizer = plan->spec.optimizer;
    double moments = moment_bytes(plan, optimizer);
    if (optimizer == PLAN_MUON) {
        double share = matrix_share(plan);
        moments = share * moments + (1 - share) * moment_bytes(plan, PLAN_ADAM);
    }
    return moments + copy_bytes(plan);
}

/* Reads of gradient (fp32, or its fp32 copy), master and moments, writes of master and moments; read and write
 * of the 16-bit copy as a kernel of its own. */
double
plan_optimizer_step_bytes(const Plan *plan)
{
    const PlanSpec *s = &plan->spec;
    double master = s->master_remainder ? 2 : 4;
    double moments = plan_optimizer_bytes(plan) - copy_bytes(plan);
    double gradient =
        s->moment_bytes < 4 || s->master_remainder ? (double)plan_gradient_bytes(plan) : 4.0;
    double step = gradient + 2 * master + 2 * moments;
    if (plan_stored_bytes(plan) == 4)
        return step;
    return step +
           (s->master_remainder ? 4 : 6); /* bf16 weight read and written with its remainder */
}

/* DeepSpeed steps on fp32 gradients that it makes of its 16-bit ones just then: ZeRO 1 and 2 (stage_1_and_2.py)
 * join those of the shard in 16 bits and cast that, ZeRO 3 (stage3.py) one group after the other; without ZeRO
 * (fused_optimizer.py) each is cast and then all are joined. */
double
plan_optimizer_copies_bytes(const Plan *plan, double owned)
{
    const PlanSpec *s = &plan->spec;
    gboolean deepspeed = s->framework == PLAN_DEEPSPEED || s->deepspeed_pipeline;
    if (!deepspeed || plan_stored_bytes(plan) == 4 || plan_gradient_bytes(plan) == 4)
        return 0;
    if (s->optimizer_device != PLAN_DEVICE_GPU)
        owned *= 1 - s->offload_frac;
    if (s->zero == 3)
        owned = MIN(owned, DEEPSPEED_SUB_GROUP);
    return (s->zero == 0 ? 4 + 4 : 2 + 4) * owned;
}

/* Five iterations of X <- a X + (b A + c A A) X, A = X X^T: on a matrix of m rows and n columns, m <= n, 2 m^2 n
 * for A, 2 m^3 for its square and 2 m^2 n to apply it. */
static double
newton_schulz_flops_each(double rows, double columns)
{
    double m = MIN(rows, columns), n = MAX(rows, columns);
    return NEWTON_SCHULZ_ITERATIONS * (4 * m + 2 * m * m / n);
}

/* Dense matrices are taken as h x h, experts are h x f_e. A rank does its owned share. */
double
plan_optimizer_step_flops(const Plan *plan, gint64 stage)
{
    g_assert(stage >= 0 && stage < plan->n_stages);
    if (plan->spec.optimizer != PLAN_MUON)
        return 0;
    double flops = 0, h = (double)plan->shape->hidden;
    double width = (double)plan->shape->expert_ffn / (double)plan->spec.etp;
    for (gint64 i = 0; i < plan->layers[stage]; i++) {
        LlmPiece piece = plan_layer_piece(plan, stage, i);
        double expert = (double)llm_piece_parameters(plan->shape, &plan->cut, piece).expert;
        double dense = matrices(plan, piece) - expert;
        flops += dense * newton_schulz_flops_each(h, h) / (double)plan_shard_ranks(plan, FALSE);
        if (expert > 0)
            flops +=
                expert * newton_schulz_flops_each(h, width) / (double)plan_shard_ranks(plan, TRUE);
    }
    return flops;
}
