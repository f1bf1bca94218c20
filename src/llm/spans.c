/* Tensors over steps, and the sizes that workspaces are made of. */
#include "config.h"

#include "llm/spans.h"

void
llm_span(LlmSpans *s, double bytes, guint from, guint to)
{
    g_assert(from <= to && to < LLM_MAX_STEPS && bytes >= 0);
    for (guint step = from; step <= to; step++) {
        s->alive[step] += bytes;
    }
}

double
llm_span_peak(const LlmSpans *s)
{
    double most = 0;
    for (guint step = 0; step < LLM_MAX_STEPS; step++) {
        most = MAX(most, s->alive[step]);
    }
    return most;
}

LlmSpans
llm_spans_begin(const LlmEmit *e, LlmPiece layer, gboolean split)
{
    double hidden = (double)e->shape->hidden * e->element;
    LlmSpans s = {.e = e,
                  .layer = layer,
                  .kept = llm_kept_layer(e, layer),
                  .split = split,
                  .whole = (double)e->tokens * hidden,
                  .local = (double)e->local_tokens * hidden,
                  .sent = (double)e->sent * hidden,
                  .rows = (double)e->rows * hidden};
    if (llm_kept_has_experts(layer)) {
        s.arrived = llm_emit_arrived(e) * hidden;
    }
    return s;
}

/* Of the core over context-parallel ranks: a ring keeps the keys and values of all steps and a partial output of
 * each until they are merged, backward two buffers of keys, values and their gradients; gathered keys and values
 * are there twice while they are put in order; an all-to-all holds what it sends and what it gets. */
static double
context_bytes(const LlmSpans *s, gboolean backward)
{
    const LlmEmit *e = s->e;
    double each = (double)e->tokens * e->element, ranks = (double)e->cut->cp;
    double kv = each * (double)(e->kv_heads * (e->qk_dim + e->v_dim));
    double q = each * (double)(e->heads * e->qk_dim), out = each * (double)e->context;
    double exchanged = 2.0 * each * (double)e->qkv;
    if (e->cut->cp == 1) {
        return 0.0;
    }
    switch (e->cut->cp_kind) {
    case LLM_CP_ALL_GATHER:
        return (backward ? 3.0 : 2.0) * ranks * kv;
    case LLM_CP_A2A:
        return exchanged;
    case LLM_CP_A2A_P2P:
        ranks /= (double)MAX(e->cut->cp_inner, 1);
        break;
    case LLM_CP_P2P:
        exchanged = 0.0;
        break;
    }
    return exchanged + (backward ? 4.0 * kv + q + kv : ranks * (kv + out));
}

/* Flash backward sums the gradient of q in fp32. Unfused: the scores before their softmax, forward as many copies as
 * kernels make; backward the gradients of both. */
double
llm_span_core(const LlmSpans *s, gboolean backward)
{
    const LlmEmit *e = s->e;
    double rows = (double)e->tokens * (double)e->heads;
    if (e->cut->attention == LLM_ATTENTION_FLASH) {
        double sums = backward ? rows * 4.0 * (double)(e->qk_dim + 1) : 0.0;
        return sums + context_bytes(s, backward);
    }
    double scores = rows * (double)e->cut->seq * e->element;
    return scores * (backward || !e->cut->fused_kernels ? 2.0 : 1.0);
}
