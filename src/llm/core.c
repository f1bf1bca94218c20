/* The attention core: one fused kernel, or batched GEMMs around a softmax over s x s scores. */
#include "config.h"

#include "llm/emit.h"

/* Elements of the rank's scores. */
static double
score_elements(const LlmEmit *e)
{
    return (double)e->cut->micro_batch * (double)e->heads * (double)e->seq_q * (double)e->cut->seq;
}

/* A copy of `columns` per token into the layout [batch, heads, s, d] or back.  Batched GEMMs read q, k and
 * v in place, as strided views; what they write is copied: the context to [s, batch, heads * d], its
 * gradient back, and the gradients of q, k and v into the one of the QKV matrix. */
static void
emit_layout(LlmEmit *e, gint64 columns)
{
    llm_emit_memory(e, "head_layout", COST_COPY,
                    2.0 * (double)e->tokens * (double)columns * e->element);
}

/* With grouped queries the unfused core repeats each key and value for its query heads: read once,
 * written for all; backward the copies are summed. */
static void
emit_kv_repeat(LlmEmit *e, gboolean backward)
{
    if (e->kv_heads < e->heads) {
        double keys = (double)e->cut->micro_batch * (double)e->cut->seq * (double)e->qk_dim;
        double bytes = 2.0 * keys * (double)(e->heads + e->kv_heads) * e->element;
        llm_emit_memory(e, backward ? "kv_repeat_backward" : "kv_repeat",
                        backward ? COST_REDUCE : COST_COPY, bytes);
    }
}

void
llm_emit_core_forward(LlmEmit *e)
{
    if (e->cut->attention == LLM_ATTENTION_FLASH) {
        llm_emit_context_forward(e);
        return;
    }
    double pass = 2.0 * score_elements(e) * e->element;
    if (!e->cut->fused_kernels) {
        emit_layout(e, e->qkv);
    }
    emit_kv_repeat(e, FALSE);
    llm_emit_batched(e, "scores", COST_GEMM_FORWARD, e->seq_q, e->cut->seq, e->qk_dim);
    if (!e->cut->fused_kernels) {
        llm_emit_memory(e, "scale", COST_COPY, pass);
        llm_emit_memory(e, "mask", COST_COPY, pass);
    }
    llm_emit_memory(e, "softmax", COST_SOFTMAX, pass);
    if (e->cut->dropout) {
        llm_emit_memory(e, "attention_dropout", COST_DROPOUT, pass + score_elements(e));
    }
    llm_emit_batched(e, "values", COST_GEMM_FORWARD, e->seq_q, e->v_dim, e->cut->seq);
    emit_layout(e, e->context);
}

void
llm_emit_core_backward(LlmEmit *e)
{
    if (e->cut->attention == LLM_ATTENTION_FLASH) {
        llm_emit_context_backward(e);
        return;
    }
    double pass = 2.0 * score_elements(e) * e->element;
    emit_layout(e, e->context);
    llm_emit_batched(e, "values_dgrad", COST_GEMM_DGRAD, e->seq_q, e->cut->seq, e->v_dim);
    llm_emit_batched(e, "values_wgrad", COST_GEMM_WGRAD, e->cut->seq, e->v_dim, e->seq_q);
    if (e->cut->dropout) {
        llm_emit_memory(e, "attention_dropout_backward", COST_DROPOUT, pass + score_elements(e));
    }
    llm_emit_memory(e, "softmax_backward", COST_SOFTMAX_BACKWARD, 1.5 * pass);
    if (!e->cut->fused_kernels) {
        llm_emit_memory(e, "mask_backward", COST_COPY, pass);
        llm_emit_memory(e, "scale_backward", COST_COPY, pass);
    }
    llm_emit_batched(e, "scores_dgrad", COST_GEMM_DGRAD, e->seq_q, e->qk_dim, e->cut->seq);
    llm_emit_batched(e, "scores_wgrad", COST_GEMM_WGRAD, e->cut->seq, e->qk_dim, e->seq_q);
    emit_kv_repeat(e, TRUE);
    emit_layout(e, e->qkv);
}
