/* FLOPs per trained token in the conventions of the field.
 *
 * Symbols: L layers, h hidden, a heads, d head dimension (of queries and keys, and of values), g key-value
 * heads, f feed-forward, s sequence, v vocabulary. N: weights that a token is multiplied with, those of the
 * layers' matrices (k of E experts) + h v for the head; norms, biases and the look-up of the embedding do no
 * GEMM. Each weight costs 2 FLOPs forward, 4 backward. Attention is that of full layers also where some
 * have a window: none of the conventions asks.
 *
 * Router: Megatron leaves it out, the others count its weights. Prediction modules: Megatron counts them, the
 * others' N is the published model's. */
#include "config.h"

#include "llm/flops.h"

#include <string.h>

static const char *const convention_names[LLM_FLOPS_N] = {
    [LLM_FLOPS_MEGATRON] = "megatron",
    [LLM_FLOPS_SC21] = "sc21",
    [LLM_FLOPS_KORTHIKANTI] = "korthikanti",
    [LLM_FLOPS_TORCHTITAN] = "torchtitan",
    [LLM_FLOPS_PALM] = "palm",
    [LLM_FLOPS_LLM_FOUNDRY] = "llm-foundry",
    [LLM_FLOPS_NANOTRON] = "nanotron",
};

const char *
llm_flops_name(LlmFlopsConvention c)
{
    g_assert(c < LLM_FLOPS_N);
    return convention_names[c];
}

gboolean
llm_flops_parse(const char *text, LlmFlopsConvention *ret, GError **error)
{
    g_autoptr(GString) list = g_string_new(NULL);
    for (guint i = 0; i < LLM_FLOPS_N; i++) {
        if (strcmp(text, convention_names[i]) == 0) {
            *ret = (LlmFlopsConvention)i;
            return TRUE;
        }
        g_string_append_printf(list, "%s%s", i > 0 ? ", " : "", convention_names[i]);
    }
    g_set_error(error, LLM_ERROR, LLM_ERROR_UNSUPPORTED,
                "'%s' is no convention of counting FLOPs; write one of %s", text, list->str);
    return FALSE;
}

/* GEMM weights of the layers that a token meets; `with_router`: also those that choose its experts. */
static double
active_layer_weights(const LlmShape *s, const LlmParameters *p, gboolean with_router)
{
    double n_moe = (double)llm_shape_moe_layers(s);
    double expert = (s->gated ? 3.0 : 2.0) * (double)s->hidden * (double)s->expert_ffn;
    double idle = (double)(s->experts - s->experts_per_token) * expert;
    double router = with_router ? (double)s->experts * (double)s->hidden : 0;
    return ((double)s->layers - n_moe) * (double)p->layer_matrices +
           n_moe * ((double)p->moe_layer_matrices - idle + router);
}

/* num_floating_point_operations: the causal half of attention, the norms of latents at one each, and of a
 * prediction module its layer, 2h -> h with three norms, and the head once more. */
static double
megatron(const LlmShape *s, const LlmParameters *p, double score_width, double seq)
{
    double h = (double)s->hidden;
    double modules = (double)s->mtp_layers;
    LlmShape last = *s; /* its layers are all like the last */
    last.layers = 1;
    last.dense_layers = 0;
    last.moe_every = 1;
    last.experts = llm_shape_is_moe(s, s->layers - 1) ? s->experts : 0;
    double layers = (double)s->layers + modules;
    double weights = active_layer_weights(s, p, FALSE) +
                     modules * active_layer_weights(&last, p, FALSE) +
                     modules * (2.0 * h * h + 3.0 * h) + (1.0 + modules) * h * (double)s->vocab;
    double norms = s->kv_lora > 0 ? (double)s->q_lora + (double)s->kv_lora : 0;
    return 6.0 * (weights + layers * norms) + 3.0 * layers * score_width * seq;
}

/* 2 FLOPs a weight and full attention forward, thrice that in training; takes every MLP as gated, and of
 * experts the width that a token meets. */
static double
nanotron(const LlmShape *s, double score_width, double seq)
{
    double h = (double)s->hidden;
    double n_moe = (double)llm_shape_moe_layers(s);
    double width = (double)s->heads * (double)s->head_dim;
    double kv = 2.0 * (double)s->kv_heads * (double)s->head_dim;
    double moe_ffn = (double)s->experts_per_token * (double)s->expert_ffn + (double)s->shared_ffn;
    double layer = 2.0 * h * (width + kv) + 2.0 * score_width * seq + 2.0 * width * h;
    double ffn = ((double)s->layers - n_moe) * (double)s->ffn + n_moe * moe_ffn;
    return 3.0 * ((double)s->layers * layer + 6.0 * h * ffn + 2.0 * h * (double)s->vocab);
}

double
llm_flops_per_token(const LlmShape *shape, gint64 seq, LlmFlopsConvention c)
{
    LlmParameters parameters = llm_parameters(shape);
    double layers = (double)shape->layers;
    double h = (double)shape->hidden;
    double s = (double)seq;
    double v = (double)shape->vocab;
    /* Scores and values of one token against all s: 2 a (d + d) s forward, thrice that in training. */
    double values =
        (double)shape->heads * (double)(shape->kv_lora > 0 ? shape->v_dim : shape->head_dim);
    double score_width = (double)shape->heads * (double)shape->head_dim + values;
    double weights = active_layer_weights(shape, &parameters, TRUE) + h * v;

    switch (c) {
    case LLM_FLOPS_MEGATRON:
        return megatron(shape, &parameters, score_width, s);
    case LLM_FLOPS_SC21: /* arXiv 2104.04473, equation 3 */
        return 96.0 * layers * h * h * (1.0 + s / (6.0 * h) + v / (16.0 * layers * h));
    case LLM_FLOPS_KORTHIKANTI: /* arXiv 2205.05198, equation 7 */
        return 72.0 * layers * h * h * (1.0 + s / (6.0 * h) + v / (12.0 * layers * h));
    case LLM_FLOPS_TORCHTITAN: /* 6 N + 6 L a (d + d) s, N without the embedding that is only looked up */
        return 6.0 * weights + 6.0 * layers * score_width * s;
    case LLM_FLOPS_PALM: /* 6 N + 12 L a d s, d that of a value */
        return 6.0 * weights + 12.0 * layers * values * s;
    case LLM_FLOPS_LLM_FOUNDRY: /* 3 (2 N + 4 L h s), N with both tables */
        return 6.0 * (weights + (shape->tied ? 0.0 : h * v)) + 12.0 * layers * h * s;
    case LLM_FLOPS_NANOTRON:
        return nanotron(shape, score_width, s);
    case LLM_FLOPS_N:
        break;
    }
    g_assert_not_reached();
}
