/* The families of models that can be read: which config.json keys each uses, what an absent key
 * means there, and what no key says (biases, norms, positions). */
#pragma once

#include "llm/shape.h"

/* What a key of config.json says, whatever its name in a family. */
typedef enum {
    LLM_KEY_LAYERS,
    LLM_KEY_HIDDEN,
    LLM_KEY_HEADS,
    LLM_KEY_KV_HEADS,
    LLM_KEY_HEAD_DIM,
    LLM_KEY_FFN,
    LLM_KEY_VOCAB,
    LLM_KEY_POSITIONS,
    LLM_KEY_WINDOW,
    LLM_KEY_TIED,
    LLM_KEY_ATTENTION_BIAS, /* of QKV and of the output projection */
    LLM_KEY_MLP_BIAS,
    LLM_KEY_ALL_BIAS,
    LLM_KEY_PARALLEL_RESIDUAL,
    LLM_KEY_NORM_BEFORE, /* pre-norm; false: post-norm, and no norm before the head */
    LLM_N_KEYS
} LlmKey;

enum { LLM_N_ALIASES = 4, LLM_N_DROPOUTS = 4 };

/* In LlmFamily.fallback: the key must be there; or it follows from others (kv_heads = heads,
 * head_dim = hidden / heads, ffn = 4 hidden). */
enum { LLM_FALLBACK_DERIVED = 0, LLM_FALLBACK_NEEDED = -1 };

typedef struct {
    const char *model_type;
    const char
        *names[LLM_N_KEYS][LLM_N_ALIASES]; /* the first is the one that is printed; NULL ends */
    gint64 fallback[LLM_KEY_WINDOW + 1];   /* of the sizes */
    const char *dropout[LLM_N_DROPOUTS];   /* probabilities; any above 0 means dropout */
    double dropout_fallback;
    gint64 extra_position_rows;
    const char *window_switch;      /* the window counts only if this key is true; NULL: always */
    gboolean window_in_some_layers; /* local and global layers alternate: taken as global */
    const char *equals_hidden;      /* a key that must equal the hidden size when present */
    LlmShape traits; /* the booleans and enums: what holds unless a key says otherwise */
} LlmFamily;

/* NULL when the model_type is none of ours. */
const LlmFamily *llm_family_find(const char *model_type);
/* NULL-terminated, in alphabetical order. */
const char *const *llm_family_names(void);
/* Which key of the family `name` is: LLM_N_KEYS when none. */
LlmKey llm_family_key(const LlmFamily *family, const char *name);
/* All key names that the family reads; GPtrArray of borrowed strings, NULL-terminated. */
GPtrArray *llm_family_key_names(const LlmFamily *family);
