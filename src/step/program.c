/* One program a class: the lowered schedule, with data-parallel reductions launched beside it and the end of
 * the iteration after it. */
#include "config.h"

#include "step/build.h"

#define VARIANTS 2 /* the last of a kind on a stage may reduce gradients */

typedef struct {
    StepBuild *b;
    StepClass *class;
    SimTemplate **tokens; /* [(kind * stages + stage) * VARIANTS + variant]; borrowed */
    GHashTable *pairs;    /* (stages, kind) -> template; look-up only */
    GArray *due;          /* of Due: chunk reductions waiting for their turn */
    gint64 reduced_later; /* parameters reduced when all backwards are done */
    guint backwards;      /* backward tokens so far */
} Programming;

typedef struct {
    guint stage, at; /* launched after the at-th backward token */
} Due;

/* The first forward of a stage waits for its weights, bucket by bucket; the waits lie between its calls. */
static void
run_gathered(Programming *p, SimProgram *program, ScheduleToken token, guint32 label)
{
    guint before = sim_program_launched(program, STEP_SLOT_DP);
    sim_program_call(program, step_gather_template(p->b, p->class, token.stage), 0, 0);
    for (guint part = 0; part < step_n_parts(p->b, token.stage); part++) {
        sim_program_wait(program, STEP_SLOT_COMPUTE, STEP_SLOT_DP, before + part + 1);
        sim_program_call(program, step_forward_part(p->b, p->class, token, part), token.microbatch,
                         label);
    }
}

static void
run_token(void *user, SimProgram *program, ScheduleToken token, gboolean first, gboolean last,
          guint32 label)
{
    Programming *p = user;
    if (token.kind == SCHEDULE_F && first && step_gathers_in_forward(p->b)) {
        run_gathered(p, program, token, label);
        return;
    }
    gsize place = ((gsize)token.kind * p->b->schedule->n_stages + token.stage) * VARIANTS + !!last;
    if (!p->tokens[place])
        p->tokens[place] = step_token_template(p->b, p->class, token, last);
    sim_program_call(program, p->tokens[place], token.microbatch, label);
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

static SimWork
wire_work(void *user, guint replica, guint boundary)
{
    Programming *p = user;
    return step_wire_work(p->b, p->class, replica, boundary);
}

static void
launch_reduction(Programming *p, SimProgram *program, gint64 parameters)
{
    SimTemplate *t = sim_template_new();
    step_add_reduction(p->b, t, p->class, parameters);
    g_ptr_array_add(p->b->templates, t);
    if (sim_template_n_ops(t) > 0)
        sim_program_call(program, t, 0, 0);
}

static void
launch_due(Programming *p, SimProgram *program, gboolean all)
{
    while (p->due->len > 0 && (all || g_array_index(p->due, Due, 0).at <= p->backwards)) {
        guint stage = g_array_index(p->due, Due, 0).stage;
        g_array_remove_index(p->due, 0);
        launch_reduction(p, program, plan_stage_parameters(p->b->plan, stage));
    }
}

/* Chunks that are done wait for the ranks before them when reductions are aligned: the one finished at
 * backward step k - r is reduced at step k on rank r, so that all ranks start together. */
static void
after_token(void *user, SimProgram *program, guint index, ScheduleToken token, gboolean last)
{
    Programming *p = user;
    const PlanSpec *spec = &p->b->plan->spec;
    (void)index;
    if (token.kind == SCHEDULE_F)
        return;
    if (token.kind != SCHEDULE_W)
        p->backwards++;
    gboolean completes = last && (token.kind == SCHEDULE_B || token.kind == SCHEDULE_W);
    if (completes && !(step_reduces_in_backward(p->b, token.stage) && token.kind == SCHEDULE_B)) {
        gboolean chunked = spec->overlap_grad_reduce && !spec->deepspeed_pipeline && spec->vpp > 1;
        Due due = {token.stage, p->backwards + (spec->align_grad_reduce ? p->class->pp_rank : 0)};
        if (chunked)
            g_array_append_val(p->due, due);
        else
            p->reduced_later += plan_stage_parameters(p->b->plan, token.stage);
    }
    launch_due(p, program, FALSE);
}

static void
build_program(StepBuild *b, StepClass *class)
{
    Programming p = {
        .b = b,
        .class = class,
        .tokens = g_new0(SimTemplate *, (gsize)4 * b->schedule->n_stages * VARIANTS),
        .pairs = g_hash_table_new(NULL, NULL),
        .due = g_array_new(FALSE, FALSE, sizeof(Due)),
    };
    gboolean blocking = b->p2p == PLAN_P2P_BLOCKING || b->p2p == PLAN_P2P_FUSED;
    gint64 sync_ns = step_work((double)b->plan->system->sync_ns).duration_ns;
    StepLowering lowering = {
        .schedule = b->schedule,
        .rank = class->pp_rank,
        .p2p = b->p2p,
        .run = run_token,
        .pair = pair_template,
        .wire = wire_work,
        .after = after_token,
        .sync_ns = blocking && b->plan->spec.p2p_sync ? sync_ns : 0,
        .wire_tag = b->wire_tag,
        .sync_tag = b->sync_tag,
        .user = &p,
    };
    StepLowered *lowered = step_lower(&lowering);
    launch_due(&p, lowered->program, TRUE);
    if (p.reduced_later > 0)
        launch_reduction(&p, lowered->program, p.reduced_later);
    sim_program_call(lowered->program, step_finish_template(b, class), 0, 0);
    g_ptr_array_add(b->lowered, lowered);
    g_array_unref(p.due);
    g_hash_table_unref(p.pairs);
    g_free(p.tokens);
}

void
step_build_programs(StepBuild *b)
{
    /* One tag for all messages: how the time of one over the network is known. */
    CostTime message = net_point_to_point(b->net, FALSE, plan_p2p_bytes(b->plan)).time;
    b->wire_tag = step_tag(b, "pipeline_message", STEP_PP, message.basis, message.error_frac, TRUE);
    b->launch_tag = step_tag(b, "kernel_launch", STEP_HOST, COST_MODELLED, 0.3, TRUE);
    b->sync_tag = step_tag(b, "p2p_sync", STEP_HOST, COST_MODELLED, 0.5, TRUE);
    for (guint i = 0; i < b->classes->len; i++)
        build_program(b, &g_array_index(b->classes, StepClass, i));
}
