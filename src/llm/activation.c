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
 * keep theirs, and two branches from the same input keep it once.
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

#include "llm/emit.h"

/* Kept from forward to backward; of that, what recompute drops and brings back. */
typedef struct {
    const LlmCut *cut;
    double all, dropped;
} Kept;

static void
keep(Kept *kept, double bytes, guint modules)
{
    kept->all += bytes;
    if (modules != 0 && llm_recomputes(kept->cut, modules)) {
        kept->dropped += bytes;
    }
}

/* Bytes of an element of a matrix's input as it is saved. */
static double
saved_element(const LlmEmit *e)
{
    return e->cut->dtype == CLUSTER_FP8 ? 1.0 : e->element;
}

static void
keep_core(const LlmEmit *e, Kept *kept)
{
    double rows = (double)e->tokens * (double)e->heads, bytes = 4.0 * rows;
    if (e->cut->attention != LLM_ATTENTION_FLASH) {
        double each = e->cut->dropout ? 2.0 * e->element + 1.0 : e->element;
        bytes = each * rows * (double)e->cut->seq;
    }
    keep(kept, bytes, LLM_MODULE_CORE_ATTENTION);
}

static void
keep_attention(const LlmEmit *e, Kept *kept)
{
    const LlmShape *shape = e->shape;
    double local = (double)e->local_tokens, tokens = (double)e->tokens;
    keep(kept, e->element * local * (double)shape->hidden, 0);
    keep(kept, saved_element(e) * local * (double)shape->hidden, LLM_MODULE_NORM);
    if (e->latent) {
        gint64 latents = shape->q_lora + shape->kv_lora + shape->qk_rope_dim;
        keep(kept, (e->element + saved_element(e)) * local * (double)latents, 0);
    }
    keep(kept, e->element * tokens * (double)e->qkv, e->latent ? LLM_MODULE_MLA_UP : 0);
    if (shape->qk_norm) {
        keep(kept, e->element * tokens * (double)((e->heads + e->kv_heads) * e->qk_dim), 0);
    }
    keep_core(e, kept);
    double copies = e->cut->dtype == CLUSTER_FP8 ? e->element + 1.0 : e->element;
    keep(kept, copies * tokens * (double)e->context, 0);
}

/* A dense MLP from its first matrix's output on. */
static void
keep_mlp(const LlmEmit *e, Kept *kept, gint64 up, gint64 down, guint whole, guint activation)
{
    double tokens = (double)e->tokens;
    keep(kept, e->element * tokens * (double)up, whole);
    keep(kept, saved_element(e) * tokens * (double)down, whole | activation);
}

static void
keep_experts(const LlmEmit *e, Kept *kept)
{
    const LlmShape *shape = e->shape;
    double local = (double)e->local_tokens, rows = (double)e->rows;
    keep(kept, 4.0 * local * (double)shape->experts, LLM_MODULE_MOE);
    keep(kept, rows * (saved_element(e) * (double)shape->hidden + 4.0), LLM_MODULE_MOE);
    keep(kept, rows * e->element * (double)e->expert_up, LLM_MODULE_MOE);
    keep(kept, rows * saved_element(e) * (double)e->expert_ffn,
         LLM_MODULE_MOE | LLM_MODULE_MOE_ACTIVATION);
    if (shape->shared_ffn > 0) {
        guint modules = LLM_MODULE_MOE | LLM_MODULE_SHARED_EXPERTS;
        keep_mlp(e, kept, e->shared_up, e->shared, modules, 0);
        if (shape->shared_gate) {
            keep(kept, e->element * local * (double)shape->hidden, modules);
        }
    }
}

static gboolean
has_experts(LlmPiece piece)
{
    return piece == LLM_PIECE_MOE || piece == LLM_PIECE_MOE_WINDOW;
}

static Kept
keep_layer(const LlmEmit *e, LlmPiece piece)
{
    const LlmShape *shape = e->shape;
    Kept kept = {.cut = e->cut};
    double local = (double)e->local_tokens * (double)shape->hidden;
    keep_attention(e, &kept);
    if (!shape->parallel_residual) {
        keep(&kept, e->element * local, 0);
    }
    keep(&kept, saved_element(e) * local, LLM_MODULE_NORM);
    if (has_experts(piece)) {
        keep_experts(e, &kept);
    } else {
        keep_mlp(e, &kept, e->up, e->ffn, LLM_MODULE_MLP, LLM_MODULE_ACTIVATION);
    }
    if (shape->post_norms) {
        keep(&kept, 2.0 * e->element * local, 0);
    }
    if (e->cut->dropout) {
        keep(&kept, (shape->parallel_residual ? 1.0 : 2.0) * local, 0);
    }
    if (e->cut->recompute == LLM_RECOMPUTE_FULL) { /* but for the layer's input */
        kept.dropped = kept.all - e->element * local;
    }
    return kept;
}

static LlmEmit
sizes_of(const LlmShape *shape, const LlmCut *cut, LlmPiece piece)
{
    LlmEmit e = llm_emit_begin(shape, cut, piece, LLM_PASS_FORWARD);
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

double
llm_activation_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece)
{
    LlmEmit e = sizes_of(shape, cut, piece);
    if (piece == LLM_PIECE_EMBEDDING) {
        return embedding_bytes(&e);
    }
    if (piece == LLM_PIECE_HEAD) {
        return head_bytes(&e);
    }
    Kept layer = keep_layer(&e, llm_emit_layer_of(shape, piece));
    double bytes = layer.all - layer.dropped;
    if (piece == LLM_PIECE_MTP) {
        /* Two norm inputs, the projection's input 2h, and what embedding and head keep. */
        double local = (double)e.local_tokens * (double)shape->hidden;
        bytes += (2.0 * e.element + 2.0 * saved_element(&e)) * local;
        bytes += embedding_bytes(&e) + head_bytes(&e);
    }
    return bytes;
}

/* The logits, and their fp32 copy that becomes the softmax and then the gradient, which a fused loss has not:
 * it writes the gradient over the logits. */
static double
logit_bytes(const LlmEmit *e)
{
    double each = e->cut->fused_loss ? e->element : 4.0 + e->element;
    return each * (double)e->tokens * (double)e->vocab;
}

double
llm_transient_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece)
{
    LlmEmit e = sizes_of(shape, cut, piece);
    if (piece == LLM_PIECE_EMBEDDING) {
        return 0.0;
    }
    if (piece == LLM_PIECE_HEAD) {
        return logit_bytes(&e);
    }
    double bytes = keep_layer(&e, llm_emit_layer_of(shape, piece)).dropped;
    return bytes + (piece == LLM_PIECE_MTP ? logit_bytes(&e) : 0.0);
}

/* --- the weight gradient's share ------------------------------------------------------------ */

static double
attention_grad_bytes(const LlmEmit *e)
{
    const LlmShape *shape = e->shape;
    double local = (double)e->local_tokens, tokens = (double)e->tokens;
    double hidden = 2.0 * local * (double)shape->hidden; /* input of QKV, gradient of out */
    double bytes = hidden + tokens * (double)e->context;
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
    if (!has_experts(piece)) { /* inputs of up and down, gradients of what they put out */
        return 2.0 * local * hidden + tokens * (double)(e->ffn + e->up);
    }
    double columns = 2.0 * hidden + (double)(e->expert_up + e->expert_ffn);
    double bytes = (double)e->rows * columns;
    bytes += local * (hidden + (double)e->shape->experts); /* the router's */
    if (e->shape->shared_ffn > 0) {
        bytes += local * hidden + tokens * (double)(e->shared + e->shared_up);
    }
    return bytes;
}

double
llm_weight_grad_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece)
{
    LlmEmit e = sizes_of(shape, cut, piece);
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
    return e.element * elements;
}
