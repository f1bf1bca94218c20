/* Parameters from shards to whole (SPEC.md 7.7): what is gathered at once, and how early.
 *
 * Zero 1 and 2: a bucket is gathered once an iteration, before the first forward that needs it, all in turn.
 * Zero 3: a unit is gathered before its compute, again and again.  Gathers follow each other on their own stream;
 * that of the unit that computes as number k waits
 *   with prefetch_units p      until number k - 1 - p is over: with one ahead it starts when the unit before
 *                              begins to compute, and two units are live.  FSDP2 prefetches that way explicitly in
 *                              its backward; forward it is what its host does by running ahead
 *   with prefetch_elements     DeepSpeed: it may start while number j computes when the units between the two
 *                              have less than prefetch_elements, and they, number j and the resident tensors
 *                              less than live_elements
 * Tensors up to resident_elements are gathered once, behind the optimizer step. */
#include "config.h"

#include "step/shard.h"

/* Norms and biases that tp does not cut are vectors as wide as the model, and stay gathered when those may. */
StepParameters
step_resident_parameters(const StepBuild *b, guint stage, const PlanUnit *unit)
{
    const Plan *plan = b->plan;
    StepParameters resident = {0};
    if (plan->spec.zero != 3 || plan->shape->hidden > plan->spec.resident_elements)
        return resident;
    for (gint64 i = unit->from; i < unit->to; i++)
        resident.dense +=
            llm_piece_replicated(plan->shape, &plan->cut, plan_layer_piece(plan, stage, i));
    return resident;
}

gint64
step_gathered_bytes(const StepBuild *b, const StepClass *class, StepParameters parameters)
{
    if (b->plan->spec.zero != 3)
        return 0;
    return step_unsharded(b, class, parameters) * plan_parameter_bytes(b->plan);
}

guint
step_add_gather(StepBuild *b, SimTemplate *t, const StepClass *class, StepParameters parameters)
{
    static const struct {
        PlanGroup group;
        guint port;
    } ways[2] = {{PLAN_GROUP_SHARD, STEP_PORT_GATHER},
                 {PLAN_GROUP_EXPERT_SHARD, STEP_PORT_EXPERT_GATHER}};
    gint64 n[2] = {parameters.dense, parameters.expert};
    guint count = 0;
    for (guint i = 0; i < 2; i++) {
        NetGroup group = class->group[ways[i].group];
        if (group.ranks <= 1 || n[i] <= 0)
            continue;
        step_add_collective(b, t, "param_all_gather", STEP_DP, STEP_SLOT_GATHER, ways[i].port,
                            NET_ALL_GATHER, group, n[i] * plan_gather_bytes(b->plan), FALSE);
        count++;
    }
    return count;
}

/* Ops of the compute stream that are over before the next unit's gather starts. */
static guint
gather_after(const StepSharding *s)
{
    const PlanSpec *spec = &s->b->plan->spec;
    const StepUsed *used = (const StepUsed *)(gpointer)s->used->data;
    gint64 n = s->used->len, j = n;
    if (spec->prefetch_elements > 0) {
        gint64 ahead = 0, cap = spec->live_elements > 0 ? spec->live_elements : G_MAXINT64;
        while (j > 0 && ahead < spec->prefetch_elements &&
               s->resident + ahead + used[j - 1].elements < cap)
            ahead += used[--j].elements;
    } else {
        j = MAX(n - spec->prefetch_units, 0);
    }
    return j > 0 ? used[j - 1].end : 0;
}

static SimTemplate *
gather_template(StepSharding *s, StepParameters parameters)
{
    SimTemplate *t = sim_template_new();
    gboolean fetched = step_fetch_shard(s->b, t, parameters);
    guint first = sim_template_n_ops(t);
    if (step_add_gather(s->b, t, s->class, parameters) > 0) {
        step_mark(s->b, t, first, STEP_MEMORY_GATHERED,
                  step_gathered_bytes(s->b, s->class, parameters), 0);
        if (fetched)
            sim_template_wait_op(t, first, first - 1);
    }
    step_keep_template(s->b, t);
    return t;
}

void
step_gather_unit(StepSharding *s, SimProgram *program, StepShard *shard, guint unit, guint32 label)
{
    StepUnit *units = (StepUnit *)(gpointer)shard->units->data;
    if (units[unit].present)
        return;
    StepParameters sum = {0};
    guint dropped = 0;
    for (guint i = 0; i < shard->units->len; i++) { /* the root's are gathered as one */
        if (i != unit && !(units[unit].root && units[i].root))
            continue;
        sum.dense += units[i].moved.dense;
        sum.expert += units[i].moved.expert;
        units[i].present = units[i].fresh = TRUE;
        dropped = MAX(dropped, units[i].dropped);
    }
    gsize key = (gsize)shard->stage << 16 | unit | (gsize)1 << 40;
    SimTemplate *t = g_hash_table_lookup(s->templates, GSIZE_TO_POINTER(key));
    if (!t) {
        t = gather_template(s, sum);
        g_hash_table_insert(s->templates, GSIZE_TO_POINTER(key), t);
    }
    if (sim_template_n_ops(t) == 0)
        return;
    guint after =
        gather_after(s); /* what is kept for the backward is not gathered while it is here */
    if (!s->b->plan->spec.reshard_after_forward)
        after = MAX(after, dropped);
    static const guint slots[] = {STEP_SLOT_NVME, STEP_SLOT_H2D, STEP_SLOT_GATHER};
    for (guint i = 0; i < G_N_ELEMENTS(slots) && s->b->plan->spec.zero == 3; i++)
        if (sim_template_n_ops_on(t, slots[i]) > 0)
            sim_program_wait(program, slots[i], STEP_SLOT_COMPUTE, after);
    sim_program_call(program, t, 0, label);
    for (guint i = 0; i < shard->units->len; i++)
        if (i == unit || (units[unit].root && units[i].root))
            units[i].ready = sim_program_launched(program, STEP_SLOT_GATHER);
}
