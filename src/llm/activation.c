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
 * keep theirs, and two branches from the same input keep it once. A gated activation that is not one kernel
 * keeps the gate's half besides, D n f / t.
 *
 * Latent attention keeps instead of QKV the latents before and after their norms, 2 D n (q_lora + kv_lora +
 * d_rope) / u, and q, k, v expanded. Experts keep instead of the MLP's part the scores 4 n E / u, of each row
 * that a rank's experts take (n k / u on average, whatever ep) its input h, (gamma+1) f_e and 4 bytes of
 * probability, which is multiplied in before the down matrix; shared experts as a dense MLP. Rows before the
 * dispatch and after the experts are wanted by no backward: permutes keep their index only.
 *
 * In fp8 the inputs of matrices are kept as their 8-bit copies: 1 byte an element; the attention's output, as
 * its own backward wants it too, besides. */
#include "config.h"

#include "llm/kept.h"

static void
keep(const LlmEmit *e, LlmKept *kept, LlmKeptItem item, double bytes, guint modules)
{
    kept->bytes[item] = bytes;
    kept->all += bytes;
    gboolean again = e->cut->recompute == LLM_RECOMPUTE_FULL
                         ? item != LLM_KEPT_INPUT
                         : modules != 0 && llm_recomputes(e->cut, modules);
    kept->dropped[item] = again ? bytes : 0.0;
    kept->dropped_bytes += kept->dropped[item];
}

/* Bytes of an element of a matrix's input as it is saved. */
static double
saved_element(const LlmEmit *e)
{
    return e->cut->dtype == CLUSTER_FP8 ? 1.0 : e->element;
}

static void
keep_core(const LlmEmit *e, LlmKept *kept)
{
    double rows = (double)e->tokens * (double)e->heads, bytes = 4.0 * rows;
    if (e->cut->attention != LLM_ATTENTION_FLASH) {
        double each = e->cut->dropout ? 2.0 * e->element + 1.0 : e->element;
        bytes = each * rows * (double)e->cut->seq;
    }
    keep(e, kept, LLM_KEPT_CORE, bytes, LLM_MODULE_CORE_ATTENTION);
}

static void
keep_attention(const LlmEmit *e, LlmKept *kept)
{
    const LlmShape *shape = e->shape;
    double local = (double)e->local_tokens, tokens = (double)e->tokens;
    double hidden = local * (double)shape->hidden;
    keep(e, kept, LLM_KEPT_INPUT, e->element * hidden, 0);
    keep(e, kept, LLM_KEPT_NORM, saved_element(e) * hidden, LLM_MODULE_NORM);
    if (e->latent) {
        gint64 latents = shape->q_lora + shape->kv_lora + shape->qk_rope_dim;
        keep(e, kept, LLM_KEPT_LATENTS, (e->element + saved_element(e)) * local * (double)latents,
             0);
    }
    keep(e, kept, LLM_KEPT_QKV, e->element * tokens * (double)e->qkv,
         e->latent ? LLM_MODULE_MLA_UP : 0);
    if (shape->qk_norm) {
        keep(e, kept, LLM_KEPT_QK_NORM,
             e->element * tokens * (double)((e->heads + e->kv_heads) * e->qk_dim), 0);
    }
    keep_core(e, kept);
    double copies = e->cut->dtype == CLUSTER_FP8 ? e->element + 1.0 : e->element;
    keep(e, kept, LLM_KEPT_CONTEXT, copies * tokens * (double)e->context, 0);
}

/* Bytes of a row of `down` columns that an activation keeps for itself, beyond its input and output. */
static double
gate_bytes(const LlmEmit *e, gint64 down)
{
    return e->shape->gated && !e->cut->fused_kernels ? e->element * (double)down : 0.0;
}

static void
keep_mlp(const LlmEmit *e, LlmKept *kept)
{
    double tokens = (double)e->tokens;
    keep(e, kept, LLM_KEPT_UP, tokens * e->element * (double)e->up, LLM_MODULE_MLP);
    keep(e, kept, LLM_KEPT_ACTIVATION,
         tokens * (saved_element(e) * (double)e->ffn + gate_bytes(e, e->ffn)),
         LLM_MODULE_MLP | LLM_MODULE_ACTIVATION);
}

static void
keep_experts(const LlmEmit *e, LlmKept *kept)
{
    const LlmShape *shape = e->shape;
    double local = (double)e->local_tokens, tokens = (double)e->tokens, rows = (double)e->rows;
    guint shared = LLM_MODULE_MOE | LLM_MODULE_SHARED_EXPERTS;
    keep(e, kept, LLM_KEPT_SCORES, 4.0 * local * (double)shape->experts, LLM_MODULE_MOE);
    keep(e, kept, LLM_KEPT_ROWS, rows * (saved_element(e) * (double)shape->hidden + 4.0),
         LLM_MODULE_MOE);
    keep(e, kept, LLM_KEPT_UP, rows * e->element * (double)e->expert_up, LLM_MODULE_MOE);
    keep(e, kept, LLM_KEPT_ACTIVATION,
         rows * (saved_element(e) * (double)e->expert_ffn + gate_bytes(e, e->expert_ffn)),
         LLM_MODULE_MOE | LLM_MODULE_MOE_ACTIVATION);
    if (shape->shared_ffn > 0) {
        keep(e, kept, LLM_KEPT_SHARED_UP, tokens * e->element * (double)e->shared_up, shared);
        keep(e, kept, LLM_KEPT_SHARED_ACTIVATION,
             tokens * (saved_element(e) * (double)e->shared + gate_bytes(e, e->shared)), shared);
    }
    if (shape->shared_gate) {
        keep(e, kept, LLM_KEPT_SHARED_OUT, e->element * local * (double)shape->hidden, shared);
    }
}

gboolean
llm_kept_has_experts(LlmPiece piece)
{
    return piece == LLM_PIECE_MOE || piece == LLM_PIECE_MOE_WINDOW;
}

LlmKept
llm_kept_layer(const LlmEmit *e, LlmPiece piece)
{
    const LlmShape *shape = e->shape;
    LlmKept kept = {.all = 0};
    double local = (double)e->local_tokens * (double)shape->hidden;
    keep_attention(e, &kept);
    if (!shape->parallel_residual) {
        keep(e, &kept, LLM_KEPT_MIDDLE, e->element * local, 0);
    }
    keep(e, &kept, LLM_KEPT_MLP_NORM, saved_element(e) * local, LLM_MODULE_NORM);
    (llm_kept_has_experts(piece) ? keep_experts : keep_mlp)(e, &kept);
    if (shape->post_norms) {
        keep(e, &kept, LLM_KEPT_POST_NORM, e->element * local, 0);
        keep(e, &kept, LLM_KEPT_MLP_POST_NORM, e->element * local, 0);
    }
    if (e->cut->dropout) {
        keep(e, &kept, LLM_KEPT_MASK, shape->parallel_residual ? 0.0 : local, 0);
        keep(e, &kept, LLM_KEPT_MLP_MASK, local, 0);
    }
    if (llm_recomputes(e->cut, LLM_MODULE_SECOND_GEMM)) {
        llm_kept_second(e, &kept);
    }
    return kept;
}

LlmEmit
llm_kept_sizes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece, LlmPass pass)
{
    LlmEmit e = llm_emit_begin(shape, cut, piece, pass);
    g_array_unref(e.ops);
    e.ops = NULL;
    return e;
}

static double
embedding_bytes(const LlmEmit *e)
{ /* ids, the dropout mask, the input of a norm */
    double local = (double)e->local_tokens * (double)e->shape->hidden;
    return 8.0 * (double)e->tokens + (e->cut->dropout ? local : 0.0) +
           (e->shape->embedding_norm ? e->element * local : 0.0);
}

static double
head_bytes(const LlmEmit *e)
{ /* the final norm's input and output */
    double local = (double)e->local_tokens * (double)e->shape->hidden;
    return e->element * local * (e->shape->final_norm ? 2.0 : 1.0);
}

/* The logits, and their fp32 copy that becomes the softmax and then the gradient, which a fused loss has not:
 * it writes the gradient over the logits. */
double
llm_kept_logits(const LlmEmit *e)
{
    double each = e->cut->fused_loss ? e->element : 4.0 + e->element;
    return each * (double)e->tokens * (double)e->vocab;
}

double
llm_activation_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece)
{
    LlmEmit e = llm_kept_sizes(shape, cut, piece, LLM_PASS_FORWARD);
    if (piece == LLM_PIECE_EMBEDDING) {
        return embedding_bytes(&e);
    }
    if (piece == LLM_PIECE_HEAD) {
        return head_bytes(&e);
    }
    LlmKept layer = llm_kept_layer(&e, llm_emit_layer_of(shape, piece));
    double bytes = layer.all - layer.dropped_bytes;
    if (piece == LLM_PIECE_MTP) {
        /* Two norm inputs, the projection's input 2h, and what embedding, head and loss keep. */
        double local = (double)e.local_tokens * (double)shape->hidden;
        bytes += (2.0 * e.element + 2.0 * saved_element(&e)) * local;
        bytes += embedding_bytes(&e) + head_bytes(&e) + llm_kept_logits(&e);
    }
    return bytes;
}

double
llm_transient_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece)
{
    LlmEmit e = llm_kept_sizes(shape, cut, piece, LLM_PASS_FORWARD);
    if (piece == LLM_PIECE_EMBEDDING) {
        return 0.0;
    }
    if (piece == LLM_PIECE_HEAD) {
        return llm_kept_logits(&e);
    }
    return llm_kept_layer(&e, llm_emit_layer_of(shape, piece)).dropped_bytes;
}

/* --- the weight gradient's share ------------------------------------------------------------ */

static double
attention_grad_bytes(const LlmEmit *e)
{
    const LlmShape *shape = e->shape;
    double local = (double)e->local_tokens, tokens = (double)e->tokens;
    /* Input of QKV, gathered again when it is wanted; gradient of out, which stays gathered. */
    double bytes = (local + tokens) * (double)shape->hidden + tokens * (double)e->context;
    if (!e->latent) {
        return bytes + tokens * (double)e->qkv;
    }
    /* Inputs of the up matrices and gradients of what the down matrices put out; gradients of q, k, v. */
    gint64 latents = shape->q_lora + shape->kv_lora;
    bytes += local * (double)(2 * latents + shape->qk_rope_dim);
    return bytes + tokens * (double)(e->heads * (e->qk_dim + shape->qk_nope_dim + e->v_dim));
}

static double
mlp_grad_bytes(const LlmEmit *e, LlmPiece piece)
{
    double local = (double)e->local_tokens, tokens = (double)e->tokens;
    double hidden = (double)e->shape->hidden;
    if (!llm_kept_has_experts(piece)) { /* inputs of up and down, gradients of what they put out */
        return (local + tokens) * hidden + tokens * (double)(e->ffn + e->up);
    }
    double columns = 2.0 * hidden + (double)(e->expert_up + e->expert_ffn);
    double bytes = (double)e->rows * columns;
    bytes += local * (hidden + (double)e->shape->experts); /* the router's */
    if (e->shape->shared_ffn > 0) {
        bytes += tokens * (hidden + (double)(e->shared + e->shared_up));
    }
    return bytes;
}

double
llm_weight_grad_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece)
{
    LlmEmit e = llm_kept_sizes(shape, cut, piece, LLM_PASS_FORWARD);
    double local = (double)e.local_tokens * (double)shape->hidden, tokens = (double)e.tokens;
    double head = local + tokens * (double)e.vocab; /* its input and the gradient of the logits */
    if (piece == LLM_PIECE_EMBEDDING) { /* the gradient that is scattered into the table */
        return 8.0 * tokens + e.element * local;
    }
    if (piece == LLM_PIECE_HEAD) {
        return e.element * head;
    }
    double elements =
        attention_grad_bytes(&e) + mlp_grad_bytes(&e, llm_emit_layer_of(shape, piece));
    if (piece == LLM_PIECE_MTP) { /* the projection's input and gradient too */
        elements += 3.0 * local + head;
    }
    return saved_element(&e) * elements;
}
