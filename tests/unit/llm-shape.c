/* Shapes from config.json: each family's keys and defaults, refusals, misspellings, overrides. */
#include "config.h"

#include "llm/shape.h"

#include "conf/json.h"
#include "llm/parameters.h"

#include <glib/gstdio.h>
#include <string.h>

#define SIZES                                                                                      \
    "\"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"vocab_size\": 100"
#define LLAMA "\"model_type\": \"llama\", " SIZES ", \"intermediate_size\": 96"
#define MIXTRAL "\"model_type\": \"mixtral\", " SIZES ", \"intermediate_size\": 96"
#define GPT2                                                                                       \
    "\"model_type\": \"gpt2\", \"n_embd\": 64, \"n_layer\": 2, \"n_head\": 4, \"vocab_size\": 100"

static LlmShape *
parsed(const char *json)
{
    GError *error = NULL;
    LlmShape *shape = llm_shape_parse("small.json", json, &error);
    g_assert_no_error(error);
    return shape;
}

static void
test_gpt2_defaults(void)
{
    g_test_summary(
        "GPT-2: tied, biased, learned positions, feed-forward 4h, dropout unless it is 0");
    g_autoptr(LlmShape) shape =
        parsed("{" GPT2 ", \"n_inner\": null, \"rope_theta\": 5, \"_note\": []}");
    g_assert_cmpstr(shape->name, ==, "small");
    g_assert_cmpstr(shape->family, ==, "gpt2");
    g_assert_cmpint(shape->ffn, ==, 256);
    g_assert_cmpint(shape->kv_heads, ==, 4);
    g_assert_cmpint(shape->head_dim, ==, 16);
    g_assert_cmpint(shape->position_rows, ==, 1024);
    g_assert_cmpint(shape->position, ==, LLM_POSITION_LEARNED);
    g_assert_true(shape->tied && shape->qkv_bias && shape->out_bias && shape->mlp_bias);
    g_assert_true(shape->dropout && shape->final_norm && !shape->gated && !shape->head_bias);
    g_autoptr(LlmShape) untied =
        parsed("{" GPT2 ", \"tie_word_embeddings\": false, \"resid_pdrop\": 0.0, \"embd_pdrop\": 0,"
               " \"attn_pdrop\": 0.0}");
    g_assert_false(untied->tied || untied->dropout);
}

static void
test_llama_defaults(void)
{
    g_test_summary("Llama: untied, no biases, as many key-value heads as heads, RMSNorm, rotary");
    g_autoptr(LlmShape) shape = parsed("{" LLAMA "}");
    g_assert_false(shape->tied || shape->qkv_bias || shape->out_bias || shape->mlp_bias);
    g_assert_true(shape->gated && !shape->dropout);
    g_assert_cmpint(shape->kv_heads, ==, 4);
    g_assert_cmpint(shape->norm, ==, LLM_NORM_RMS);
    g_assert_cmpint(shape->position, ==, LLM_POSITION_ROPE);
    g_assert_cmpint(shape->position_rows, ==, 0);
    g_autoptr(LlmShape) biased =
        parsed("{" LLAMA ", \"attention_bias\": true, \"mlp_bias\": true, \"head_dim\": 32,"
               " \"num_key_value_heads\": 2.0}");
    g_assert_true(biased->qkv_bias && biased->out_bias && biased->mlp_bias);
    g_assert_cmpint(biased->head_dim, ==, 32);
    g_assert_cmpint(biased->kv_heads, ==, 2);
}

#define KV ", \"intermediate_size\": 96, \"num_key_value_heads\": 2"

static void
test_other_families(void)
{
    g_test_summary("what each family implies without a key");
    static const struct {
        const char *json;
        gint64 head_dim, window, rows;
        gboolean tied, qkv_bias, out_bias, mlp_bias, qk_norm, post_norms, parallel, embedding_norm;
    } cases[] = {
        {"{\"model_type\": \"qwen2\", " SIZES KV
         ", \"sliding_window\": 7, \"use_sliding_window\": false}",
         16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0},
        {"{\"model_type\": \"qwen2\", " SIZES KV
         ", \"sliding_window\": 7, \"use_sliding_window\": true}",
         16, 7, 0, 0, 1, 0, 0, 0, 0, 0, 0},
        {"{\"model_type\": \"qwen2\", " SIZES KV
         ", \"sliding_window\": 7, \"use_sliding_window\": true,"
         " \"max_window_layers\": 2}",
         16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0},
        {"{\"model_type\": \"qwen3\", " SIZES KV "}", 128, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0},
        {"{\"model_type\": \"mistral\", " SIZES KV "}", 16, 4096, 0, 0, 0, 0, 0, 0, 0, 0, 0},
        {"{\"model_type\": \"mistral\", " SIZES KV ", \"sliding_window\": null}", 16, 0, 0, 0, 0, 0,
         0, 0, 0, 0, 0},
        {"{\"model_type\": \"gemma\", " SIZES KV "}", 256, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
        {"{\"model_type\": \"gemma2\", " SIZES KV ", \"sliding_window\": 9}", 256, 9, 0, 1, 0, 0, 0,
         0, 1, 0, 0},
        {"{\"model_type\": \"gemma3_text\", " SIZES KV ", \"head_dim\": 8}", 8, 4096, 0, 1, 0, 0, 0,
         1, 1, 0, 0},
        {"{\"model_type\": \"gpt_neox\", " SIZES ", \"intermediate_size\": 96}", 16, 0, 0, 0, 1, 1,
         1, 0, 0, 1, 0},
        {"{\"model_type\": \"opt\", " SIZES ", \"ffn_dim\": 96, \"max_position_embeddings\": 10}",
         16, 0, 12, 1, 1, 1, 1, 0, 0, 0, 0},
        {"{\"model_type\": \"bloom\", \"n_embed\": 64, \"n_layer\": 2, \"num_attention_heads\": 4,"
         " \"vocab_size\": 100}",
         16, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1},
        {"{\"model_type\": \"gpt\", \"n_embd\": 64, \"n_layer\": 2, \"n_head\": 4, \"vocab_size\": 100,"
         " \"num_key_value_heads\": 2, \"n_positions\": 6}",
         16, 0, 6, 1, 1, 1, 1, 0, 0, 0, 0},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(LlmShape) s = parsed(cases[i].json);
        g_test_message("%s", cases[i].json);
        g_assert_cmpint(s->head_dim, ==, cases[i].head_dim);
        g_assert_cmpint(s->sliding_window, ==, cases[i].window);
        g_assert_cmpint(s->position_rows, ==, cases[i].rows);
        g_assert_cmpint(s->tied, ==, cases[i].tied);
        g_assert_cmpint(s->qkv_bias, ==, cases[i].qkv_bias);
        g_assert_cmpint(s->out_bias, ==, cases[i].out_bias);
        g_assert_cmpint(s->mlp_bias, ==, cases[i].mlp_bias);
        g_assert_cmpint(s->qk_norm, ==, cases[i].qk_norm);
        g_assert_cmpint(s->post_norms, ==, cases[i].post_norms);
        g_assert_cmpint(s->parallel_residual, ==, cases[i].parallel);
        g_assert_cmpint(s->embedding_norm, ==, cases[i].embedding_norm);
    }
}

static void
test_text_config(void)
{
    g_test_summary("a multimodal file: the text part is read, tying may stand outside");
    g_autoptr(LlmShape) shape = parsed(
        "{\"model_type\": \"gemma3\", \"vision_config\": {\"hidden_size\": 9}, \"text_config\":"
        " {\"model_type\": \"gemma3_text\", \"hidden_size\": 64, \"num_hidden_layers\": 2,"
        " \"intermediate_size\": 96}, \"tie_word_embeddings\": false}");
    g_assert_cmpint(shape->hidden, ==, 64);
    g_assert_cmpint(shape->heads, ==, 8);
    g_assert_cmpint(shape->kv_heads, ==, 4);
    g_assert_cmpint(shape->vocab, ==, 262208);
    g_assert_false(shape->tied);
}

static void
test_refusals(void)
{
    g_test_summary("what is not modelled is refused by its name");
    static const struct {
        const char *json, *says;
    } cases[] = {
        {"{" LLAMA ", \"num_experts\": 8}",
         "small.json: model_type 'llama' (8 experts): mixture of experts is not supported yet; supported: "},
        {"{" LLAMA ", \"n_routed_experts\": 16}", "(16 experts): mixture of experts"},
        {"{" MIXTRAL ", \"n_routed_experts\": 16}", "mixture of experts is not supported"},
        {"{" MIXTRAL ", \"kv_lora_rank\": 512}", "multi-head latent attention is not supported"},
        {"{" MIXTRAL ", \"index_topk\": 2048}", "sparse attention is not supported"},
        {"{\"model_type\": \"dbrx\", \"num_experts\": 16}", "'dbrx' is not supported yet"},
        {"{\"model_type\": \"qwen3_next\", \"num_experts\": 512, \"linear_num_key_heads\": 16}",
         "'qwen3_next': linear attention (or a state space, recurrent or hybrid layer) is not"},
        {"{\"model_type\": \"gemma4\", \"text_config\": {\"enable_moe_block\": true}}",
         "'gemma4': experts beside a dense MLP in one layer is not"},
        {"{\"model_type\": \"gemma4\", \"text_config\": {\"global_head_dim\": 512}}",
         "a size that differs from layer to layer"},
        {"{\"model_type\": \"gemma4\", \"text_config\": {\"attention_k_eq_v\": true}}",
         "keys that serve as values"},
        {"{\"model_type\": \"mamba\", \"state_size\": 16}", "linear attention"},
        {"{" LLAMA ", \"layer_types\": [\"full_attention\", \"linear_attention\"]}",
         "linear attention"},
        {"{\"model_type\": \"t5\", \"is_encoder_decoder\": true}", "encoder-decoder"},
        {"{\"model_type\": \"gemma3\", \"text_config\": {\"num_experts\": 128}}", "(128 experts)"},
        {"{\"model_type\": \"falcon\"}",
         "model_type 'falcon' is not supported yet; supported: bloom, "},
        {"{\"model_type\": \"lama\"}", "did you mean 'llama'?"},
        {"{\"model_type\": \"opt\", " SIZES ", \"ffn_dim\": 8, \"word_embed_proj_dim\": 32}",
         "word_embed_proj_dim: 32 differs"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(llm_shape_parse("small.json", cases[i].json, &error));
        g_test_message("%s", error->message);
        g_assert_error(error, LLM_ERROR, LLM_ERROR_UNSUPPORTED);
        g_assert_nonnull(strstr(error->message, cases[i].says));
        g_assert_null(strchr(error->message, '\n'));
    }
    /* One expert, or none, is a dense model; a harmless key may be anything. */
    g_autoptr(LlmShape) dense =
        parsed("{" LLAMA ", \"num_experts\": null, \"num_local_experts\": 1,"
               " \"layer_types\": [\"full_attention\"], \"rope_scaling\": {}}");
    g_assert_nonnull(dense);
}

static void
test_mistakes(void)
{
    g_test_summary("broken input: the place, what is wrong, what to write");
    static const struct {
        const char *json, *says;
    } cases[] = {
        {"{" LLAMA, "small.json"},
        {"", "small.json"},
        {"[1, 2]", "small.json"},
        {"{" SIZES "}", "model_type"},
        {"{\"model_type\": 3}", "model_type"},
        {"{\"model_type\": \"gpt\", \"n_embd\": 64, \"n_head\": 4, \"vocab_size\": 100}",
         "n_layer"},
        {"{\"model_type\": \"llama\", " SIZES "}", "intermediate_size"},
        {"{" LLAMA ", \"num_key_value_heads\": \"8\"}", "num_key_value_heads"},
        {"{" LLAMA ", \"num_key_value_heads\": 3}", "multiple of 3 key-value heads"},
        {"{" LLAMA ", \"max_position_embeddings\": 0}",
         "max_position_embeddings: 0 is out of range"},
        {"{" LLAMA ", \"max_position_embeddings\": 2147483648}", "out of range"},
        {"{" LLAMA ", \"tie_word_embeddings\": \"no\"}", "tie_word_embeddings"},
        {"{\"model_type\": \"gpt\", \"n_embd\": 64, \"n_layer\": 9223372036854775808, \"n_head\": 4,"
         " \"vocab_size\": 100}",
         "small.json:1: an integer has over"},
        {"{\"model_type\": \"gpt\", \"n_embd\": 64, \"n_layer\": 1e12, \"n_head\": 4, \"vocab_size\": 100}",
         "n_layer: 1000000000000 is out of range"},
        {"{\"model_type\": \"gpt\", \"n_embd\": 65, \"n_layer\": 1, \"n_head\": 4, \"vocab_size\": 100}",
         "n_embd: 65 is not a multiple of the 4 heads"},
        {"{\"model_type\": \"gpt\", \"n_embd\": 2147483647, \"n_layer\": 2147483647, \"n_head\": 1, \"n_inner\": 1,"
         " \"vocab_size\": 100}",
         "more than can be counted"},
        {"{" GPT2 ", \"num_hidden_layers\": 3}", "differs from 'n_layer'"},
        {"{" GPT2 ", \"resid_pdrop\": 1.5}", "resid_pdrop: expected a probability"},
        {"{" GPT2 ", \"attn_pdrop\": \"x\"}", "attn_pdrop"},
        {"{\"model_type\": \"gemma3\", \"text_config\": 4}", "text_config"},
        /* near misses */
        {"{" LLAMA ", \"tie_word_embedding\": true}",
         "key tie_word_embedding: no such key in a llama config; did you mean 'tie_word_embeddings'?"},
        {"{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layer\": 2, \"num_attention_heads\": 4,"
         " \"vocab_size\": 100, \"intermediate_size\": 96}",
         "did you mean 'num_hidden_layers'?"},
        {"{\"model_type\": \"gpt2\", \"n_embed\": 64, \"n_layer\": 2, \"n_head\": 4, \"vocab_size\": 100}",
         "did you mean 'n_embd'?"},
        {"{" LLAMA ", \"num_key_values_heads\": 2}", "did you mean 'num_key_value_heads'?"},
        {"{" LLAMA ", \"tie_word_embeddings\": false, \"tie_word_embedding\": true}",
         "did you mean 'tie_word_embeddings'?"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(llm_shape_parse("small.json", cases[i].json, &error));
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, cases[i].says));
        g_assert_null(strchr(error->message, '\n'));
    }
    /* The right key beside the odd one: the odd one is only odd. */
    g_autoptr(LlmShape) fine =
        parsed("{" LLAMA ", \"tie_word_embeddings\": true, \"tie_word_embedding\": true}");
    g_assert_true(fine->tied);
}

static void
test_overrides(void)
{
    g_test_summary("--set model.KEY=VALUE replaces a key, by any of its names, before reading");
    static const char *const good[] = {"model.num_hidden_layers=3", "model.n_positions=77",
                                       "model.tie_word_embeddings=false", NULL};
    g_autoptr(LlmShape) shape = llm_shape_load("gpt2-xl", good, NULL);
    g_assert_nonnull(shape);
    g_assert_cmpint(shape->layers, ==, 3);
    g_assert_cmpint(shape->position_rows, ==, 77);
    g_assert_false(shape->tied);
    g_assert_cmpint(shape->hidden, ==, 1600);
    static const struct {
        const char *set, *says;
    } bad[] = {
        {"model.n_layers=3",
         "model.n_layers: a gpt2 config has no such key; did you mean 'n_layer'?"},
        {"model.num_experts=8", "model.num_experts: a gpt2 config has no such key"},
        {"model.n_layer=many", "n_layer"},
        {"model.n_layer=-3", "n_layer: -3 is out of range"},
        {"model.n_layer=99999999999999999999", "n_layer"},
        {"model.n_layer=", "n_layer"},
        {"model.=3", "write model.KEY=VALUE"},
        {"gpu.memory=3", "write model.KEY=VALUE"},
        {"model.n_layer", "write model.KEY=VALUE"},
        {"model.model_type=mamba", "'mamba' is not supported yet"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        const char *const overrides[] = {bad[i].set, NULL};
        g_assert_null(llm_shape_load("gpt2-xl", overrides, &error));
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, bad[i].says));
    }
}

static void
test_paths(void)
{
    g_test_summary("a file, NAME.config.json, a folder with config.json; else the shipped names");
    g_autofree char *folder = g_dir_make_tmp("llm-shape-XXXXXX", NULL);
    g_autofree char *inner = g_build_filename(folder, "tiny-llama", NULL);
    g_autofree char *named = g_build_filename(folder, "other.config.json", NULL);
    g_autofree char *config = g_build_filename(inner, "config.json", NULL);
    g_assert_cmpint(g_mkdir(inner, 0700), ==, 0);
    g_assert_true(g_file_set_contents(named, "{" LLAMA "}", -1, NULL));
    g_assert_true(g_file_set_contents(config, "{" LLAMA "}", -1, NULL));
    const char *const paths[][2] = {
        {named, "other"}, {config, "tiny-llama"}, {inner, "tiny-llama"}};
    for (guint i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autoptr(LlmShape) shape = llm_shape_load(paths[i][0], NULL, NULL);
        g_assert_nonnull(shape);
        g_assert_cmpstr(shape->name, ==, paths[i][1]);
    }
    g_remove(config);
    g_remove(named);
    g_autoptr(GError) error = NULL;
    g_assert_null(llm_shape_load(inner, NULL, &error));
    g_assert_nonnull(strstr(error->message, "config.json"));
    g_rmdir(inner);
    g_rmdir(folder);
    g_clear_error(&error);
    g_assert_null(llm_shape_load("gpt3-176b", NULL, &error));
    g_assert_error(error, LLM_ERROR, LLM_ERROR_UNSUPPORTED);
    g_assert_nonnull(strstr(error->message, "'gpt3-176b'"));
    g_assert_nonnull(strstr(error->message, "gpt3-175b"));
}

static void
test_print_round_trip(void)
{
    g_test_summary("what is printed of any shipped shape reads as the same shape");
    g_auto(GStrv) names = llm_shape_names();
    g_assert_cmpuint(g_strv_length(names), >, 20);
    for (guint i = 0; names[i] != NULL; i++) {
        if (i > 0) {
            g_assert_cmpstr(names[i - 1], <, names[i]);
        }
        g_autoptr(GError) error = NULL;
        g_autoptr(LlmShape) shape = llm_shape_load(names[i], NULL, &error);
        g_assert_no_error(error);
        g_autofree char *text = llm_shape_print(shape);
        g_autoptr(LlmShape) again = llm_shape_parse(names[i], text, &error);
        g_assert_no_error(error);
        g_autofree char *text_again = llm_shape_print(again);
        g_assert_cmpstr(text, ==, text_again);
        LlmShape flat = *shape;
        flat.name = again->name;
        flat.family = again->family;
        g_assert_cmpmem(&flat, sizeof flat, again, sizeof *again);
    }
}

static void
test_check(void)
{
    g_test_summary("shapes built in code are held to the same limits");
    g_autoptr(LlmShape) good = parsed("{" LLAMA "}");
    const struct {
        LlmShape shape;
        const char *says;
    } cases[] = {
        {.shape.layers = 0, .says = "layers: 0"},
        {.shape.layers = (gint64)1 << 31, .says = "layers: 2147483648"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        LlmShape shape = *good;
        shape.layers = cases[i].shape.layers;
        g_assert_false(llm_shape_check(&shape, &error));
        g_assert_error(error, LLM_ERROR, LLM_ERROR_SHAPE);
        g_assert_nonnull(strstr(error->message, cases[i].says));
    }
    g_assert_true(llm_shape_check(good, NULL));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/llm/shape/gpt2-defaults", test_gpt2_defaults);
    g_test_add_func("/llm/shape/llama-defaults", test_llama_defaults);
    g_test_add_func("/llm/shape/what-other-families-imply", test_other_families);
    g_test_add_func("/llm/shape/text-part-of-a-multimodal-file", test_text_config);
    g_test_add_func("/llm/shape/unsupported-is-refused-by-name", test_refusals);
    g_test_add_func("/llm/shape/mistakes-are-named", test_mistakes);
    g_test_add_func("/llm/shape/overrides", test_overrides);
    g_test_add_func("/llm/shape/names-and-paths", test_paths);
    g_test_add_func("/llm/shape/print-reads-back", test_print_round_trip);
    g_test_add_func("/llm/shape/check-of-shapes-built-in-code", test_check);
    return g_test_run();
}
