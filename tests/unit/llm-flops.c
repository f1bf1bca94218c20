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
        g_autoptr(LlmShape) shape = shipped(row[0]);
        for (guint c = 0; c < G_N_ELEMENTS(columns); c++) {
            const char *expected = row[2 + c];
            if (strcmp(expected, "-") == 0) {
                continue;
            }
            double flops = llm_flops_per_token(shape, whole(row[1]), columns[c]);
            const char *format = strchr(expected, 'e') != NULL ? "%.6e" : "%.0f";
            char text[G_ASCII_DTOSTR_BUF_SIZE];
            g_test_message("%s %s", row[0], llm_flops_name(columns[c]));
            g_assert_cmpstr(g_ascii_formatd(text, sizeof text, format, flops), ==, expected);
        }
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
    g_test_add_func("/llm/flops/names", test_names);
    return g_test_run();
}
