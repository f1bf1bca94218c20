/* Tokens of stages whose parameters are gathered or whose gradients are reduced unit by unit.
 *
 * A token then runs in parts, one a unit, forward from the first to the last and backward the other way round;
 * before a part its parameters are gathered where they are not here, behind it they are dropped and its
 * gradients reduced.  What is here:
 *   zero 1, 2   everything from the first forward on
 *   zero 3      dropped after each forward and gathered again for the backward (reshard_after_forward); or kept
 *               for it and dropped behind it; or, of a pipeline, kept from the stage's first forward to its last
 *               backward (PyTorch's stages set_reshard_after_backward(False) until then)
 * Kept from forward to backward in spite of reshard_after_forward:
 *   FSDP, LLM Foundry   the root: what lies outside of the layers, gathered as one before the first layer and
 *                       reduced as one behind the last backward (PyTorch reshards no root)
 *   torchtitan          norm and head, which the backward needs next
 * Recomputing several layers at once needs the parameters of all of them. */
#include "config.h"

#include "step/shard.h"

static StepUnit *
unit_at(const StepShard *shard, guint i)
{
    return &g_array_index(shard->units, StepUnit, i);
}

/* --- what a stage is ---------------------------------------------------------------------------- */

static gboolean
is_sharded(const StepSharding *s)
{
    return s->class->group[PLAN_GROUP_SHARD].ranks > 1 ||
           s->class->group[PLAN_GROUP_EXPERT_SHARD].ranks > 1;
}

gboolean
step_gathers_in_forward(const StepBuild *b)
{
    const PlanSpec *spec = &b->plan->spec;
    return spec->zero >= 1 && spec->zero <= 2 && spec->overlap_param_gather &&
           !spec->deepspeed_pipeline;
}

static gboolean
is_root(const StepBuild *b, const PlanUnit *unit)
{
    const PlanSpec *spec = &b->plan->spec;
    return spec->zero == 3 && spec->bucket == PLAN_BUCKET_UNITS && unit->from == unit->to &&
           (spec->framework == PLAN_FSDP || spec->framework == PLAN_LLM_FOUNDRY);
}

static gboolean
uses_backward(ScheduleToken token)
{
    return token.kind == SCHEDULE_B || token.kind == SCHEDULE_I;
}

static StepShard *
shard_new(StepSharding *s, guint stage)
{
    StepShard *shard = g_new0(StepShard, 1);
    gboolean gathers =
        is_sharded(s) && (step_gathers_in_forward(s->b) || s->b->plan->spec.zero == 3);
    shard->stage = stage;
    const GArray *tokens = s->b->schedule->ranks[s->class->pp_rank];
    for (guint i = 0; i < tokens->len; i++) {
        ScheduleToken token = g_array_index(tokens, ScheduleToken, i);
        shard->uses_left += token.stage == stage && uses_backward(token);
    }
    shard->units = g_array_new(FALSE, TRUE, sizeof(StepUnit));
    g_autoptr(GArray) units = plan_stage_units(s->b->plan, stage);
    for (guint i = 0; i < units->len; i++) {
        StepUnit unit = {.unit = g_array_index(units, PlanUnit, i), .present = !gathers};
        StepParameters resident = step_resident_parameters(s->b, stage, &unit.unit);
        unit.root = is_root(s->b, &unit.unit);
        unit.moved =
            (StepParameters){unit.unit.dense - resident.dense, unit.unit.expert - resident.expert};
        s->resident += resident.dense + resident.expert;
        g_array_append_val(shard->units, unit);
    }
    return shard;
}

static void
shard_free(gpointer data)
{
    StepShard *shard = data;
    if (shard)
        g_array_unref(shard->units);
    g_free(shard);
}

static StepShard *
shard_of(StepSharding *s, guint stage)
{
    return g_ptr_array_index(s->shards, stage);
}

void
step_sharding_init(StepSharding *s, StepBuild *b, StepClass *class)
{
    *s = (StepSharding){
        .b = b,
        .class = class,
        .shards = g_ptr_array_new_with_free_func(shard_free),
        .templates = g_hash_table_new(NULL, NULL),
        .used = g_array_new(FALSE, FALSE, sizeof(StepUsed)),
    };
    g_ptr_array_set_size(s->shards, (gint)b->schedule->n_stages);
    g_autoptr(GArray) stages = step_stages_on(b->schedule, class->pp_rank);
    for (guint i = 0; i < stages->len; i++) {
        guint stage = (guint)g_array_index(stages, gint64, i);
        if (!shard_of(s, stage))
            s->shards->pdata[stage] = shard_new(s, stage);
    }
}

void
step_sharding_clear(StepSharding *s)
{
    g_ptr_array_unref(s->shards);
    g_hash_table_unref(s->templates);
    g_array_unref(s->used);
}

/* --- parts -------------------------------------------------------------------------------------- */

enum { WHOLE = 0xffff }; /* instead of a unit's number */
enum {
    PART_KEEPS = 1 << 0,        /* as StepPart.keeps */
    PART_COPIES_OUT = 1 << 1,   /* its parameters have just been gathered into a buffer */
    PART_DROPS = 1 << 2,        /* its parameters, when it is over */
    PART_HOLDS = 1 << 3,        /* full gradients from here on */
    PART_REDUCES = 1 << 4,      /* its own gradients */
    PART_REDUCES_ROOT = 1 << 5, /* those of the root */
    PART_WAITS = 1 << 6,        /* until all reductions so far are over */
    PART_ADDS = 1 << 7,         /* its gradients to those on the host */
    PART_ACCUMULATES = 1 << 8,  /* fresh gradients into full ones that are kept */
};

static StepParameters
unit_parameters(const StepUnit *u)
{
    return (StepParameters){u->unit.dense, u->unit.expert};
}

static StepParameters
root_parameters(const StepShard *shard)
{
    StepParameters sum = {0};
    for (guint i = 0; i < shard->units->len; i++)
        if (unit_at(shard, i)->root) {
            sum.dense += unit_at(shard, i)->unit.dense;
            sum.expert += unit_at(shard, i)->unit.expert;
        }
    return sum;
}

static StepPart
part_of(const StepSharding *s, const StepShard *shard, ScheduleToken token, guint unit)
{
    StepPart part = step_whole_token(s->b, token);
    if (unit == WHOLE)
        return part;
    const PlanUnit *u = &unit_at(shard, unit)->unit;
    part.from = u->from;
    part.to = u->to;
    part.embedding = u->embedding;
    part.head = u->head;
    part.begins = unit == (token.kind == SCHEDULE_F ? 0 : shard->units->len - 1);
    return part;
}

/* Reading and writing of what was gathered, from the buffer to the parameters, which are there beside each other.
 * FSDP2 keeps the buffer of a forward until the next unit is copied out; returns its bytes where they are. */
static gint64
add_copy_out(StepSharding *s, SimTemplate *t, StepParameters parameters, gboolean forward)
{
    StepBuild *b = s->b;
    gint64 n = step_unsharded(b, s->class, parameters);
    double bytes = (double)(n * (plan_gather_bytes(b->plan) + plan_parameter_bytes(b->plan)));
    if (n <= 0)
        return 0;
    guint op = step_add_memory(b, t, "gather_copy_out", STEP_DP, COST_COPY, bytes, FALSE);
    gint64 buffer = n * plan_gather_bytes(b->plan);
    gboolean stays = forward && b->plan->spec.framework != PLAN_DEEPSPEED;
    step_mark(b, t, op, STEP_MEMORY_GATHERED, buffer, stays ? 0 : -buffer);
    return stays ? buffer : 0;
}

static void
reduce(StepSharding *s, SimTemplate *t, StepParameters parameters, gboolean adds)
{
    step_add_reduction(s->b, t, s->class, parameters);
    step_offload_gradients(s->b, t, parameters, adds);
}

static SimTemplate *
part_template(StepSharding *s, const StepShard *shard, ScheduleToken token, guint unit, guint flags)
{
    StepBuild *b = s->b;
    SimTemplate *t = sim_template_new();
    StepPart part = part_of(s, shard, token, unit);
    const StepUnit *u = unit == WHOLE ? NULL : unit_at(shard, unit);
    gint64 buffer = 0;
    if (flags & PART_COPIES_OUT)
        buffer = add_copy_out(s, t, u->moved, token.kind == SCHEDULE_F);
    guint first = sim_template_n_ops(t);
    step_add_part(b, t, s->class, &part);
    guint last = sim_template_n_ops(t) - 1;
    while (sim_template_slot(t, first) != STEP_SLOT_COMPUTE) /* the host runs ahead */
        first++;
    while (sim_template_slot(t, last) !=
           STEP_SLOT_COMPUTE) /* what travels from here on needs no parameters */
        last--;
    step_mark(b, t, last, STEP_MEMORY_GATHERED, 0, -buffer);
    if (flags & PART_HOLDS)
        step_mark(b, t, first, STEP_MEMORY_GATHERED,
                  step_unsharded(b, s->class, unit_parameters(u)) * step_unsharded_width(b), 0);
    if (flags & PART_ACCUMULATES) {
        gint64 fresh = step_fresh_bytes(b, s->class, unit_parameters(u));
        step_mark(b, t, first, STEP_MEMORY_GATHERED, fresh, 0);
        step_mark(b, t, last, STEP_MEMORY_GATHERED, 0, -fresh);
    }
    if (flags & PART_DROPS)
        step_mark(b, t, last, STEP_MEMORY_GATHERED, 0, -step_gathered_bytes(b, s->class, u->moved));
    if (flags & PART_REDUCES)
        reduce(s, t, unit_parameters(u), flags & PART_ADDS);
    if (flags & PART_REDUCES_ROOT)
        reduce(s, t, root_parameters(shard), flags & PART_ADDS);
    if (flags & PART_WAITS)
        step_join_reductions(b, t);
    step_keep_template(b, t);
    return t;
}

static void
call_part(StepSharding *s, SimProgram *program, const StepShard *shard, ScheduleToken token,
          guint unit, guint flags, guint32 label)
{
    if (step_token_keeps(s->b, token))
        flags |= PART_KEEPS;
    gsize key = ((gsize)token.stage << 16 | unit) << 9 | flags | (gsize)(token.kind + 2) << 48;
    SimTemplate *t = g_hash_table_lookup(s->templates, GSIZE_TO_POINTER(key));
    if (!t) {
        t = part_template(s, shard, token, unit, flags);
        g_hash_table_insert(s->templates, GSIZE_TO_POINTER(key), t);
    }
    sim_program_call(program, t, token.microbatch, label);
}

/* --- rules -------------------------------------------------------------------------------------- */

gboolean
step_token_completes(const StepBuild *b, ScheduleToken token, gboolean last)
{
    gboolean gives = token.kind == SCHEDULE_B || token.kind == SCHEDULE_W;
    return gives && (last || b->plan->spec.reduce == PLAN_REDUCE_EACH);
}

gboolean
step_token_reduces(const StepBuild *b, ScheduleToken token, gboolean last)
{
    StepReduction how = step_reduction_of(b, token.stage);
    if (how != STEP_REDUCE_BESIDE && how != STEP_REDUCE_BLOCKING)
        return FALSE;
    /* Megatron knows no split backward: what is left to a W is reduced as one behind it. */
    if (token.kind == SCHEDULE_W && b->plan->spec.bucket == PLAN_BUCKET_FIRST_STAGE)
        return FALSE;
    return step_token_completes(b, token, last);
}

static gboolean
drops(const StepBuild *b, const StepShard *shard, const StepUnit *u, ScheduleToken token)
{
    const PlanSpec *spec = &b->plan->spec;
    if (spec->zero != 3 || token.kind == SCHEDULE_W)
        return FALSE;
    if (!spec->reshard_after_forward)
        return spec->pp > 1 ? shard->uses_left == 0 : token.kind != SCHEDULE_F;
    gboolean kept = u->root || (spec->framework == PLAN_TORCHTITAN && u->unit.head);
    return token.kind != SCHEDULE_F || !kept;
}

/* How the compute stream goes on behind a part that reduced. */
static gboolean
waits(const StepBuild *b, guint stage, gboolean ends)
{
    if (step_reduction_of(b, stage) == STEP_REDUCE_BLOCKING)
        return TRUE;
    return ends && b->plan->spec.framework != PLAN_MEGATRON;
}

static gboolean
needs_units(const StepSharding *s, const StepShard *shard, ScheduleToken token, gboolean last)
{
    const PlanSpec *spec = &s->b->plan->spec;
    if (is_sharded(s) && (spec->zero == 3 || (spec->zero == 2 && token.kind != SCHEDULE_F)))
        return TRUE;
    for (guint i = 0; i < shard->units->len && token.kind == SCHEDULE_F; i++)
        if (!unit_at(shard, i)->present)
            return TRUE;
    return step_token_reduces(s->b, token, last);
}

static void
await_unit(StepUnit *u, SimProgram *program)
{
    if (u->fresh)
        sim_program_wait(program, STEP_SLOT_COMPUTE, STEP_SLOT_GATHER, u->ready);
}

/* Units before this one whose layers are recomputed with its last ones. */
static guint
first_recomputed(const StepSharding *s, const StepShard *shard, ScheduleToken token, guint unit)
{
    const PlanUnit *u = &unit_at(shard, unit)->unit;
    gint64 step = plan_recompute_unit(s->b->plan), from = u->from / step * step;
    if (token.kind == SCHEDULE_F || token.kind == SCHEDULE_W || u->to == u->from ||
        MIN(from + step, s->b->plan->layers[shard->stage]) > u->to || step_token_keeps(s->b, token))
        return unit;
    while (unit > 0 && unit_at(shard, unit)->unit.from > from)
        unit--;
    return unit;
}

/* --- tokens ------------------------------------------------------------------------------------- */

static void
gather_for(StepSharding *s, SimProgram *program, StepShard *shard, ScheduleToken token, guint unit,
           guint32 label)
{
    if (token.kind == SCHEDULE_W)
        return;
    guint from = first_recomputed(s, shard, token, unit);
    for (guint i = unit + 1; i-- > from;) {
        step_gather_unit(s, program, shard, i, label);
        await_unit(unit_at(shard, i), program);
    }
}

static void
run_unit(StepSharding *s, SimProgram *program, StepShard *shard, ScheduleToken token, guint unit,
         gboolean last, guint32 label)
{
    StepBuild *b = s->b;
    StepUnit *u = unit_at(shard, unit);
    gboolean ends = unit == (token.kind == SCHEDULE_F ? shard->units->len - 1 : 0);
    gboolean gives = token.kind == SCHEDULE_B || token.kind == SCHEDULE_W;
    guint flags = 0;
    gather_for(s, program, shard, token, unit, label);
    if (u->fresh && token.kind != SCHEDULE_W && step_copies_units(b))
        flags |= PART_COPIES_OUT;
    u->fresh = u->fresh && token.kind == SCHEDULE_W;
    if (drops(b, shard, u, token)) {
        flags |= PART_DROPS;
        u->present = FALSE;
    }
    if (gives)
        flags |= PART_ACCUMULATES;
    if (gives && !u->unreduced && b->plan->spec.zero >= 2) {
        flags |= PART_HOLDS;
        u->unreduced = TRUE;
    }
    if (step_token_reduces(b, token, last)) {
        flags |= (u->root ? 0 : PART_REDUCES) | (ends ? PART_REDUCES_ROOT : 0);
        flags |= waits(b, shard->stage, ends) ? PART_WAITS : 0;
        flags |= u->reduced && b->plan->spec.framework == PLAN_DEEPSPEED ? PART_ADDS : 0;
        u->reduced = TRUE;
        for (guint i = 0; i < shard->units->len; i++)
            if (i == unit ? !u->root || ends : ends && unit_at(shard, i)->root)
                unit_at(shard, i)->unreduced = FALSE;
    }
    call_part(s, program, shard, token, unit, flags, label);
    if (flags & PART_DROPS)
        u->dropped = sim_program_launched(program, STEP_SLOT_COMPUTE);
    StepUsed used = {sim_program_launched(program, STEP_SLOT_COMPUTE),
                     u->moved.dense + u->moved.expert};
    if (b->plan->spec.zero == 3 && token.kind != SCHEDULE_W)
        g_array_append_val(s->used, used);
}

void
step_run_token(StepSharding *s, SimProgram *program, ScheduleToken token, gboolean last,
               guint32 label)
{
    StepShard *shard = shard_of(s, token.stage);
    shard->uses_left -= uses_backward(token);
    if (!needs_units(s, shard, token, last)) {
        call_part(s, program, shard, token, WHOLE, 0, label);
        return;
    }
    guint n = shard->units->len;
    for (guint i = 0; i < n && token.kind == SCHEDULE_F; i++)
        if (unit_at(shard, i)->root)
            step_gather_unit(s, program, shard, i, label);
    for (guint i = 0; i < n; i++)
        run_unit(s, program, shard, token, token.kind == SCHEDULE_F ? i : n - 1 - i, last, label);
}

/* --- overlapped pairs, and reductions of whole stages -------------------------------------------- */

/* An op of no time that allocates (> 0) or frees. */
static void
call_marker(StepSharding *s, SimProgram *program, gint64 bytes, guint32 label)
{
    if (bytes == 0)
        return;
    gsize key = (gsize)ABS(bytes) << 1 | (bytes < 0) | (gsize)1 << 62;
    SimTemplate *t = g_hash_table_lookup(s->templates, GSIZE_TO_POINTER(key));
    if (!t) {
        t = sim_template_new();
        guint32 tag = step_tag(s->b, "pass", STEP_OTHER, COST_MEASURED, 0, TRUE);
        guint op = sim_template_add(t, STEP_SLOT_COMPUTE, (SimWork){0}, tag);
        step_mark(s->b, t, op, STEP_MEMORY_GATHERED, MAX(bytes, 0), MIN(bytes, 0));
        step_keep_template(s->b, t);
        g_hash_table_insert(s->templates, GSIZE_TO_POINTER(key), t);
    }
    sim_program_call(program, t, 0, label);
}

void
step_before_pair(StepSharding *s, SimProgram *program, ScheduleToken token, guint32 label)
{
    StepShard *shard = shard_of(s, token.stage);
    gboolean gives = token.kind == SCHEDULE_B || token.kind == SCHEDULE_W;
    gint64 held = 0;
    shard->uses_left -= uses_backward(token);
    for (guint i = 0; i < shard->units->len; i++) {
        StepUnit *u = unit_at(shard, i);
        if (token.kind != SCHEDULE_W) {
            step_gather_unit(s, program, shard, i, label);
            await_unit(u, program);
            u->fresh = FALSE;
        }
        if (!gives || u->unreduced || s->b->plan->spec.zero < 2)
            continue;
        held += step_unsharded(s->b, s->class, unit_parameters(u)) * step_unsharded_width(s->b);
        u->unreduced = TRUE;
    }
    call_marker(s, program, held, label);
}

void
step_after_pair(StepSharding *s, SimProgram *program, ScheduleToken token, guint32 label)
{
    StepShard *shard = shard_of(s, token.stage);
    gint64 dropped = 0;
    for (guint i = 0; i < shard->units->len; i++) {
        StepUnit *u = unit_at(shard, i);
        StepUsed used = {sim_program_launched(program, STEP_SLOT_COMPUTE),
                         u->moved.dense + u->moved.expert};
        if (s->b->plan->spec.zero == 3 && token.kind != SCHEDULE_W)
            g_array_append_val(s->used, used);
        if (!u->present || !drops(s->b, shard, u, token))
            continue;
        dropped += step_gathered_bytes(s->b, s->class, u->moved);
        u->present = FALSE;
        u->dropped = used.end;
    }
    call_marker(s, program, -dropped, label);
}

static void
launch_reduction(StepSharding *s, SimProgram *program, StepParameters parameters, gboolean wait)
{
    SimTemplate *t = sim_template_new();
    reduce(s, t, parameters, FALSE);
    if (wait && sim_template_n_ops(t) > 0)
        step_join_reductions(s->b, t);
    step_keep_template(s->b, t);
    if (sim_template_n_ops(t) > 0)
        sim_program_call(program, t, 0, 0);
}

void
step_reduce_stages(StepSharding *s, SimProgram *program, const guint *stages, guint n)
{
    StepParameters sum = {0};
    gboolean as_one = s->b->plan->spec.bucket == PLAN_BUCKET_FIRST_STAGE;
    for (guint k = 0; k < n; k++) {
        StepShard *shard = shard_of(s, stages[k]);
        gboolean wait = step_reduction_of(s->b, stages[k]) == STEP_REDUCE_BLOCKING;
        for (guint i = shard->units->len; i-- > 0;) {
            StepUnit *u = unit_at(shard, i);
            u->unreduced = FALSE;
            sum.dense += u->unit.dense;
            sum.expert += u->unit.expert;
            if (as_one)
                continue;
            launch_reduction(s, program, sum, wait);
            sum = (StepParameters){0};
        }
    }
    if (as_one)
        launch_reduction(s, program, sum, FALSE);
}
