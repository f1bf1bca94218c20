/* Latent attention (DeepSeek's MLA) between the norm and the core.
 *
 *   q_down h -> q_lora, norm, q_up q_lora -> a (d_nope + d_rope) / t     (or at once from h when q_lora is 0)
 *   kv_down h -> kv_lora + d_rope, norm of kv_lora, kv_up kv_lora -> a (d_nope + d_v) / t
 *   rope on d_rope of each query head and on the one key that all heads share
 *
 * The down matrices are on every rank whole, over its own tokens; with sequence parallelism the latents and the
 * shared key are gathered, which are narrower than the hidden state. */
#include "config.h"

#include "llm/emit.h"

static const LlmLinear q_direct = {"q", "q_dgrad", "q_wgrad"};
static const LlmLinear q_down = {"q_down", "q_down_dgrad", "q_down_wgrad"};
static const LlmLinear q_up = {"q_up", "q_up_dgrad", "q_up_wgrad"};
static const LlmLinear kv_down = {"kv_down", "kv_down_dgrad", "kv_down_wgrad"};
static const LlmLinear kv_up = {"kv_up", "kv_up_dgrad", "kv_up_wgrad"};

static gint64
q_columns(const LlmEmit *e)
{
    return e->heads * e->qk_dim;
}

static gint64
kv_columns(const LlmEmit *e)
{
    return e->heads * (e->shape->qk_nope_dim + e->v_dim);
}

static double
latent_pass(const LlmEmit *e, double passes, gint64 columns)
{
    return passes * (double)e->local_tokens * (double)columns * e->element;
}

/* The key that all heads share, and backward its gradient. */
static void
emit_shared_key(LlmEmit *e, gboolean backward)
{
    if (e->gathers) {
        double bytes = (double)e->tokens * (double)e->shape->qk_rope_dim * e->element;
        llm_emit_join(e,
                      llm_emit_collective(e, backward ? "reduce_scatter" : "all_gather",
                                          backward ? NET_REDUCE_SCATTER : NET_ALL_GATHER, bytes));
    }
}

/* Rope turns d_rope of q and of the shared key; then keys of all heads are put together. */
static void
emit_rope(LlmEmit *e, gboolean backward)
{
    double n = (double)e->tokens * e->element;
    double turned = (double)((e->heads + 1) * e->shape->qk_rope_dim);
    llm_emit_memory(e, backward ? "rope_backward" : "rope", COST_ROPE, 2.0 * n * turned);
    llm_emit_memory(e, backward ? "key_split" : "key_concat", COST_COPY,
                    2.0 * n * (double)(e->heads * e->qk_dim));
}

void
llm_emit_latent_keys(LlmEmit *e)
{
    emit_shared_key(e, FALSE);
    emit_rope(e, FALSE);
}

void
llm_emit_latent_up(LlmEmit *e)
{
    const LlmShape *shape = e->shape;
    if (shape->q_lora > 0) {
        llm_emit_column_forward(e, &q_up, shape->q_lora, q_columns(e));
    }
    llm_emit_column_forward(e, &kv_up, shape->kv_lora, kv_columns(e));
    llm_emit_latent_keys(e);
}

void
llm_emit_latent_forward(LlmEmit *e)
{
    const LlmShape *shape = e->shape;
    if (shape->q_lora > 0) {
        llm_emit_plain_forward(e, &q_down, shape->hidden, shape->q_lora);
        llm_emit_memory(e, "q_norm", COST_NORM, latent_pass(e, 2, shape->q_lora));
    } else {
        llm_emit_column_forward(e, &q_direct, shape->hidden, q_columns(e));
    }
    llm_emit_plain_forward(e, &kv_down, shape->hidden, shape->kv_lora + shape->qk_rope_dim);
    llm_emit_memory(e, "kv_norm", COST_NORM, latent_pass(e, 2, shape->kv_lora));
    llm_emit_latent_up(e);
}

void
llm_emit_latent_backward(LlmEmit *e)
{
    const LlmShape *shape = e->shape;
    gint64 hidden = shape->hidden, latent = shape->kv_lora + shape->qk_rope_dim;
    if (e->input_grad) {
        emit_rope(e, TRUE);
        emit_shared_key(e, TRUE);
    }
    llm_emit_column_backward(e, &kv_up, shape->kv_lora, kv_columns(e));
    if (e->input_grad) {
        llm_emit_memory(e, "kv_norm_backward", COST_NORM_BACKWARD,
                        latent_pass(e, 3, shape->kv_lora));
    }
    llm_emit_plain_backward(e, &kv_down, hidden, latent);
    if (shape->q_lora > 0) {
        llm_emit_column_backward(e, &q_up, shape->q_lora, q_columns(e));
        if (e->input_grad) {
            llm_emit_memory(e, "q_norm_backward", COST_NORM_BACKWARD,
                            latent_pass(e, 3, shape->q_lora));
        }
        llm_emit_plain_backward(e, &q_down, hidden, shape->q_lora);
    } else {
        llm_emit_column_backward(e, &q_direct, hidden, q_columns(e));
    }
    if (e->input_grad) {
        llm_emit_memory(e, "latent_grad_add", COST_ADD, latent_pass(e, 3, hidden));
    }
}
