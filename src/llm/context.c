/* The fused attention core over context-parallel ranks (SPEC.md 7.5), as TransformerEngine runs it.
 *
 * KV = 2 n g d D / t bytes of own keys and values (k and v have widths of their own in latent attention).
 *   ring        R - 1 messages of KV forward, each beside the attention to what came before; backward KV,
 *               then KV with the gradients so far, then these alone: 2 (R - 1) KV
 *   all-gather  keys, then values, forward and again backward; reduce-scatter of their gradients
 *   all-to-all  q, k, v from a part of the sequence with all heads to all of it with a part of the heads,
 *               and the output back; backward the gradients the other way round
 *   both        the all-to-all in inner groups, the ring around them
 *
 * Causal, each rank has the chunks i and 2R-1-i of 2R, so that all have the same work: step 0 is causal over
 * its own two chunks; from a rank before it all its queries see the first chunk, from one behind only the
 * second chunk of queries sees both: each is half of a full square. The list is that of a rank in the middle. */
#include "config.h"

#include "llm/emit.h"

#include <math.h>

/* The core as it runs on this rank, once heads and sequence are where they should be. */
typedef struct {
    gint64 heads, kv_heads, seq_q; /* seq_q: of its own */
    gint64 ranks;                  /* of the ring or gather */
    LlmGroup group;
    gint64 seen; /* keys that a query sees, causal: half of them */
    gboolean causal;
    double pairs;                         /* of query and key in a sequence, all steps */
    double q_bytes, k_bytes, v_bytes;     /* own */
    double output_bytes, qkv_local_bytes; /* before an all-to-all */
} Core;

/* Causal: half of all pairs. With a window w < s a query looks at w keys but for the first w queries:
 * w - w^2 / 2s on average. In chunks of w it sees those before it in its own: w / 2. Both are given as a
 * rectangle: keys that a query sees. */
static void
set_seen(const LlmEmit *e, Core *core)
{
    double window = (double)e->shape->sliding_window, seq = (double)e->cut->seq;
    core->causal = !e->window || window >= seq;
    core->seen = e->cut->seq;
    if (!core->causal) {
        double mean =
            e->shape->window_is_chunk ? window / 2.0 : window - window * window / (2.0 * seq);
        core->seen = (gint64)ceil(mean);
    }
    core->pairs = (double)core->seq_q * (double)core->seen * (core->causal ? 0.5 : 1.0);
}

static gboolean
exchanges_heads(const LlmEmit *e)
{
    return e->cut->cp > 1 && (e->cut->cp_kind == LLM_CP_A2A || e->cut->cp_kind == LLM_CP_A2A_P2P);
}

static Core
core_of(const LlmEmit *e)
{
    gint64 inner = 1;
    Core core = {.group = LLM_GROUP_CP};
    if (exchanges_heads(e)) {
        gboolean whole = e->cut->cp_kind == LLM_CP_A2A;
        inner = whole ? e->cut->cp : llm_group_size(e->cut, LLM_GROUP_CP_INNER);
        core.group = LLM_GROUP_CP_OUTER;
    }
    core.ranks = e->cut->cp / inner;
    core.heads = llm_share(e->heads, inner);
    core.kv_heads = llm_share(e->kv_heads, inner);
    core.seq_q = inner == e->cut->cp ? e->cut->seq : e->seq_q * inner;
    double tokens = (double)e->cut->micro_batch * (double)core.seq_q * e->element;
    core.q_bytes = tokens * (double)(core.heads * e->qk_dim);
    core.k_bytes = tokens * (double)(core.kv_heads * e->qk_dim);
    core.v_bytes = tokens * (double)(core.kv_heads * e->v_dim);
    core.output_bytes = (double)e->tokens * (double)e->context * e->element;
    core.qkv_local_bytes = (double)e->tokens * (double)e->qkv * e->element;
    set_seen(e, &core);
    return core;
}

static void
emit_part(LlmEmit *e, const Core *core, gint64 seq_q, gint64 seq_kv, gboolean causal, double pairs,
          gboolean backward)
{
    CostAttention attention = {.heads = core->heads,
                               .kv_heads = core->kv_heads,
                               .seq_q = seq_q,
                               .seq_kv = seq_kv,
                               .causal = causal,
                               .backward = backward};
    llm_emit_attention(e, backward ? "attention_backward" : "attention", &attention, pairs);
}

/* --- ring ----------------------------------------------------------------------------------- */

/* Queries of a step: half of them from ranks behind. */
static gint64
step_queries(const Core *core, gint64 step)
{
    gboolean behind = core->causal && step > core->ranks / 2;
    return behind ? llm_share(core->seq_q, 2) : core->seq_q;
}

static void
emit_step(LlmEmit *e, const Core *core, gint64 step, gboolean backward)
{
    double pairs = core->pairs / (double)core->ranks;
    gint64 queries = step_queries(core, step);
    if (!core->causal) {
        emit_part(e, core, queries, llm_share(core->seen, core->ranks), FALSE, pairs, backward);
    } else if (step == 0) {
        emit_part(e, core, core->seq_q, core->seq_q, TRUE, pairs, backward);
    } else {
        gint64 keys = queries < core->seq_q ? core->seq_q : llm_share(core->seq_q, 2);
        emit_part(e, core, queries, keys, FALSE, pairs, backward);
    }
}

/* Two streams of attention take turns, so that the message of a step is posted when the step but one before
 * it is done. Partial outputs are merged by their log-sum-exp: two reads and a write of what a step gave. */
static void
emit_ring_forward(LlmEmit *e, const Core *core)
{
    int older = e->last_compute, previous = e->last_compute, arrived = -1;
    double merged = 0;
    for (gint64 step = 0; step < core->ranks; step++) {
        int sent = -1;
        if (step + 1 < core->ranks) {
            sent = llm_emit_exchange(e, "cp_send_kv", NET_SEND_RECV, core->group,
                                     core->k_bytes + core->v_bytes,
                                     older >= 0 ? older : e->last_compute);
        }
        llm_emit_join(e, arrived);
        emit_step(e, core, step, FALSE);
        older = previous;
        previous = e->last_compute;
        arrived = sent;
        merged += step > 0 ? (double)step_queries(core, step) : 0.0;
    }
    if (core->ranks > 1) {
        double row = (double)e->cut->micro_batch * (double)(core->heads * e->v_dim) * e->element;
        llm_emit_memory(e, "cp_merge", COST_ADD, 3.0 * merged * row);
    }
}

static void
emit_ring_backward(LlmEmit *e, const Core *core)
{
    double kv = core->k_bytes + core->v_bytes;
    for (gint64 step = 0; step < core->ranks; step++) {
        gboolean first = step == 0, last = step + 1 == core->ranks;
        const char *name = first ? "cp_send_kv" : last ? "cp_send_dkv" : "cp_send_kv_dkv";
        double bytes = (last ? 0.0 : kv) + (first ? 0.0 : kv);
        int sent = -1;
        if (bytes > 0) {
            sent = llm_emit_exchange(e, name, NET_SEND_RECV, core->group, bytes, e->last_compute);
        }
        emit_step(e, core, step, TRUE);
        llm_emit_join(e, sent);
        if (!first) { /* the step's gradients onto those that came, and onto those of q */
            double share = (double)step_queries(core, step) / (double)core->seq_q;
            llm_emit_memory(e, "cp_accumulate", COST_ADD, 3.0 * (kv + share * core->q_bytes));
        }
    }
}

/* --- all-gather ----------------------------------------------------------------------------- */

static void
emit_gather_kv(LlmEmit *e, const Core *core)
{
    double ranks = (double)core->ranks;
    llm_emit_join(e, llm_emit_exchange(e, "cp_gather_k", NET_ALL_GATHER, core->group,
                                       ranks * core->k_bytes, e->last_compute));
    llm_emit_join(e, llm_emit_exchange(e, "cp_gather_v", NET_ALL_GATHER, core->group,
                                       ranks * core->v_bytes, e->last_compute));
    llm_emit_memory(e, "cp_layout", COST_COPY, 2.0 * ranks * (core->k_bytes + core->v_bytes));
}

/* One kernel for each of the two chunks. */
static void
emit_chunks(LlmEmit *e, const Core *core, gboolean backward)
{
    for (guint chunk = 0; chunk < 2; chunk++) {
        emit_part(e, core, llm_share(core->seq_q, 2), core->seen, core->causal, core->pairs / 2.0,
                  backward);
    }
}

static void
emit_gather_backward(LlmEmit *e, const Core *core)
{
    double ranks = (double)core->ranks;
    emit_gather_kv(e, core);
    emit_chunks(e, core, TRUE);
    llm_emit_memory(e, "cp_layout", COST_COPY, 2.0 * ranks * (core->k_bytes + core->v_bytes));
    llm_emit_join(e, llm_emit_exchange(e, "cp_scatter_dk", NET_REDUCE_SCATTER, core->group,
                                       ranks * core->k_bytes, e->last_compute));
    llm_emit_join(e, llm_emit_exchange(e, "cp_scatter_dv", NET_REDUCE_SCATTER, core->group,
                                       ranks * core->v_bytes, e->last_compute));
}

/* --- all-to-all ----------------------------------------------------------------------------- */

/* The buffer is laid out by rank before, and by position after. */
static void
emit_all_to_all(LlmEmit *e, const char *name, double bytes)
{
    LlmGroup group = e->cut->cp_kind == LLM_CP_A2A ? LLM_GROUP_CP : LLM_GROUP_CP_INNER;
    if (llm_group_size(e->cut, group) == 1) {
        return;
    }
    llm_emit_memory(e, "cp_layout", COST_COPY, 2.0 * bytes);
    llm_emit_join(e, llm_emit_exchange(e, name, NET_ALL_TO_ALL, group, bytes, e->last_compute));
    llm_emit_memory(e, "cp_layout", COST_COPY, 2.0 * bytes);
}

void
llm_emit_context_forward(LlmEmit *e)
{
    Core core = core_of(e);
    if (core.ranks > 1 && e->cut->cp_kind == LLM_CP_ALL_GATHER) {
        emit_gather_kv(e, &core);
        emit_chunks(e, &core, FALSE);
        return;
    }
    if (exchanges_heads(e)) {
        emit_all_to_all(e, "cp_all_to_all_qkv", core.qkv_local_bytes);
    }
    if (core.ranks > 1) {
        emit_ring_forward(e, &core);
    } else {
        emit_part(e, &core, core.seq_q, core.seen, core.causal, core.pairs, FALSE);
    }
    if (exchanges_heads(e)) {
        emit_all_to_all(e, "cp_all_to_all_out", core.output_bytes);
    }
}

void
llm_emit_context_backward(LlmEmit *e)
{
    Core core = core_of(e);
    if (core.ranks > 1 && e->cut->cp_kind == LLM_CP_ALL_GATHER) {
        emit_gather_backward(e, &core);
        return;
    }
    if (exchanges_heads(e)) {
        emit_all_to_all(e, "cp_all_to_all_dout", core.output_bytes);
    }
    if (core.ranks > 1) {
        emit_ring_backward(e, &core);
    } else {
        emit_part(e, &core, core.seq_q, core.seen, core.causal, core.pairs, TRUE);
    }
    if (exchanges_heads(e)) {
        emit_all_to_all(e, "cp_all_to_all_dqkv", core.qkv_local_bytes);
    }
}
