/* The shape of a decoder-only transformer: what arithmetic needs, read from Hugging Face
 * config.json keys.
 *
 * Families: GPT-2, GPT-NeoX, OPT, BLOOM, Llama, Mistral, Qwen2/2.5/3 (dense), Gemma
 * 1/2/3 (text part), and Megatron-style shapes ("model_type": "gpt" with the GPT-2 keys).
 * Anything else (experts, MLA, linear attention, encoder-decoder ...) is refused by name. */
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
    gint64 sliding_window;      /* 0: full attention */
    LlmPosition position;
    LlmNorm norm;
} LlmShape;

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
