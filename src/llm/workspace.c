/* What a list needs for itself while it runs. */
#include "config.h"

#include "llm/emit.h"

double
llm_workspace_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece, LlmPass pass)
{
    g_assert(pass < LLM_N_PASSES);
    LlmEmit e = llm_emit_begin(shape, cut, piece, pass);
    g_array_unref(e.ops);
    double whole = e.element * (double)e.tokens * (double)shape->hidden;
    double local = e.element * (double)e.local_tokens * (double)shape->hidden;
    double mlp = e.element * (double)e.tokens * (double)(e.up + e.ffn);
    LlmPiece layer = llm_emit_layer_of(shape, piece);
    if (layer == LLM_PIECE_MOE || layer == LLM_PIECE_MOE_WINDOW) {
        mlp = e.element * (double)e.rows * (double)(e.expert_up + e.expert_ffn + 2 * shape->hidden);
    }
    if (piece == LLM_PIECE_EMBEDDING) {
        return whole + local;
    }
    if (piece == LLM_PIECE_HEAD) {
        double logits = e.element * (double)e.tokens * (double)e.vocab;
        return whole + local + (pass == LLM_PASS_FORWARD ? 0.0 : logits);
    }
    return whole + local + (pass == LLM_PASS_FORWARD ? 0.0 : mlp);
}
