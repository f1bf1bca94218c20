/* Parameters: published totals of the shipped models, and shares under tensor parallelism. */
#include "config.h"

#include "llm/parameters.h"

#include "llm-fixture.h"

static void
test_published_totals(void)
{
    g_test_summary("the totals are those of the published weights, to the parameter");
    static const struct {
        const char *name;
        gint64 total;
    } models[] = {
        {"gpt2-xl", 1557611200},       {"llama2-7b", 6738415616},     {"llama2-13b", 13015864320},
        {"llama2-70b", 68976648192},   {"llama3-8b", 8030261248},     {"llama3-70b", 70553706496},
        {"llama3-405b", 405853388800}, {"mistral-7b", 7241732096},    {"qwen2.5-7b", 7615616512},
        {"qwen2.5-72b", 72706203648},  {"qwen3-32b", 32762123264},    {"bloom-176b", 176247271424},
        {"gemma-2-9b", 9241705984},    {"gpt-neox-20b", 20554567680},
    };
    for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
        g_autoptr(LlmShape) shape = shipped(models[i].name);
        LlmParameters p = llm_parameters(shape);
        g_test_message("%s", models[i].name);
        g_assert_cmpint(p.total, ==, models[i].total);
        g_assert_cmpint(p.active, ==, p.total);
        g_assert_cmpint(p.total, ==,
                        p.embedding + p.position + p.embedding_norm + shape->layers * p.layer +
                            p.final_norm + p.head);
    }
}

static void
test_megatron_table(void)
{
    g_test_summary(
        "P = 12 L h^2 (1 + 13/12h + (V + s)/12Lh), SC'21 equation 2; billions as in its table 1");
    static const struct {
        const char *name;
        double billions;
    } models[] = {
        {"megatron-1.7b", 1.7},   {"megatron-3.6b", 3.6},      {"megatron-7.5b", 7.5},
        {"megatron-18b", 18.4},   {"megatron-39b", 39.1},      {"megatron-76b", 76.1},
        {"megatron-145b", 145.6}, {"megatron-310b", 310.1},    {"megatron-530b", 529.6},
        {"megatron-1t", 1008.0},  {"korthikanti-22b", 22.1},   {"korthikanti-175b", 174.6},
        {"gpt3-175b", 174.6},     {"korthikanti-530b", 529.6}, {"korthikanti-1t", 1008.0},
    };
    for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
        g_autoptr(LlmShape) s = shipped(models[i].name);
        gint64 total = llm_parameters(s).total;
        gint64 h = s->hidden;
        /* Its closed form leaves the final norm's 2h out. */
        gint64 closed =
            s->layers * (12 * h * h + 13 * h) + h * (s->vocab + s->max_positions) + 2 * h;
        g_test_message("%s", models[i].name);
        g_assert_cmpint(total, ==, closed);
        g_assert_cmpfloat_with_epsilon((double)total / 1e9, models[i].billions, 0.0501);
    }
}

static void
test_shares_per_rank(void)
{
    g_test_summary("what tp cuts adds up to the whole; norms and row biases are on every rank");
    g_auto(GStrv) names = llm_shape_names();
    for (guint i = 0; names[i] != NULL; i++) {
        g_autoptr(LlmShape) s = shipped(names[i]);
        LlmParameters p = llm_parameters(s);
        g_assert_cmpint(llm_layer_parameters_per_rank(s, 1), ==, p.layer);
        for (gint64 tp = 2; tp <= 8; tp *= 2) {
            if (s->heads % tp != 0 || s->kv_heads % tp != 0 || s->ffn % tp != 0) {
                continue;
            }
            gint64 norm = s->norm == LLM_NORM_LAYER ? 2 * s->hidden : s->hidden;
            gint64 whole_part = (s->post_norms ? 4 : 2) * norm +
                                (s->qk_norm ? 2 * s->head_dim : 0) + (s->out_bias ? s->hidden : 0) +
                                (s->mlp_bias ? s->hidden : 0);
            gint64 rank = llm_layer_parameters_per_rank(s, tp);
            g_assert_cmpint(tp * (rank - whole_part), ==, p.layer - whole_part);
        }
    }
    /* 4 key-value heads on 8 ranks: each holds one whole head of keys and of values. */
    g_autoptr(LlmShape) few = shipped("qwen3-32b");
    few->kv_heads = 4;
    gint64 h = few->hidden;
    gint64 expected = h * (8 + 2 * 1) * 128 + 8 * 128 * h + 3 * h * few->ffn / 8 + 2 * h + 2 * 128;
    g_assert_cmpint(llm_layer_parameters_per_rank(few, 8), ==, expected);
}

static void
test_padded_vocabulary(void)
{
    static const struct {
        gint64 vocab, multiple, padded;
    } cases[] = {{50257, 128, 50304}, {50257, 1024, 51200}, {51200, 1024, 51200}, {1, 1, 1}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        LlmShape shape = {.vocab = cases[i].vocab};
        g_assert_cmpint(llm_padded_vocab(&shape, cases[i].multiple), ==, cases[i].padded);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/llm/parameters/published-totals", test_published_totals);
    g_test_add_func("/llm/parameters/megatron-closed-form", test_megatron_table);
    g_test_add_func("/llm/parameters/shares-per-rank", test_shares_per_rank);
    g_test_add_func("/llm/parameters/padded-vocabulary", test_padded_vocabulary);
    return g_test_run();
}
