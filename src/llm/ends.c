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

static double
whole_pass(const LlmEmit *e, double passes)
{
    return passes * (double)e->tokens * (double)e->shape->hidden * e->element;
}

/* Each rank looks up its range of the vocabulary; the sum over ranks is the embedding. Positions are added to
 * the sum of all tokens, of which sequence parallelism then takes its shard: Megatron-LM scatters sums at once
 * (reduce_scatter_embeddings) only where there are no learned positions. Last the change of layout from
 * [batch, s, h] to [s, batch, h], unless a later kernel writes the result anyway. */
void
llm_emit_embedding_forward(LlmEmit *e)
{
    const LlmShape *shape = e->shape;
    gboolean learned = shape->position == LLM_POSITION_LEARNED;
    double looked_up = 2.0 * (double)e->tokens * (double)shape->hidden * e->element;
    llm_emit_memory(e, "embedding", COST_EMBEDDING, looked_up);
    if (learned) {
        llm_emit_blocking(e, "all_reduce", NET_ALL_REDUCE);
        llm_emit_memory(e, "position_add", COST_ADD, whole_pass(e, 3));
    } else {
        llm_emit_combine(e);
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
    if ((!learned || e->gathers) && !shape->embedding_norm && !e->cut->dropout) {
        llm_emit_memory(e, "embedding_layout", COST_COPY, hidden_pass(e, 2));
    }
    llm_emit_gather(e);
    if (learned) {
        llm_emit_memory(e, "position_grad", COST_REDUCE, whole_pass(e, 1));
    }
    llm_emit_memory(e, "embedding_backward", COST_EMBEDDING_BACKWARD,
                    (double)e->tokens * (double)shape->hidden * (e->element + 4.0));
}

/* --- head ----------------------------------------------------------------------------------- */

/* Vocabulary-parallel cross-entropy in fp32. Bytes per logit: cast (read the logits, write 4),
 * maximum 4; subtract 8, exponential 8, sum 4; divide 8. The maximum, the target's logit and the
 * sum of exponentials are reduced over the ranks, n fp32 each. */
static void
emit_plain_loss(LlmEmit *e)
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

/* Fused: the maximum in one pass; exponentials and their sum in a second, in registers; the gradient over the
 * logits, in their own type. The target's logit and the sum are reduced together. */
static void
emit_fused_loss(LlmEmit *e)
{
    double logits = (double)e->tokens * (double)e->vocab * e->element;
    double sums = 4.0 * (double)e->tokens;
    llm_emit_memory(e, "cross_entropy_max", COST_CROSS_ENTROPY, logits);
    llm_emit_join(e, llm_emit_collective(e, "all_reduce_max", NET_ALL_REDUCE, sums));
    llm_emit_memory(e, "cross_entropy_exp", COST_CROSS_ENTROPY, logits);
    llm_emit_join(e, llm_emit_collective(e, "all_reduce_sum", NET_ALL_REDUCE, 2.0 * sums));
    llm_emit_memory(e, "cross_entropy_divide", COST_CROSS_ENTROPY, 2.0 * logits);
}

void
llm_emit_head_forward(LlmEmit *e)
{
    if (e->shape->final_norm) {
        llm_emit_memory(e, "final_norm", COST_NORM, hidden_pass(e, 2));
    } else {
        llm_emit_memory(e, "head_input", COST_COPY, hidden_pass(e, 2));
    }
    llm_emit_column_forward(e, &lm_head, e->shape->hidden, e->vocab);
    if (e->cut->fused_loss) {
        emit_fused_loss(e);
    } else {
        emit_plain_loss(e);
    }
}

void
llm_emit_head_backward(LlmEmit *e)
{
    double logits = (double)e->tokens * (double)e->vocab;
    if (e->input_grad) {
        /* Probabilities to gradient in place (8), then the cast back; fused: a scale in place. */
        double each = e->cut->fused_loss ? 2.0 * e->element : 12.0 + e->element;
        llm_emit_memory(e, "cross_entropy_backward", COST_CROSS_ENTROPY_BACKWARD, logits * each);
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

/* --- multi-token prediction ----------------------------------------------------------------- */

/* One module (DeepSeek-V3): the embedding of the next token but one and the hidden state, each normed, side
 * by side through a projection 2h -> h cut by columns whose result is gathered; a layer like the last; and the
 * shared head on its own loss. */
static const LlmLinear projection = {"mtp_projection", "mtp_projection_dgrad",
                                     "mtp_projection_wgrad"};

/* The projection's columns from all ranks; with sequence parallelism each takes its tokens of them. */
static void
emit_projection_gather(LlmEmit *e, gboolean backward)
{
    double bytes = (double)e->tokens * (double)e->shape->hidden * e->element;
    if (!backward) {
        llm_emit_join(e, llm_emit_collective(e, "mtp_gather", NET_ALL_GATHER, bytes));
    } else if (e->gathers) {
        llm_emit_join(e, llm_emit_collective(e, "mtp_gather_grad", NET_ALL_GATHER, bytes));
    }
}

void
llm_emit_prediction_forward(LlmEmit *e)
{
    gint64 hidden = e->shape->hidden;
    ClusterDtype matrices = e->matrices;
    e->matrices = llm_core_dtype(e->cut);
    llm_emit_embedding_forward(e);
    e->matrices = matrices;
    llm_emit_memory(e, "mtp_embedding_norm", COST_NORM, hidden_pass(e, 2));
    llm_emit_memory(e, "mtp_hidden_norm", COST_NORM, hidden_pass(e, 2));
    llm_emit_memory(e, "mtp_concat", COST_COPY, hidden_pass(e, 4));
    llm_emit_column_forward(e, &projection, 2 * hidden, llm_share(hidden, e->cut->tp));
    emit_projection_gather(e, FALSE);
    llm_emit_layer_forward(e, llm_emit_layer_of(e->shape, LLM_PIECE_MTP));
    e->segment = LLM_SEGMENT_POST;
    e->matrices = llm_core_dtype(e->cut);
    llm_emit_head_forward(e);
}

void
llm_emit_prediction_backward(LlmEmit *e)
{
    gint64 hidden = e->shape->hidden;
    ClusterDtype matrices = e->matrices;
    e->segment = LLM_SEGMENT_POST;
    e->matrices = llm_core_dtype(e->cut);
    llm_emit_head_backward(e);
    e->matrices = matrices;
    llm_emit_layer_backward(e, llm_emit_layer_of(e->shape, LLM_PIECE_MTP));
    if (e->input_grad) {
        llm_emit_memory(e, "residual_grad_add", COST_ADD, hidden_pass(e, 3));
        emit_projection_gather(e, TRUE);
    }
    llm_emit_column_backward(e, &projection, 2 * hidden, llm_share(hidden, e->cut->tp));
    if (e->input_grad) {
        llm_emit_memory(e, "mtp_hidden_norm_backward", COST_NORM_BACKWARD, hidden_pass(e, 3));
        llm_emit_memory(e, "mtp_embedding_norm_backward", COST_NORM_BACKWARD, hidden_pass(e, 3));
        e->matrices = llm_core_dtype(e->cut);
        llm_emit_embedding_backward(e);
    }
}
