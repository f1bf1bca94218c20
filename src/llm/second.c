/* "second_gemm": checkpointing by operator, as torchtitan's option "op" has it (torchtitan
 * distributed/activation_checkpoint.py). Of a layer's matrices, counted from one in the order of launch, the odd
 * ones' outputs are kept, and so are those of fused attention and of reduce-scatters. Everything else runs again:
 * norms, rope, activations, sums, gathers, all-reduces, the even matrices; all of unfused attention; and experts,
 * whose grouped matrices are not on the list, with their exchanges.
 *
 *   Llama     q k v out gate up down: q, v, gate and down are kept, k, out and up run again
 *   latent    [q_down] q kv_down kv_up out gate up down
 *
 * The down matrix never runs again: nothing wants its output, which is held all the same when its number is odd.
 * Outputs of out and down are sums of n h before sequence parallelism scatters them. */
#include "config.h"

#include "llm/kept.h"

static const LlmLinear qkv = {"qkv", "", ""};
static const LlmLinear q_down = {"q_down", "", ""};
static const LlmLinear q_up = {"q_up", "", ""};
static const LlmLinear q_direct = {"q", "", ""};
static const LlmLinear kv_down = {"kv_down", "", ""};
static const LlmLinear kv_up = {"kv_up", "", ""};
static const LlmLinear attention_out = {"attention_out", "", ""};
static const LlmLinear mlp_up = {"mlp_up", "", ""};

/* Which matrices' outputs are kept. `gate`: the first half of a gated MLP's up matrix, `up` the second. */
typedef struct {
    gboolean q_down, q, kv_down, k, v, out, gate, up, down; /* latent: k and v are one matrix */
} Odd;

static gboolean
next_is_odd(guint *count)
{
    (*count)++;
    return *count % 2 == 1;
}

static Odd
odd_matrices(const LlmEmit *e)
{
    guint n = 0;
    Odd odd = {0};
    if (e->latent) {
        odd.q_down = e->shape->q_lora > 0 && next_is_odd(&n);
        odd.q = next_is_odd(&n);
        odd.kv_down = next_is_odd(&n);
        odd.k = odd.v = next_is_odd(&n);
    } else {
        odd.q = next_is_odd(&n);
        odd.k = next_is_odd(&n);
        odd.v = next_is_odd(&n);
    }
    odd.out = next_is_odd(&n);
    odd.gate = e->shape->gated && next_is_odd(&n);
    odd.up = next_is_odd(&n);
    odd.down = next_is_odd(&n);
    return odd;
}

/* --- bytes ---------------------------------------------------------------------------------- */

/* Of an item, `stays` bytes. */
static void
drop_all_but(LlmKept *kept, LlmKeptItem item, double stays)
{
    g_assert(stays <= kept->bytes[item]);
    kept->dropped_bytes -= kept->dropped[item];
    kept->dropped[item] = kept->bytes[item] - stays;
    kept->dropped_bytes += kept->dropped[item];
}

static void
hold(LlmKept *kept, LlmKeptItem item, double bytes)
{
    kept->bytes[item] = bytes;
    kept->all += bytes;
}

/* Columns of a token that q, k and v keep. Latent keys are put together anew; values lie in what kv_up makes,
 * beside the keys' part of it. */
static gint64
kept_columns(const LlmEmit *e, const Odd *odd)
{
    gint64 q = odd->q ? e->heads * e->qk_dim : 0;
    gint64 k = odd->k ? e->kv_heads * (e->latent ? e->shape->qk_nope_dim : e->qk_dim) : 0;
    return q + k + (odd->v ? e->kv_heads * e->v_dim : 0);
}

static void
keep_latents(const LlmEmit *e, const Odd *odd, LlmKept *kept)
{
    const LlmShape *shape = e->shape;
    gint64 columns = (odd->q_down ? shape->q_lora : 0) +
                     (odd->kv_down ? shape->kv_lora + shape->qk_rope_dim : 0);
    drop_all_but(kept, LLM_KEPT_LATENTS, e->element * (double)e->local_tokens * (double)columns);
}

void
llm_kept_second(const LlmEmit *e, LlmKept *kept)
{
    Odd odd = odd_matrices(e);
    double each = e->element * (double)e->tokens;
    double whole = each * (double)e->shape->hidden;
    double scattered =
        e->gathers ? e->element * (double)e->local_tokens * (double)e->shape->hidden : 0.0;
    gboolean flash = e->cut->attention == LLM_ATTENTION_FLASH;
    static const LlmKeptItem again[] = {LLM_KEPT_QK_NORM,       LLM_KEPT_POST_NORM,
                                        LLM_KEPT_MASK,          LLM_KEPT_MIDDLE,
                                        LLM_KEPT_MLP_POST_NORM, LLM_KEPT_MLP_MASK};
    for (guint i = 0; i < G_N_ELEMENTS(again); i++) {
        drop_all_but(kept, again[i], 0.0);
    }
    if (e->latent) {
        keep_latents(e, &odd, kept);
    }
    drop_all_but(kept, LLM_KEPT_QKV, each * (double)kept_columns(e, &odd));
    drop_all_but(kept, LLM_KEPT_CONTEXT, flash ? each * (double)e->context : 0.0);
    hold(kept, LLM_KEPT_OUT, (odd.out ? whole : 0.0) + scattered);
    if (kept->bytes[LLM_KEPT_ROWS] > 0) { /* experts run again from their norm on */
        return;
    }
    gint64 halves = (odd.gate ? 1 : 0) + (odd.up ? 1 : 0);
    drop_all_but(kept, LLM_KEPT_UP, each * (double)(halves * e->ffn));
    hold(kept, LLM_KEPT_DOWN, (odd.down ? whole : 0.0) + scattered);
}

/* --- ops ------------------------------------------------------------------------------------ */

static void
emit_latent(LlmEmit *e, const Odd *odd)
{
    const LlmShape *shape = e->shape;
    gint64 latent = shape->kv_lora + shape->qk_rope_dim, columns = e->heads * e->qk_dim;
    double local = 2.0 * (double)e->local_tokens * e->element;
    if (shape->q_lora > 0 && !odd->q_down) {
        llm_emit_plain_forward(e, &q_down, shape->hidden, shape->q_lora);
    }
    if (shape->q_lora > 0) {
        llm_emit_memory(e, "q_norm", COST_NORM, local * (double)shape->q_lora);
    }
    if (!odd->q && shape->q_lora > 0) {
        llm_emit_column_forward(e, &q_up, shape->q_lora, columns);
    } else if (!odd->q) {
        llm_emit_column_forward(e, &q_direct, shape->hidden, columns);
    }
    if (!odd->kv_down) {
        llm_emit_plain_forward(e, &kv_down, shape->hidden, latent);
    }
    llm_emit_memory(e, "kv_norm", COST_NORM, local * (double)shape->kv_lora);
    if (!odd->k) {
        llm_emit_column_forward(e, &kv_up, shape->kv_lora,
                                e->heads * (shape->qk_nope_dim + e->v_dim));
    }
    llm_emit_latent_keys(e);
}

static void
emit_attention(LlmEmit *e, const Odd *odd)
{
    llm_emit_norm(e);
    if (e->latent) {
        emit_latent(e, odd);
    } else { /* never none: of q, k and v one is even */
        gint64 columns = e->qkv - kept_columns(e, odd);
        llm_emit_column_forward(e, &qkv, e->shape->hidden, columns);
        llm_emit_turn(e);
    }
    if (e->cut->attention != LLM_ATTENTION_FLASH) {
        llm_emit_core_forward(e);
    }
    if (!odd->out) {
        llm_emit_row_forward(e, &attention_out, e->context, e->shape->hidden, FALSE);
    }
    if (!e->gathers && !e->shape->parallel_residual) { /* what reduce-scatters gave is there */
        llm_emit_combine(e);
    }
}

static void
emit_mlp(LlmEmit *e, const Odd *odd)
{
    gint64 halves = (e->shape->gated && !odd->gate ? 1 : 0) + (odd->up ? 0 : 1);
    if (halves > 0) {
        llm_emit_column_forward(e, &mlp_up, e->shape->hidden, halves * e->ffn);
    }
    llm_emit_activation(e);
}

void
llm_emit_second(LlmEmit *e, LlmPiece piece)
{
    Odd odd = odd_matrices(e);
    emit_attention(e, &odd);
    if (!e->shape->parallel_residual) {
        llm_emit_residual(e, e->shape->out_bias);
    }
    llm_emit_norm(e);
    if (llm_kept_has_experts(piece)) {
        llm_emit_experts_forward(e);
        llm_emit_end(e);
    } else {
        emit_mlp(e, &odd);
    }
}
