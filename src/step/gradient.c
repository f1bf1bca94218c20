/* Data-parallel traffic: gradient reduction and parameter gather, as Megatron orders them (SPEC.md 6.4).
 *
 * Plain data parallel: all-reduce of the gradients.  Distributed optimizer (ZeRO-1): reduce-scatter, and an
 * all-gather of the 16-bit parameters before they are used again.  Gradients are scaled by 1/dp first: read and
 * write of each. */
#include "config.h"

#include "step/build.h"

/* Only pipeline rank 0 overlaps the reduction with its last backward; the others, done earlier, reduce in
 * their own idle time.  Without pipeline, every rank is rank 0. */
gboolean
step_reduces_in_backward(const StepBuild *b, guint stage)
{
    const PlanSpec *spec = &b->plan->spec;
    return spec->overlap_grad_reduce && !spec->deepspeed_pipeline && stage == 0 &&
           spec->dp * spec->cp > 1;
}

gboolean
step_gathers_in_forward(const StepBuild *b)
{
    const PlanSpec *spec = &b->plan->spec;
    return spec->zero == 1 && spec->overlap_param_gather && !spec->deepspeed_pipeline &&
           spec->dp * spec->cp > 1;
}

gint64
step_bucket_layers(const StepBuild *b, guint stage)
{
    gint64 layers = MAX(b->plan->layers[stage], 1);
    if (stage != 0)
        return layers; /* bucketing is on pipeline rank 0, first chunk, only */
    gint64 elements = b->plan->spec.bucket_elements;
    if (elements <= 0)
        elements = MAX(40000000, 1000000 * b->plan->spec.dp * b->plan->spec.cp);
    gint64 each = llm_layer_parameters_per_rank(b->plan->shape, b->plan->spec.tp);
    return CLAMP((elements + each - 1) / each, 1, layers);
}

void
step_add_reduction(StepBuild *b, SimTemplate *t, const StepClass *class, gint64 parameters)
{
    const PlanSpec *spec = &b->plan->spec;
    if (spec->dp * spec->cp <= 1 || parameters <= 0)
        return;
    gint64 bytes = parameters * plan_gradient_bytes(b->plan);
    guint scale = step_add_memory(b, t, "gradient_scale", STEP_OPTIMIZER, COST_COPY,
                                  2.0 * (double)bytes, FALSE);
    NetOp op = spec->zero == 1 ? NET_REDUCE_SCATTER : NET_ALL_REDUCE;
    guint reduce =
        step_add_collective(b, t, spec->zero == 1 ? "grad_reduce_scatter" : "grad_all_reduce",
                            STEP_DP, STEP_SLOT_DP, STEP_PORT_DP, op, class->dp, bytes, FALSE);
    sim_template_wait_op(t, reduce, scale);
}

guint
step_add_gather(StepBuild *b, SimTemplate *t, const StepClass *class, gint64 parameters)
{
    gint64 bytes = parameters * plan_parameter_bytes(b->plan);
    return step_add_collective(b, t, "param_all_gather", STEP_DP, STEP_SLOT_DP, STEP_PORT_DP,
                               NET_ALL_GATHER, class->dp, bytes, FALSE);
}
