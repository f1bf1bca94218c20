/* Parameters of each module. Matrices: QKV h x (a+2g)d, output a d x h, MLP (2 or 3) h x f. */
#include "config.h"

#include "llm/ops.h"
#include "llm/parameters.h"

/* A LayerNorm has a weight and a bias, an RMSNorm a weight. */
static gint64
norm_parameters(const LlmShape *shape, gint64 width)
{
    return shape->norm == LLM_NORM_LAYER ? 2 * width : width;
}

/* What tensor parallelism does not cut: norms and the biases of the row-parallel matrices. */
static gint64
whole_parameters(const LlmShape *s)
{
    gint64 norms = (s->post_norms ? 4 : 2) * norm_parameters(s, s->hidden);
    gint64 qk_norms = s->qk_norm ? 2 * s->head_dim : 0;
    gint64 row_biases = (s->out_bias ? s->hidden : 0) + (s->mlp_bias ? s->hidden : 0);
    return norms + qk_norms + row_biases;
}

LlmParameters
llm_parameters(const LlmShape *s)
{
    gint64 qkv = (s->heads + 2 * s->kv_heads) * s->head_dim;
    gint64 up = (s->gated ? 2 : 1) * s->ffn;
    LlmParameters p = {
        .embedding = s->vocab * s->hidden,
        .position = s->position_rows * s->hidden,
        .layer_matrices = s->hidden * (qkv + s->heads * s->head_dim + up + s->ffn),
        .final_norm = s->final_norm ? norm_parameters(s, s->hidden) : 0,
        .head = (s->tied ? 0 : s->vocab * s->hidden) + (s->head_bias ? s->vocab : 0),
        .embedding_norm = s->embedding_norm ? norm_parameters(s, s->hidden) : 0,
    };
    gint64 column_biases = (s->qkv_bias ? qkv : 0) + (s->mlp_bias ? up : 0);
    p.layer = p.layer_matrices + column_biases + whole_parameters(s);
    p.total =
        p.embedding + p.position + p.embedding_norm + s->layers * p.layer + p.final_norm + p.head;
    p.active = p.total;
    return p;
}

gint64
llm_padded_vocab(const LlmShape *shape, gint64 multiple)
{
    g_assert(multiple >= 1);
    return (shape->vocab + multiple - 1) / multiple * multiple;
}

/* The part of `whole` on the rank that has most of it. */
static gint64
share(gint64 whole, gint64 tp)
{
    return (whole + tp - 1) / tp;
}

gint64
llm_layer_parameters_per_rank(const LlmShape *s, gint64 tp)
{
    g_assert(tp >= 1);
    /* With more ranks than key-value heads each rank holds a copy of one head. */
    gint64 heads = share(s->heads, tp);
    gint64 qkv = (heads + 2 * share(s->kv_heads, tp)) * s->head_dim;
    gint64 ffn = share(s->ffn, tp);
    gint64 up = (s->gated ? 2 : 1) * ffn;
    gint64 matrices = s->hidden * (qkv + heads * s->head_dim + up + ffn);
    gint64 column_biases = (s->qkv_bias ? qkv : 0) + (s->mlp_bias ? up : 0);
    return matrices + column_biases + whole_parameters(s);
}

LlmPieceParameters
llm_piece_parameters(const LlmShape *s, const LlmCut *cut, LlmPiece piece)
{
    LlmParameters p = llm_parameters(s);
    gint64 rows = share(cut->vocab_padded > 0 ? cut->vocab_padded : s->vocab, cut->tp);
    switch (piece) {
    case LLM_PIECE_EMBEDDING: /* positions and norms are whole on every tensor-parallel rank */
        return (LlmPieceParameters){.dense = rows * s->hidden + p.position + p.embedding_norm};
    case LLM_PIECE_HEAD:
        return (LlmPieceParameters){.dense = rows * s->hidden + (s->head_bias ? rows : 0) +
                                             p.final_norm};
    default:
        return (LlmPieceParameters){.dense = llm_layer_parameters_per_rank(s, cut->tp)};
    }
}

gint64
llm_piece_replicated(const LlmShape *s, const LlmCut *cut, LlmPiece piece)
{
    (void)cut;
    return piece == LLM_PIECE_EMBEDDING || piece == LLM_PIECE_HEAD ? 0 : whole_parameters(s);
}
