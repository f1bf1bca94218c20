/* Parameters of each module. Matrices: QKV h x (a+2g)d, output a d x h, MLP (2 or 3) h x f; with latent
 * attention h x q_lora, q_lora x a(d_nope+d_rope), h x (kv_lora+d_rope), kv_lora x a(d_nope+d_v), a d_v x h;
 * E experts of (2 or 3) h x f_e and a router h x E.
 *
 * Every module is counted as one rank of a tensor-parallel group has it; the whole is the case of one rank. */
#include "config.h"

#include "llm/ops.h"
#include "llm/parameters.h"

/* A module on one rank. `cut` is divided among the ranks (in `matrices`, those of its GEMMs), `whole` is on each
 * of them. */
typedef struct {
    gint64 matrices;       /* GEMM weights, cut and whole */
    gint64 whole_matrices; /* of which on every rank */
    gint64 cut;            /* biases of column-parallel matrices and the like */
    gint64 whole;          /* norms, biases of row-parallel matrices */
} Module;

static gint64
module_total(Module m)
{
    return m.matrices + m.cut + m.whole;
}

static Module
module_sum(Module a, Module b)
{
    return (Module){a.matrices + b.matrices, a.whole_matrices + b.whole_matrices, a.cut + b.cut,
                    a.whole + b.whole};
}

/* A LayerNorm has a weight and a bias, an RMSNorm a weight. */
static gint64
norm_parameters(const LlmShape *shape, gint64 width)
{
    return shape->norm == LLM_NORM_LAYER ? 2 * width : width;
}

/* The part of `whole` on the rank that has most of it. */
static gint64
share(gint64 whole, gint64 ranks)
{
    return (whole + ranks - 1) / ranks;
}

/* --- modules of one rank -------------------------------------------------------------------- */

/* Megatron and torchtitan cut the up-projections by heads; the down-projections and the norms of the latents
 * are on every rank. */
static Module
latent_attention(const LlmShape *s, gint64 tp)
{
    gint64 heads = share(s->heads, tp);
    gint64 queries = heads * (s->qk_nope_dim + s->qk_rope_dim);
    gint64 down = s->kv_lora + s->qk_rope_dim;
    Module m = {.whole_matrices = s->hidden * (s->q_lora + down),
                .whole = norm_parameters(s, s->kv_lora) +
                         (s->q_lora > 0 ? norm_parameters(s, s->q_lora) : 0) +
                         (s->qkv_bias ? s->q_lora + down : 0) + (s->out_bias ? s->hidden : 0)};
    m.matrices = m.whole_matrices + queries * (s->q_lora > 0 ? s->q_lora : s->hidden) +
                 s->kv_lora * heads * (s->qk_nope_dim + s->v_dim) + heads * s->v_dim * s->hidden;
    return m;
}

/* With more ranks than key-value heads each rank holds a copy of one head. */
static Module
attention(const LlmShape *s, gint64 tp)
{
    if (s->kv_lora > 0) {
        return latent_attention(s, tp);
    }
    gint64 heads = share(s->heads, tp);
    gint64 qkv = (heads + 2 * share(s->kv_heads, tp)) * s->head_dim;
    return (Module){.matrices = s->hidden * (qkv + heads * s->head_dim),
                    .cut = (s->qkv_bias ? qkv : 0) + (s->attention_sinks ? heads : 0),
                    .whole = (s->qk_norm ? 2 * s->head_dim : 0) + (s->out_bias ? s->hidden : 0)};
}

static Module
mlp(const LlmShape *s, gint64 width, gboolean bias)
{
    gint64 up = (s->gated ? 2 : 1) * width;
    return (Module){
        .matrices = s->hidden * (up + width), .cut = bias ? up : 0, .whole = bias ? s->hidden : 0};
}

static Module
norms(const LlmShape *s)
{
    return (Module){.whole = (s->post_norms ? 4 : 2) * norm_parameters(s, s->hidden)};
}

static Module
dense_layer(const LlmShape *s, gint64 tp)
{
    return module_sum(module_sum(attention(s, tp), norms(s)),
                      mlp(s, share(s->ffn, tp), s->mlp_bias));
}

static gint64
router(const LlmShape *s)
{
    return s->experts * (s->hidden + (s->router_bias ? 1 : 0));
}

/* A layer with experts, without the routed ones: attention, norms, router, shared experts and their gate. */
static Module
around_experts(const LlmShape *s, gint64 tp)
{
    Module m = module_sum(attention(s, tp), norms(s));
    if (s->shared_ffn > 0) {
        m = module_sum(m, mlp(s, share(s->shared_ffn, tp), s->mlp_bias));
    }
    m.whole += router(s) + (s->shared_gate ? s->hidden : 0);
    return m;
}

static Module
expert(const LlmShape *s, gint64 etp)
{
    return mlp(s, share(s->expert_ffn, etp), s->expert_bias);
}

/* Norms of the embedding and of the hidden state, their projection to h, and the norm before the shared head
 * (DeepSeek-V3, arXiv 2412.19437, section 2.2); its layer comes apart. Column-parallel in Megatron. */
static Module
prediction_ends(const LlmShape *s, gint64 tp)
{
    return (Module){.matrices = 2 * s->hidden * share(s->hidden, tp),
                    .whole = 3 * norm_parameters(s, s->hidden)};
}

/* --- the whole model ------------------------------------------------------------------------ */

LlmParameters
llm_parameters(const LlmShape *s)
{
    gint64 moe_layers = llm_shape_moe_layers(s);
    Module dense = dense_layer(s, 1);
    LlmParameters p = {
        .embedding = s->vocab * s->hidden,
        .position = s->position_rows * s->hidden,
        .layer = module_total(dense),
        .layer_matrices = dense.matrices,
        .final_norm = s->final_norm ? norm_parameters(s, s->hidden) : 0,
        .head = (s->tied ? 0 : s->vocab * s->hidden) + (s->head_bias ? s->vocab : 0),
        .embedding_norm = s->embedding_norm ? norm_parameters(s, s->hidden) : 0,
    };
    gint64 idle = 0; /* of a layer: the experts that a token does not go to */
    if (s->experts > 0) {
        Module around = around_experts(s, 1);
        Module one = expert(s, 1);
        p.moe_layer = module_total(around) + s->experts * module_total(one);
        p.moe_layer_matrices = around.matrices + s->experts * one.matrices;
        p.router = router(s);
        idle = (s->experts - s->experts_per_token) * module_total(one);
    }
    if (s->mtp_layers > 0) {
        p.mtp = module_total(prediction_ends(s, 1)) +
                (llm_shape_is_moe(s, s->layers - 1) ? p.moe_layer : p.layer);
    }
    p.total = p.embedding + p.position + p.embedding_norm + (s->layers - moe_layers) * p.layer +
              moe_layers * p.moe_layer + p.final_norm + p.head;
    p.active = p.total - moe_layers * idle;
    return p;
}

gint64
llm_padded_vocab(const LlmShape *shape, gint64 multiple)
{
    g_assert(multiple >= 1);
    return (shape->vocab + multiple - 1) / multiple * multiple;
}

gint64
llm_layer_parameters_per_rank(const LlmShape *s, gint64 tp)
{
    g_assert(tp >= 1);
    return module_total(dense_layer(s, tp));
}

/* --- pieces of a rank ----------------------------------------------------------------------- */

/* What of a piece is not routed experts. */
static Module
dense_part(const LlmShape *s, const LlmCut *cut, LlmPiece piece)
{
    LlmParameters p = llm_parameters(s);
    gint64 rows = share(cut->vocab_padded > 0 ? cut->vocab_padded : s->vocab, cut->tp);
    switch (piece) {
    case LLM_PIECE_EMBEDDING: /* positions and norms are whole on every tensor-parallel rank */
        return (Module){.cut = rows * s->hidden, .whole = p.position + p.embedding_norm};
    case LLM_PIECE_HEAD:
        return (Module){
            .matrices = rows * s->hidden, .cut = s->head_bias ? rows : 0, .whole = p.final_norm};
    case LLM_PIECE_MOE:
    case LLM_PIECE_MOE_WINDOW:
        return around_experts(s, cut->tp);
    case LLM_PIECE_MTP:
        return module_sum(prediction_ends(s, cut->tp), llm_shape_is_moe(s, s->layers - 1)
                                                           ? around_experts(s, cut->tp)
                                                           : dense_layer(s, cut->tp));
    case LLM_PIECE_LAYER:
    case LLM_PIECE_LAYER_WINDOW:
        return dense_layer(s, cut->tp);
    case LLM_N_PIECES:
        break;
    }
    g_assert_not_reached();
}

LlmPieceParameters
llm_piece_parameters(const LlmShape *s, const LlmCut *cut, LlmPiece piece)
{
    g_assert(cut->tp >= 1);
    gboolean has_experts = piece == LLM_PIECE_MOE || piece == LLM_PIECE_MOE_WINDOW ||
                           (piece == LLM_PIECE_MTP && llm_shape_is_moe(s, s->layers - 1));
    LlmPieceParameters p = {.dense = module_total(dense_part(s, cut, piece))};
    if (has_experts) {
        p.expert = share(s->experts, MAX(cut->ep, 1)) * module_total(expert(s, MAX(cut->etp, 1)));
    }
    return p;
}

gint64
llm_piece_replicated(const LlmShape *s, const LlmCut *cut, LlmPiece piece)
{
    Module m = dense_part(s, cut, piece);
    return m.whole + m.whole_matrices;
}
