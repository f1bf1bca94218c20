/* Which list belongs to which piece and pass. */
#include "config.h"

#include "llm/ops.h"

#include "llm/emit.h"

typedef void (*Emitter)(LlmEmit *e);

static const struct {
    Emitter forward, backward;
} pieces[LLM_N_PIECES] = {
    [LLM_PIECE_EMBEDDING] = {llm_emit_embedding_forward, llm_emit_embedding_backward},
    [LLM_PIECE_LAYER] = {llm_emit_layer_forward, llm_emit_layer_backward},
    [LLM_PIECE_LAYER_WINDOW] = {llm_emit_layer_forward, llm_emit_layer_backward},
    [LLM_PIECE_HEAD] = {llm_emit_head_forward, llm_emit_head_backward},
};

LlmPiece
llm_layer_piece(const LlmShape *shape, gint64 layer)
{
    gboolean window = llm_shape_window(shape, layer) > 0;
    if (llm_shape_is_moe(shape, layer)) {
        return window ? LLM_PIECE_MOE_WINDOW : LLM_PIECE_MOE;
    }
    return window ? LLM_PIECE_LAYER_WINDOW : LLM_PIECE_LAYER;
}

static void
emit_recompute(LlmEmit *e, LlmPiece piece)
{
    if (piece != LLM_PIECE_LAYER) {
        return;
    }
    if (e->cut->recompute == LLM_RECOMPUTE_SELECTIVE) {
        llm_emit_core_forward(e);
    } else if (e->cut->recompute == LLM_RECOMPUTE_FULL) {
        llm_emit_layer_forward(e);
    }
}

GArray *
llm_ops(const LlmShape *shape, const LlmCut *cut, LlmPiece piece, LlmPass pass)
{
    g_assert(piece < LLM_N_PIECES && pass < LLM_N_PASSES);
    LlmEmit e = llm_emit_begin(shape, cut, pass);
    if (pass == LLM_PASS_RECOMPUTE) {
        emit_recompute(&e, piece);
    } else if (pass == LLM_PASS_FORWARD) {
        pieces[piece].forward(&e);
    } else {
        pieces[piece].backward(&e);
    }
    g_assert(e.joined == -1); /* every collective has been waited for */
    return e.ops;
}
