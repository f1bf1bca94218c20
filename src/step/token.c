/* Templates of the tokens: what a rank does for one F, B, I or W of a stage. */
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

/* Parameters of a stage that belong to no layer: embedding, final norm, head. */
static gint64
outer_parameters(const StepBuild *b, guint stage)
{
    gint64 each = llm_layer_parameters_per_rank(b->plan->shape, b->plan->spec.tp);
    return plan_stage_parameters(b->plan, stage) - b->plan->layers[stage] * each;
}

/* Of those, what the head owns: its gradients are the first to be ready. */
static gint64
head_parameters(const StepBuild *b, guint stage)
{
    const Plan *plan = b->plan;
    if (stage + 1 != (guint)plan->n_stages)
        return 0;
    LlmParameters p = llm_parameters(plan->shape);
    gint64 embedding = stage > 0 ? 0
                                 : plan->vocab_padded / plan->spec.tp * plan->shape->hidden +
                                       p.position + p.embedding_norm;
    return outer_parameters(b, stage) - embedding;
}

/* Parameter gathers of a stage before its first forward: one for each bucket, in forward order. */
SimTemplate *
step_gather_template(StepBuild *b, const StepClass *class, guint stage)
{
    SimTemplate *t = sim_template_new();
    gint64 layers = b->plan->layers[stage], step = step_bucket_layers(b, stage);
    gint64 each = llm_layer_parameters_per_rank(b->plan->shape, b->plan->spec.tp);
    gint64 head = head_parameters(b, stage), embedding = outer_parameters(b, stage) - head;
    for (gint64 i = 0; i < MAX(layers, 1); i += step)
        step_add_gather(b, t, class,
                        MIN(step, layers - i) * each + (i == 0 ? embedding : 0) +
                            (i + step >= layers ? head : 0));
    g_ptr_array_add(b->templates, t);
    return t;
}

guint
step_n_parts(const StepBuild *b, guint stage)
{
    gint64 step = step_bucket_layers(b, stage);
    return (guint)((MAX(b->plan->layers[stage], 1) + step - 1) / step);
}

/* Layers of one bucket, or of all; with the embedding before the first and the head after the last. */
static void
add_forward(StepBuild *b, SimTemplate *t, StepClass *class, guint stage, gint64 from, gint64 to)
{
    if (stage == 0 && from == 0)
        step_add_piece(b, t, class, LLM_PIECE_EMBEDDING, b->plan->spec.recompute, LLM_PASS_FORWARD);
    for (gint64 i = from; i < to; i++)
        step_add_piece(b, t, class, plan_layer_piece(b->plan, stage, i),
                       plan_layer_recompute(b->plan, stage, i), LLM_PASS_FORWARD);
    if (stage + 1 == (guint)b->plan->n_stages && to == b->plan->layers[stage])
        step_add_piece(b, t, class, LLM_PIECE_HEAD, b->plan->spec.recompute, LLM_PASS_FORWARD);
}

/* A stage without layers still passes its input on: an op of no time keeps the order. */
static void
keep_order(StepBuild *b, SimTemplate *t, guint n_before)
{
    if (sim_template_n_ops_on(t, STEP_SLOT_COMPUTE) == n_before)
        sim_template_add(t, STEP_SLOT_COMPUTE, (SimWork){0},
                         step_tag(b, "pass", STEP_OTHER, COST_MEASURED, 0, TRUE));
}

/* B or I: head, layers from last to first (each after its recompute), embedding. In the last backward of a
 * stage that overlaps its reduction, each full bucket is reduced beside the layers that follow. */
static void
add_backward(StepBuild *b, SimTemplate *t, StepClass *class, guint stage, LlmPass pass,
             gboolean reduce)
{
    gint64 layers = b->plan->layers[stage], step = step_bucket_layers(b, stage), filled = 0;
    gint64 each = llm_layer_parameters_per_rank(b->plan->shape, b->plan->spec.tp);
    gint64 head = head_parameters(b, stage), embedding = outer_parameters(b, stage) - head;
    if (stage + 1 == (guint)b->plan->n_stages)
        step_add_piece(b, t, class, LLM_PIECE_HEAD, b->plan->spec.recompute, pass);
    step_add_accumulation(b, t, head, pass);
    filled += head;
    for (gint64 i = layers - 1; i >= 0; i--) {
        step_add_piece(b, t, class, plan_layer_piece(b->plan, stage, i),
                       plan_layer_recompute(b->plan, stage, i), LLM_PASS_RECOMPUTE);
        step_add_piece(b, t, class, plan_layer_piece(b->plan, stage, i),
                       plan_layer_recompute(b->plan, stage, i), pass);
        step_add_accumulation(b, t, each, pass);
        filled += each;
        if (reduce && (layers - i) % step == 0 && i > 0) {
            step_add_reduction(b, t, class, filled);
            filled = 0;
        }
    }
    if (stage == 0)
        step_add_piece(b, t, class, LLM_PIECE_EMBEDDING, b->plan->spec.recompute, pass);
    step_add_accumulation(b, t, embedding, pass);
    if (reduce)
        step_add_reduction(b, t, class, filled + embedding);
}

static void
add_weight_grad(StepBuild *b, SimTemplate *t, StepClass *class, guint stage)
{
    if (stage + 1 == (guint)b->plan->n_stages)
        step_add_piece(b, t, class, LLM_PIECE_HEAD, b->plan->spec.recompute, LLM_PASS_WEIGHT_GRAD);
    for (gint64 i = 0; i < b->plan->layers[stage]; i++)
        step_add_piece(b, t, class, plan_layer_piece(b->plan, stage, i),
                       plan_layer_recompute(b->plan, stage, i), LLM_PASS_WEIGHT_GRAD);
    if (stage == 0)
        step_add_piece(b, t, class, LLM_PIECE_EMBEDDING, b->plan->spec.recompute,
                       LLM_PASS_WEIGHT_GRAD);
    step_add_accumulation(b, t, plan_stage_parameters(b->plan, stage), LLM_PASS_WEIGHT_GRAD);
}

void
step_add_token(StepBuild *b, SimTemplate *t, StepClass *class, ScheduleToken token, gboolean last)
{
    add_scatter_gather(b, t, class, token);
    guint before = sim_template_n_ops_on(t, STEP_SLOT_COMPUTE);
    switch ((ScheduleKind)token.kind) {
    case SCHEDULE_F:
        add_forward(b, t, class, token.stage, 0, b->plan->layers[token.stage]);
        break;
    case SCHEDULE_B:
        add_backward(b, t, class, token.stage, LLM_PASS_BACKWARD,
                     last && step_reduces_in_backward(b, token.stage));
        break;
    case SCHEDULE_I:
        add_backward(b, t, class, token.stage, LLM_PASS_INPUT_GRAD, FALSE);
        break;
    case SCHEDULE_W:
        add_weight_grad(b, t, class, token.stage);
        break;
    }
    keep_order(b, t, before);
}

SimTemplate *
step_token_template(StepBuild *b, StepClass *class, ScheduleToken token, gboolean last)
{
    SimTemplate *t = sim_template_new();
    step_add_token(b, t, class, token, last);
    g_ptr_array_add(b->templates, t);
    return t;
}

void
step_begin_token(StepBuild *b, SimTemplate *t, StepClass *class, ScheduleToken token)
{
    LlmRecompute recompute = b->plan->spec.recompute;
    add_scatter_gather(b, t, class, token);
    if (token.kind == SCHEDULE_F) {
        if (plan_stage_has_embedding(b->plan, token.stage))
            step_add_piece(b, t, class, LLM_PIECE_EMBEDDING, recompute, LLM_PASS_FORWARD);
        return;
    }
    LlmPass pass = token.kind == SCHEDULE_I ? LLM_PASS_INPUT_GRAD : LLM_PASS_BACKWARD;
    if (!plan_stage_has_head(b->plan, token.stage))
        return;
    step_add_piece(b, t, class, LLM_PIECE_HEAD, recompute, pass);
    step_add_accumulation(b, t, head_parameters(b, token.stage), pass);
}

void
step_end_token(StepBuild *b, SimTemplate *t, StepClass *class, ScheduleToken token)
{
    LlmRecompute recompute = b->plan->spec.recompute;
    if (token.kind == SCHEDULE_F) {
        if (plan_stage_has_head(b->plan, token.stage))
            step_add_piece(b, t, class, LLM_PIECE_HEAD, recompute, LLM_PASS_FORWARD);
        return;
    }
    LlmPass pass = token.kind == SCHEDULE_I ? LLM_PASS_INPUT_GRAD : LLM_PASS_BACKWARD;
    if (!plan_stage_has_embedding(b->plan, token.stage))
        return;
    step_add_piece(b, t, class, LLM_PIECE_EMBEDDING, recompute, pass);
    gint64 head = head_parameters(b, token.stage);
    step_add_accumulation(b, t, outer_parameters(b, token.stage) - head, pass);
}

LlmRecompute
step_layer_recompute(const StepBuild *b, guint stage, gint64 i)
{
    return plan_layer_recompute(b->plan, stage, i);
}

void
step_add_recompute(StepBuild *b, SimTemplate *t, StepClass *class, guint stage, gint64 i)
{
    step_add_piece(b, t, class, plan_layer_piece(b->plan, stage, i),
                   plan_layer_recompute(b->plan, stage, i), LLM_PASS_RECOMPUTE);
}

SimTemplate *
step_forward_part(StepBuild *b, StepClass *class, ScheduleToken token, guint part)
{
    gint64 layers = b->plan->layers[token.stage], step = step_bucket_layers(b, token.stage);
    SimTemplate *t = sim_template_new();
    if (part == 0)
        add_scatter_gather(b, t, class, token);
    guint before = sim_template_n_ops_on(t, STEP_SLOT_COMPUTE);
    add_forward(b, t, class, token.stage, part * step, MIN(layers, (part + 1) * step));
    keep_order(b, t, before);
    g_ptr_array_add(b->templates, t);
    return t;
}
