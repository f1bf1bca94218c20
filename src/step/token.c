/* Templates of the tokens: what a rank does for one F, B, I or W of a stage, or for a part of one: some of its
 * layers, with the embedding before the first and the head after the last. */
#include "config.h"

#include "step/build.h"

/* SC'21 scatter-gather: each tensor rank sends its share of the message; the receivers gather it over
 * NVLink before they compute. */
static void
add_scatter_gather(StepBuild *b, SimTemplate *t, const StepClass *class, ScheduleToken token)
{
    const Plan *plan = b->plan;
    if (!plan->spec.scatter_gather || plan->spec.sequence_parallel || plan->spec.tp == 1 ||
        !step_token_receives(b->schedule, class->pp_rank, token))
        return;
    guint gather =
        step_add_collective(b, t, "pipeline_gather", STEP_PP, STEP_SLOT_TP, STEP_PORT_TP,
                            NET_ALL_GATHER, class->tp, plan_p2p_bytes(plan) * plan->spec.tp, TRUE);
    /* Not for the other direction: its next message may depend on what this token sends. */
    sim_template_wait_slot(t, gather,
                           token.kind == SCHEDULE_F ? STEP_SLOT_RECV_F : STEP_SLOT_RECV_B);
}

/* What autograd left in the 16-bit gradient is added to the main gradient: reads both, writes one. */
void
step_add_accumulation(StepBuild *b, SimTemplate *t, gint64 parameters, LlmPass pass)
{
    const PlanSpec *spec = &b->plan->spec;
    if (spec->gradient_fusion || pass == LLM_PASS_INPUT_GRAD || parameters <= 0)
        return;
    gint64 element = plan_parameter_bytes(b->plan);
    gint64 main_element = plan_gradient_bytes(b->plan);
    step_add_memory(b, t, "grad_accumulate", STEP_COMPUTE, COST_ADD,
                    (double)(parameters * (2 * main_element + element)), TRUE);
}

/* --- recompute (SPEC.md 7.9) -------------------------------------------------------------------- */

/* Most microbatches of a stage between their forward and their backward. */
static guint
most_in_flight(const Schedule *s, guint stage)
{
    guint most = 0;
    for (guint rank = 0; rank < s->params.pp; rank++) {
        guint now = 0;
        for (guint i = 0; i < s->ranks[rank]->len; i++) {
            ScheduleToken token = g_array_index(s->ranks[rank], ScheduleToken, i);
            if (token.stage != stage || token.kind == SCHEDULE_W)
                continue;
            now = token.kind == SCHEDULE_F ? now + 1 : now - 1;
            most = MAX(most, now);
        }
    }
    return most;
}

guint *
step_most_in_flight(const StepBuild *b)
{
    if (b->plan->spec.recompute_microbatches <= 0)
        return NULL;
    guint *most = g_new(guint, b->schedule->n_stages);
    for (guint s = 0; s < b->schedule->n_stages; s++)
        most[s] = most_in_flight(b->schedule, s);
    return most;
}

/* Megatron counts microbatches modulo those in flight; the last ones of each round are recomputed. Where pairs
 * interleave it knows no such window. */
gboolean
step_token_keeps(const StepBuild *b, ScheduleToken token)
{
    const PlanSpec *spec = &b->plan->spec;
    if (spec->recompute != LLM_RECOMPUTE_FULL || spec->recompute_microbatches <= 0 || b->has_pairs)
        return FALSE;
    guint window = b->in_flight[token.stage];
    guint kept = window - (guint)MIN(spec->recompute_microbatches, window);
    return window > 0 && token.microbatch % window < kept;
}

/* The unit of the i-th layer is [i / k * k, ...) of k layers; the last one may be partial. */
LlmRecompute
step_layer_recompute(const StepBuild *b, guint stage, gint64 i)
{
    LlmRecompute recompute = plan_layer_recompute(b->plan, stage, i);
    return recompute == LLM_RECOMPUTE_FULL && i % plan_recompute_unit(b->plan) != 0
               ? STEP_RECOMPUTE_INNER
               : recompute;
}

/* As op lists know it. */
static LlmRecompute
cut_recompute(LlmRecompute recompute)
{
    return recompute == STEP_RECOMPUTE_INNER ? LLM_RECOMPUTE_FULL : recompute;
}

/* --- pieces, with their marks ------------------------------------------------------------------- */

static void
add_piece(StepBuild *b, SimTemplate *t, StepClass *class, LlmPiece piece, LlmRecompute recompute,
          LlmPass pass)
{
    guint first = step_add_piece(b, t, class, piece, cut_recompute(recompute), pass);
    if (first == sim_template_n_ops(t))
        return;
    guint last = sim_template_n_ops(t) - 1;
    if (pass == LLM_PASS_FORWARD)
        step_mark_forward(b, t, piece, recompute, first, last);
    else if (pass == LLM_PASS_RECOMPUTE)
        step_mark_recompute(b, t, piece, recompute, first, last);
    else
        step_mark_backward(b, t, piece, recompute, pass, first, last);
}

void
step_add_recompute(StepBuild *b, SimTemplate *t, StepClass *class, guint stage, gint64 i)
{
    gint64 unit = plan_recompute_unit(b->plan), layers = b->plan->layers[stage];
    if ((i + 1) % unit != 0 && i + 1 != layers)
        return;
    for (gint64 k = i / unit * unit; k <= i; k++)
        add_piece(b, t, class, plan_layer_piece(b->plan, stage, k),
                  step_layer_recompute(b, stage, k), LLM_PASS_RECOMPUTE);
}

/* Final norm, LM head and loss come after the last layer, prediction modules after them. */
static void
add_head_forward(StepBuild *b, SimTemplate *t, StepClass *class, guint stage)
{
    LlmRecompute recompute = b->plan->spec.recompute;
    add_piece(b, t, class, LLM_PIECE_HEAD, recompute, LLM_PASS_FORWARD);
    for (gint64 i = 0; i < plan_stage_mtp(b->plan, stage); i++)
        add_piece(b, t, class, LLM_PIECE_MTP, recompute, LLM_PASS_FORWARD);
}

static void
add_head_backward(StepBuild *b, SimTemplate *t, StepClass *class, guint stage, LlmPass pass)
{
    LlmRecompute recompute = b->plan->spec.recompute;
    gint64 parameters = step_piece_parameters(b, stage, LLM_PIECE_MTP);
    for (gint64 i = 0; i < plan_stage_mtp(b->plan, stage); i++) {
        if (pass != LLM_PASS_WEIGHT_GRAD)
            add_piece(b, t, class, LLM_PIECE_MTP, recompute, LLM_PASS_RECOMPUTE);
        add_piece(b, t, class, LLM_PIECE_MTP, recompute, pass);
        step_add_accumulation(b, t, parameters, pass);
    }
    add_piece(b, t, class, LLM_PIECE_HEAD, recompute, pass);
    step_add_accumulation(b, t, step_piece_parameters(b, stage, LLM_PIECE_HEAD), pass);
}

static void
add_embedding(StepBuild *b, SimTemplate *t, StepClass *class, guint stage, LlmPass pass)
{
    add_piece(b, t, class, LLM_PIECE_EMBEDDING, b->plan->spec.recompute, pass);
    if (pass != LLM_PASS_FORWARD)
        step_add_accumulation(b, t, step_piece_parameters(b, stage, LLM_PIECE_EMBEDDING), pass);
}

/* --- parts of tokens ---------------------------------------------------------------------------- */

static LlmPass
pass_of(ScheduleToken token)
{
    static const LlmPass passes[] = {LLM_PASS_FORWARD, LLM_PASS_BACKWARD, LLM_PASS_INPUT_GRAD,
                                     LLM_PASS_WEIGHT_GRAD};
    return passes[token.kind];
}

static LlmRecompute
recompute_in(const StepBuild *b, const StepPart *part, gint64 i)
{
    return part->keeps || i < 0 ? LLM_RECOMPUTE_NONE
                                : step_layer_recompute(b, part->token.stage, i);
}

static void
add_forward(StepBuild *b, SimTemplate *t, StepClass *class, const StepPart *part)
{
    guint stage = part->token.stage;
    if (part->embedding)
        add_embedding(b, t, class, stage, LLM_PASS_FORWARD);
    for (gint64 i = part->from; i < part->to; i++) {
        LlmRecompute recompute = recompute_in(b, part, i);
        add_piece(b, t, class, plan_layer_piece(b->plan, stage, i), recompute, LLM_PASS_FORWARD);
        step_offload_layer(b, t, stage, i, recompute);
    }
    if (part->head)
        add_head_forward(b, t, class, stage);
}

/* B or I of a layer. What it needs from the host has been on its way since the layer above began; what the layer
 * below needs is now. */
static void
add_layer_backward(StepBuild *b, SimTemplate *t, StepClass *class, const StepPart *part, gint64 i)
{
    guint stage = part->token.stage;
    LlmRecompute recompute = recompute_in(b, part, i);
    if (i + 1 == b->plan->layers[stage])
        step_fetch_layer(b, t, stage, i, recompute);
    step_await_layer(b, t, stage, i, recompute);
    step_fetch_layer(b, t, stage, i - 1, recompute_in(b, part, i - 1));
    if (!part->keeps)
        step_add_recompute(b, t, class, stage, i);
    add_piece(b, t, class, plan_layer_piece(b->plan, stage, i), recompute, pass_of(part->token));
}

/* B, I or W: head, layers from last to first (each after its recompute), embedding. */
static void
add_backward(StepBuild *b, SimTemplate *t, StepClass *class, const StepPart *part)
{
    guint stage = part->token.stage;
    LlmPass pass = pass_of(part->token);
    if (part->head)
        add_head_backward(b, t, class, stage, pass);
    for (gint64 i = part->to - 1; i >= part->from; i--) {
        LlmPiece piece = plan_layer_piece(b->plan, stage, i);
        if (pass == LLM_PASS_WEIGHT_GRAD)
            add_piece(b, t, class, piece, recompute_in(b, part, i), pass);
        else
            add_layer_backward(b, t, class, part, i);
        step_add_accumulation(b, t, step_piece_parameters(b, stage, piece), pass);
    }
    if (part->embedding)
        add_embedding(b, t, class, stage, pass);
}

/* Whatever has no kernels still passes its input on: an op of no time keeps the order. */
void
step_add_part(StepBuild *b, SimTemplate *t, StepClass *class, const StepPart *part)
{
    if (part->begins)
        add_scatter_gather(b, t, class, part->token);
    guint before = sim_template_n_ops_on(t, STEP_SLOT_COMPUTE);
    if (part->token.kind == SCHEDULE_F)
        add_forward(b, t, class, part);
    else
        add_backward(b, t, class, part);
    if (sim_template_n_ops_on(t, STEP_SLOT_COMPUTE) == before)
        sim_template_add(t, STEP_SLOT_COMPUTE, (SimWork){0},
                         step_tag(b, "pass", STEP_OTHER, COST_MEASURED, 0, TRUE));
}

StepPart
step_whole_token(const StepBuild *b, ScheduleToken token)
{
    return (StepPart){.token = token,
                      .to = b->plan->layers[token.stage],
                      .embedding = plan_stage_has_embedding(b->plan, token.stage),
                      .head = plan_stage_has_head(b->plan, token.stage),
                      .begins = TRUE,
                      .keeps = step_token_keeps(b, token)};
}

void
step_add_token(StepBuild *b, SimTemplate *t, StepClass *class, ScheduleToken token)
{
    StepPart part = step_whole_token(b, token);
    step_add_part(b, t, class, &part);
}

SimTemplate *
step_token_template(StepBuild *b, StepClass *class, ScheduleToken token)
{
    SimTemplate *t = sim_template_new();
    step_add_token(b, t, class, token);
    step_keep_template(b, t);
    return t;
}

void
step_begin_token(StepBuild *b, SimTemplate *t, StepClass *class, ScheduleToken token)
{
    add_scatter_gather(b, t, class, token);
    if (token.kind == SCHEDULE_F && plan_stage_has_embedding(b->plan, token.stage))
        add_embedding(b, t, class, token.stage, LLM_PASS_FORWARD);
    if (token.kind != SCHEDULE_F && plan_stage_has_head(b->plan, token.stage))
        add_head_backward(b, t, class, token.stage, pass_of(token));
}

void
step_end_token(StepBuild *b, SimTemplate *t, StepClass *class, ScheduleToken token)
{
    if (token.kind == SCHEDULE_F && plan_stage_has_head(b->plan, token.stage))
        add_head_forward(b, t, class, token.stage);
    if (token.kind != SCHEDULE_F && plan_stage_has_embedding(b->plan, token.stage))
        add_embedding(b, t, class, token.stage, pass_of(token));
}
