/* Gradients over data-parallel ranks (SPEC.md 6.4 and 7.7), unit by unit.
 *
 * Zero 0: all-reduce over dp x cp.  Zero 1 to 3: reduce-scatter over the ranks that hold one copy of what is
 * sharded, then, where there are several copies (HSDP, partial distributed optimizer), all-reduce of the shard
 * over them on a stream of its own.  Experts have their own groups, so a unit with experts has two of each.
 *
 * When: after the last microbatch, or after each.  Beside the backward where it is overlapped:
 *   Megatron  only the first stage, the others finish earlier and reduce in their own idle time; chunk by chunk
 *             when there are several, all ranks together (align_grad_reduce) or each when it is done
 *   others    each stage, each unit when its backward is done; at the end of a backward that reduced, compute
 *             waits for it (FSDP's and DeepSpeed's final callback)
 * Not overlapped, compute waits for each reduction where gradients are sharded or reduced in each microbatch
 * (there is no room to keep them), else all are reduced when all backwards are done. */
#include "config.h"

#include "step/build.h"

gint64
step_piece_parameters(const StepBuild *b, guint stage, LlmPiece piece)
{
    const Plan *plan = b->plan;
    LlmPieceParameters p = llm_piece_parameters(plan->shape, &plan->cut, piece);
    if (piece == LLM_PIECE_HEAD && plan->shape->tied && plan->rank_of[0] == plan->rank_of[stage])
        p.dense -= plan->vocab_padded / plan->spec.tp * plan->shape->hidden;
    return p.dense + p.expert;
}

StepReduction
step_reduction_of(const StepBuild *b, guint stage)
{
    const PlanSpec *spec = &b->plan->spec;
    if (spec->deepspeed_pipeline)
        return STEP_REDUCE_AT_END;
    if (!spec->overlap_grad_reduce)
        return spec->zero >= 2 || spec->reduce == PLAN_REDUCE_EACH ? STEP_REDUCE_BLOCKING
                                                                   : STEP_REDUCE_AT_END;
    if (spec->bucket != PLAN_BUCKET_FIRST_STAGE || stage == 0)
        return STEP_REDUCE_BESIDE;
    return spec->vpp > 1 || spec->reduce == PLAN_REDUCE_EACH ? STEP_REDUCE_CHUNK
                                                             : STEP_REDUCE_AT_END;
}

gboolean
step_copies_units(const StepBuild *b)
{
    const PlanSpec *spec = &b->plan->spec;
    return spec->zero == 3 && (spec->framework == PLAN_FSDP || spec->framework == PLAN_TORCHTITAN ||
                               spec->framework == PLAN_DEEPSPEED);
}

/* Of the dense or of the expert parameters of a unit. */
typedef struct {
    PlanGroup all, shard, replicate;
    guint all_port, shard_port, replicate_port;
} Ways;

static const Ways ways[2] = {
    {PLAN_GROUP_DP, PLAN_GROUP_SHARD, PLAN_GROUP_REPLICATE, STEP_PORT_DP, STEP_PORT_SHARD,
     STEP_PORT_REPLICATE},
    {PLAN_GROUP_EDP, PLAN_GROUP_EXPERT_SHARD, PLAN_GROUP_EXPERT_REPLICATE, STEP_PORT_EDP,
     STEP_PORT_EXPERT_SHARD, STEP_PORT_EXPERT_REPLICATE},
};

static gboolean
has_traffic(const StepBuild *b, const StepClass *class, const Ways *way)
{
    if (b->plan->spec.zero == 0)
        return class->group[way->all].ranks > 1;
    return class->group[way->shard].ranks > 1 || class->group[way->replicate].ranks > 1;
}

gint64
step_unsharded(const StepBuild *b, const StepClass *class, StepParameters parameters)
{
    gint64 n = class->group[PLAN_GROUP_SHARD].ranks > 1 ? parameters.dense : 0;
    n += class->group[PLAN_GROUP_EXPERT_SHARD].ranks > 1 ? parameters.expert : 0;
    return b->plan->spec.zero >= 2 ? n : 0;
}

gint64
step_unsharded_width(const StepBuild *b)
{
    const PlanSpec *spec = &b->plan->spec;
    gboolean accumulates = spec->reduce == PLAN_REDUCE_LAST && spec->microbatches > 1;
    return accumulates || spec->gradient_fusion ? plan_gradient_bytes(b->plan)
                                                : plan_parameter_bytes(b->plan);
}

gint64
step_fresh_bytes(const StepBuild *b, const StepClass *class, StepParameters parameters)
{
    const PlanSpec *spec = &b->plan->spec;
    gboolean accumulates = spec->reduce == PLAN_REDUCE_LAST && spec->microbatches > 1;
    if (!accumulates || spec->gradient_fusion || !plan_runs_pytorch(spec))
        return 0;
    return step_unsharded(b, class, parameters) * plan_parameter_bytes(b->plan);
}

/* Launched behind everything on the compute stream, or behind another op. */
#define BEHIND_COMPUTE G_MAXUINT

static void
launch_behind(SimTemplate *t, guint op, guint after)
{
    if (after == BEHIND_COMPUTE)
        sim_template_wait_slot(t, op, STEP_SLOT_COMPUTE);
    else
        sim_template_wait_op(t, op, after);
}

/* The collectives of one kind of parameters. `held_bytes`: what the reduce-scatter's input is until its end. */
static void
add_collectives(StepBuild *b, SimTemplate *t, const StepClass *class, const Ways *way,
                gint64 parameters, guint after, gint64 held_bytes)
{
    gint64 width = plan_gradient_bytes(b->plan);
    if (b->plan->spec.zero == 0) {
        guint op =
            step_add_collective(b, t, "grad_all_reduce", STEP_DP, STEP_SLOT_DP, way->all_port,
                                NET_ALL_REDUCE, class->group[way->all], parameters * width, FALSE);
        launch_behind(t, op, after);
        return;
    }
    NetGroup shard = class->group[way->shard], replicate = class->group[way->replicate];
    if (shard.ranks > 1) {
        guint op =
            step_add_collective(b, t, "grad_reduce_scatter", STEP_DP, STEP_SLOT_DP, way->shard_port,
                                NET_REDUCE_SCATTER, shard, parameters * width, FALSE);
        launch_behind(t, op, after);
        step_mark(b, t, op, STEP_MEMORY_GATHERED, 0, -held_bytes);
        after = op;
    }
    if (replicate.ranks > 1) {
        gint64 owned = (parameters + shard.ranks - 1) / shard.ranks;
        guint op = step_add_collective(b, t, "grad_shard_all_reduce", STEP_DP, STEP_SLOT_REPLICATE,
                                       way->replicate_port, NET_ALL_REDUCE, replicate,
                                       owned * width, FALSE);
        launch_behind(t, op, after);
    }
}

/* What the compute stream does before: scales by 1/dp (reads and writes each), or copies into the input of the
 * reduce-scatter, which waits for the one before: there is one such input at a time (FSDP2). The gradients
 * themselves are free after the copy. Megatron's fully sharded data parallelism holds two units at most, the one
 * that is reduced and the one whose backward runs (its double buffers). */
static guint
add_preparation(StepBuild *b, SimTemplate *t, gint64 parameters, gint64 unsharded)
{
    gint64 width = plan_gradient_bytes(b->plan);
    if (step_copies_units(b)) {
        double bytes = (double)(parameters * (width + plan_parameter_bytes(b->plan)));
        guint copy = step_add_memory(b, t, "reduce_copy_in", STEP_DP, COST_COPY, bytes, FALSE);
        if (b->plan->spec.framework != PLAN_DEEPSPEED)
            sim_template_wait_slot(t, copy, STEP_SLOT_DP);
        step_mark(b, t, copy, STEP_MEMORY_GATHERED, unsharded * width,
                  -unsharded * step_unsharded_width(b));
        return copy;
    }
    if (!b->plan->spec.gradient_scale)
        return BEHIND_COMPUTE;
    guint scale = step_add_memory(b, t, "gradient_scale", STEP_OPTIMIZER, COST_COPY,
                                  2.0 * (double)(width * parameters), FALSE);
    if (b->plan->spec.zero == 3 && b->plan->spec.framework == PLAN_MEGATRON)
        sim_template_wait_slot(t, scale, STEP_SLOT_DP);
    return scale;
}

void
step_add_reduction(StepBuild *b, SimTemplate *t, const StepClass *class, StepParameters parameters)
{
    gint64 n[2] = {parameters.dense, parameters.expert};
    for (guint i = 0; i < 2; i++)
        if (!has_traffic(b, class, &ways[i]))
            n[i] = 0;
    if (n[0] + n[1] <= 0)
        return;
    guint after = add_preparation(b, t, n[0] + n[1], step_unsharded(b, class, parameters));
    gint64 width = step_copies_units(b) ? plan_gradient_bytes(b->plan) : step_unsharded_width(b);
    for (guint i = 0; i < 2; i++) {
        StepParameters one = {.dense = i == 0 ? n[0] : 0, .expert = i == 1 ? n[1] : 0};
        if (n[i] > 0)
            add_collectives(b, t, class, &ways[i], n[i], after,
                            step_unsharded(b, class, one) * width);
    }
}

void
step_join_reductions(StepBuild *b, SimTemplate *t)
{
    guint op = sim_template_add(t, STEP_SLOT_COMPUTE, (SimWork){0},
                                step_tag(b, "wait", STEP_OTHER, COST_MEASURED, 0, FALSE));
    sim_template_wait_slot(t, op, STEP_SLOT_DP);
    sim_template_wait_slot(t, op, STEP_SLOT_REPLICATE);
}
