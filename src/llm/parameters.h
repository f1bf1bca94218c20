/* Exact parameter counts. Sums of the weights and biases of each module; checked against
 * the published tensor totals of the named models. */
#pragma once

#include "llm/shape.h"

typedef struct {
    gint64 embedding;      /* word embedding */
    gint64 position;       /* learned position table */
    gint64 layer;          /* one transformer layer */
    gint64 layer_matrices; /* of which weights of its GEMMs (cut by tp) */
    gint64 final_norm;
    gint64 head; /* LM head when not tied, with its bias */
    gint64 embedding_norm;
    gint64 moe_layer;          /* one layer with experts: all of them, router, shared experts */
    gint64 moe_layer_matrices; /* of which GEMM weights, experts included, router excluded */
    gint64 router;             /* of one such layer */
    gint64 mtp;    /* one multi-token-prediction module, without the shared embedding and head */
    gint64 total;  /* each weight once; multi-token prediction not counted, as publishers do */
    gint64 active; /* what one token is multiplied with or looks up: k of the E experts */
} LlmParameters;

LlmParameters llm_parameters(const LlmShape *shape);
/* The same with the vocabulary padded to a multiple of `multiple` (Megatron: 128 * tp). */
gint64 llm_padded_vocab(const LlmShape *shape, gint64 multiple);

/* One rank's share of a dense layer under tensor parallelism: GEMM weights and their column biases /tp,
 * norms and row biases whole. Exact when tp divides heads, kv_heads (or is replicated) and ffn. */
gint64 llm_layer_parameters_per_rank(const LlmShape *shape, gint64 tp);
