/* Which list belongs to which piece and pass. */
#include "config.h"

#include "llm/ops.h"

#include "llm/emit.h"

LlmPiece
llm_layer_piece(const LlmShape *shape, gint64 layer)
{
    gboolean window = llm_shape_window(shape, layer) > 0;
    if (llm_shape_is_moe(shape, layer)) {
        return window ? LLM_PIECE_MOE_WINDOW : LLM_PIECE_MOE;
    }
    return window ? LLM_PIECE_LAYER_WINDOW : LLM_PIECE_LAYER;
}

/* Embedding and head are no modules that compute in 8 bits. */
static void
emit_piece(LlmEmit *e, LlmPiece piece, gboolean backward)
{
    switch (piece) {
    case LLM_PIECE_EMBEDDING:
        e->matrices = llm_core_dtype(e->cut);
        (backward ? llm_emit_embedding_backward : llm_emit_embedding_forward)(e);
        return;
    case LLM_PIECE_MTP:
        (backward ? llm_emit_prediction_backward : llm_emit_prediction_forward)(e);
        return;
    case LLM_PIECE_HEAD:
        e->matrices = llm_core_dtype(e->cut);
        (backward ? llm_emit_head_backward : llm_emit_head_forward)(e);
        return;
    case LLM_PIECE_LAYER:
    case LLM_PIECE_LAYER_WINDOW:
    case LLM_PIECE_MOE:
    case LLM_PIECE_MOE_WINDOW:
        (backward ? llm_emit_layer_backward : llm_emit_layer_forward)(e, piece);
        return;
    case LLM_N_PIECES:
        break;
    }
    g_assert_not_reached();
}

/* Embedding and head are never run again; of a prediction module, its layer. */
static void
emit_recompute(LlmEmit *e, LlmPiece piece)
{
    if (piece == LLM_PIECE_EMBEDDING || piece == LLM_PIECE_HEAD) {
        return;
    }
    LlmPiece layer = llm_emit_layer_of(e->shape, piece);
    if (e->cut->recompute == LLM_RECOMPUTE_SELECTIVE) {
        llm_emit_selected(e, layer);
    } else if (e->cut->recompute == LLM_RECOMPUTE_FULL) {
        llm_emit_layer_forward(e, layer);
    }
}

GArray *
llm_ops(const LlmShape *shape, const LlmCut *cut, LlmPiece piece, LlmPass pass)
{
    g_assert(piece < LLM_N_PIECES && pass < LLM_N_PASSES);
    LlmPiece layer = llm_emit_layer_of(shape, piece);
    g_assert(shape->experts > 0 || (layer != LLM_PIECE_MOE && layer != LLM_PIECE_MOE_WINDOW));
    LlmEmit e = llm_emit_begin(shape, cut, piece, pass);
    if (pass == LLM_PASS_RECOMPUTE) {
        emit_recompute(&e, piece);
    } else {
        emit_piece(&e, piece, pass != LLM_PASS_FORWARD);
    }
    for (guint s = 0; s < LLM_N_STREAMS; s++) {
        g_assert(e.joined[s] == -1); /* every collective has been waited for */
    }
    return e.ops;
}
