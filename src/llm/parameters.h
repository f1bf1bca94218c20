/* Exact parameter counts. Sums of the weights and biases of each module; checked against
 * the published tensor totals of the named models.
 *
 * Active parameters: both vocabulary tables whole, every dense part, the router and shared experts, and k of
 * the E experts. So Mixtral 8x7B has the 12.9 billion that are published, and Qwen3-30B-A3B 3.35 ("3.3").
 * OpenAI leaves the input table out (gpt-oss-120b: 5.13 billion; here 5.71), DeepSeek rounds to 37 billion
 * (here 37.55). */
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
