/* FLOPs of training in each convention of the field, per token unless said. "Model"
 * FLOPs never count recompute (except Megatron SC'21's formula, which is defined with it). */
#pragma once

#include "llm/parameters.h"

typedef enum {
    LLM_FLOPS_MEGATRON, /* causal attention counted half, padded vocabulary (the default); no router */
    LLM_FLOPS_SC21,     /* 96 B s L h^2 (1 + s/6h + v/16Lh): with full recompute */
    LLM_FLOPS_KORTHIKANTI, /* 72 B s L h^2 (1 + s/6h + v/12Lh) */
    LLM_FLOPS_TORCHTITAN,
    LLM_FLOPS_PALM,
    LLM_FLOPS_LLM_FOUNDRY,
    LLM_FLOPS_NANOTRON,
    LLM_FLOPS_N
} LlmFlopsConvention;
const char *llm_flops_name(LlmFlopsConvention c); /* "megatron", "sc21", ... */
gboolean llm_flops_parse(const char *text, LlmFlopsConvention *ret, GError **error);

/* SC'21 and Korthikanti know neither experts nor latent attention: theirs is the formula in h and L. */
double llm_flops_per_token(const LlmShape *shape, gint64 seq, LlmFlopsConvention c);
