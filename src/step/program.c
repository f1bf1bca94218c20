/* One program a class: the lowered schedule, with data-parallel reductions launched beside it and the end of
 * the iteration after it. */
#include "config.h"

#include "step/shard.h"

typedef struct {
    StepBuild *b;
    StepClass *class;
    StepSharding sharding;
    GHashTable *pairs; /* (stages, kind) -> template; look-up only */
    GArray *due;       /* of Due: chunk reductions waiting for their turn */
    GArray *later;     /* of guint: stages reduced when all backwards are done */
    guint backwards;   /* backward tokens so far */
    gboolean in_pair;  /* the last token was run in one */
} Programming;

typedef struct {
    guint stage, at; /* launched after the at-th backward token */
} Due;

static void
run_token(void *user, SimProgram *program, ScheduleToken token, gboolean first, gboolean last,
          guint32 label)
{
    Programming *p = user;
    (void)first;
    p->in_pair = FALSE;
    step_run_token(&p->sharding, program, token, last, label);
}

static void
before_pair(void *user, SimProgram *program, ScheduleToken token, guint32 label)
{
    Programming *p = user;
    p->in_pair = TRUE;
    step_before_pair(&p->sharding, program, token, label);
}

/* Pairs differ in too many ways to be kept by place: by both stages. */
static const SimTemplate *
pair_template(void *user, ScheduleToken x, ScheduleToken y)
{
    Programming *p = user;
    gsize n = p->b->schedule->n_stages, key = ((gsize)x.stage * n + y.stage) * 4 + y.kind;
    SimTemplate *t = g_hash_table_lookup(p->pairs, GSIZE_TO_POINTER(key));
    if (!t) {
        t = step_pair_template(p->b, p->class, x, y);
        g_hash_table_insert(p->pairs, GSIZE_TO_POINTER(key), t);
    }
    return t;
}

static gboolean
pair_interleaves(void *user, ScheduleToken x, ScheduleToken y)
{
    return step_pair_interleaves(((Programming *)user)->b, x, y);
}

static SimWork
wire_work(void *user, guint replica, guint boundary)
{
    Programming *p = user;
    return step_wire_work(p->b, p->class, replica, boundary);
}

static void
launch_due(Programming *p, SimProgram *program, gboolean all)
{
    while (p->due->len > 0 && (all || g_array_index(p->due, Due, 0).at <= p->backwards)) {
        guint stage = g_array_index(p->due, Due, 0).stage;
        g_array_remove_index(p->due, 0);
        step_reduce_stages(&p->sharding, program, &stage, 1);
    }
}

/* Chunks that are done wait for the ranks before them when reductions are aligned: the one finished at
 * backward step k - r is reduced at step k on rank r, so that all ranks start together. */
static void
reduce_after(Programming *p, SimProgram *program, ScheduleToken token, gboolean last)
{
    const PlanSpec *spec = &p->b->plan->spec;
    StepReduction how = step_reduction_of(p->b, token.stage);
    gboolean chunked = spec->vpp > 1 && spec->overlap_grad_reduce && how != STEP_REDUCE_AT_END;
    guint delay = spec->align_grad_reduce && last ? p->class->pp_rank : 0;
    Due due = {token.stage, p->backwards + delay};
    if (!last) /* one of many reductions of the stage: at once */
        step_reduce_stages(&p->sharding, program, &due.stage, 1);
    else if (chunked)
        g_array_append_val(p->due, due);
    else
        g_array_append_val(p->later, due.stage);
}

static void
after_token(void *user, SimProgram *program, guint index, ScheduleToken token, gboolean last)
{
    Programming *p = user;
    if (p->in_pair)
        step_after_pair(&p->sharding, program, token, index + 1);
    if (token.kind == SCHEDULE_F)
        return;
    if (token.kind != SCHEDULE_W)
        p->backwards++;
    gboolean reduced = !p->in_pair && step_token_reduces(p->b, token, last);
    gboolean at_end = step_reduction_of(p->b, token.stage) == STEP_REDUCE_AT_END;
    if (step_token_completes(p->b, token, last) && !reduced && (last || !at_end))
        reduce_after(p, program, token, last);
    launch_due(p, program, FALSE);
}

static void
build_program(StepBuild *b, StepClass *class)
{
    Programming p = {
        .b = b,
        .class = class,
        .pairs = g_hash_table_new(NULL, NULL),
        .due = g_array_new(FALSE, FALSE, sizeof(Due)),
        .later = g_array_new(FALSE, FALSE, sizeof(guint)),
    };
    step_sharding_init(&p.sharding, b, class);
    gboolean blocking = b->p2p == PLAN_P2P_BLOCKING || b->p2p == PLAN_P2P_FUSED;
    gint64 sync_ns = step_work((double)b->plan->system->sync_ns).duration_ns;
    StepLowering lowering = {
        .schedule = b->schedule,
        .rank = class->pp_rank,
        .p2p = b->p2p,
        .run = run_token,
        .before_pair = before_pair,
        .pair = pair_template,
        .as_unit = pair_interleaves,
        .wire = wire_work,
        .after = after_token,
        .sync_ns = blocking && b->plan->spec.p2p_sync ? sync_ns : 0,
        .wire_tag = b->wire_tag,
        .sync_tag = b->sync_tag,
        .user = &p,
    };
    StepLowered *lowered = step_lower(&lowering);
    launch_due(&p, lowered->program, TRUE);
    step_reduce_stages(&p.sharding, lowered->program, (const guint *)(gpointer)p.later->data,
                       p.later->len);
    sim_program_call(lowered->program, step_finish_template(b, class), 0, 0);
    g_ptr_array_add(b->lowered, lowered);
    g_array_unref(p.due);
    g_array_unref(p.later);
    g_hash_table_unref(p.pairs);
    step_sharding_clear(&p.sharding);
}

static gboolean
has_pairs(const Schedule *schedule)
{
    for (guint rank = 0; rank < schedule->params.pp; rank++)
        for (guint i = 0; i < schedule->ranks[rank]->len; i++)
            if (g_array_index(schedule->ranks[rank], ScheduleToken, i).pair != SCHEDULE_SINGLE)
                return TRUE;
    return FALSE;
}

static gboolean
stays_in_nodes(const StepBuild *b)
{
    guint stages = b->schedule->n_stages;
    for (guint c = 0; c < b->classes->len; c++) {
        const GArray *local = g_array_index(b->classes, StepClass, c).boundary_local;
        for (guint i = 0; i < local->len; i++)
            if (i % stages + 1 < stages && !g_array_index(local, gboolean, i))
                return FALSE;
    }
    return TRUE;
}

/* One tag for all messages: how the time of one is known, over the network if any goes there. */
static guint32
message_tag(StepBuild *b)
{
    gboolean local = stays_in_nodes(b);
    gint64 bytes = plan_p2p_bytes(b->plan);
    CostTime time = net_point_to_point(b->net, local, bytes).time;
    NetGroup pair = {.ranks = 2, .nodes = local ? 1 : 2, .ranks_per_node = local ? 2 : 1};
    StepOp op = {.name = "pipeline_message",
                 .kind = STEP_PP,
                 .basis = time.basis,
                 .error_frac = time.error_frac,
                 .pipeline = TRUE};
    op.shape = step_collective_shape(b, op.name, STEP_PP, NET_SEND_RECV, &pair, bytes, time);
    return step_intern_op(b, &op);
}

void
step_build_programs(StepBuild *b)
{
    b->wire_tag = message_tag(b);
    b->launch_tag = step_tag(b, "kernel_launch", STEP_HOST, COST_MODELLED, 0.3, TRUE);
    b->sync_tag = step_tag(b, "p2p_sync", STEP_HOST, COST_MODELLED, 0.5, TRUE);
    b->read_tag = step_tag(b, "token_count_sync", STEP_HOST, COST_MODELLED, 0.5, TRUE);
    b->has_pairs = has_pairs(b->schedule);
    b->in_flight = step_most_in_flight(b);
    for (guint i = 0; i < b->classes->len; i++)
        build_program(b, &g_array_index(b->classes, StepClass, i));
}
