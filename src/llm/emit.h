/* Builds one op list: the sizes of the rank's cut, and the rule of who waits for whom.
 *
 * Two streams: compute, and the collectives of the tensor-parallel group. A collective waits for
 * the compute op before it, which made its input. A compute op waits for the collectives joined
 * since the last compute op; as the collectives run in order, only the latest has to be
 * remembered. */
#pragma once

#include "llm/ops.h"

typedef struct {
    const LlmShape *shape;
    const LlmCut *cut;
    gboolean input_grad, weight_grad; /* which halves of the backward are wanted */
    gboolean gathers;                 /* sequence parallel: gather and scatter around the layer */
    gint64 tokens;                    /* n = micro_batch seq / cp */
    gint64 local_tokens;              /* n / t between the gathers, else n */
    gint64 seq_q;                     /* seq / cp */
    gint64 heads, kv_heads;           /* on this rank */
    gint64 qkv, context;              /* columns of QKV and of the attention output on this rank */
    gint64 ffn, up;                   /* f / t, and twice that when gated */
    gint64 vocab;                     /* V / t */
    double element;                   /* bytes of an activation's element */
    GArray *ops;
    int last_compute; /* index, -1: none yet */
    int joined;       /* collective that the next compute op waits for, -1: none */
    int ahead;        /* re-gather that was issued before the op that it overlaps, -1: none */
} LlmEmit;

/* A weight matrix and how its three GEMMs are called. */
typedef struct {
    const char *forward, *dgrad, *wgrad;
} LlmLinear;

/* ceil(whole / parts): what the rank with most has. */
gint64 llm_share(gint64 whole, gint64 parts);

LlmEmit llm_emit_begin(const LlmShape *shape, const LlmCut *cut, LlmPass pass);
void llm_emit_memory(LlmEmit *e, const char *name, CostMemoryKernel kernel, double bytes);
/* Batched GEMMs of the attention core; no weights. */
void llm_emit_batched(LlmEmit *e, const char *name, CostGemmPass pass, gint64 m, gint64 n,
                      gint64 k);
void llm_emit_attention(LlmEmit *e, const char *name, gboolean backward);
/* -1 and nothing emitted without tensor parallelism. */
int llm_emit_collective(LlmEmit *e, const char *name, NetOp op, double bytes);
void llm_emit_join(LlmEmit *e, int collective);
/* A collective over the hidden states of all n tokens, which the next compute op waits for. */
void llm_emit_blocking(LlmEmit *e, const char *name, NetOp op);
void llm_emit_gather(
    LlmEmit *e); /* all-gather of the shards; nothing without sequence parallelism */
void llm_emit_combine(LlmEmit *e); /* reduce-scatter or all-reduce of the partial sums */

/* out columns from in columns, n tokens. */
void llm_emit_forward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out);
/* The backward of a matrix cut by rows (attention out, MLP down): its output gradient is gathered
 * first, unless it is already. Of weight gradients alone: the input that the next matrix needs is
 * gathered again meanwhile. */
void llm_emit_row_backward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out,
                           gboolean is_gathered);
/* ... cut by columns (QKV, MLP up, head): the input gradient's reduction overlaps the weight
 * gradient, the re-gather of the saved input overlaps the input gradient. The next compute op
 * waits for the former. */
void llm_emit_column_backward(LlmEmit *e, const LlmLinear *linear, gint64 in, gint64 out);

/* The attention core between QKV and the output projection. */
void llm_emit_core_forward(LlmEmit *e);
void llm_emit_core_backward(LlmEmit *e);
/* A piece of the model. */
void llm_emit_layer_forward(LlmEmit *e);
void llm_emit_layer_backward(LlmEmit *e);
void llm_emit_embedding_forward(LlmEmit *e);
void llm_emit_embedding_backward(LlmEmit *e);
void llm_emit_head_forward(LlmEmit *e);
void llm_emit_head_backward(LlmEmit *e);
