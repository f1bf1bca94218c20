/* The table of model families. Defaults are those of the families' Hugging Face configuration
 * classes. */
#include "config.h"

#include "llm/family.h"

#include <string.h>

#define NEEDED LLM_FALLBACK_NEEDED

/* Keys as OpenAI's GPT-2 names them, with the general names as aliases. */
#define GPT2_NAMES                                                                                 \
    [LLM_KEY_LAYERS] = {"n_layer", "num_hidden_layers"},                                           \
    [LLM_KEY_HIDDEN] = {"n_embd", "hidden_size"},                                                  \
    [LLM_KEY_HEADS] = {"n_head", "num_attention_heads"}, [LLM_KEY_FFN] = {"n_inner"},              \
    [LLM_KEY_VOCAB] = {"vocab_size"},                                                              \
    [LLM_KEY_POSITIONS] = {"n_positions", "max_position_embeddings"},                              \
    [LLM_KEY_TIED] = {"tie_word_embeddings"}

#define COMMON_NAMES                                                                               \
    [LLM_KEY_LAYERS] = {"num_hidden_layers"}, [LLM_KEY_HIDDEN] = {"hidden_size"},                  \
    [LLM_KEY_HEADS] = {"num_attention_heads"}, [LLM_KEY_FFN] = {"intermediate_size"},              \
    [LLM_KEY_VOCAB] = {"vocab_size"}, [LLM_KEY_POSITIONS] = {"max_position_embeddings"},           \
    [LLM_KEY_TIED] = {"tie_word_embeddings"}

#define MOE_NAMES(experts)                                                                         \
    [LLM_KEY_EXPERTS] = {experts}, [LLM_KEY_EXPERTS_PER_TOKEN] = {"num_experts_per_tok"},          \
    [LLM_KEY_EXPERT_FFN] = {"moe_intermediate_size"}

#define MLA_NAMES                                                                                  \
    [LLM_KEY_Q_LORA] = {"q_lora_rank"}, [LLM_KEY_KV_LORA] = {"kv_lora_rank"},                      \
    [LLM_KEY_QK_NOPE] = {"qk_nope_head_dim"}, [LLM_KEY_QK_ROPE] = {"qk_rope_head_dim"},            \
    [LLM_KEY_V_DIM] = {"v_head_dim"}

#define DEEPSEEK_NAMES                                                                             \
    COMMON_NAMES, [LLM_KEY_KV_HEADS] = {"num_key_value_heads"},                                    \
                  MOE_NAMES("n_routed_experts"), [LLM_KEY_SHARED_EXPERTS] = {"n_shared_experts"},  \
                  [LLM_KEY_ROUTE_GROUPS] = {"n_group"}, [LLM_KEY_ROUTE_LIMIT] = {"topk_group"},    \
                  [LLM_KEY_DENSE_LAYERS] = {"first_k_dense_replace"},                              \
                  MLA_NAMES, [LLM_KEY_ATTENTION_BIAS] = {"attention_bias"}

#define QWEN_MOE_NAMES                                                                             \
    GROUPED_NAMES, MOE_NAMES("num_experts"), [LLM_KEY_MOE_EVERY] = {"decoder_sparse_step"},        \
                                             [LLM_KEY_WINDOW] = {"sliding_window"}

#define LLAMA4_NAMES                                                                               \
    [LLM_KEY_LAYERS] = {"num_hidden_layers"}, [LLM_KEY_HIDDEN] = {"hidden_size"},                  \
    [LLM_KEY_HEADS] = {"num_attention_heads"}, [LLM_KEY_KV_HEADS] = {"num_key_value_heads"},       \
    [LLM_KEY_HEAD_DIM] = {"head_dim"}, [LLM_KEY_FFN] = {"intermediate_size_mlp"},                  \
    [LLM_KEY_VOCAB] = {"vocab_size"}, [LLM_KEY_POSITIONS] = {"max_position_embeddings"},           \
    [LLM_KEY_TIED] = {"tie_word_embeddings"}, [LLM_KEY_EXPERTS] = {"num_local_experts"},           \
    [LLM_KEY_EXPERTS_PER_TOKEN] = {"num_experts_per_tok"},                                         \
    [LLM_KEY_EXPERT_FFN] = {"intermediate_size"},                                                  \
    [LLM_KEY_MOE_EVERY] = {"interleave_moe_layer_step"},                                           \
    [LLM_KEY_WINDOW] = {"attention_chunk_size"},                                                   \
    [LLM_KEY_GLOBAL_EVERY] = {"no_rope_layer_interval"},                                           \
    [LLM_KEY_ATTENTION_BIAS] = {"attention_bias"}

#define GROUPED_NAMES                                                                              \
    COMMON_NAMES, [LLM_KEY_KV_HEADS] = {"num_key_value_heads"}, [LLM_KEY_HEAD_DIM] = {"head_dim"}

/* Sizes without which there is no model; the others may be absent. */
#define SIZES_NEEDED                                                                               \
    [LLM_KEY_LAYERS] = NEEDED, [LLM_KEY_HIDDEN] = NEEDED, [LLM_KEY_HEADS] = NEEDED,                \
    [LLM_KEY_VOCAB] = NEEDED

#define LLAMA4_SIZES                                                                               \
    SIZES_NEEDED, [LLM_KEY_KV_HEADS] = 8, [LLM_KEY_HEAD_DIM] = 128, [LLM_KEY_FFN] = 16384,         \
                  [LLM_KEY_EXPERT_FFN] = 8192, [LLM_KEY_POSITIONS] = 131072,                       \
                  [LLM_KEY_EXPERTS] = 16, [LLM_KEY_EXPERTS_PER_TOKEN] = 1,                         \
                  [LLM_KEY_SHARED_EXPERTS] = 1, [LLM_KEY_MOE_EVERY] = 1,                           \
                  [LLM_KEY_GLOBAL_EVERY] = 4, [LLM_KEY_WINDOW] = 8192

/* LayerNorm and a bias in every linear layer but the head. */
#define BIASED .norm = LLM_NORM_LAYER, .qkv_bias = TRUE, .out_bias = TRUE, .mlp_bias = TRUE
/* RMSNorm, gated MLP, rotary positions. */
#define LLAMA_LIKE                                                                                 \
    .norm = LLM_NORM_RMS, .gated = TRUE, .position = LLM_POSITION_ROPE, .final_norm = TRUE

static const LlmFamily families[] = {
    {
        .model_type = "bloom",
        .names = {[LLM_KEY_LAYERS] = {"n_layer", "num_hidden_layers"},
                  [LLM_KEY_HIDDEN] = {"hidden_size", "n_embed"},
                  [LLM_KEY_HEADS] = {"n_head", "num_attention_heads"},
                  [LLM_KEY_FFN] = {"n_inner"},
                  [LLM_KEY_VOCAB] = {"vocab_size"},
                  [LLM_KEY_POSITIONS] = {"seq_length"},
                  [LLM_KEY_TIED] = {"tie_word_embeddings"}},
        .fallback = {SIZES_NEEDED, [LLM_KEY_POSITIONS] = 2048},
        .dropout = {"hidden_dropout", "attention_dropout"},
        .traits = {BIASED, .position = LLM_POSITION_ALIBI, .tied = TRUE, .embedding_norm = TRUE,
                   .final_norm = TRUE},
    },
    {
        .model_type = "deepseek_v2",
        .names = {DEEPSEEK_NAMES},
        .fallback =
            {SIZES_NEEDED, [LLM_KEY_FFN] = NEEDED, [LLM_KEY_MOE_EVERY] = 1,
             [LLM_KEY_EXPERTS_PER_TOKEN] = NEEDED, [LLM_KEY_EXPERT_FFN] = NEEDED,
             [LLM_KEY_KV_LORA] = 512, [LLM_KEY_Q_LORA] = 1536, [LLM_KEY_QK_NOPE] = 128,
             [LLM_KEY_QK_ROPE] = 64, [LLM_KEY_V_DIM] = 128, [LLM_KEY_POSITIONS] = 2048,
             [LLM_KEY_EXPERTS] = 64, [LLM_KEY_SHARED_EXPERTS] = 2, [LLM_KEY_DENSE_LAYERS] = 0},
        .equals_one = "moe_layer_freq",
        .traits = {LLAMA_LIKE},
    },
    {
        /* The router's weight more per expert balances their load without a loss of its own. */
        .model_type = "deepseek_v3",
        .names = {DEEPSEEK_NAMES, [LLM_KEY_MTP] = {"num_nextn_predict_layers"}},
        .fallback =
            {SIZES_NEEDED, [LLM_KEY_FFN] = NEEDED, [LLM_KEY_MOE_EVERY] = 1,
             [LLM_KEY_EXPERTS_PER_TOKEN] = NEEDED, [LLM_KEY_EXPERT_FFN] = NEEDED,
             [LLM_KEY_KV_LORA] = 512, [LLM_KEY_Q_LORA] = 1536, [LLM_KEY_QK_NOPE] = 128,
             [LLM_KEY_QK_ROPE] = 64, [LLM_KEY_V_DIM] = 128, [LLM_KEY_POSITIONS] = 4096,
             [LLM_KEY_EXPERTS] = 256, [LLM_KEY_SHARED_EXPERTS] = 1, [LLM_KEY_DENSE_LAYERS] = 3,
             [LLM_KEY_ROUTE_GROUPS] = 8, [LLM_KEY_ROUTE_LIMIT] = 4},
        .equals_one = "moe_layer_freq",
        .traits = {LLAMA_LIKE, .router_bias = TRUE},
    },
    {
        .model_type = "gemma",
        .names = {GROUPED_NAMES, [LLM_KEY_ATTENTION_BIAS] = {"attention_bias"}},
        .fallback = {SIZES_NEEDED, [LLM_KEY_KV_HEADS] = 16, [LLM_KEY_HEAD_DIM] = 256,
                     [LLM_KEY_FFN] = NEEDED, [LLM_KEY_POSITIONS] = 8192},
        .traits = {LLAMA_LIKE, .tied = TRUE},
    },
    {
        .model_type = "gemma2",
        .names = {GROUPED_NAMES, [LLM_KEY_WINDOW] = {"sliding_window"},
                  [LLM_KEY_ATTENTION_BIAS] = {"attention_bias"}},
        .fallback =
            {SIZES_NEEDED, [LLM_KEY_KV_HEADS] = 4, [LLM_KEY_HEAD_DIM] = 256, [LLM_KEY_FFN] = NEEDED,
             [LLM_KEY_POSITIONS] = 8192, [LLM_KEY_GLOBAL_EVERY] = 2, [LLM_KEY_WINDOW] = 4096},
        .traits = {LLAMA_LIKE, .tied = TRUE, .post_norms = TRUE},
    },
    {
        /* With its text part under "text_config", which is written without what equals the
         * defaults. */
        .model_type = "gemma3",
        .names = {GROUPED_NAMES, [LLM_KEY_WINDOW] = {"sliding_window"},
                  [LLM_KEY_GLOBAL_EVERY] = {"sliding_window_pattern", "_sliding_window_pattern"},
                  [LLM_KEY_ATTENTION_BIAS] = {"attention_bias"}},
        .fallback = {[LLM_KEY_LAYERS] = NEEDED,
                     [LLM_KEY_HIDDEN] = NEEDED,
                     [LLM_KEY_FFN] = NEEDED,
                     [LLM_KEY_HEADS] = 8,
                     [LLM_KEY_KV_HEADS] = 4,
                     [LLM_KEY_HEAD_DIM] = 256,
                     [LLM_KEY_VOCAB] = 262208,
                     [LLM_KEY_POSITIONS] = 131072,
                     [LLM_KEY_GLOBAL_EVERY] = 6,
                     [LLM_KEY_WINDOW] = 4096},
        .traits = {LLAMA_LIKE, .tied = TRUE, .post_norms = TRUE, .qk_norm = TRUE},
    },
    {
        .model_type = "gemma3_text",
        .names = {GROUPED_NAMES, [LLM_KEY_WINDOW] = {"sliding_window"},
                  [LLM_KEY_GLOBAL_EVERY] = {"sliding_window_pattern", "_sliding_window_pattern"},
                  [LLM_KEY_ATTENTION_BIAS] = {"attention_bias"}},
        .fallback = {[LLM_KEY_LAYERS] = NEEDED,
                     [LLM_KEY_HIDDEN] = NEEDED,
                     [LLM_KEY_FFN] = NEEDED,
                     [LLM_KEY_HEADS] = 8,
                     [LLM_KEY_KV_HEADS] = 4,
                     [LLM_KEY_HEAD_DIM] = 256,
                     [LLM_KEY_VOCAB] = 262208,
                     [LLM_KEY_POSITIONS] = 131072,
                     [LLM_KEY_GLOBAL_EVERY] = 6,
                     [LLM_KEY_WINDOW] = 4096},
        .traits = {LLAMA_LIKE, .tied = TRUE, .post_norms = TRUE, .qk_norm = TRUE},
    },
    {
        /* Megatron-LM's GPT: GPT-2's layer in any size, perhaps untied, with grouped queries or latent
         * attention, experts, prediction modules, RMSNorm, SwiGLU, rotary positions. */
        .model_type = "gpt",
        .names =
            {GPT2_NAMES, [LLM_KEY_KV_HEADS] = {"num_key_value_heads"},
             [LLM_KEY_HEAD_DIM] = {"head_dim"},
             MOE_NAMES("num_experts"), [LLM_KEY_SHARED_FFN] = {"shared_expert_intermediate_size"},
             [LLM_KEY_DENSE_LAYERS] = {"first_k_dense_replace"},
             [LLM_KEY_MOE_EVERY] = {"decoder_sparse_step"},
             MLA_NAMES, [LLM_KEY_MTP] = {"num_nextn_predict_layers", "mtp_num_layers"},
             [LLM_KEY_QKV_BIAS] = {"add_qkv_bias"}, [LLM_KEY_ALL_BIAS] = {"add_bias_linear"},
             [LLM_KEY_ROUTER_BIAS] = {"moe_router_enable_expert_bias"},
             [LLM_KEY_GATED] = {"swiglu"}, [LLM_KEY_RMS_NORM] = {"rms_norm"},
             [LLM_KEY_ROTARY] = {"rotary"}, [LLM_KEY_QK_NORM] = {"qk_layernorm"}},
        .fallback = {SIZES_NEEDED, [LLM_KEY_POSITIONS] = 2048, [LLM_KEY_MOE_EVERY] = 1,
                     [LLM_KEY_EXPERTS_PER_TOKEN] = NEEDED},
        .dropout = {"resid_pdrop", "embd_pdrop", "attn_pdrop"},
        .dropout_fallback = 0.1,
        .traits = {BIASED, .expert_bias = TRUE, .position = LLM_POSITION_LEARNED, .tied = TRUE,
                   .final_norm = TRUE},
    },
    {
        .model_type = "gpt2",
        .names = {GPT2_NAMES},
        .fallback = {SIZES_NEEDED, [LLM_KEY_POSITIONS] = 1024},
        .dropout = {"resid_pdrop", "embd_pdrop", "attn_pdrop"},
        .dropout_fallback = 0.1,
        .traits = {BIASED, .position = LLM_POSITION_LEARNED, .tied = TRUE, .final_norm = TRUE},
    },
    {
        .model_type = "gpt_neox",
        .names = {COMMON_NAMES, [LLM_KEY_ATTENTION_BIAS] = {"attention_bias"},
                  [LLM_KEY_PARALLEL_RESIDUAL] = {"use_parallel_residual"}},
        .fallback = {SIZES_NEEDED, [LLM_KEY_FFN] = NEEDED, [LLM_KEY_POSITIONS] = 2048},
        .dropout = {"hidden_dropout", "attention_dropout"},
        .traits = {BIASED, .position = LLM_POSITION_ROPE, .parallel_residual = TRUE,
                   .final_norm = TRUE},
    },
    {
        .model_type = "gpt_oss",
        .names =
            {GROUPED_NAMES, [LLM_KEY_EXPERTS] = {"num_local_experts"},
             [LLM_KEY_EXPERTS_PER_TOKEN] = {"num_experts_per_tok", "experts_per_token"},
             [LLM_KEY_WINDOW] = {"sliding_window"}, [LLM_KEY_ATTENTION_BIAS] = {"attention_bias"}},
        .fallback =
            {SIZES_NEEDED, [LLM_KEY_KV_HEADS] = 8, [LLM_KEY_HEAD_DIM] = 64, [LLM_KEY_FFN] = NEEDED,
             [LLM_KEY_POSITIONS] = 131072, [LLM_KEY_EXPERTS] = 128, [LLM_KEY_EXPERTS_PER_TOKEN] = 4,
             [LLM_KEY_MOE_EVERY] = 1, [LLM_KEY_GLOBAL_EVERY] = 2, [LLM_KEY_WINDOW] = 128},
        .traits = {LLAMA_LIKE, .qkv_bias = TRUE, .out_bias = TRUE, .router_bias = TRUE,
                   .expert_bias = TRUE, .attention_sinks = TRUE},
    },
    {
        /* DeepSeek-V3's code in other sizes. */
        .model_type = "kimi_k2",
        .names = {DEEPSEEK_NAMES, [LLM_KEY_MTP] = {"num_nextn_predict_layers"}},
        .fallback =
            {SIZES_NEEDED, [LLM_KEY_FFN] = NEEDED, [LLM_KEY_MOE_EVERY] = 1,
             [LLM_KEY_EXPERTS_PER_TOKEN] = NEEDED, [LLM_KEY_EXPERT_FFN] = NEEDED,
             [LLM_KEY_KV_LORA] = 512, [LLM_KEY_Q_LORA] = 1536, [LLM_KEY_QK_NOPE] = 128,
             [LLM_KEY_QK_ROPE] = 64, [LLM_KEY_V_DIM] = 128, [LLM_KEY_POSITIONS] = 131072,
             [LLM_KEY_EXPERTS] = 384, [LLM_KEY_SHARED_EXPERTS] = 1, [LLM_KEY_DENSE_LAYERS] = 1},
        .equals_one = "moe_layer_freq",
        .traits = {LLAMA_LIKE, .router_bias = TRUE},
    },
    {
        .model_type = "llama",
        .names = {GROUPED_NAMES, [LLM_KEY_ATTENTION_BIAS] = {"attention_bias"},
                  [LLM_KEY_MLP_BIAS] = {"mlp_bias"}},
        .fallback = {SIZES_NEEDED, [LLM_KEY_FFN] = NEEDED, [LLM_KEY_POSITIONS] = 2048},
        .traits = {LLAMA_LIKE},
    },
    {
        /* Its text part stands under "text_config". One shared expert, as wide as a routed one; every fourth
         * layer sees the whole sequence. The norm of queries and keys has no weights. */
        .model_type = "llama4",
        .names = {LLAMA4_NAMES},
        .fallback = {LLAMA4_SIZES},
        .moe_list = "moe_layers",
        .local_list = "no_rope_layers",
        .traits = {LLAMA_LIKE, .window_is_chunk = TRUE},
    },
    {
        .model_type = "llama4_text",
        .names = {LLAMA4_NAMES},
        .fallback = {LLAMA4_SIZES},
        .moe_list = "moe_layers",
        .local_list = "no_rope_layers",
        .traits = {LLAMA_LIKE, .window_is_chunk = TRUE},
    },
    {
        .model_type = "mistral",
        .names = {GROUPED_NAMES, [LLM_KEY_WINDOW] = {"sliding_window"}},
        .fallback = {SIZES_NEEDED, [LLM_KEY_KV_HEADS] = 8, [LLM_KEY_FFN] = NEEDED,
                     [LLM_KEY_POSITIONS] = 131072, [LLM_KEY_WINDOW] = 4096},
        .traits = {LLAMA_LIKE},
    },
    {
        .model_type = "mixtral",
        .names = {GROUPED_NAMES, [LLM_KEY_EXPERTS] = {"num_local_experts"},
                  [LLM_KEY_EXPERTS_PER_TOKEN] = {"num_experts_per_tok"},
                  [LLM_KEY_WINDOW] = {"sliding_window"}},
        .fallback = {SIZES_NEEDED, [LLM_KEY_KV_HEADS] = 8, [LLM_KEY_FFN] = NEEDED,
                     [LLM_KEY_POSITIONS] = 131072, [LLM_KEY_EXPERTS] = 8,
                     [LLM_KEY_EXPERTS_PER_TOKEN] = 2, [LLM_KEY_MOE_EVERY] = 1},
        .traits = {LLAMA_LIKE},
    },
    {
        .model_type = "opt",
        .names = {[LLM_KEY_LAYERS] = {"num_hidden_layers"},
                  [LLM_KEY_HIDDEN] = {"hidden_size"},
                  [LLM_KEY_HEADS] = {"num_attention_heads"},
                  [LLM_KEY_FFN] = {"ffn_dim"},
                  [LLM_KEY_VOCAB] = {"vocab_size"},
                  [LLM_KEY_POSITIONS] = {"max_position_embeddings"},
                  [LLM_KEY_TIED] = {"tie_word_embeddings"},
                  [LLM_KEY_ALL_BIAS] = {"enable_bias"},
                  [LLM_KEY_NORM_BEFORE] = {"do_layer_norm_before"}},
        .fallback = {SIZES_NEEDED, [LLM_KEY_FFN] = NEEDED, [LLM_KEY_POSITIONS] = 2048},
        .dropout = {"dropout", "attention_dropout"},
        .dropout_fallback = 0.1,
        .extra_position_rows = 2, /* its positions start at 2 */
        .equals_hidden = "word_embed_proj_dim",
        .traits = {BIASED, .position = LLM_POSITION_LEARNED, .tied = TRUE, .final_norm = TRUE},
    },
    {
        /* Its QKV has a bias though no key says so; Qwen2.5 has the same model_type. */
        .model_type = "qwen2",
        .names = {GROUPED_NAMES, [LLM_KEY_WINDOW] = {"sliding_window"}},
        .fallback = {SIZES_NEEDED, [LLM_KEY_KV_HEADS] = 32, [LLM_KEY_FFN] = NEEDED,
                     [LLM_KEY_POSITIONS] = 32768},
        .window_switch = "use_sliding_window",
        .traits = {LLAMA_LIKE, .qkv_bias = TRUE},
    },
    {
        .model_type = "qwen2_moe",
        .names = {QWEN_MOE_NAMES, [LLM_KEY_SHARED_FFN] = {"shared_expert_intermediate_size"},
                  [LLM_KEY_QKV_BIAS] = {"qkv_bias"}},
        .fallback =
            {SIZES_NEEDED, [LLM_KEY_KV_HEADS] = 16, [LLM_KEY_FFN] = 5632,
             [LLM_KEY_POSITIONS] = 32768, [LLM_KEY_EXPERTS] = 60, [LLM_KEY_EXPERTS_PER_TOKEN] = 4,
             [LLM_KEY_EXPERT_FFN] = 1408, [LLM_KEY_SHARED_FFN] = 5632, [LLM_KEY_MOE_EVERY] = 1},
        .window_switch = "use_sliding_window",
        .dense_list = "mlp_only_layers",
        .traits = {LLAMA_LIKE, .qkv_bias = TRUE, .shared_gate = TRUE},
    },
    {
        .model_type = "qwen3",
        .names = {GROUPED_NAMES, [LLM_KEY_WINDOW] = {"sliding_window"},
                  [LLM_KEY_ATTENTION_BIAS] = {"attention_bias"}},
        .fallback = {SIZES_NEEDED, [LLM_KEY_KV_HEADS] = 32, [LLM_KEY_HEAD_DIM] = 128,
                     [LLM_KEY_FFN] = NEEDED, [LLM_KEY_POSITIONS] = 32768},
        .window_switch = "use_sliding_window",
        .traits = {LLAMA_LIKE, .qk_norm = TRUE},
    },
    {
        .model_type = "qwen3_moe",
        .names = {QWEN_MOE_NAMES, [LLM_KEY_ATTENTION_BIAS] = {"attention_bias"}},
        .fallback =
            {SIZES_NEEDED, [LLM_KEY_KV_HEADS] = 4, [LLM_KEY_FFN] = 6144,
             [LLM_KEY_POSITIONS] = 32768, [LLM_KEY_EXPERTS] = 128, [LLM_KEY_EXPERTS_PER_TOKEN] = 8,
             [LLM_KEY_EXPERT_FFN] = 768, [LLM_KEY_MOE_EVERY] = 1},
        .window_switch = "use_sliding_window",
        .dense_list = "mlp_only_layers",
        .traits = {LLAMA_LIKE, .qk_norm = TRUE},
    },
};

static const char *const names[] = {
    "bloom",       "deepseek_v2", "deepseek_v3", "gemma",     "gemma2",  "gemma3",
    "gemma3_text", "gpt",         "gpt2",        "gpt_neox",  "gpt_oss", "kimi_k2",
    "llama",       "llama4",      "llama4_text", "mistral",   "mixtral", "opt",
    "qwen2",       "qwen2_moe",   "qwen3",       "qwen3_moe", NULL};
G_STATIC_ASSERT(G_N_ELEMENTS(names) == G_N_ELEMENTS(families) + 1);

const LlmFamily *
llm_family_find(const char *model_type)
{
    for (guint i = 0; i < G_N_ELEMENTS(families); i++) {
        if (strcmp(families[i].model_type, model_type) == 0) {
            return &families[i];
        }
    }
    return NULL;
}

const char *const *
llm_family_names(void)
{
    return names;
}

LlmKey
llm_family_key(const LlmFamily *family, const char *name)
{
    for (guint key = 0; key < LLM_N_KEYS; key++) {
        for (guint i = 0; i < LLM_N_ALIASES && family->names[key][i] != NULL; i++) {
            if (strcmp(family->names[key][i], name) == 0) {
                return (LlmKey)key;
            }
        }
    }
    return LLM_N_KEYS;
}

GPtrArray *
llm_family_key_names(const LlmFamily *family)
{
    GPtrArray *all = g_ptr_array_new();
    g_ptr_array_add(all, (gpointer) "model_type");
    for (guint key = 0; key < LLM_N_KEYS; key++) {
        for (guint i = 0; i < LLM_N_ALIASES && family->names[key][i] != NULL; i++) {
            g_ptr_array_add(all, (gpointer)family->names[key][i]);
        }
    }
    for (guint i = 0; i < LLM_N_DROPOUTS && family->dropout[i] != NULL; i++) {
        g_ptr_array_add(all, (gpointer)family->dropout[i]);
    }
    if (family->window_switch != NULL) {
        g_ptr_array_add(all, (gpointer)family->window_switch);
        g_ptr_array_add(all, (gpointer) "max_window_layers");
    }
    const char *const others[] = {family->equals_hidden, family->equals_one, family->dense_list,
                                  family->moe_list, family->local_list};
    for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
        if (others[i] != NULL) {
            g_ptr_array_add(all, (gpointer)others[i]);
        }
    }
    g_ptr_array_add(all, (gpointer) "layer_types");
    g_ptr_array_add(all, NULL);
    return all;
}
