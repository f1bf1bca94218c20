/* The ops of one transformer layer, in the order in which Megatron-LM launches them. With experts they
 * stand in the place of the MLP (moe.c).
 *
 * Forward:  norm [gather] QKV core out [combine] add
 *           norm [gather] up activation down [combine] add
 * Backward: the same from the end; of each matrix the input gradient, then the weight gradient.
 *
 * The gradient of a layer's input has two parts, through the layer and past it, which must be
 * added. That add is the first op of the list of the layer below, so that each list begins with
 * compute. */
#include "config.h"

#include "llm/emit.h"

static const LlmLinear qkv = {"qkv", "qkv_dgrad", "qkv_wgrad"};
static const LlmLinear attention_out = {"attention_out", "attention_out_dgrad",
                                        "attention_out_wgrad"};
static const LlmLinear mlp_up = {"mlp_up", "mlp_up_dgrad", "mlp_up_wgrad"};
static const LlmLinear mlp_down = {"mlp_down", "mlp_down_dgrad", "mlp_down_wgrad"};

/* Bytes of `passes` reads and writes of the hidden states outside the gathers. */
static double
hidden_pass(const LlmEmit *e, double passes)
{
    return passes * (double)e->local_tokens * (double)e->shape->hidden * e->element;
}

/* ... of `columns` per token inside the gathers. */
static double
column_pass(const LlmEmit *e, double passes, gint64 columns)
{
    return passes * (double)e->tokens * (double)columns * e->element;
}

/* One byte of dropout mask for each hidden element. */
static double
mask_bytes(const LlmEmit *e)
{
    return (double)e->local_tokens * (double)e->shape->hidden;
}

static void
emit_norm(LlmEmit *e, const char *name)
{
    llm_emit_memory(e, name, COST_NORM, hidden_pass(e, 2));
}

static void
emit_norm_backward(LlmEmit *e, const char *name)
{
    llm_emit_memory(e, name, COST_NORM_BACKWARD, hidden_pass(e, 3));
}

/* Bias of a column-parallel matrix where no kernel takes it along. */
static void
emit_bias(LlmEmit *e, gboolean has_bias, gint64 columns)
{
    if (has_bias && !e->cut->fused_kernels) {
        llm_emit_memory(e, "bias_add", COST_ADD, column_pass(e, 2, columns));
    }
}

static void
emit_bias_backward(LlmEmit *e, gboolean has_bias, double bytes)
{
    if (has_bias && !e->cut->fused_kernels) {
        llm_emit_memory(e, "bias_grad", COST_REDUCE, bytes);
    }
}

/* x + dropout(y + bias): one kernel when fused, three when not. */
void
llm_emit_residual(LlmEmit *e, gboolean has_bias)
{
    if (e->shape->post_norms) {
        emit_norm(e, "post_norm");
    }
    if (e->cut->fused_kernels && e->cut->dropout) {
        llm_emit_memory(e, "bias_dropout_add", COST_DROPOUT, hidden_pass(e, 3) + mask_bytes(e));
        return;
    }
    if (has_bias && !e->cut->fused_kernels) {
        llm_emit_memory(e, "bias_add", COST_ADD, hidden_pass(e, 2));
    }
    if (e->cut->dropout) {
        llm_emit_memory(e, "dropout", COST_DROPOUT, hidden_pass(e, 2) + mask_bytes(e));
    }
    llm_emit_memory(e, "residual_add", COST_ADD, hidden_pass(e, 3));
}

static void
emit_residual_backward(LlmEmit *e, gboolean has_bias)
{
    if (e->cut->dropout) {
        llm_emit_memory(e, "dropout_backward", COST_DROPOUT, hidden_pass(e, 2) + mask_bytes(e));
    }
    if (e->shape->post_norms) {
        emit_norm_backward(e, "post_norm_backward");
    }
    emit_bias_backward(e, has_bias, hidden_pass(e, 1));
}

/* --- forward -------------------------------------------------------------------------------- */

void
llm_emit_norm(LlmEmit *e)
{
    emit_norm(e, "norm");
}

void
llm_emit_turn(LlmEmit *e)
{
    gint64 turned = (e->heads + e->kv_heads) * e->qk_dim;
    if (e->shape->qk_norm) {
        llm_emit_memory(e, "qk_norm", COST_NORM, column_pass(e, 2, turned));
    }
    if (e->shape->position == LLM_POSITION_ROPE) {
        llm_emit_memory(e, "rope", COST_ROPE, column_pass(e, 2, turned));
    }
}

/* From the norm's output to q, k and v. */
static void
emit_qkv_forward(LlmEmit *e)
{
    llm_emit_column_forward(e, &qkv, e->shape->hidden, e->qkv);
    emit_bias(e, e->shape->qkv_bias, e->qkv);
    llm_emit_turn(e);
}

static void
emit_attention_forward(LlmEmit *e, gboolean combine)
{
    emit_norm(e, "norm");
    if (e->latent) {
        llm_emit_latent_forward(e);
    } else {
        emit_qkv_forward(e);
    }
    llm_emit_core_forward(e);
    llm_emit_row_forward(e, &attention_out, e->context, e->shape->hidden, combine);
}

/* Of `elements` outputs. Gated: reads both halves. In kernels of their own the gate's activation and its product
 * with the other half; backward product, activation, and both gradients side by side. */
void
llm_emit_activated(LlmEmit *e, const char *name, double elements)
{
    double pass = elements * e->element;
    if (e->shape->gated && !e->cut->fused_kernels) {
        llm_emit_memory(e, "gate", COST_ACTIVATION, 2.0 * pass);
    }
    llm_emit_memory(e, name, COST_ACTIVATION, (e->shape->gated ? 3.0 : 2.0) * pass);
}

void
llm_emit_activated_backward(LlmEmit *e, const char *name, double elements)
{
    double pass = elements * e->element;
    llm_emit_memory(e, name, COST_ACTIVATION_BACKWARD, (e->shape->gated ? 5.0 : 3.0) * pass);
    if (e->shape->gated && !e->cut->fused_kernels) {
        llm_emit_memory(e, "gate_backward", COST_ACTIVATION_BACKWARD, 3.0 * pass);
        llm_emit_memory(e, "gate_concat", COST_COPY, 4.0 * pass);
    }
}

void
llm_emit_activation(LlmEmit *e)
{
    llm_emit_activated(e, "activation", (double)e->tokens * (double)e->ffn);
}

void
llm_emit_mlp(LlmEmit *e, gboolean combine)
{
    llm_emit_column_forward(e, &mlp_up, e->shape->hidden, e->up);
    emit_bias(e, e->shape->mlp_bias, e->up);
    llm_emit_activation(e);
    llm_emit_row_forward(e, &mlp_down, e->ffn, e->shape->hidden, combine);
}

static void
emit_moe_forward(LlmEmit *e)
{
    emit_attention_forward(e, TRUE);
    llm_emit_residual(e, e->shape->out_bias);
    emit_norm(e, "norm");
    llm_emit_experts_forward(e);
    llm_emit_residual(e, FALSE);
}

void
llm_emit_layer_forward(LlmEmit *e, LlmPiece piece)
{
    gboolean parallel = e->shape->parallel_residual;
    if (piece == LLM_PIECE_MOE || piece == LLM_PIECE_MOE_WINDOW) {
        emit_moe_forward(e);
        return;
    }
    emit_attention_forward(e, !parallel);
    if (!parallel) {
        llm_emit_residual(e, e->shape->out_bias);
    }
    emit_norm(e, "norm");
    llm_emit_mlp(e, !parallel);
    if (parallel) {
        /* The partial sums of both branches are added first and combined once. */
        llm_emit_memory(e, "branch_add", COST_ADD, column_pass(e, 3, e->shape->hidden));
        llm_emit_combine(e);
    }
    llm_emit_residual(e, e->shape->mlp_bias);
}

/* --- backward ------------------------------------------------------------------------------- */

static void
emit_mlp_backward(LlmEmit *e)
{
    llm_emit_row_backward(e, &mlp_down, e->ffn, e->shape->hidden, FALSE, e->shape->hidden);
    if (e->input_grad) {
        llm_emit_activated_backward(e, "activation_backward", (double)e->tokens * (double)e->ffn);
        emit_bias_backward(e, e->shape->mlp_bias, column_pass(e, 1, e->up));
    }
    llm_emit_column_backward(e, &mlp_up, e->shape->hidden, e->up);
    if (e->input_grad) {
        emit_norm_backward(e, "norm_backward");
        llm_emit_memory(e, "residual_grad_add", COST_ADD, hidden_pass(e, 3));
    }
}

/* The inner part of the attention's backward: between its two matrices. */
static void
emit_attention_inner_backward(LlmEmit *e)
{
    gint64 turned = (e->heads + e->kv_heads) * e->qk_dim;
    llm_emit_core_backward(e);
    if (e->latent) {
        return;
    }
    if (e->shape->position == LLM_POSITION_ROPE) {
        llm_emit_memory(e, "rope_backward", COST_ROPE, column_pass(e, 2, turned));
    }
    if (e->shape->qk_norm) {
        llm_emit_memory(e, "qk_norm_backward", COST_NORM_BACKWARD, column_pass(e, 3, turned));
    }
    emit_bias_backward(e, e->shape->qkv_bias, column_pass(e, 1, e->qkv));
}

static void
emit_attention_backward(LlmEmit *e, gboolean is_gathered)
{
    gint64 hidden = e->shape->hidden;
    llm_emit_row_backward(e, &attention_out, e->context, hidden, is_gathered,
                          e->latent ? e->shape->kv_lora : hidden);
    if (e->input_grad) {
        emit_attention_inner_backward(e);
    }
    if (e->latent) {
        llm_emit_latent_backward(e);
    } else {
        llm_emit_column_backward(e, &qkv, e->shape->hidden, e->qkv);
    }
    if (e->input_grad) {
        emit_norm_backward(e, "norm_backward");
    }
}

static void
emit_moe_backward(LlmEmit *e)
{
    e->segment = LLM_SEGMENT_POST;
    if (e->input_grad) {
        llm_emit_memory(e, "residual_grad_add", COST_ADD, hidden_pass(e, 3));
        emit_residual_backward(e, FALSE);
    }
    llm_emit_experts_backward(e);
    if (e->input_grad) {
        emit_norm_backward(e, "norm_backward");
        llm_emit_memory(e, "residual_grad_add", COST_ADD, hidden_pass(e, 3));
        emit_residual_backward(e, e->shape->out_bias);
    }
    emit_attention_backward(e, FALSE);
}

void
llm_emit_layer_backward(LlmEmit *e, LlmPiece piece)
{
    gboolean parallel = e->shape->parallel_residual;
    if (piece == LLM_PIECE_MOE || piece == LLM_PIECE_MOE_WINDOW) {
        emit_moe_backward(e);
        return;
    }
    if (e->input_grad) {
        llm_emit_memory(e, "residual_grad_add", COST_ADD, hidden_pass(e, 3));
        emit_residual_backward(e, e->shape->mlp_bias);
    }
    emit_mlp_backward(e);
    if (e->input_grad && !parallel) {
        emit_residual_backward(e, e->shape->out_bias);
    }
    /* In parallel branches the output gradient was gathered for the MLP already. */
    emit_attention_backward(e, parallel);
}
