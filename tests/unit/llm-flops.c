/* FLOPs per token in each convention against a table computed apart. */
#include "config.h"

#include "llm/flops.h"

#include "llm-fixture.h"

static void
test_table(void)
{
    g_test_summary("each convention agrees to all digits of the table");
    static const LlmFlopsConvention columns[] = {
        LLM_FLOPS_SC21, LLM_FLOPS_KORTHIKANTI, LLM_FLOPS_MEGATRON, LLM_FLOPS_TORCHTITAN,
        LLM_FLOPS_PALM, LLM_FLOPS_LLM_FOUNDRY, LLM_FLOPS_NANOTRON,
    };
    g_autoptr(GPtrArray) rows = rows_of("flops_per_token.tsv");
    for (guint i = 0; i < rows->len; i++) {
        char **row = rows->pdata[i];
        g_auto(GStrv) words = g_strsplit(row[0], " ", 2);
        g_autoptr(LlmShape) shape = shipped(words[0]);
        if (words[1] != NULL) { /* "(no module)" */
            shape->mtp_layers = 0;
        }
        for (guint c = 0; c < G_N_ELEMENTS(columns); c++) {
            const char *expected = row[2 + c];
            if (strcmp(expected, "-") == 0) {
                continue;
            }
            double flops = llm_flops_per_token(shape, whole(row[1]), columns[c]);
            if (columns[c] == LLM_FLOPS_MEGATRON) { /* the table leaves the latents' norms out */
                flops -= 6.0 * (double)(shape->layers * (shape->q_lora + shape->kv_lora));
            }
            const char *format = strchr(expected, 'e') != NULL ? "%.6e" : "%.0f";
            char text[G_ASCII_DTOSTR_BUF_SIZE];
            g_test_message("%s %s", row[0], llm_flops_name(columns[c]));
            g_assert_cmpstr(g_ascii_formatd(text, sizeof text, format, flops), ==, expected);
        }
    }
}

static void
test_prediction_module(void)
{
    g_test_summary(
        "Megatron counts a module's layer, 2h^2 + 3h, and the head again; the others none");
    g_autoptr(LlmShape) s = shipped("deepseek-v3");
    g_assert_cmpint(s->mtp_layers, ==, 1);
    double h = 7168, seq = 4096;
    /* The module's layer: latent attention, 8 routed experts and the shared one, all of width 2048. */
    double attention = h * 1536 + 1536 * 128.0 * 192 + h * (512 + 64) + 512 * 128.0 * 256 +
                       128.0 * 128 * h + 1536 + 512;
    double layer = attention + 9 * 3 * h * 2048;
    double more = 6 * (layer + 2 * h * h + 3 * h + h * 129280) + 3 * 128.0 * (192 + 128) * seq;
    double with = llm_flops_per_token(s, 4096, LLM_FLOPS_MEGATRON);
    double palm = llm_flops_per_token(s, 4096, LLM_FLOPS_PALM);
    s->mtp_layers = 0;
    g_assert_cmpfloat(with - llm_flops_per_token(s, 4096, LLM_FLOPS_MEGATRON), ==, more);
    g_assert_cmpfloat(palm, ==, llm_flops_per_token(s, 4096, LLM_FLOPS_PALM));
}

static void
test_router(void)
{
    g_test_summary("the router's 6 h E a layer are in torchtitan's count and not in Megatron's");
    g_autoptr(LlmShape) s = shipped("mixtral-8x7b");
    double active =
        32.0 * (4096.0 * (4096 + 2048) + 4096.0 * 4096 + 2 * 3 * 4096.0 * 14336) + 4096.0 * 32000;
    double causal = 6 * 32.0 * 4096 * 8192;
    g_assert_cmpfloat(llm_flops_per_token(s, 8192, LLM_FLOPS_MEGATRON), ==, 6 * active + causal);
    g_assert_cmpfloat(llm_flops_per_token(s, 8192, LLM_FLOPS_TORCHTITAN), ==,
                      6 * (active + 32.0 * 8 * 4096) + 2 * causal);
    /* Two experts of width 14336 are to nanotron a gated MLP of width 28672. */
    g_autoptr(LlmShape) dense = shipped("mixtral-8x7b");
    dense->experts = 0;
    dense->ffn = 2 * 14336;
    g_assert_cmpfloat(llm_flops_per_token(s, 8192, LLM_FLOPS_NANOTRON), ==,
                      llm_flops_per_token(dense, 8192, LLM_FLOPS_NANOTRON));
}

static void
test_window_is_not_asked(void)
{
    g_test_summary("a window changes no convention's count");
    g_autoptr(LlmShape) s = shipped("gpt-oss-20b");
    g_assert_cmpint(s->sliding_window, ==, 128);
    for (guint c = 0; c < LLM_FLOPS_N; c++) {
        double with = llm_flops_per_token(s, 8192, (LlmFlopsConvention)c);
        LlmShape full = *s;
        full.sliding_window = full.global_every = 0;
        g_assert_cmpfloat(llm_flops_per_token(&full, 8192, (LlmFlopsConvention)c), ==, with);
    }
}

static void
test_names(void)
{
    for (guint i = 0; i < LLM_FLOPS_N; i++) {
        LlmFlopsConvention back = LLM_FLOPS_N;
        g_assert_true(llm_flops_parse(llm_flops_name((LlmFlopsConvention)i), &back, NULL));
        g_assert_cmpint(back, ==, i);
    }
    g_autoptr(GError) error = NULL;
    LlmFlopsConvention untouched = LLM_FLOPS_PALM;
    g_assert_false(llm_flops_parse("chinchilla", &untouched, &error));
    g_assert_error(error, LLM_ERROR, LLM_ERROR_UNSUPPORTED);
    g_assert_cmpint(untouched, ==, LLM_FLOPS_PALM);
    g_assert_nonnull(strstr(error->message, "megatron, sc21"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/llm/flops/each-convention-to-the-digit", test_table);
    g_test_add_func("/llm/flops/prediction-module", test_prediction_module);
    g_test_add_func("/llm/flops/router", test_router);
    g_test_add_func("/llm/flops/window-is-not-asked", test_window_is_not_asked);
    g_test_add_func("/llm/flops/names", test_names);
    return g_test_run();
}
