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
    guint gather = step_add_collective(b, t, "pipeline_gather", STEP_PP, STEP_SLOT_TP, STEP_PORT_TP,
                                       NET_ALL_GATHER, class->tp,
                                       plan_p2p_bytes(plan) * plan->spec.tp, TRUE);
    /* Not for the other direction: its next message may depend on what this token sends. */
    sim_template_wait_slot(t, gather,
                           token.kind == SCHEDULE_F ? STEP_SLOT_RECV_F : STEP_SLOT_RECV_B);
}

/* What autograd left in the 16-bit gradient is added to the main gradient: reads both, writes one. */
static void
add_accumulation(StepBuild *b, SimTemplate *t, gint64 parameters, LlmPass pass)
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

/* Parameter gathers of a stage for the first forward: one for each bucket, in forward order; layer i of
 * the stage needs gather[i / layers_per_bucket]. */
static GArray *
add_gathers(StepBuild *b, SimTemplate *t, const StepClass *class, guint stage)
{
    GArray *gathers = g_array_new(FALSE, FALSE, sizeof(guint));
    gint64 layers = b->plan->layers[stage], step = step_bucket_layers(b, stage);
    gint64 each = llm_layer_parameters_per_rank(b->plan->shape, b->plan->spec.tp);
    gint64 rest = outer_parameters(b, stage);
    for (gint64 i = 0; i < MAX(layers, 1); i += step) {
        gint64 n = MIN(step, layers - i);
        gboolean carries_rest = stage == 0 ? i == 0 : i + step >= layers;
        guint op = step_add_gather(b, t, class, n * each + (carries_rest ? rest : 0));
        g_array_append_val(gathers, op);
    }
    return gathers;
}

static void
add_forward(StepBuild *b, SimTemplate *t, StepClass *class, guint stage, gboolean first)
{
    g_autoptr(GArray) gathers = NULL;
    gint64 step = step_bucket_layers(b, stage), layers = b->plan->layers[stage];
    if (first && step_gathers_in_forward(b))
        gathers = add_gathers(b, t, class, stage);
    if (stage == 0) {
        guint op = step_add_piece(b, t, class, LLM_PIECE_EMBEDDING, LLM_PASS_FORWARD);
        if (gathers)
            sim_template_wait_op(t, op, g_array_index(gathers, guint, 0));
    }
    for (gint64 i = 0; i < layers; i++) {
        guint op = step_add_piece(b, t, class, LLM_PIECE_LAYER, LLM_PASS_FORWARD);
        if (gathers && i % step == 0)
            sim_template_wait_op(t, op, g_array_index(gathers, guint, i / step));
    }
    if (stage + 1 == (guint)b->plan->n_stages) {
        guint op = step_add_piece(b, t, class, LLM_PIECE_HEAD, LLM_PASS_FORWARD);
        if (gathers)
            sim_template_wait_op(t, op, g_array_index(gathers, guint, gathers->len - 1));
    }
}

/* B or I: head, layers from last to first (each after its recompute), embedding. In the last backward of a
 * stage that overlaps its reduction, each full bucket is reduced beside the layers that follow. */
static void
add_backward(StepBuild *b, SimTemplate *t, StepClass *class, guint stage, LlmPass pass,
             gboolean reduce)
{
    gint64 layers = b->plan->layers[stage], step = step_bucket_layers(b, stage), filled = 0;
    gint64 each = llm_layer_parameters_per_rank(b->plan->shape, b->plan->spec.tp);
    gint64 rest = outer_parameters(b, stage);
    if (stage + 1 == (guint)b->plan->n_stages)
        step_add_piece(b, t, class, LLM_PIECE_HEAD, pass);
    for (gint64 i = layers - 1; i >= 0; i--) {
        step_add_piece(b, t, class, LLM_PIECE_LAYER, LLM_PASS_RECOMPUTE);
        step_add_piece(b, t, class, LLM_PIECE_LAYER, pass);
        add_accumulation(b, t, each, pass);
        filled += each;
        if (reduce && (layers - i) % step == 0 && i > 0) {
            step_add_reduction(b, t, class, filled);
            filled = 0;
        }
    }
    if (stage == 0)
        step_add_piece(b, t, class, LLM_PIECE_EMBEDDING, pass);
    add_accumulation(b, t, rest, pass);
    if (reduce)
        step_add_reduction(b, t, class, filled + rest);
}

static void
add_weight_grad(StepBuild *b, SimTemplate *t, StepClass *class, guint stage)
{
    if (stage + 1 == (guint)b->plan->n_stages)
        step_add_piece(b, t, class, LLM_PIECE_HEAD, LLM_PASS_WEIGHT_GRAD);
    for (gint64 i = 0; i < b->plan->layers[stage]; i++)
        step_add_piece(b, t, class, LLM_PIECE_LAYER, LLM_PASS_WEIGHT_GRAD);
    if (stage == 0)
        step_add_piece(b, t, class, LLM_PIECE_EMBEDDING, LLM_PASS_WEIGHT_GRAD);
    add_accumulation(b, t, plan_stage_parameters(b->plan, stage), LLM_PASS_WEIGHT_GRAD);
}

SimTemplate *
step_token_template(StepBuild *b, StepClass *class, ScheduleToken token, gboolean first,
                    gboolean last)
{
    SimTemplate *t = sim_template_new();
    add_scatter_gather(b, t, class, token);
    guint before = sim_template_n_ops_on(t, STEP_SLOT_COMPUTE);
    switch ((ScheduleKind)token.kind) {
    case SCHEDULE_F:
        add_forward(b, t, class, token.stage, first);
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
    /* A stage without layers still passes its input on: an op of no time keeps the order. */
    if (sim_template_n_ops_on(t, STEP_SLOT_COMPUTE) == before)
        sim_template_add(t, STEP_SLOT_COMPUTE, (SimWork){0},
                         step_tag(b, "pass", STEP_OTHER, COST_MEASURED, 0, TRUE));
    g_ptr_array_add(b->templates, t);
    return t;
}
