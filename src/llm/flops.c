/* FLOPs per trained token in the conventions of the field.
 *
 * Symbols: L layers, h hidden, a heads, d head dimension, g key-value heads, f feed-forward, s
 * sequence, v vocabulary. N: weights that a token is multiplied with, L (matrices of a layer) + h
 * v for the head; norms, biases and the look-up of the embedding do no GEMM. Each weight costs 2
 * FLOPs forward, 4 backward. */
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

double
llm_flops_per_token(const LlmShape *shape, gint64 seq, LlmFlopsConvention c)
{
    LlmParameters parameters = llm_parameters(shape);
    double layers = (double)shape->layers;
    double h = (double)shape->hidden;
    double s = (double)seq;
    double v = (double)shape->vocab;
    double width = (double)shape->heads * (double)shape->head_dim;
    double weights = layers * (double)parameters.layer_matrices + h * v;
    /* Scores and values of one token against all s: 4 a d s forward, thrice that in training. */
    double attention = 12.0 * layers * width * s;

    switch (c) {
    case LLM_FLOPS_MEGATRON: /* num_floating_point_operations: the causal half */
        return 6.0 * weights + attention / 2.0;
    case LLM_FLOPS_SC21: /* arXiv 2104.04473, equation 3 */
        return 96.0 * layers * h * h * (1.0 + s / (6.0 * h) + v / (16.0 * layers * h));
    case LLM_FLOPS_KORTHIKANTI: /* arXiv 2205.05198, equation 7 */
        return 72.0 * layers * h * h * (1.0 + s / (6.0 * h) + v / (12.0 * layers * h));
    case LLM_FLOPS_TORCHTITAN:
    case LLM_FLOPS_PALM: /* 6 N + 12 L a d s, N without the embedding that is only looked up */
        return 6.0 * weights + attention;
    case LLM_FLOPS_LLM_FOUNDRY: /* 3 (2 N + 4 L h s), N with both tables */
        return 6.0 * (weights + (shape->tied ? 0.0 : h * v)) + 12.0 * layers * h * s;
    case LLM_FLOPS_NANOTRON: { /* takes every MLP as gated */
        double kv = 2.0 * (double)shape->kv_heads * (double)shape->head_dim;
        double layer = 2.0 * h * (width + kv) + 4.0 * width * s + 2.0 * width * h +
                       6.0 * h * (double)shape->ffn;
        return 3.0 * (layers * layer + 2.0 * h * v);
    }
    case LLM_FLOPS_N:
        break;
    }
    g_assert_not_reached();
}
