/* Builds one op list: the sizes of the rank's cut, and the rule of who waits for whom.
 *
 * Streams: compute, and one each for the collectives of tensor, context and expert parallelism. A
 * collective waits for the compute op before it, which made its input, and for the collectives of other
 * streams that a compute op in its place would wait for. A compute op waits for the collectives joined since
 * the last compute op; as those of one stream run in order, only the latest of each has to be remembered. */
#pragma once

#include "llm/ops.h"

typedef struct {
    const LlmShape *shape;
    const LlmCut *cut;
    gboolean input_grad, weight_grad; /* which halves of the backward are wanted */
    gboolean gathers;                 /* sequence parallel: gather and scatter around the layer */
    gboolean window;                  /* attention is within the shape's window */
    gboolean latent;                  /* latent attention */
    ClusterDtype matrices;            /* type of the GEMMs with weights */
    gint64 tokens;                    /* n = micro_batch seq / cp */
    gint64 local_tokens;              /* n / t between the gathers, else n */
    gint64 seq_q;                     /* seq / cp */
    gint64 heads, kv_heads;           /* on this rank */
    gint64 qk_dim, v_dim;             /* of a head */
    gint64 qkv, context;              /* columns of QKV and of the attention output on this rank */
    gint64 ffn, up;                   /* f / t, and twice that when gated */
    gint64 shared, shared_up;         /* the same of the shared experts */
    gint64 vocab;                     /* V / t */
    double element;                   /* bytes of an activation's element */

    /* Experts: columns of one on this rank, E / ep; rows = copies of tokens. A rank sends `sent` (k each of
     * its local tokens, or what capacity makes of it), the most loaded one gets `received`, and `rows` after
     * the gather over etp. */
    gint64 expert_ffn, expert_up, local_experts;
    gint64 sent, received, rows;

    GArray *ops;
    LlmSegment segment;
    int last_compute;          /* index, -1: none yet */
    int joined[LLM_N_STREAMS]; /* collective that the next compute op waits for, -1: none */
    int ahead; /* re-gather that was issued before the op that it overlaps, -1: none */
} LlmEmit;

/* A weight matrix and how its three GEMMs are called. */
typedef struct {
    const char *forward, *dgrad, *wgrad;
} LlmLinear;

/* ceil(whole / parts): what the rank with most has. */
gint64 llm_share(gint64 whole, gint64 parts);
gboolean llm_recomputes(const LlmCut *cut, guint modules); /* any of them, selectively */

/* `window`, `experts`: what the layer of the piece is like. */
LlmEmit llm_emit_begin(const LlmShape *shape, const LlmCut *cut, LlmPiece piece, LlmPass pass);
/* The last layer's kind of piece, which a prediction module repeats; else the piece itself. */
LlmPiece llm_emit_layer_of(const LlmShape *shape, LlmPiece piece);

/* emit.c: single ops. */
void llm_emit_memory(LlmEmit *e, const char *name, CostMemoryKernel kernel, double bytes);
/* A matrix of in x out over `rows` tokens; groups > 1: one matrix a group, rows of all together. */
void llm_emit_matrix(LlmEmit *e, const char *name, CostGemmPass pass, gint64 rows, gint64 in,
                     gint64 out, gint64 groups);
/* Batched GEMMs of the attention core; no weights. */
void llm_emit_batched(LlmEmit *e, const char *name, CostGemmPass pass, gint64 m, gint64 n,
                      gint64 k);
/* A fused core: its shape, and pairs of query and key that it looks at in one sequence. */
void llm_emit_attention(LlmEmit *e, const char *name, const CostAttention *attention, double pairs);
gint64 llm_group_size(const LlmCut *cut, LlmGroup group);
/* Waits for compute op `after` (-1: none). -1 and nothing emitted in a group of one. */
int llm_emit_exchange(LlmEmit *e, const char *name, NetOp op, LlmGroup group, double bytes,
                      int after);
/* ... of the tensor-parallel group, behind the last compute op. */
int llm_emit_collective(LlmEmit *e, const char *name, NetOp op, double bytes);
void llm_emit_join(LlmEmit *e, int collective);
/* A collective over the hidden states of all n tokens, which the next compute op waits for. */
void llm_emit_blocking(LlmEmit *e, const char *name, NetOp op);
void llm_emit_gather(
    LlmEmit *e); /* all-gather of the shards; nothing without sequence parallelism */
void llm_emit_combine(LlmEmit *e); /* reduce-scatter or all-reduce of the partial sums */
ClusterDtype llm_core_dtype(const LlmCut *cut); /* 16 bits where the weights' GEMMs are in 8 */

/* matrix.c: out columns from in columns, n tokens. Cut by columns (QKV, MLP up, head): the input is gathered
 * first. Cut by rows (attention out, MLP down): the partial sums are combined, if this is wanted here. */
void llm_emit_column_forward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out);
void llm_emit_row_forward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out,
                          gboolean combine);
/* The backward of a matrix cut by rows (attention out, MLP down): its output gradient is gathered
 * first, unless it is already. Of weight gradients alone: the input of `next` columns that the next matrix
 * needs is gathered again meanwhile. */
void llm_emit_row_backward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out,
                           gboolean is_gathered, gint64 next);
/* ... cut by columns (QKV, MLP up, head): the input gradient's reduction overlaps the weight
 * gradient, the re-gather of the saved input overlaps the input gradient. The next compute op
 * waits for the former. */
void llm_emit_column_backward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out);
/* ... not cut, over the tokens of this rank. */
void llm_emit_plain_forward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out);
void llm_emit_plain_backward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out);
/* ... of each expert, over the rows that are here; `arrived`: they came in 8 bits. */
void llm_emit_grouped_forward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out,
                              gboolean arrived);
void llm_emit_grouped_backward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out);

/* The attention core between QKV and the output projection. */
void llm_emit_core_forward(LlmEmit *e);
void llm_emit_core_backward(LlmEmit *e);
/* latent.c: from the norm to the core, and back. */
void llm_emit_latent_forward(LlmEmit *e);
void llm_emit_latent_up(LlmEmit *e);   /* of it, from the latents on */
void llm_emit_latent_keys(LlmEmit *e); /* of that, from the up matrices on */
void llm_emit_latent_backward(LlmEmit *e);
/* context.c: the fused core over context-parallel ranks. */
void llm_emit_context_forward(LlmEmit *e);
void llm_emit_context_backward(LlmEmit *e);
/* moe.c: from the norm's output to the sum that goes into the residual. */
void llm_emit_experts_forward(LlmEmit *e);
void llm_emit_experts_backward(LlmEmit *e);
void llm_emit_expert_activation(LlmEmit *e);
/* Are rows put in the order of the experts where they arrive; and how many arrive, over etp not yet. */
gboolean llm_emit_sorts(const LlmEmit *e);
double llm_emit_arrived(const LlmEmit *e);
/* shared.c: shared experts, a dense MLP beside the routed ones. Its first part ends before the down
 * matrix; backward the second part is the first. */
void llm_emit_shared_forward(LlmEmit *e, gboolean up, gboolean down);
void llm_emit_shared_backward(LlmEmit *e, gboolean down, gboolean up);

/* A piece of the model. */
void llm_emit_layer_forward(LlmEmit *e, LlmPiece piece);
void llm_emit_layer_backward(LlmEmit *e, LlmPiece piece);
/* recompute.c: what selective recompute runs again. */
void llm_emit_selected(LlmEmit *e, LlmPiece piece);
void llm_emit_end(LlmEmit *e); /* ... after a module that ends in a collective */
/* second.c: ... of every second matrix. */
void llm_emit_second(LlmEmit *e, LlmPiece piece);
void llm_emit_turn(LlmEmit *e);                    /* of q and k: their norms, rope */
void llm_emit_residual(LlmEmit *e, gboolean bias); /* x + dropout(y + bias) */
void llm_emit_norm(LlmEmit *e);
void llm_emit_mlp(LlmEmit *e, gboolean combine); /* gather, up, activation, down */
void llm_emit_activation(LlmEmit *e);            /* of the dense MLP */
/* The activation between two matrices, of `elements` outputs. */
void llm_emit_activated(LlmEmit *e, const char *name, double elements);
void llm_emit_activated_backward(LlmEmit *e, const char *name, double elements);
void llm_emit_embedding_forward(LlmEmit *e);
void llm_emit_embedding_backward(LlmEmit *e);
void llm_emit_head_forward(LlmEmit *e);
void llm_emit_head_backward(LlmEmit *e);
void llm_emit_prediction_forward(LlmEmit *e);
void llm_emit_prediction_backward(LlmEmit *e);
