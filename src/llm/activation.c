/* Bytes of activations: what the backward of each op must find again.
 *
 * Symbols: n tokens of the microbatch on the rank, h hidden, a heads, g key-value heads, d head
 * dimension, f feed-forward, t tensor-parallel ranks, s sequence, D bytes of an element (2 in
 * bf16), u = t with sequence parallelism, else 1.  One layer keeps
 *
 *   D n h (2 norm inputs + 2 norm outputs) / u + D n (a+2g) d / t + D n a d / t
 *   + D n (gamma+1) f / t + core + masks,   gamma: 2 gated, else 1;   masks: 2 n h / u with dropout
 *   core: flash 4 n a / t (log-sum-exp); unfused D n a s / t, with dropout (2 D + 1) n a s / t
 *
 * which for GELU, f = 4h, a d = h, g = a, bf16, dropout is Korthikanti's s b h (34 + 5 a s / h)
 * (arXiv 2205.05198). Beyond that: norms of q and k keep their inputs, two further norms a layer
 * keep theirs, and two branches from the same input keep it once. */
#include "config.h"

#include "llm/emit.h"

/* Of the attention core: what selective recompute drops. */
static double
core_bytes(const LlmEmit *e)
{
    double rows = (double)e->tokens * (double)e->heads;
    if (e->cut->attention == LLM_ATTENTION_FLASH) {
        return 4.0 * rows;
    }
    double each = e->cut->dropout ? 2.0 * e->element + 1.0 : e->element;
    return each * rows * (double)e->cut->seq;
}

static double
layer_bytes(const LlmEmit *e)
{
    const LlmShape *shape = e->shape;
    double local = (double)e->local_tokens * (double)shape->hidden;
    double tokens = (double)e->tokens;
    double norms = 4.0 + (shape->post_norms ? 2.0 : 0.0) - (shape->parallel_residual ? 1.0 : 0.0);
    double bytes = e->element * norms * local;
    bytes += e->element * tokens * (double)(e->qkv + e->context + e->up + e->ffn);
    if (shape->qk_norm) {
        bytes += e->element * tokens * (double)((e->heads + e->kv_heads) * shape->head_dim);
    }
    if (e->cut->dropout) {
        bytes += (shape->parallel_residual ? 1.0 : 2.0) * local;
    }
    return bytes + core_bytes(e);
}

double
llm_activation_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece)
{
    LlmEmit e = llm_emit_begin(shape, cut, LLM_PASS_FORWARD);
    g_array_unref(e.ops);
    double local = (double)e.local_tokens * (double)shape->hidden;
    switch (piece) {
    case LLM_PIECE_EMBEDDING: /* ids, the dropout mask, the input of a norm */
        return 8.0 * (double)e.tokens + (cut->dropout ? local : 0.0) +
               (shape->embedding_norm ? e.element * local : 0.0);
    case LLM_PIECE_HEAD: /* the final norm's input and output */
        return e.element * local * (shape->final_norm ? 2.0 : 1.0);
    case LLM_PIECE_LAYER:
    case LLM_PIECE_LAYER_WINDOW:
    case LLM_PIECE_MOE:
    case LLM_PIECE_MOE_WINDOW:
    case LLM_PIECE_MTP:
        break;
    case LLM_N_PIECES:
        g_assert_not_reached();
    }
    switch (cut->recompute) {
    case LLM_RECOMPUTE_FULL: /* the layer's input */
        return e.element * local;
    case LLM_RECOMPUTE_SELECTIVE:
        return layer_bytes(&e) - core_bytes(&e);
    case LLM_RECOMPUTE_NONE:
        break;
    }
    return layer_bytes(&e);
}

double
llm_transient_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece)
{
    LlmEmit e = llm_emit_begin(shape, cut, LLM_PASS_FORWARD);
    g_array_unref(e.ops);
    if (piece == LLM_PIECE_HEAD) {
        /* The logits, and their fp32 copy that becomes the softmax and then the gradient. */
        return (4.0 + e.element) * (double)e.tokens * (double)e.vocab;
    }
    if (piece == LLM_PIECE_LAYER && cut->recompute == LLM_RECOMPUTE_FULL) {
        return layer_bytes(&e);
    }
    if (piece == LLM_PIECE_LAYER && cut->recompute == LLM_RECOMPUTE_SELECTIVE) {
        return core_bytes(&e);
    }
    return 0.0;
}

double
llm_weight_grad_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece)
{
    LlmEmit e = llm_emit_begin(shape, cut, LLM_PASS_FORWARD);
    g_array_unref(e.ops);
    double local = (double)e.local_tokens * (double)shape->hidden, tokens = (double)e.tokens;
    switch (piece) {
    case LLM_PIECE_EMBEDDING: /* the gradient that is scattered into the table */
        return 8.0 * tokens + e.element * local;
    case LLM_PIECE_HEAD: /* its input and the gradient of the logits */
        return e.element * (local + tokens * (double)e.vocab);
    case LLM_PIECE_LAYER:
    case LLM_PIECE_LAYER_WINDOW:
    case LLM_PIECE_MOE:
    case LLM_PIECE_MOE_WINDOW:
    case LLM_PIECE_MTP:
        break;
    case LLM_N_PIECES:
        g_assert_not_reached();
    }
    /* Inputs of QKV, out, up and down; gradients of what they put out. */
    double inputs = 2.0 * local + tokens * (double)(e.context + e.ffn);
    double gradients = 2.0 * local + tokens * (double)(e.qkv + e.up);
    return e.element * (inputs + gradients);
}
