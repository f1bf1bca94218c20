/* Shared experts: a dense MLP over all tokens of the rank, cut by tp like any other, whose result is added to
 * that of the routed experts. Its gate (Qwen2-MoE) is one column over the hidden state. */
#include "config.h"

#include "llm/emit.h"

static const LlmLinear shared_up = {"shared_up", "shared_up_dgrad", "shared_up_wgrad"};
static const LlmLinear shared_down = {"shared_down", "shared_down_dgrad", "shared_down_wgrad"};
static const LlmLinear shared_gate = {"shared_gate", "shared_gate_dgrad", "shared_gate_wgrad"};

static double
scale_bytes(const LlmEmit *e, double passes)
{
    return passes * (double)e->local_tokens * (double)e->shape->hidden * e->element;
}

void
llm_emit_shared_forward(LlmEmit *e, gboolean up, gboolean down)
{
    gint64 hidden = e->shape->hidden;
    if (up) {
        llm_emit_column_forward(e, &shared_up, hidden, e->shared_up);
        llm_emit_activated(e, "shared_activation", (double)e->tokens * (double)e->shared);
    }
    if (down) {
        llm_emit_row_forward(e, &shared_down, e->shared, hidden, TRUE);
        if (e->shape->shared_gate) {
            ClusterDtype matrices = e->matrices;
            e->matrices = llm_core_dtype(e->cut);
            llm_emit_plain_forward(e, &shared_gate, hidden, 1);
            e->matrices = matrices;
            llm_emit_memory(e, "shared_scale", COST_ADD, scale_bytes(e, 2));
        }
    }
}

static void
emit_gate_backward(LlmEmit *e)
{
    ClusterDtype matrices = e->matrices;
    if (e->input_grad) {
        llm_emit_memory(e, "shared_scale_backward", COST_ADD, scale_bytes(e, 3));
    }
    e->matrices = llm_core_dtype(e->cut);
    llm_emit_plain_backward(e, &shared_gate, e->shape->hidden, 1);
    e->matrices = matrices;
}

void
llm_emit_shared_backward(LlmEmit *e, gboolean down, gboolean up)
{
    gint64 hidden = e->shape->hidden;
    if (down) {
        if (e->shape->shared_gate) {
            emit_gate_backward(e);
        }
        llm_emit_row_backward(e, &shared_down, e->shared, hidden, FALSE, hidden);
    }
    if (up) {
        if (e->input_grad) {
            llm_emit_activated_backward(e, "shared_activation_backward",
                                        (double)e->tokens * (double)e->shared);
        }
        llm_emit_column_backward(e, &shared_up, hidden, e->shared_up);
    }
}
