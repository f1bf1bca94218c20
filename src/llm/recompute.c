/* Selective recompute: what each module runs again before the layer's backward, in forward order.
 *
 * A module is a checkpoint around its own forward: all of it runs again, its last matrix and its collectives
 * too, though only what lies between is wanted. One within another does not run twice. */
#include "config.h"

#include "llm/emit.h"

/* A module that ends in a collective is waited for, though nothing is done with its result: a kernel of no
 * size. */
void
llm_emit_end(LlmEmit *e)
{
    for (guint s = 0; s < LLM_N_STREAMS; s++) {
        if (e->joined[s] >= 0) {
            llm_emit_memory(e, "recompute_end", COST_COPY, 4.0);
        }
    }
}

static void
select_attention(LlmEmit *e)
{
    if (llm_recomputes(e->cut, LLM_MODULE_NORM)) {
        llm_emit_norm(e);
    }
    if (e->latent && llm_recomputes(e->cut, LLM_MODULE_MLA_UP)) {
        llm_emit_latent_up(e);
    }
    if (llm_recomputes(e->cut, LLM_MODULE_CORE_ATTENTION)) {
        llm_emit_core_forward(e);
    }
}

static void
select_mlp(LlmEmit *e)
{
    if (llm_recomputes(e->cut, LLM_MODULE_MLP)) {
        llm_emit_mlp(e, TRUE);
        llm_emit_end(e);
    } else if (llm_recomputes(e->cut, LLM_MODULE_ACTIVATION)) {
        llm_emit_activation(e);
    }
}

static void
select_experts(LlmEmit *e)
{
    if (llm_recomputes(e->cut, LLM_MODULE_MOE)) {
        llm_emit_experts_forward(e);
        llm_emit_end(e);
        return;
    }
    e->segment = LLM_SEGMENT_EXPERTS;
    if (e->shape->shared_ffn > 0 && llm_recomputes(e->cut, LLM_MODULE_SHARED_EXPERTS)) {
        llm_emit_shared_forward(e, TRUE, TRUE);
        llm_emit_end(e);
    }
    if (llm_recomputes(e->cut, LLM_MODULE_MOE_ACTIVATION)) {
        llm_emit_expert_activation(e);
    }
}

void
llm_emit_selected(LlmEmit *e, LlmPiece piece)
{
    gboolean experts = piece == LLM_PIECE_MOE || piece == LLM_PIECE_MOE_WINDOW;
    if (llm_recomputes(e->cut, LLM_MODULE_SECOND_GEMM)) {
        llm_emit_second(e, piece);
        return;
    }
    select_attention(e);
    if (llm_recomputes(e->cut, LLM_MODULE_NORM)) {
        llm_emit_norm(e);
    }
    (experts ? select_experts : select_mlp)(e);
}
