/* The families of models that can be read: which config.json keys each uses, what an absent key
 * means there, and what no key says (biases, norms, positions). */
#pragma once

#include "llm/shape.h"

/* What a key of config.json says, whatever its name in a family. First the sizes, then the switches. */
typedef enum {
    LLM_KEY_LAYERS,
    LLM_KEY_HIDDEN,
    LLM_KEY_HEADS,
    LLM_KEY_KV_HEADS,
    LLM_KEY_HEAD_DIM,
    LLM_KEY_FFN,
    LLM_KEY_VOCAB,
    LLM_KEY_POSITIONS,
    LLM_KEY_GLOBAL_EVERY,
    LLM_KEY_MOE_EVERY,
    LLM_KEY_EXPERTS, /* from here to the window 0 and null mean: none */
    LLM_KEY_EXPERTS_PER_TOKEN,
    LLM_KEY_EXPERT_FFN,
    LLM_KEY_SHARED_FFN,
    LLM_KEY_SHARED_EXPERTS, /* their number, each as wide as a routed one */
    LLM_KEY_DENSE_LAYERS,
    LLM_KEY_Q_LORA,
    LLM_KEY_KV_LORA,
    LLM_KEY_QK_NOPE,
    LLM_KEY_QK_ROPE,
    LLM_KEY_V_DIM,
    LLM_KEY_MTP,
    LLM_KEY_ROUTE_GROUPS,
    LLM_KEY_ROUTE_LIMIT,
    LLM_KEY_WINDOW,
    LLM_KEY_TIED,
    LLM_KEY_ATTENTION_BIAS, /* of QKV and of the output projection */
    LLM_KEY_QKV_BIAS,
    LLM_KEY_MLP_BIAS,
    LLM_KEY_ALL_BIAS,
    LLM_KEY_ROUTER_BIAS,
    LLM_KEY_PARALLEL_RESIDUAL,
    LLM_KEY_NORM_BEFORE, /* pre-norm; false: post-norm, and no norm before the head */
    LLM_KEY_GATED,
    LLM_KEY_RMS_NORM,
    LLM_KEY_ROTARY, /* rotary positions in place of the family's own */
    LLM_KEY_QK_NORM,
    LLM_N_KEYS
} LlmKey;

enum { LLM_N_ALIASES = 4, LLM_N_DROPOUTS = 4 };

/* In LlmFamily.fallback: the key must be there; or it follows from others (kv_heads = heads,
 * head_dim = hidden / heads, ffn = 4 hidden, expert_ffn = ffn). */
enum { LLM_FALLBACK_DERIVED = 0, LLM_FALLBACK_NEEDED = -1 };

typedef struct {
    const char *model_type;
    const char
        *names[LLM_N_KEYS][LLM_N_ALIASES]; /* the first is the one that is printed; NULL ends */
    gint64 fallback[LLM_KEY_WINDOW + 1];   /* of the sizes */
    const char *dropout[LLM_N_DROPOUTS];   /* probabilities; any above 0 means dropout */
    double dropout_fallback;
    gint64 extra_position_rows;
    const char *window_switch; /* the window counts only if this key is true; NULL: always */
    const char *equals_hidden; /* a key that must equal the hidden size when present */
    const char *equals_one;    /* a key that must be 1 when present */
    /* Lists of layers that must say what a rule says: dense ones are the first so many; those with experts
     * are every n-th; those that are not global have a 1. NULL: the family has no such list. */
    const char *dense_list, *moe_list, *local_list;
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
