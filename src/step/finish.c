/* From the last backward to the next iteration, in Megatron's order (SPEC.md 6.5): reductions finish; gradients of
 * what tp does not cut over TP; tied embedding; token counts of experts; found-inf (fp16); gradient norm with its
 * host read; clip; optimizer; parameter gather; zeroing of the gradient buffer.  Bytes per parameter: SPEC.md 7.8.
 * Where states are sharded each rank does so for its shard, and scalars are summed over all ranks. */
#include "config.h"

#include <math.h>

#include "step/build.h"
#include "step/shard.h"

typedef struct {
    StepBuild *b;
    SimTemplate *t;
    const StepClass *class;
    const PlanSpec *spec;
    const GArray *stages;      /* of gint64: on this GPU */
    StepParameters parameters; /* of them */
    double owned;              /* of those, whose optimizer state is here */
} Finish;

static StepParameters
parameters_of(const StepBuild *b, const GArray *stages)
{
    StepParameters n = {0};
    for (guint i = 0; i < stages->len; i++) {
        gint64 stage = g_array_index(stages, gint64, i);
        gint64 expert = plan_stage_expert_parameters(b->plan, stage);
        n.expert += expert;
        n.dense += plan_stage_parameters(b->plan, stage) - expert;
    }
    return n;
}

static double
owned_of(const StepBuild *b, StepParameters n)
{
    return (double)n.dense / (double)plan_shard_ranks(b->plan, FALSE) +
           (double)n.expert / (double)plan_shard_ranks(b->plan, TRUE);
}

gint64
step_optimizer_copies(const StepBuild *b, guint pp_rank)
{
    g_autoptr(GArray) stages = step_stages_on(b->schedule, pp_rank);
    double owned = owned_of(b, parameters_of(b, stages));
    return (gint64)ceil(plan_optimizer_copies_bytes(b->plan, owned));
}

static gint64
all_parameters(const Finish *f)
{
    return f->parameters.dense + f->parameters.expert;
}

/* The compute stream waits for a collective that was launched after all compute so far. */
static void
join_compute(Finish *f, guint slot)
{
    guint op = sim_template_add(f->t, STEP_SLOT_COMPUTE, (SimWork){0},
                                step_tag(f->b, "wait", STEP_OTHER, COST_MEASURED, 0, FALSE));
    sim_template_wait_slot(f->t, op, slot);
}

static void
add_blocking(Finish *f, const char *name, StepKind kind, guint slot, guint port, NetOp op,
             NetGroup group, gint64 bytes)
{
    guint index = step_add_collective(f->b, f->t, name, kind, slot, port, op, group, bytes, FALSE);
    sim_template_wait_slot(f->t, index, STEP_SLOT_COMPUTE);
    join_compute(f, slot);
}

static gint64
replicated(const Plan *plan, LlmPiece piece)
{
    return llm_piece_replicated(plan->shape, &plan->cut, piece);
}

/* With sequence parallelism each rank saw only its tokens: gradients of what is not cut by tp are summed. Not those
 * of learned positions: Megatron adds them before it scatters the sequence, so each rank saw all of them. */
static void
add_norm_gradients(Finish *f)
{
    const Plan *plan = f->b->plan;
    if (!f->spec->sequence_parallel || f->spec->tp == 1)
        return;
    gint64 n = 0;
    for (guint k = 0; k < f->stages->len; k++) {
        gint64 stage = g_array_index(f->stages, gint64, k);
        for (gint64 i = 0; i < plan->layers[stage]; i++)
            n += replicated(plan, plan_layer_piece(plan, stage, i));
        n += plan_stage_mtp(plan, stage) * replicated(plan, LLM_PIECE_MTP);
        n += plan_stage_has_head(plan, stage) ? replicated(plan, LLM_PIECE_HEAD) : 0;
    }
    if (n > 0)
        add_blocking(f, "norm_grad_all_reduce", STEP_TP, STEP_SLOT_TP, STEP_PORT_TP, NET_ALL_REDUCE,
                     f->class->tp, n * plan_gradient_bytes(plan));
}

/* Two replicas of the model in one pipeline: the two ranks with the same stages sum their gradients. */
static void
add_replica_gradients(Finish *f)
{
    if (f->class->replica.ranks < 2)
        return;
    gint64 width = plan_gradient_bytes(f->b->plan);
    gint64 n = f->spec->zero >= 2 ? (gint64)f->owned : all_parameters(f);
    add_blocking(f, "replica_all_reduce", STEP_DP, STEP_SLOT_PP, STEP_PORT_REPLICA, NET_ALL_REDUCE,
                 f->class->replica, n * width);
}

static void
add_tied_embedding(Finish *f)
{
    const Plan *plan = f->b->plan;
    const Schedule *s = f->b->schedule;
    guint first = s->rank_of[0], last = s->rank_of[s->n_stages - 1];
    if (!plan->shape->tied || first == last ||
        (f->class->pp_rank != first && f->class->pp_rank != last))
        return;
    gint64 bytes =
        plan->vocab_padded / f->spec->tp * plan->shape->hidden * plan_gradient_bytes(plan);
    if (f->spec->zero >= 2)
        bytes = (bytes + plan_shard_ranks(plan, FALSE) - 1) / plan_shard_ranks(plan, FALSE);
    add_blocking(f, "embedding_all_reduce", STEP_PP, STEP_SLOT_PP, STEP_PORT_EMBEDDING,
                 NET_ALL_REDUCE, f->class->embedding, bytes);
}

/* Routers that balance by a bias without a loss (those with shared experts beside it) count the tokens of each
 * expert in fp32 over all ranks that saw some: over tp, then over dp x cp. */
static void
add_token_counts(Finish *f)
{
    const Plan *plan = f->b->plan;
    gint64 layers = 0;
    for (guint k = 0; k < f->stages->len; k++) {
        gint64 stage = g_array_index(f->stages, gint64, k);
        for (gint64 i = 0; i < plan->layers[stage]; i++)
            layers += llm_shape_is_moe(plan->shape, plan->first_layer[stage] + i);
    }
    gint64 bytes = layers * plan->shape->experts * 4;
    if (!plan->shape->router_bias || plan->shape->shared_ffn == 0 || bytes == 0)
        return;
    if (f->class->tp.ranks > 1)
        add_blocking(f, "token_count_all_reduce", STEP_EP, STEP_SLOT_TP, STEP_PORT_TP,
                     NET_ALL_REDUCE, f->class->tp, bytes);
    if (f->class->dp.ranks > 1)
        add_blocking(f, "token_count_all_reduce", STEP_EP, STEP_SLOT_DP, STEP_PORT_DP,
                     NET_ALL_REDUCE, f->class->dp, bytes);
}

/* One fp32 number over the model-parallel group, or over all ranks when optimizer states are sharded. */
static void
add_scalar(Finish *f, const char *name)
{
    gboolean world = f->spec->zero >= 1;
    add_blocking(f, name, STEP_OPTIMIZER, STEP_SLOT_PP, world ? STEP_PORT_WORLD : STEP_PORT_MODEL,
                 NET_ALL_REDUCE, f->class->group[world ? PLAN_GROUP_WORLD : PLAN_GROUP_MODEL], 4);
}

/* The host reads a number back: it waits for the GPU, and the GPU then for the next launch. */
static void
add_host_sync(Finish *f)
{
    guint32 tag = step_tag(f->b, "host_sync", STEP_HOST, COST_MODELLED, 0.5, FALSE);
    SimWork work = step_work((double)f->b->plan->system->sync_ns);
    guint op = sim_template_add(f->t, STEP_SLOT_COMPUTE, work, tag);
    guint host = sim_template_add(f->t, STEP_SLOT_HOST, (SimWork){0}, tag);
    sim_template_wait_op(f->t, host, op);
}

static void
add_norms(Finish *f)
{
    StepBuild *b = f->b;
    double width = (double)plan_gradient_bytes(b->plan);
    gboolean barrier =
        f->spec->optimizer_barrier == PLAN_BARRIER_GLOBAL && !b->schedule->asynchronous;
    if (f->spec->dtype == CLUSTER_FP16) {
        step_add_memory(b, f->t, "unscale", STEP_OPTIMIZER, COST_COPY, 2 * width * f->owned, FALSE);
        if (barrier)
            add_scalar(f, "found_inf_all_reduce");
        add_host_sync(f);
    }
    if (f->spec->clip <= 0)
        return;
    step_add_memory(b, f->t, "grad_norm", STEP_OPTIMIZER, COST_REDUCE, width * f->owned, FALSE);
    if (barrier)
        add_scalar(f, "grad_norm_all_reduce");
    add_host_sync(f);
    step_add_memory(b, f->t, "clip", STEP_OPTIMIZER, COST_COPY, 2 * width * f->owned, FALSE);
}

/* Muon's matrix multiplications at the rate of square ones as wide as the model. */
static void
add_orthogonalisation(Finish *f)
{
    const Plan *plan = f->b->plan;
    double flops = 0, h = (double)plan->shape->hidden;
    for (guint i = 0; i < f->stages->len; i++)
        flops += plan_optimizer_step_flops(plan, g_array_index(f->stages, gint64, i));
    if (flops <= 0)
        return;
    CostGemm gemm = {.dtype = CLUSTER_BF16,
                     .m = plan->shape->hidden,
                     .n = plan->shape->hidden,
                     .k = plan->shape->hidden,
                     .batch = 1,
                     .groups = 1};
    CostTime time = cost_gemm(f->b->cost, &gemm);
    StepShape shape = {
        .kind = STEP_SHAPE_GEMM, .gemm = gemm, .name = "newton_schulz", .time = time};
    StepOp op = {.name = shape.name,
                 .kind = STEP_OPTIMIZER,
                 .basis = time.basis,
                 .error_frac = time.error_frac,
                 .shape = step_intern_shape(f->b, &shape),
                 .shape_calls = flops / (2 * h * h * h)};
    sim_template_add(f->t, STEP_SLOT_COMPUTE, step_work(time.ns * op.shape_calls),
                     step_intern_op(f->b, &op));
}

static void
add_optimizer(Finish *f)
{
    StepBuild *b = f->b;
    add_orthogonalisation(f);
    guint op = step_add_memory(
        b, f->t, plan_optimizer_names[f->spec->optimizer], STEP_OPTIMIZER, COST_ADAM,
        plan_optimizer_step_bytes(b->plan) * f->owned * (1 - step_host_share(b)), FALSE);
    gint64 copies = step_optimizer_copies(b, f->class->pp_rank);
    step_mark(b, f->t, op, STEP_MEMORY_WORKSPACE, copies, -copies);
    step_add_host_optimizer(b, f->t, f->stages);
}

/* One gather of all, or one for each bucket. */
static void
add_gathers(Finish *f)
{
    StepBuild *b = f->b;
    StepParameters sum = {0};
    gboolean resident_only = f->spec->zero == 3; /* what stays gathered is gathered anew */
    gboolean as_one = f->spec->bucket == PLAN_BUCKET_FIRST_STAGE || resident_only;
    guint first = sim_template_n_ops(f->t);
    if (f->spec->zero == 0 || step_gathers_in_forward(b))
        return;
    for (guint k = 0; k < f->stages->len; k++) {
        gint64 stage = g_array_index(f->stages, gint64, k);
        g_autoptr(GArray) units = plan_stage_units(b->plan, stage);
        for (guint i = 0; i < units->len; i++) {
            const PlanUnit *unit = &g_array_index(units, PlanUnit, i);
            StepParameters n = resident_only ? step_resident_parameters(b, (guint)stage, unit)
                                             : (StepParameters){unit->dense, unit->expert};
            sum = (StepParameters){sum.dense + n.dense, sum.expert + n.expert};
            if (as_one)
                continue;
            step_add_gather(b, f->t, f->class, sum);
            sum = (StepParameters){0};
        }
    }
    if (as_one)
        step_add_gather(b, f->t, f->class, sum);
    if (sim_template_n_ops(f->t) == first)
        return;
    sim_template_wait_slot(f->t, first, STEP_SLOT_COMPUTE);
    join_compute(f, STEP_SLOT_GATHER);
}

SimTemplate *
step_finish_template(StepBuild *b, const StepClass *class)
{
    const PlanSpec *spec = &b->plan->spec;
    g_autoptr(GArray) stages = step_stages_on(b->schedule, class->pp_rank);
    Finish f = {.b = b, .t = sim_template_new(), .class = class, .spec = spec, .stages = stages};
    f.parameters = parameters_of(b, stages);
    f.owned = owned_of(b, f.parameters);
    step_join_reductions(b, f.t);
    add_replica_gradients(&f);
    add_norm_gradients(&f);
    add_tied_embedding(&f);
    add_token_counts(&f);
    add_norms(&f);
    add_optimizer(&f);
    add_gathers(&f);
    if (spec->zero < 2) /* sharded gradients are dropped, not zeroed */
        step_add_memory(b, f.t, "zero_grad", STEP_OPTIMIZER, COST_COPY,
                        (double)(all_parameters(&f) * plan_gradient_bytes(b->plan)), FALSE);
    step_keep_template(b, f.t);
    return f.t;
}
