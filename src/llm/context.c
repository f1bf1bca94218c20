/* The fused attention core over context-parallel ranks (SPEC.md 7.5). */
#include "config.h"

#include "llm/emit.h"

#include <math.h>

/* Causal: half of all pairs. With a window w < s a query looks at w keys but for the first w queries:
 * w - w^2 / 2s on average. In chunks of w it sees those before it in its own: w / 2. Both are given as a
 * rectangle: keys that a query sees. */
static gint64
seen_keys(const LlmEmit *e, gboolean *ret_causal)
{
    double window = (double)e->shape->sliding_window, seq = (double)e->cut->seq;
    *ret_causal = !e->window || window >= seq;
    if (*ret_causal) {
        return e->cut->seq;
    }
    double seen = e->shape->window_is_chunk ? window / 2.0 : window - window * window / (2.0 * seq);
    return (gint64)ceil(seen);
}

static void
emit_whole(LlmEmit *e, gboolean backward)
{
    gboolean causal = FALSE;
    gint64 seen = seen_keys(e, &causal);
    CostAttention attention = {.heads = e->heads,
                               .kv_heads = e->kv_heads,
                               .seq_q = e->seq_q,
                               .seq_kv = seen,
                               .causal = causal,
                               .backward = backward};
    double pairs = (double)e->seq_q * (double)seen * (causal ? 0.5 : 1.0);
    llm_emit_attention(e, backward ? "attention_backward" : "attention", &attention, pairs);
}

void
llm_emit_context_forward(LlmEmit *e)
{
    emit_whole(e, FALSE);
}

void
llm_emit_context_backward(LlmEmit *e)
{
    emit_whole(e, TRUE);
}
