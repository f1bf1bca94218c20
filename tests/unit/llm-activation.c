/* Activation bytes: a table computed apart, Korthikanti's formulas and published figures,
 * recompute. */
#include "config.h"

#include "llm/ops.h"

#include "llm-fixture.h"

static void
test_table(void)
{
    g_test_summary("bytes of a layer with and without recompute, to the byte");
    g_autoptr(GPtrArray) rows = rows_of("activation_per_layer.tsv");
    for (guint i = 0; i < rows->len; i++) {
        char **row = rows->pdata[i];
        g_autoptr(LlmShape) shape = shipped(row[0]);
        LlmCut cut = cut_of(shape, whole(row[3]), strcmp(row[4], "True") == 0, whole(row[1]));
        cut.micro_batch = whole(row[2]);
        cut.dropout = strcmp(row[6], "True") == 0;
        gboolean flash = strcmp(row[5], "flash") == 0;
        cut.attention = flash ? LLM_ATTENTION_FLASH : LLM_ATTENTION_UNFUSED;
        double full = (double)whole(row[7]);
        g_test_message("%s tp %s sp %s %s", row[0], row[3], row[4], row[5]);
        g_assert_cmpfloat(llm_activation_bytes(shape, &cut, LLM_PIECE_LAYER), ==, full);
        g_assert_cmpfloat(llm_transient_bytes(shape, &cut, LLM_PIECE_LAYER), ==, 0.0);
        cut.recompute = LLM_RECOMPUTE_FULL;
        g_assert_cmpfloat(llm_activation_bytes(shape, &cut, LLM_PIECE_LAYER), ==,
                          (double)whole(row[8]));
        g_assert_cmpfloat(llm_transient_bytes(shape, &cut, LLM_PIECE_LAYER), ==,
                          full - (double)whole(row[8])); /* the input is there */
        cut.recompute = LLM_RECOMPUTE_SELECTIVE;
        double kept = llm_activation_bytes(shape, &cut, LLM_PIECE_LAYER);
        double again = llm_transient_bytes(shape, &cut, LLM_PIECE_LAYER);
        g_assert_cmpfloat(kept + again, ==, full);
        double rows_of_scores =
            (double)cut.micro_batch * (double)cut.seq * (double)(shape->heads / cut.tp);
        double per_row = flash ? 4.0 : (double)cut.seq * (cut.dropout ? 5.0 : 2.0);
        g_assert_cmpfloat(again, ==, rows_of_scores * per_row);
    }
}

/* Korthikanti et al. figure 1: GiB of activations of the first stage, which in 1F1B with m chunks
 * a stage holds L (1 + (p-1)/pm) layers. TP: s b h (10 + 24/t + 5 a s / h t) each; SP and
 * selective: 34 s b h / t. */
static void
test_korthikanti(void)
{
    g_test_summary("the paper's figure 1 comes out to all digits that are recorded of it");
    static const struct {
        const char *name;
        gint64 micro_batch, pp, chunks;
        double tensor_gib, selective_gib;
    } cases[] = {
        {"korthikanti-22b", 4, 1, 1, 59.25, 9.5625},
        {"korthikanti-175b", 1, 8, 3, 66.84375, 12.3515625},
        {"korthikanti-530b", 1, 35, 3, 114.0234375, 23.076171875},
        {"korthikanti-1t", 1, 64, 1, 131.25, 26.5625},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(LlmShape) shape = shipped(cases[i].name);
        LlmCut cut = cut_of(shape, 8, FALSE, 2048);
        cut.micro_batch = cases[i].micro_batch;
        cut.attention = LLM_ATTENTION_UNFUSED;
        double pp = (double)cases[i].pp;
        double layers = (double)shape->layers;
        if (cases[i].chunks > 1) {
            layers *= 1.0 + (pp - 1.0) / (pp * (double)cases[i].chunks);
        }
        double gib = layers / (double)(1 << 30);
        g_test_message("%s", cases[i].name);
        g_assert_cmpfloat_with_epsilon(llm_activation_bytes(shape, &cut, LLM_PIECE_LAYER) * gib,
                                       cases[i].tensor_gib, 1e-9);
        cut.sequence_parallel = TRUE;
        cut.recompute = LLM_RECOMPUTE_SELECTIVE;
        g_assert_cmpfloat_with_epsilon(llm_activation_bytes(shape, &cut, LLM_PIECE_LAYER) * gib,
                                       cases[i].selective_gib, 1e-9);
    }
}

static void
test_ends(void)
{
    g_test_summary(
        "embedding: ids and dropout mask; head: norm in and out, transient the logits twice");
    g_autoptr(LlmShape) shape = shipped("gpt3-175b");
    double n = 2048;
    double h = 12288;
    LlmCut cut = cut_of(shape, 8, TRUE, 2048);
    g_assert_cmpfloat(llm_activation_bytes(shape, &cut, LLM_PIECE_EMBEDDING), ==,
                      8 * n + n * h / 8);
    g_assert_cmpfloat(llm_activation_bytes(shape, &cut, LLM_PIECE_HEAD), ==, 4 * n * h / 8);
    g_assert_cmpfloat(llm_transient_bytes(shape, &cut, LLM_PIECE_HEAD), ==, 6 * n * 51200 / 8);
    cut.dropout = FALSE;
    cut.sequence_parallel = FALSE;
    cut.cp = 2;
    cut.dtype = CLUSTER_FP32;
    g_assert_cmpfloat(llm_activation_bytes(shape, &cut, LLM_PIECE_EMBEDDING), ==, 8 * n / 2);
    g_assert_cmpfloat(llm_activation_bytes(shape, &cut, LLM_PIECE_HEAD), ==, 8 * n / 2 * h);
    g_assert_cmpfloat(llm_transient_bytes(shape, &cut, LLM_PIECE_HEAD), ==, 8 * n / 2 * 51200 / 8);
    g_assert_cmpfloat(llm_transient_bytes(shape, &cut, LLM_PIECE_EMBEDDING), ==, 0);
}

static void
test_more_cutting_never_keeps_more(void)
{
    g_test_summary(
        "bytes do not rise with tp, with sequence parallelism, with cp, or with recompute");
    static const char *const models[] = {"gpt3-13b", "llama3-70b", "gpt-neox-20b", "gemma-2-9b",
                                         "bloom-176b"};
    for (guint i = 0; i < 200; i++) {
        g_autoptr(LlmShape) shape = shipped(models[g_test_rand_int_range(0, G_N_ELEMENTS(models))]);
        LlmCut cut = cut_of(shape, 1, g_test_rand_bit(), 256 * g_test_rand_int_range(1, 20));
        cut.attention = g_test_rand_bit() ? LLM_ATTENTION_FLASH : LLM_ATTENTION_UNFUSED;
        cut.dropout = g_test_rand_bit();
        static const LlmPiece pieces[] = {LLM_PIECE_EMBEDDING, LLM_PIECE_LAYER, LLM_PIECE_HEAD,
                                          LLM_PIECE_LAYER_WINDOW, LLM_PIECE_MTP};
        LlmPiece piece = pieces[g_test_rand_int_range(0, G_N_ELEMENTS(pieces))];
        double before = llm_activation_bytes(shape, &cut, piece);
        for (gint64 tp = 2; tp <= 8; tp *= 2) {
            cut.tp = tp;
            double now = llm_activation_bytes(shape, &cut, piece);
            g_assert_cmpfloat(now, <=, before);
            LlmCut more = cut;
            more.cp = 2;
            g_assert_cmpfloat(llm_activation_bytes(shape, &more, piece), <=, now);
            more = cut;
            more.sequence_parallel = TRUE;
            g_assert_cmpfloat(llm_activation_bytes(shape, &more, piece), <=, now);
            more.recompute = LLM_RECOMPUTE_SELECTIVE;
            double selective = llm_activation_bytes(shape, &more, piece);
            g_assert_cmpfloat(selective, <=, now);
            more.recompute = LLM_RECOMPUTE_FULL;
            g_assert_cmpfloat(llm_activation_bytes(shape, &more, piece), <=, selective);
            before = now;
        }
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/llm/activation/layer-to-the-byte", test_table);
    g_test_add_func("/llm/activation/korthikanti-figure-1", test_korthikanti);
    g_test_add_func("/llm/activation/embedding-and-head", test_ends);
    g_test_add_func("/llm/activation/more-cutting-never-keeps-more",
                    test_more_cutting_never_keeps_more);
    return g_test_run();
}
