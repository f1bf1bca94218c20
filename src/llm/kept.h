/* What a layer keeps from its forward to its backward, tensor by tensor: its bytes, and which modules of selective
 * recompute drop it. */
#pragma once

#include "llm/emit.h"

typedef enum {
    LLM_KEPT_INPUT,
    LLM_KEPT_NORM, /* output of the first norm */
    LLM_KEPT_LATENTS,
    LLM_KEPT_QKV,
    LLM_KEPT_QK_NORM, /* q and k before their norms */
    LLM_KEPT_CORE,
    LLM_KEPT_CONTEXT, /* output of the core */
    LLM_KEPT_OUT,     /* what comes of the output matrix, where a policy by operator keeps it */
    LLM_KEPT_POST_NORM,
    LLM_KEPT_MASK,
    LLM_KEPT_MIDDLE, /* input of the second norm */
    LLM_KEPT_MLP_NORM,
    LLM_KEPT_SCORES, /* of the router */
    LLM_KEPT_ROWS,   /* input of the experts */
    LLM_KEPT_UP,
    LLM_KEPT_ACTIVATION,
    LLM_KEPT_SHARED_UP,
    LLM_KEPT_SHARED_ACTIVATION,
    LLM_KEPT_SHARED_OUT, /* before its gate */
    LLM_KEPT_MLP_POST_NORM,
    LLM_KEPT_MLP_MASK,
    LLM_KEPT_DOWN, /* as OUT */
    LLM_N_KEPT
} LlmKeptItem;

typedef struct {
    double bytes[LLM_N_KEPT];
    double dropped[LLM_N_KEPT]; /* bytes of it that run again */
    double all, dropped_bytes;
} LlmKept;

LlmKept llm_kept_layer(const LlmEmit *e, LlmPiece piece);
/* second.c: what changes with every second matrix. */
void llm_kept_second(const LlmEmit *e, LlmKept *kept);
/* The builder's sizes, without a list. */
LlmEmit llm_kept_sizes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece, LlmPass pass);
gboolean llm_kept_has_experts(LlmPiece piece);
/* The logits and what the loss makes of them. */
double llm_kept_logits(const LlmEmit *e);
