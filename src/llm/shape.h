/* The shape of a decoder-only transformer: what arithmetic needs, read from Hugging Face
 * config.json keys.
 *
 * Families: GPT-2, GPT-NeoX, OPT, BLOOM, Llama, Mistral, Qwen2/2.5/3, Gemma 1/2/3 (text part),
 * Megatron-style shapes ("model_type": "gpt" with the GPT-2 keys); with experts Mixtral, Qwen2/3-MoE,
 * gpt-oss, Llama 4 (text part); with latent attention DeepSeek V2 and V3 and what shares their code.
 * Anything else (linear attention, state spaces, encoder-decoder ...) is refused by name. */
#pragma once

#include "conf/json.h"

#define LLM_ERROR (llm_error_quark())
GQuark llm_error_quark(void);
typedef enum { LLM_ERROR_UNSUPPORTED, LLM_ERROR_SHAPE } LlmError;

typedef enum {
    LLM_POSITION_NONE,
    LLM_POSITION_LEARNED,
    LLM_POSITION_ROPE,
    LLM_POSITION_ALIBI
} LlmPosition;
typedef enum { LLM_NORM_LAYER, LLM_NORM_RMS } LlmNorm; /* LayerNorm has a bias, RMSNorm none */

typedef struct {
    char *name;
    char *family;         /* model_type as read */
    gint64 layers;        /* L */
    gint64 hidden;        /* h */
    gint64 heads;         /* a: query heads */
    gint64 kv_heads;      /* g */
    gint64 head_dim;      /* d; a*d need not be h */
    gint64 ffn;           /* f */
    gint64 vocab;         /* rows of the embedding as published, not padded */
    gint64 max_positions; /* rows of a learned position table; else the default sequence length */
    gint64 position_rows; /* of a learned table, with extra rows (OPT: 2); 0: no table */
    gboolean gated;       /* SwiGLU / GeGLU: gate and up */
    gboolean tied;        /* LM head is the embedding */
    gboolean qkv_bias, out_bias, mlp_bias, head_bias;
    gboolean qk_norm;           /* per-head RMSNorm of q and k (Qwen3, Gemma 3) */
    gboolean post_norms;        /* two further norms a layer (Gemma 2/3) */
    gboolean parallel_residual; /* NeoX: attention and MLP from the same input */
    gboolean embedding_norm;    /* BLOOM: LayerNorm after the embedding */
    gboolean final_norm;        /* norm before the head */
    gboolean dropout;           /* trained with dropout (GPT-2 style configs with non-zero pdrop) */
    gint64 sliding_window;      /* 0: full attention in every layer */
    gint64
        global_every; /* with a window: layer i is global when (i + 1) mod this is 0; 0: none is */
    gboolean
        window_is_chunk; /* the window is a fixed chunk of the sequence (Llama 4), it does not slide */
    LlmPosition position;
    LlmNorm norm;

    /* Experts; all 0 in a dense model. */
    gint64 experts;           /* E: routed experts of a layer that has them */
    gint64 experts_per_token; /* k */
    gint64 expert_ffn;        /* f_e: width of one routed expert */
    gint64 shared_ffn;        /* width of the shared experts together; 0: none */
    gint64 dense_layers;      /* so many first layers have a dense MLP of width ffn */
    gint64 moe_every;    /* of the others, layer i has experts when (i + 1) mod this is 0; 1: all */
    gint64 route_groups; /* experts are in so many groups, and a token's are all in route_limit of
                               * them (DeepSeek's n_group and topk_group); 0: no limit */
    gint64 route_limit;
    gboolean router_bias;     /* a weight more per expert in the router (gpt-oss, DeepSeek-V3) */
    gboolean expert_bias;     /* biases in the experts' matrices (gpt-oss) */
    gboolean shared_gate;     /* the shared expert has a gate of h weights (Qwen2-MoE) */
    gboolean attention_sinks; /* one learned logit per query head (gpt-oss) */

    /* Latent attention when kv_lora > 0: head_dim is then qk_nope_dim + qk_rope_dim and kv_heads = heads. */
    gint64 q_lora; /* 0: queries straight from the hidden state */
    gint64 kv_lora, qk_nope_dim, qk_rope_dim, v_dim;

    gint64 mtp_layers; /* multi-token-prediction modules trained behind the last layer */
} LlmShape;

/* Does layer i (0-based) have experts; the window of its attention (0: full). */
gboolean llm_shape_is_moe(const LlmShape *shape, gint64 layer);
gint64 llm_shape_window(const LlmShape *shape, gint64 layer);
/* How many layers have experts. The layer inside a prediction module is like the last of the model. */
gint64 llm_shape_moe_layers(const LlmShape *shape);

/* A shipped model's name ("gpt3-175b") or a path to a config.json (or a folder holding one).
 * `overrides`: NULL or NULL-terminated "model.KEY=VALUE" with Hugging Face key names. */
LlmShape *llm_shape_load(const char *name_or_path, const char *const *overrides, GError **error);
LlmShape *llm_shape_parse(const char *name, const char *json, GError **error);
void llm_shape_free(LlmShape *shape);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LlmShape, llm_shape_free)
/* Checks what arithmetic relies on (positive sizes, heads multiple of kv_heads, below 2^31 each and
 * parameters below 2^62). Called by load; call it for shapes built in code. */
gboolean llm_shape_check(const LlmShape *shape, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Alphabetical, NULL-terminated; g_strfreev. */
char **llm_shape_names(void);
/* A valid config.json of the shape (also what models/ hold); caller frees. */
char *llm_shape_print(const LlmShape *shape);
