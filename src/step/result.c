/* What a run says: spans of the pipeline, FLOPs, and the parts that path.c and memory.c add. */
#include "config.h"

#include "step/build.h"

/* Sums over the tokens of one rank. */
static void
measure_rank(const StepBuild *b, SimEngine *engine, guint i, StepStage *stage)
{
    const StepRank *rank = &g_array_index(b->ranks, StepRank, i);
    const StepLowered *lowered = g_ptr_array_index(b->lowered, rank->class);
    const GArray *tokens = b->schedule->ranks[stage->pp_rank];
    gint64 count[2] = {0};
    stage->start_ns = G_MAXINT64;
    for (guint k = 0; k < tokens->len; k++) {
        ScheduleToken token = g_array_index(tokens, ScheduleToken, k);
        gint64 start, end;
        gint64 ns = step_token_span(lowered, engine, i, k, &start, &end);
        stage->start_ns = MIN(stage->start_ns, start);
        stage->end_ns = MAX(stage->end_ns, end);
        if (k > 0 && lowered->calls[k] == lowered->calls[k - 1])
            ns = 0; /* a pair that ran as one: its time is with the first */
        stage->busy_ns += ns;
        if (token.kind == SCHEDULE_F)
            stage->forward_ns += ns;
        else
            stage->backward_ns += ns;
        if (step_token_sends(b->schedule, (guint)stage->pp_rank, token))
            stage->sent_bytes += plan_p2p_bytes(b->plan);
        count[0] += token.kind == SCHEDULE_F;
        count[1] += token.kind == SCHEDULE_B || token.kind == SCHEDULE_I;
    }
    stage->forward_ns /= MAX(count[0], 1);
    stage->backward_ns /= MAX(count[1], 1);
}

static void
measure_links(const StepBuild *b, const SimEngine *engine, guint i, StepStage *stage)
{
    const StepLinks *links = &b->links[i];
    stage->nvlink_bytes = step_resource_bytes(engine, &links->nvlink[STEP_OUT]);
    stage->nic_bytes = step_resource_bytes(engine, &links->nic[STEP_OUT]) * step_nics_of(b, i);
}

static void
measure_pipeline(const StepBuild *b, SimEngine *engine, StepResult *r)
{
    gint64 busy_max = 0,
           begin_ns = G_MAXINT64; /* the pipeline begins when its first weights are there */
    for (guint i = 0; i < (guint)b->plan->spec.pp; i++) {
        StepStage stage = {.pp_rank = i};
        g_autoptr(GArray) stages = step_stages_on(b->schedule, i);
        for (guint k = 0; k < stages->len; k++)
            stage.layers += b->plan->layers[g_array_index(stages, gint64, k)];
        measure_rank(b, engine, i, &stage); /* the first column: pp consecutive ranks */
        stage.traffic = step_traffic(b, i);
        measure_links(b, engine, i, &stage);
        begin_ns = MIN(begin_ns, stage.start_ns);
        r->makespan_ns = MAX(r->makespan_ns, stage.end_ns);
        r->max_span_ns = MAX(r->max_span_ns, stage.end_ns - stage.start_ns);
        busy_max = MAX(busy_max, stage.busy_ns);
        g_array_append_val(r->stages, stage);
    }
    r->makespan_ns -= begin_ns;
    for (guint i = 0; i < r->stages->len; i++) {
        StepStage *stage = &g_array_index(r->stages, StepStage, i);
        stage->idle_ns = r->makespan_ns - stage->busy_ns;
    }
    double idle = (double)(r->makespan_ns - busy_max);
    r->bubble_fraction = r->makespan_ns > 0 ? idle / (double)r->makespan_ns : 0;
    r->bubble_over_ideal = busy_max > 0 ? idle / (double)busy_max : 0;
}

/* What one iteration takes where the next one follows rank by rank (see StepResult.time_ns). */
static gint64
period(const StepBuild *b, SimEngine *engine)
{
    gint64 longest = 0,
           step = G_MAXINT64; /* the optimizer step, where it waits for no other rank */
    g_autofree StepStage *all = g_new0(StepStage, b->ranks->len);
    for (guint i = 0; i < b->ranks->len; i++) {
        guint class = g_array_index(b->ranks, StepRank, i).class;
        all[i].pp_rank = g_array_index(b->classes, StepClass, class).pp_rank;
        measure_rank(b, engine, i, &all[i]);
        step = MIN(step, sim_engine_rank_end(engine, i) - all[i].end_ns);
    }
    for (guint i = 0; i < b->ranks->len; i++) {
        gint64 own = b->schedule->asynchronous ? all[i].busy_ns + step
                                               : sim_engine_rank_end(engine, i) - all[i].start_ns;
        longest = MAX(longest, own);
    }
    return longest;
}

gint64
step_iteration_ns(const StepBuild *b, SimEngine *engine)
{
    gboolean apart =
        b->schedule->asynchronous || b->plan->spec.optimizer_barrier != PLAN_BARRIER_GLOBAL;
    return apart ? period(b, engine) : sim_engine_now(engine);
}

/* In the steady state of an asynchronous schedule nothing waits for a fill: idle is what the slowest rank
 * makes the others wait. */
static void
steady_pipeline(StepResult *r)
{
    r->makespan_ns = 0;
    for (guint i = 0; i < r->stages->len; i++)
        r->makespan_ns = MAX(r->makespan_ns, g_array_index(r->stages, StepStage, i).busy_ns);
    for (guint i = 0; i < r->stages->len; i++) {
        StepStage *stage = &g_array_index(r->stages, StepStage, i);
        stage->idle_ns = r->makespan_ns - stage->busy_ns;
    }
    r->max_span_ns = r->makespan_ns;
    r->bubble_fraction = r->bubble_over_ideal = 0;
}

static double
hardware_flops(StepBuild *b)
{
    double sum = 0;
    for (guint i = 0; i < (guint)b->plan->spec.pp; i++) {
        StepClass *class =
            &g_array_index(b->classes, StepClass, g_array_index(b->ranks, StepRank, i).class);
        const GArray *tokens = b->schedule->ranks[i];
        for (guint k = 0; k < tokens->len; k++) {
            ScheduleToken token = g_array_index(tokens, ScheduleToken, k);
            sum += step_token_flops(b, class, token);
        }
    }
    return sum * (double)(b->plan->gpus / b->plan->spec.pp);
}

static void
report_tokens(const StepBuild *b, SimEngine *engine, const StepOptions *options)
{
    for (guint i = 0; i < b->ranks->len; i++) {
        const StepRank *rank = &g_array_index(b->ranks, StepRank, i);
        guint pp_rank = g_array_index(b->classes, StepClass, rank->class).pp_rank;
        const StepLowered *lowered = g_ptr_array_index(b->lowered, rank->class);
        const GArray *tokens = b->schedule->ranks[pp_rank];
        for (guint k = 0; k < tokens->len; k++) {
            gint64 start, end;
            step_token_span(lowered, engine, i, k, &start, &end);
            options->token(options->token_user, pp_rank, g_array_index(tokens, ScheduleToken, k),
                           start, end);
        }
    }
}

static void
clear_stage(gpointer data)
{
    StepStage *stage = data;
    g_clear_pointer(&stage->traffic, g_array_unref);
}

StepResult *
step_collect(StepBuild *b, SimEngine *engine, const StepOptions *options)
{
    StepResult *r = g_new0(StepResult, 1);
    r->stages = g_array_new(FALSE, TRUE, sizeof(StepStage));
    g_array_set_clear_func(r->stages, clear_stage);
    measure_pipeline(b, engine, r);
    r->time_ns = step_iteration_ns(b, engine);
    if (b->schedule->asynchronous)
        steady_pipeline(r);
    step_breakdown(b, engine, r);
    step_report_links(b, engine, r);
    step_memory(b, r, options);
    r->model_flops = llm_flops_per_token(b->plan->shape, b->plan->spec.seq, options->convention) *
                     (double)b->plan->tokens;
    r->hardware_flops = hardware_flops(b);
    r->events = sim_engine_n_events(engine);
    r->ops = sim_engine_n_ops(engine);
    r->ranks = (guint)b->plan->gpus;
    r->ranks_simulated = b->ranks->len;
    if (options->token)
        report_tokens(b, engine, options);
    return r;
}

void
step_result_free(StepResult *r)
{
    if (!r)
        return;
    g_clear_pointer(&r->stages, g_array_unref);
    g_clear_pointer(&r->links, g_array_unref);
    g_clear_pointer(&r->doubts, g_array_unref);
    g_clear_pointer(&r->shapes, g_array_unref);
    g_clear_pointer(&r->time_why, why_free);
    g_free(r);
}
