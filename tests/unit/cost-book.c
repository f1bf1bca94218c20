/* Loading: a missing table is no error; a bad one is, with file, line and column. */
#include "config.h"

#include "cost/kernel.h"

#include "cluster/tables.h"

#include "cost-fixture.h"

#include <glib/gstdio.h>
#include <math.h>

static const struct {
    const char *file, *text, *message;
} bad[] = {
    {"gemm.tsv", "dtype\tm\tn\tk\ttime_us\nbf16\t1\t1\t1\t5\n", "batch"},
    {"gemm.tsv", "dtype\tm\tn\tk\tbatch\ttime_us\nbf16\t8\t8\t8\t1\tnan\n",
     "gemm.tsv:2: column time_us"},
    {"gemm.tsv", "dtype\tm\tn\tk\tbatch\ttime_us\nbf16\t8\t8\t8\t1\t-3\n",
     "must be from 0.001 to 1e12"},
    {"gemm.tsv", "dtype\tm\tn\tk\tbatch\ttime_us\nbf16\t8\t0\t8\t1\t3\n", "gemm.tsv:2: column n"},
    {"gemm.tsv", "dtype\tm\tn\tk\tbatch\ttime_us\nbf16\t8\t8.5\t8\t1\t3\n", "gemm.tsv:2: column n"},
    {"gemm.tsv", "dtype\tm\tn\tk\tbatch\ttime_us\nbf17\t8\t8\t8\t1\t3\n", "'bf17' is not known"},
    {"gemm.tsv", "dtype\tm\tn\tk\tbatch\ttime_us\tpass\nbf16\t8\t8\t8\t1\t3\tback\n",
     "'back' is no pass"},
    {"memory.tsv", "kernel\tbytes\ttime_us\nlayer_norm\t100\t3\n", "'layer_norm' is no kernel"},
    {"memory.tsv", "kernel\tbytes\ttime_us\nnorm\t0\t3\n", "memory.tsv:2: column bytes"},
    {"memory.tsv", "kernel\tbytes\ttime_us\nnorm\t100\t0\n", "memory.tsv:2: column time_us"},
    {"memory.tsv", "kernel\tbyte\ttime_us\nnorm\t100\t1\n", "bytes"},
    {"attention.tsv",
     "dtype\tbatch\theads\tkv_heads\thead_dim\tseq\tcausal\tforward_us\tbackward_us\n"
     "bf16\t1\t1\t1\t64\t128\tyes\t5\t-\n",
     "attention.tsv:2: column causal: 'yes' is neither; write 0 or 1"},
    {"attention.tsv",
     "dtype\tbatch\theads\tkv_heads\thead_dim\tseq\tcausal\tforward_us\tbackward_us\n"
     "bf16\t1\t1\t1\t64\t128\t1\t5\tinf\n",
     "attention.tsv:2: column backward_us"},
};

static void
test_bad(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("dtsim-cost-XXXXXX", &error);
    g_assert_no_error(error);
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    g_free(s->directory);
    s->directory = g_strdup(folder);
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *path = g_build_filename(folder, bad[i].file, NULL);
        g_assert_true(g_file_set_contents(path, bad[i].text, -1, &error));
        g_autoptr(GError) complaint = NULL;
        g_assert_null(cost_book_load(s, &complaint));
        g_assert_nonnull(complaint);
        g_test_message("%s", complaint->message);
        if (!strstr(complaint->message, bad[i].message))
            g_error("'%s' does not say '%s'", complaint->message, bad[i].message);
        g_assert_cmpint(g_remove(path), ==, 0);
    }
    g_assert_cmpint(g_rmdir(folder), ==, 0);
}

/* A "-" in attention.tsv means not measured; two rows of one GEMM count as their geometric mean. */
static void
test_small(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("dtsim-cost-XXXXXX", &error);
    g_autofree char *attention = g_build_filename(folder, "attention.tsv", NULL);
    g_autofree char *gemm = g_build_filename(folder, "gemm.tsv", NULL);
    const char *rows =
        "dtype\tbatch\theads\tkv_heads\thead_dim\tseq\tcausal\tforward_us\tbackward_us\n"
        "fp16\t1\t8\t8\t64\t128\t1\t50\t-\n";
    const char *gemms =
        "dtype\tm\tn\tk\tbatch\ttime_us\nbf16\t8\t8\t8\t1\t10\nbf16\t8\t8\t8\t1\t40\n";
    g_assert_true(g_file_set_contents(attention, rows, -1, &error));
    g_assert_true(g_file_set_contents(gemm, gemms, -1, &error));
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    g_free(s->directory);
    s->directory = g_strdup(folder);
    g_autoptr(CostBook) book = cost_fixture_book(s);
    CostAttention a = {.dtype = CLUSTER_BF16,
                       .batch = 1,
                       .heads = 8,
                       .kv_heads = 8,
                       .head_dim = 64,
                       .seq_q = 128,
                       .seq_kv = 128,
                       .causal = TRUE};
    g_assert_cmpfloat(cost_attention(book, &a).ns, ==, 50000);
    a.backward = TRUE;
    g_assert_cmpint(cost_attention(book, &a).basis, ==, COST_MODELLED);
    CostGemm g = {.dtype = CLUSTER_FP16, .m = 8, .n = 8, .k = 8, .batch = 1};
    g_assert_cmpfloat_with_epsilon(cost_gemm(book, &g).ns, 20000, 1e-6);
    g_assert_cmpint(cost_gemm(book, &g).basis, ==, COST_MEASURED);
    g_remove(attention);
    g_remove(gemm);
    g_rmdir(folder);
}

static void
test_shipped(void)
{
    g_auto(GStrv) names = cluster_system_names();
    for (guint i = 0; names[i]; i++) {
        g_autoptr(ClusterSystem) s = cost_fixture_shipped(names[i]);
        g_autoptr(CostBook) book = cost_fixture_book(s);
        guint gemm = 0, attention = 0, memory = 0;
        cost_book_counts(book, &gemm, &attention, &memory);
        g_test_message("%s: %u GEMM, %u attention, %u memory rows", names[i], gemm, attention,
                       memory);
        g_assert_cmpuint(gemm, >, 50);
        g_autofree char *path = cluster_table_path(s, CLUSTER_TABLE_MEMORY);
        const char *lender = conf_keyfile_text(s->conf, "tables", "memory");
        if (path || *lender)
            g_assert_cmpuint(memory, >, 20);
        else /* nobody measured: modelled */
            g_assert_cmpuint(memory, ==, 0);
    }
}

/* A table of another system counts as after overrides that make that one like this: GEMM bound by memory
 * takes longer on 1555 GB/s than on 2039 where it was measured, GEMM bound by the peak takes the same time. */
static void
test_lent(void)
{
    g_autoptr(ClusterSystem) own = cost_fixture_shipped("dgx-a100-80g");
    g_autoptr(ClusterSystem) borrower = cost_fixture_shipped("dgx-a100-40g");
    g_autoptr(CostBook) of_own = cost_fixture_book(own);
    g_autoptr(CostBook) lent = cost_fixture_book(borrower);
    CostGemm wide = {.dtype = CLUSTER_BF16, .m = 8192, .n = 8192, .k = 8192, .batch = 1};
    CostGemm thin = {.dtype = CLUSTER_BF16, .m = 128, .n = 65536, .k = 512, .batch = 1};
    double same = cost_gemm(lent, &wide).ns / cost_gemm(of_own, &wide).ns;
    double longer = cost_gemm(lent, &thin).ns / cost_gemm(of_own, &thin).ns;
    g_test_message("bound by the peak x%.3f, by memory x%.3f", same, longer);
    g_assert_cmpfloat(fabs(same - 1), <, 0.02);
    double rates = 2039 * 0.85 / (1555 * 0.89);
    g_assert_cmpfloat(longer, >, 1 + (rates - 1) / 2);
    g_assert_cmpfloat(longer, <, rates + 0.02);
    const char *set[] = {"tables.gemm=", NULL};
    g_autoptr(GError) error = NULL;
    g_autoptr(ClusterSystem) bare = cluster_system_load("dgx-a100-40g", set, &error);
    g_assert_no_error(error);
    g_autoptr(CostBook) modelled = cost_fixture_book(bare);
    g_assert_cmpint(cost_gemm(modelled, &wide).basis, ==, COST_MODELLED);
}

/* Overrides act on measured times: twice the peak halves what is bound by it, twice the memory rate
 * what is bound by that; a link's rate changes nothing here. */
static void
test_overrides(void)
{
    static const char *const sets[] = {"gpu.peak-bf16=624TFLOPS", "gpu.peak-fp16=624TFLOPS",
                                       "gpu.memory-rate=4078GBps", "nic.rate=1Gbps"};
    CostGemm wide = {.dtype = CLUSTER_BF16, .m = 8192, .n = 8192, .k = 8192, .batch = 1};
    CostAttention a = {.dtype = CLUSTER_FP16,
                       .batch = 4,
                       .heads = 16,
                       .kv_heads = 16,
                       .head_dim = 128,
                       .seq_q = 4096,
                       .seq_kv = 4096,
                       .causal = TRUE};
    g_autoptr(ClusterSystem) plain = cost_fixture_shipped("dgx-a100-80g");
    g_autoptr(CostBook) before = cost_fixture_book(plain);
    for (guint i = 0; i < G_N_ELEMENTS(sets); i++) {
        const char *set[] = {sets[i], NULL};
        g_autoptr(GError) error = NULL;
        g_autoptr(ClusterSystem) s = cluster_system_load("dgx-a100-80g", set, &error);
        g_assert_no_error(error);
        g_autoptr(CostBook) book = cost_fixture_book(s);
        double gemm = cost_gemm(book, &wide).ns / cost_gemm(before, &wide).ns;
        double attention = cost_attention(book, &a).ns / cost_attention(before, &a).ns;
        double copy = cost_memory(book, COST_COPY, 1e9).ns / cost_memory(before, COST_COPY, 1e9).ns;
        g_assert_cmpfloat_with_epsilon(gemm, i == 0 ? 0.5 : 1, 1e-9);
        g_assert_cmpfloat_with_epsilon(attention, i == 1 ? 0.5 : 1, 1e-9);
        g_assert_cmpfloat_with_epsilon(copy, i == 2 ? 0.5 : 1, 1e-9);
        g_assert_cmpint(cost_gemm(book, &wide).basis, ==, i == 0 ? COST_MODELLED : COST_MEASURED);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cost/book/bad-tables-say-where", test_bad);
    g_test_add_func("/cost/book/small-tables-load", test_small);
    g_test_add_func("/cost/book/shipped-machines-load", test_shipped);
    g_test_add_func("/cost/book/overrides-act-on-measured-times", test_overrides);
    g_test_add_func("/cost/book/tables-are-lent", test_lent);
    return g_test_run();
}
