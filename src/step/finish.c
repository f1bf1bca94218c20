/* From the last backward to the next iteration, in Megatron's order (SPEC.md 6.5): reductions finish; norm
 * gradients over TP; tied embedding; found-inf (fp16); gradient norm with its host read; clip; Adam; parameter
 * gather; zeroing of the gradient buffer.  Bytes per parameter: SPEC.md 7.8. */
#include "config.h"

#include "step/build.h"

#define ADAM_BYTES 34.0 /* read g p m v, write p m v in fp32; read and write the 16-bit copy */
#define ADAM_BYTES_FP32 28.0

typedef struct {
    StepBuild *b;
    SimTemplate *t;
    const StepClass *class;
    const PlanSpec *spec;
    gint64 parameters; /* on this GPU */
    double owned;      /* of those, whose optimizer state is here */
} Finish;

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

/* With sequence parallelism each rank saw only its tokens: gradients of what is not cut by tp are summed. */
static void
add_norm_gradients(Finish *f)
{
    gint64 tp = f->spec->tp;
    if (!f->spec->sequence_parallel || tp == 1)
        return;
    const LlmShape *shape = f->b->plan->shape;
    gint64 whole = llm_parameters(shape).layer, share = llm_layer_parameters_per_rank(shape, tp);
    gint64 replicated = (tp * share - whole) / (tp - 1), layers = 0;
    g_autoptr(GArray) stages = step_stages_on(f->b->schedule, f->class->pp_rank);
    for (guint i = 0; i < stages->len; i++)
        layers += f->b->plan->layers[g_array_index(stages, gint64, i)];
    if (replicated * layers > 0)
        add_blocking(f, "norm_grad_all_reduce", STEP_TP, STEP_SLOT_TP, STEP_PORT_TP, NET_ALL_REDUCE,
                     f->class->tp, replicated * layers * 4);
}

/* Two replicas of the model in one pipeline: the two ranks with the same stages sum their gradients. */
static void
add_replica_gradients(Finish *f)
{
    if (f->class->replica.ranks < 2)
        return;
    gint64 width = plan_gradient_bytes(f->b->plan);
    add_blocking(f, "replica_all_reduce", STEP_DP, STEP_SLOT_PP, STEP_PORT_REPLICA, NET_ALL_REDUCE,
                 f->class->replica, f->parameters * width);
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
    add_blocking(f, "embedding_all_reduce", STEP_PP, STEP_SLOT_PP, STEP_PORT_EMBEDDING,
                 NET_ALL_REDUCE, f->class->embedding, bytes);
}

/* One fp32 number over the model-parallel group, or over all ranks when optimizer states are sharded. */
static void
add_scalar(Finish *f, const char *name)
{
    gboolean world = f->spec->zero == 1;
    NetGroup group = f->class->model;
    if (world) {
        group.ranks = (guint)f->b->plan->gpus;
        group.nodes = (guint)f->b->plan->nodes;
        group.ranks_per_node = (guint)MIN(f->b->plan->gpus, f->b->plan->system->gpus_per_node);
        group.nics = (guint)MAX(1, MIN(f->b->plan->system->nics_per_node, group.ranks_per_node));
    }
    add_blocking(f, name, STEP_OPTIMIZER, STEP_SLOT_PP, world ? STEP_PORT_WORLD : STEP_PORT_MODEL,
                 NET_ALL_REDUCE, group, 4);
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
add_optimizer(Finish *f)
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
    if (f->spec->clip > 0) {
        step_add_memory(b, f->t, "grad_norm", STEP_OPTIMIZER, COST_REDUCE, width * f->owned, FALSE);
        if (barrier)
            add_scalar(f, "grad_norm_all_reduce");
        add_host_sync(f);
        step_add_memory(b, f->t, "clip", STEP_OPTIMIZER, COST_COPY, 2 * width * f->owned, FALSE);
    }
    double bytes = plan_parameter_bytes(b->plan) == 4 ? ADAM_BYTES_FP32 : ADAM_BYTES;
    step_add_memory(b, f->t, "adam", STEP_OPTIMIZER, COST_ADAM, bytes * f->owned, FALSE);
    if (f->spec->zero == 1 && f->spec->dp * f->spec->cp > 1 && !step_gathers_in_forward(b)) {
        guint gather = step_add_gather(b, f->t, f->class, f->parameters);
        sim_template_wait_slot(f->t, gather, STEP_SLOT_COMPUTE);
        join_compute(f, STEP_SLOT_DP);
    }
    step_add_memory(b, f->t, "zero_grad", STEP_OPTIMIZER, COST_COPY, width * (double)f->parameters,
                    FALSE);
}

SimTemplate *
step_finish_template(StepBuild *b, const StepClass *class)
{
    const PlanSpec *spec = &b->plan->spec;
    Finish f = {.b = b, .t = sim_template_new(), .class = class, .spec = spec};
    g_autoptr(GArray) stages = step_stages_on(b->schedule, class->pp_rank);
    for (guint i = 0; i < stages->len; i++)
        f.parameters += plan_stage_parameters(b->plan, g_array_index(stages, gint64, i));
    f.owned = (double)f.parameters / (spec->zero == 1 ? (double)(spec->dp * spec->cp) : 1.0);
    join_compute(&f, STEP_SLOT_DP);
    add_replica_gradients(&f);
    add_norm_gradients(&f);
    add_tied_embedding(&f);
    add_optimizer(&f);
    g_ptr_array_add(b->templates, f.t);
    return f.t;
}
