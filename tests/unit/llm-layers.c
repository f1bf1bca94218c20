/* Experts, latent attention and windows from config.json: which layers have them, and what the families'
 * keys say. */
#include "config.h"

#include "llm/parameters.h"

#include <string.h>

#define SIZES                                                                                      \
    "\"hidden_size\": 64, \"num_attention_heads\": 4, \"vocab_size\": 100, \"num_key_value_heads\": 2"
#define LAYERS(n) "\"num_hidden_layers\": " #n ", "
#define DEEPSEEK(type)                                                                             \
    "\"model_type\": \"" type "\", " SIZES ", \"intermediate_size\": 96, \"n_routed_experts\": 8," \
    " \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32"
#define QWEN                                                                                       \
    "\"model_type\": \"qwen3_moe\", " SIZES ", \"intermediate_size\": 96, \"num_experts\": 8,"     \
    " \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32"
#define LLAMA4                                                                                     \
    "\"model_type\": \"llama4_text\", " SIZES ", \"intermediate_size\": 32,"                       \
    " \"intermediate_size_mlp\": 96, \"num_local_experts\": 8"
#define GPT                                                                                        \
    "\"model_type\": \"gpt\", \"n_embd\": 64, \"n_head\": 4, \"vocab_size\": 100, \"n_layer\": 6"

static LlmShape *
parsed(const char *json)
{
    GError *error = NULL;
    LlmShape *shape = llm_shape_parse("small.json", json, &error);
    g_assert_no_error(error);
    return shape;
}

/* What is printed reads back as the same shape. */
static void
assert_round_trip(const LlmShape *shape)
{
    GError *error = NULL;
    g_autofree char *text = llm_shape_print(shape);
    g_autoptr(LlmShape) again = llm_shape_parse(shape->name, text, &error);
    g_assert_no_error(error);
    LlmShape flat = *shape;
    flat.name = again->name;
    flat.family = again->family;
    g_assert_cmpmem(&flat, sizeof flat, again, sizeof *again);
}

static void
test_families(void)
{
    g_test_summary("sizes and what each family implies without a key");
    static const struct {
        const char *json;
        gint64 experts, per_token, ffn, expert_ffn, shared, q_lora, kv_lora, head_dim, mtp;
        gboolean router_bias, expert_bias, shared_gate, sinks, qkv_bias;
    } cases[] = {
        {"{\"model_type\": \"mixtral\", " LAYERS(2) SIZES ", \"intermediate_size\": 96}", 8, 2, 96,
         96, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0},
        {"{\"model_type\": \"qwen2_moe\", " LAYERS(2) SIZES "}", 60, 4, 5632, 1408, 5632, 0, 0, 16,
         0, 0, 0, 1, 0, 1},
        {"{\"model_type\": \"qwen2_moe\", " LAYERS(2) SIZES
         ", \"qkv_bias\": false,"
         " \"shared_expert_intermediate_size\": 0}",
         60, 4, 5632, 1408, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0},
        {"{" LAYERS(2) QWEN "}", 8, 2, 96, 32, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0},
        {"{" LAYERS(2) DEEPSEEK("deepseek_v2") ", \"q_lora_rank\": null}", 8, 2, 96, 32, 64, 0, 512,
         192, 0, 0, 0, 0, 0, 0},
        {"{" LAYERS(2) DEEPSEEK("deepseek_v3") ", \"num_nextn_predict_layers\": 1}", 8, 2, 96, 32,
         32, 1536, 512, 192, 1, 1, 0, 0, 0, 0},
        {"{" LAYERS(2) DEEPSEEK(
             "kimi_k2") ", \"kv_lora_rank\": 16, \"qk_nope_head_dim\": 8,"
                        " \"qk_rope_head_dim\": 4, \"v_head_dim\": 6, \"n_shared_experts\": null}",
         8, 2, 96, 32, 0, 1536, 16, 12, 0, 1, 0, 0, 0, 0},
        {"{\"model_type\": \"gpt_oss\", " LAYERS(2) SIZES ", \"intermediate_size\": 96,"
                                                          " \"experts_per_token\": 3}",
         128, 3, 96, 96, 0, 0, 0, 64, 0, 1, 1, 0, 1, 1},
        {"{" LAYERS(2) LLAMA4 "}", 8, 1, 96, 32, 32, 0, 0, 128, 0, 0, 0, 0, 0, 0},
        {"{" GPT ", \"num_experts\": 8, \"num_experts_per_tok\": 2}", 8, 2, 256, 256, 0, 0, 0, 16,
         0, 0, 1, 0, 0, 1},
        {"{" GPT ", \"num_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 40,"
         " \"shared_expert_intermediate_size\": 80, \"add_bias_linear\": false, \"swiglu\": true,"
         " \"moe_router_enable_expert_bias\": true, \"kv_lora_rank\": 16, \"qk_nope_head_dim\": 8,"
         " \"qk_rope_head_dim\": 4, \"v_head_dim\": 6, \"mtp_num_layers\": 2}",
         8, 2, 256, 40, 80, 0, 16, 12, 2, 1, 0, 0, 0, 0},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(LlmShape) s = parsed(cases[i].json);
        g_test_message("%s", cases[i].json);
        g_assert_cmpint(s->experts, ==, cases[i].experts);
        g_assert_cmpint(s->experts_per_token, ==, cases[i].per_token);
        g_assert_cmpint(s->ffn, ==, cases[i].ffn);
        g_assert_cmpint(s->expert_ffn, ==, cases[i].expert_ffn);
        g_assert_cmpint(s->shared_ffn, ==, cases[i].shared);
        g_assert_cmpint(s->q_lora, ==, cases[i].q_lora);
        g_assert_cmpint(s->kv_lora, ==, cases[i].kv_lora);
        g_assert_cmpint(s->head_dim, ==, cases[i].head_dim);
        g_assert_cmpint(s->kv_heads, ==, cases[i].kv_lora > 0 || i >= 9 ? 4 : 2);
        g_assert_cmpint(s->mtp_layers, ==, cases[i].mtp);
        g_assert_cmpint(s->router_bias, ==, cases[i].router_bias);
        g_assert_cmpint(s->expert_bias, ==, cases[i].expert_bias);
        g_assert_cmpint(s->shared_gate, ==, cases[i].shared_gate);
        g_assert_cmpint(s->attention_sinks, ==, cases[i].sinks);
        g_assert_cmpint(s->qkv_bias, ==, cases[i].qkv_bias);
        assert_round_trip(s);
    }
}

static void
test_plain_shape(void)
{
    g_test_summary("a plain gpt shape with RMSNorm, rotary positions and normed queries and keys");
    g_autoptr(LlmShape) s =
        parsed("{" GPT ", \"rms_norm\": true, \"rotary\": true, \"qk_layernorm\": true,"
               " \"add_bias_linear\": false, \"add_qkv_bias\": true}");
    g_assert_cmpint(s->norm, ==, LLM_NORM_RMS);
    g_assert_cmpint(s->position, ==, LLM_POSITION_ROPE);
    g_assert_cmpint(s->position_rows, ==, 0);
    g_assert_true(s->qk_norm && s->qkv_bias && !s->out_bias && !s->mlp_bias && !s->gated);
    assert_round_trip(s);
    g_autoptr(LlmShape) plain = parsed("{" GPT "}");
    g_assert_cmpint(plain->norm, ==, LLM_NORM_LAYER);
    g_assert_cmpint(plain->position_rows, ==, 2048);
    g_assert_true(plain->qkv_bias && plain->mlp_bias && !plain->expert_bias);
}

static void
test_no_experts(void)
{
    g_test_summary("a family with experts, but without any, is a dense model");
    static const char *const cases[] = {
        "{" LAYERS(4) DEEPSEEK("deepseek_v3") ", \"kv_lora_rank\": null}",
        "{\"model_type\": \"deepseek_v2\", " LAYERS(4) SIZES
        ", \"intermediate_size\": 96,"
        " \"n_routed_experts\": null, \"kv_lora_rank\": null}",
    };
    g_autoptr(LlmShape) grouped = parsed(cases[0]);
    g_assert_cmpint(grouped->kv_lora + grouped->q_lora + grouped->v_dim, ==, 0);
    g_assert_cmpint(grouped->head_dim, ==, 16);
    g_assert_cmpint(grouped->kv_heads, ==, 2);
    assert_round_trip(grouped);
    g_autoptr(LlmShape) dense = parsed(cases[1]);
    g_assert_cmpint(llm_shape_moe_layers(dense), ==, 0);
    g_assert_cmpint(dense->expert_ffn + dense->shared_ffn + dense->experts_per_token, ==, 0);
    LlmParameters p = llm_parameters(dense);
    g_assert_cmpint(p.active, ==, p.total);
    g_assert_cmpint(p.layer, ==, 64 * 8 * 16 + 4 * 16 * 64 + 3 * 64 * 96 + 2 * 64);
    assert_round_trip(dense);
}

/* 'E' for a layer with experts, 'd' for a dense one. */
static void
test_moe_layers(void)
{
    g_test_summary("which layers have experts");
    static const struct {
        const char *json, *layers;
    } cases[] = {
        {"{" LAYERS(5) QWEN "}", "EEEEE"},
        {"{" LAYERS(5) QWEN ", \"mlp_only_layers\": [0, 1]}", "ddEEE"},
        {"{" LAYERS(6) QWEN ", \"decoder_sparse_step\": 2}", "dEdEdE"},
        {"{" LAYERS(7) QWEN ", \"decoder_sparse_step\": 3, \"mlp_only_layers\": [0, 1, 2]}",
         "dddddEd"},
        {"{" LAYERS(5) DEEPSEEK("deepseek_v3") "}", "dddEE"},
        {"{" LAYERS(5) DEEPSEEK("deepseek_v2") "}", "EEEEE"},
        {"{" LAYERS(3) DEEPSEEK("kimi_k2") ", \"first_k_dense_replace\": 9, \"moe_layer_freq\": 1}",
         "ddd"},
        {"{" LAYERS(6) LLAMA4 ", \"interleave_moe_layer_step\": 2, \"moe_layers\": [1, 3, 5]}",
         "dEdEdE"},
        {"{" LAYERS(4) LLAMA4 ", \"moe_layers\": null}", "EEEE"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(LlmShape) s = parsed(cases[i].json);
        g_autoptr(GString) layers = g_string_new(NULL);
        gint64 n = 0;
        for (gint64 l = 0; l < s->layers; l++) {
            n += llm_shape_is_moe(s, l);
            g_string_append_c(layers, llm_shape_is_moe(s, l) ? 'E' : 'd');
        }
        g_test_message("%s", cases[i].json);
        g_assert_cmpstr(layers->str, ==, cases[i].layers);
        g_assert_cmpint(llm_shape_moe_layers(s), ==, n);
        assert_round_trip(s);
    }
}

#define S "\"sliding_attention\""
#define F "\"full_attention\""
#define GEMMA(type)                                                                                \
    "\"model_type\": \"" type "\", " SIZES ", \"intermediate_size\": 96, \"sliding_window\": 7"

/* 'w' for a layer with a window, 'f' for a full one. */
static void
test_windows(void)
{
    g_test_summary("which layers have a window");
    static const struct {
        const char *json, *layers;
        gboolean chunk;
    } cases[] = {
        {"{" LAYERS(5) GEMMA("gemma2") "}", "wfwfw", FALSE},
        {"{" LAYERS(7) GEMMA("gemma3_text") "}", "wwwwwfw", FALSE},
        {"{" LAYERS(5) GEMMA("gemma3_text") ", \"sliding_window_pattern\": 3}", "wwfww", FALSE},
        {"{" LAYERS(3) GEMMA("gemma3_text") ", \"layer_types\": [" S ", " S ", " S "]}", "www",
         FALSE},
        {"{" LAYERS(4) GEMMA("gemma2") ", \"layer_types\": [" S ", " F ", " S ", " F "]}", "wfwf",
         FALSE},
        {"{" LAYERS(5) GEMMA("gemma2") ", \"layer_types\": [" S ", " S ", " F ", " S ", " S "]}",
         "wwfww", FALSE},
        {"{" LAYERS(2) GEMMA("gemma2") ", \"layer_types\": [" F ", " F "]}", "ff", FALSE},
        {"{" LAYERS(4) GEMMA("mistral") "}", "wwww", FALSE},
        {"{" LAYERS(4) GEMMA("mistral") ", \"layer_types\": [" S ", " S ", " S ", " F "]}", "wwwf",
         FALSE},
        {"{" LAYERS(4) GEMMA("gpt_oss") ", \"layer_types\": [" S ", " F ", " S ", " F "]}", "wfwf",
         FALSE},
        {"{" LAYERS(4) GEMMA("mixtral") "}", "wwww", FALSE},
        {"{" LAYERS(9) LLAMA4 "}", "wwwfwwwfw", TRUE},
        {"{" LAYERS(4) LLAMA4 ", \"no_rope_layers\": [1, 1, 0, 1], \"no_rope_layer_interval\": 3}",
         "wwfw", TRUE},
        {"{" LAYERS(4) LLAMA4 ", \"no_rope_layers\": []}", "wwwf", TRUE},
        {"{" LAYERS(4) LLAMA4 ", \"attention_chunk_size\": null}", "ffff", FALSE},
        {"{" LAYERS(2) GEMMA("qwen3") ", \"use_sliding_window\": true, \"max_window_layers\": 0}",
         "ww", FALSE},
        {"{" LAYERS(2) GEMMA("qwen3") ", \"use_sliding_window\": true, \"max_window_layers\": 2}",
         "ff", FALSE},
        {"{" LAYERS(2) GEMMA("qwen3") "}", "ff", FALSE},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(LlmShape) s = parsed(cases[i].json);
        g_autoptr(GString) layers = g_string_new(NULL);
        for (gint64 l = 0; l < s->layers; l++) {
            gint64 window = llm_shape_window(s, l);
            g_assert_true(window == 0 || window == s->sliding_window);
            g_string_append_c(layers, window > 0 ? 'w' : 'f');
        }
        g_test_message("%s", cases[i].json);
        g_assert_cmpstr(layers->str, ==, cases[i].layers);
        g_assert_cmpint(s->window_is_chunk, ==, cases[i].chunk);
        assert_round_trip(s);
    }
}

static void
test_refused(void)
{
    g_test_summary("lists that no rule gives, and sizes that contradict each other, are named");
    static const struct {
        const char *json, *says;
    } cases[] = {
        {"{" LAYERS(5) QWEN ", \"mlp_only_layers\": [1, 3]}",
         "key mlp_only_layers: not supported yet: dense layers that are not"},
        {"{" LAYERS(5) QWEN ", \"mlp_only_layers\": [1, 0]}",
         "key mlp_only_layers: not supported yet: dense layers that are not"},
        {"{" LAYERS(5) QWEN ", \"mlp_only_layers\": [\"0\"]}",
         "mlp_only_layers: item 0 is no whole number"},
        {"{" LAYERS(5) QWEN ", \"mlp_only_layers\": 3}", "mlp_only_layers: expected a list"},
        {"{" LAYERS(5) QWEN ", \"decoder_sparse_step\": 0}",
         "decoder_sparse_step: 0 is out of range"},
        {"{" LAYERS(5) QWEN ", \"num_experts\": -1}", "num_experts: -1 is out of range"},
        {"{" LAYERS(5) QWEN ", \"sliding_window\": 4, \"use_sliding_window\": true,"
                            " \"max_window_layers\": 3}",
         "key max_window_layers: a window from layer 3 on is not supported yet"},
        {"{" LAYERS(5) DEEPSEEK("deepseek_v2") ", \"moe_layer_freq\": 2}",
         "key moe_layer_freq: not supported yet: experts in every n-th layer"},
        {"{" LAYERS(5) DEEPSEEK("deepseek_v2") ", \"moe_layer_freq\": [0, 1]}",
         "key moe_layer_freq: not supported yet: a list of layers with experts"},
        {"{" LAYERS(5) DEEPSEEK("deepseek_v2") ", \"v_head_dim\": 0}", "value head dimension: 0"},
        {"{" LAYERS(5)
             DEEPSEEK("deepseek_v2") ", \"qk_nope_head_dim\": 0, \"qk_rope_head_dim\": 0}",
         "head dimension"},
        {"{" LAYERS(5) DEEPSEEK("deepseek_v2") ", \"n_shared_experts\": 2147483647}",
         "shared expert size: 68719476704 is out of range"},
        {"{" LAYERS(4) LLAMA4 ", \"moe_layers\": [0, 2]}",
         "key moe_layers: not supported yet: experts in layers that are not"},
        {"{" LAYERS(4) LLAMA4 ", \"moe_layers\": [0, 1, 2]}", "key moe_layers"},
        {"{" LAYERS(4) LLAMA4 ", \"no_rope_layers\": [1, 0, 0, 1]}", "key no_rope_layers"},
        {"{" LAYERS(4) LLAMA4 ", \"no_rope_layers\": [1, 0]}",
         "no_rope_layers: has 2 entries for 4 layers"},
        {"{" LAYERS(4) LLAMA4 ", \"num_experts_per_tok\": 9}", "9 experts per token of 8 experts"},
        {"{" LAYERS(4) LLAMA4 ", \"num_experts_per_tok\": 0}",
         "experts per token: 0 is out of range"},
        {"{" GPT ", \"num_experts\": 8}", "num_experts_per_tok"},
        {"{" LAYERS(4) GEMMA("gemma2") ", \"layer_types\": [" F ", " F ", " S ", " S "]}",
         "key layer_types: not supported yet: a window in layers that are not all but every n-th"},
        {"{" LAYERS(4) GEMMA("gemma2") ", \"layer_types\": [" S ", " F "]}",
         "layer_types: has 2 entries for 4 layers"},
        {"{" LAYERS(2) GEMMA("gemma2") ", \"layer_types\": " S "}", "layer_types: expected a list"},
        {"{" LAYERS(2) GEMMA("llama") ", \"layer_types\": [" F ", " S "]}",
         "layer_types: says that layer 1 has a window, but none is given"},
        {"{" GPT
         ", \"num_experts\": 2147483647, \"num_experts_per_tok\": 1, \"n_inner\": 2147483647}",
         "more than can be counted"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_test_message("%s", cases[i].json);
        g_assert_null(llm_shape_parse("small.json", cases[i].json, &error));
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, cases[i].says));
        g_assert_true(g_str_has_prefix(error->message, "small.json"));
        g_assert_null(strchr(error->message, '\n'));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/llm/layers/families-with-experts", test_families);
    g_test_add_func("/llm/layers/plain-shape", test_plain_shape);
    g_test_add_func("/llm/layers/without-experts", test_no_experts);
    g_test_add_func("/llm/layers/which-have-experts", test_moe_layers);
    g_test_add_func("/llm/layers/which-have-a-window", test_windows);
    g_test_add_func("/llm/layers/what-no-rule-gives-is-refused", test_refused);
    return g_test_run();
}
