/* The ops of the two ends of the model: the embedding, and the head with the loss. */
#include "config.h"

#include "llm/emit.h"

static const LlmLinear lm_head = {"lm_head", "lm_head_dgrad", "lm_head_wgrad"};

static double
hidden_pass(const LlmEmit *e, double passes)
{
    return passes * (double)e->local_tokens * (double)e->shape->hidden * e->element;
}

static double
mask_bytes(const LlmEmit *e)
{
    return (double)e->local_tokens * (double)e->shape->hidden;
}

/* --- embedding ------------------------------------------------------------------------------ */

/* Each rank looks up its range of the vocabulary; the sum over ranks is the embedding. Last the
 * change of layout from [batch, s, h] to [s, batch, h], unless a later kernel writes the result
 * anyway. */
void
llm_emit_embedding_forward(LlmEmit *e)
{
    const LlmShape *shape = e->shape;
    gboolean learned = shape->position == LLM_POSITION_LEARNED;
    double looked_up = 2.0 * (double)e->tokens * (double)shape->hidden * e->element;
    llm_emit_memory(e, "embedding", COST_EMBEDDING, looked_up);
    llm_emit_combine(e);
    if (learned) {
        llm_emit_memory(e, "position_add", COST_ADD, hidden_pass(e, 3));
    }
    if (shape->embedding_norm) {
        llm_emit_memory(e, "embedding_norm", COST_NORM, hidden_pass(e, 2));
    }
    if (e->cut->dropout) {
        llm_emit_memory(e, "dropout", COST_DROPOUT, hidden_pass(e, 2) + mask_bytes(e));
    }
    if (!learned && !shape->embedding_norm && !e->cut->dropout) {
        llm_emit_memory(e, "embedding_layout", COST_COPY, hidden_pass(e, 2));
    }
}

/* All of it belongs to the input-gradient half, as frameworks that split the backward do. */
void
llm_emit_embedding_backward(LlmEmit *e)
{
    const LlmShape *shape = e->shape;
    gboolean learned = shape->position == LLM_POSITION_LEARNED;
    if (!e->input_grad) {
        return;
    }
    if (e->cut->dropout) {
        llm_emit_memory(e, "dropout_backward", COST_DROPOUT, hidden_pass(e, 2) + mask_bytes(e));
    }
    if (shape->embedding_norm) {
        llm_emit_memory(e, "embedding_norm_backward", COST_NORM_BACKWARD, hidden_pass(e, 3));
    }
    if (learned) {
        llm_emit_memory(e, "position_grad", COST_REDUCE, hidden_pass(e, 1));
    }
    if (!learned && !shape->embedding_norm && !e->cut->dropout) {
        llm_emit_memory(e, "embedding_layout", COST_COPY, hidden_pass(e, 2));
    }
    llm_emit_gather(e);
    llm_emit_memory(e, "embedding_backward", COST_EMBEDDING_BACKWARD,
                    (double)e->tokens * (double)shape->hidden * (e->element + 4.0));
}

/* --- head ----------------------------------------------------------------------------------- */

/* Vocabulary-parallel cross-entropy in fp32. Bytes per logit: cast (read the logits, write 4),
 * maximum 4; subtract 8, exponential 8, sum 4; divide 8. The maximum, the target's logit and the
 * sum of exponentials are reduced over the ranks, n fp32 each. */
static void
emit_loss(LlmEmit *e)
{
    double logits = (double)e->tokens * (double)e->vocab;
    double sums = 4.0 * (double)e->tokens;
    llm_emit_memory(e, "cross_entropy_max", COST_CROSS_ENTROPY, logits * (e->element + 8.0));
    llm_emit_join(e, llm_emit_collective(e, "all_reduce_max", NET_ALL_REDUCE, sums));
    llm_emit_memory(e, "cross_entropy_exp", COST_CROSS_ENTROPY, logits * 20.0);
    llm_emit_join(e, llm_emit_collective(e, "all_reduce_target", NET_ALL_REDUCE, sums));
    llm_emit_join(e, llm_emit_collective(e, "all_reduce_sum", NET_ALL_REDUCE, sums));
    llm_emit_memory(e, "cross_entropy_divide", COST_CROSS_ENTROPY, logits * 8.0);
}

void
llm_emit_head_forward(LlmEmit *e)
{
    if (e->shape->final_norm) {
        llm_emit_memory(e, "final_norm", COST_NORM, hidden_pass(e, 2));
    } else {
        llm_emit_memory(e, "head_input", COST_COPY, hidden_pass(e, 2));
    }
    llm_emit_gather(e);
    llm_emit_forward(e, &lm_head, e->shape->hidden, e->vocab);
    emit_loss(e);
}

void
llm_emit_head_backward(LlmEmit *e)
{
    double logits = (double)e->tokens * (double)e->vocab;
    if (e->input_grad) {
        /* Probabilities to gradient in place (8), then the cast back. */
        llm_emit_memory(e, "cross_entropy_backward", COST_CROSS_ENTROPY_BACKWARD,
                        logits * (12.0 + e->element));
    }
    llm_emit_column_backward(e, &lm_head, e->shape->hidden, e->vocab);
    if (!e->input_grad) {
        return;
    }
    if (e->shape->final_norm) {
        llm_emit_memory(e, "final_norm_backward", COST_NORM_BACKWARD, hidden_pass(e, 3));
    } else {
        llm_emit_memory(e, "head_input_grad", COST_COPY, hidden_pass(e, 2));
    }
}
