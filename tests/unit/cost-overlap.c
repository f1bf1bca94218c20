/* Kernels and collectives slow each other: rows of overlap.tsv, refusals, and the model between and without
 * them. */
#include "config.h"

#include "cost/book.h"
#include "cost/roofline.h"

#include "cost-fixture.h"

#define HEADER "work\ttraffic\tchannels\trate_GBps\twork_slowdown\ttraffic_slowdown\n"

static CostOverlapTable *
table_of(const ClusterSystem *system, const char *rows, GError **error)
{
    g_autofree char *text = g_strconcat(HEADER, rows, NULL);
    g_autoptr(ConfTable) table = conf_table_parse("overlap.tsv", text, '\t', error);
    g_assert_nonnull(table);
    return cost_overlap_table_new(system, table, error);
}

/* A collective that sends 6 GB/s moves 18 GB/s in HBM, a fifth of 90, and takes 2 of 10 SMs. A kernel bound by memory
 * has 8/10 of the SMs, and finds 1.2 requests where there was one: 1.25 x 1.2 = 1.5. It uses half of HBM, so the
 * collective takes 1.5 times as long. */
static void
test_model(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    g_autoptr(CostBook) book = cost_fixture_book(s);
    CostBeside beside = {COST_TRAFFIC_NVLINK, 2,
                         cost_traffic_hbm_frac(s, COST_TRAFFIC_NVLINK, 6e9, 1e9)};
    g_assert_cmpfloat_with_epsilon(beside.hbm_frac, 0.2, 1e-12);
    CostBusy work = {COST_WORK_MEMORY, cost_memory_sm_slowdown(s, 2), cost_hbm_frac(s, 45e9, 1e9)};
    CostSlowdown slow = cost_slowdown(book, work, beside);
    g_assert_cmpfloat_with_epsilon(slow.work, 1.5, 1e-12);
    g_assert_cmpfloat_with_epsilon(slow.traffic, 1.5, 1e-12);
    g_assert_cmpint(slow.basis, ==, COST_MODELLED);
    /* Copy engines take no SM, and two passes: 12 of 90 GB/s. */
    CostBeside copy = {COST_TRAFFIC_COPY, 0, cost_traffic_hbm_frac(s, COST_TRAFFIC_COPY, 6e9, 1e9)};
    work.sm_slowdown = cost_memory_sm_slowdown(s, 0);
    g_assert_cmpfloat_with_epsilon(cost_slowdown(book, work, copy).work, 1 + 12.0 / 90, 1e-12);
}

/* 40 tiles of 256 x 128 on 10 SMs are 4 waves; on 8 they are 5: a quarter longer. 10 tiles are one wave; on 8 SMs
 * two of them are left for a second one. Bound by memory (k = 8) a GEMM does not need all SMs. */
static void
test_waves(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    CostGemm many = {.dtype = CLUSTER_BF16, .m = 2560, .n = 512, .k = 65536, .batch = 1};
    g_assert_cmpfloat_with_epsilon(cost_gemm_sm_slowdown(s, &many, 2), 1.25, 1e-9);
    CostGemm one = many;
    one.m = 1280;
    one.n = 256;
    g_assert_cmpfloat(cost_gemm_sm_slowdown(s, &one, 2), >, 1.25);
    g_assert_cmpfloat(cost_gemm_sm_slowdown(s, &one, 2), <=, 2);
    CostGemm thin = many;
    thin.k = 8;
    g_assert_cmpfloat_with_epsilon(cost_gemm_sm_slowdown(s, &thin, 2), 1, 1e-12);
    g_assert_cmpfloat_with_epsilon(cost_gemm_sm_slowdown(s, &many, 0), 1, 1e-12);
    /* never all SMs: 40 waves on the last one */
    g_assert_cmpfloat_with_epsilon(cost_gemm_sm_slowdown(s, &many, 50), 10, 1e-9);
    CostAttention attention = {.dtype = CLUSTER_BF16,
                               .batch = 1,
                               .heads = 10,
                               .kv_heads = 10,
                               .head_dim = 128,
                               .seq_q = 4096,
                               .seq_kv = 4096};
    g_assert_cmpfloat_with_epsilon(cost_attention_sm_slowdown(s, &attention, 2), 1.25, 1e-9);
}

/* 2 of 10 SMs and 6 GB/s are 1.5 by the model. A row that has 2.0 says that what goes beyond 1 is twice as much as
 * that, so traffic of half the rate, 1.25 x 1.1 = 1.375 by the model, gives 1.75. */
static void
test_rows(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    g_autoptr(GError) error = NULL;
    CostOverlapTable *t = table_of(s,
                                   "memory\tnvlink\t2\t6\t2.0\t1.3\n"
                                   "memory\tnvlink\t6\t-\t-\t1.7\n",
                                   &error);
    g_assert_no_error(error);
    g_assert_cmpuint(cost_overlap_table_n_rows(t), ==, 2);
    CostBook book = {.system = s, .measured = {[CLUSTER_TABLE_OVERLAP] = s}, .overlap = t};
    CostBusy work = {COST_WORK_MEMORY, cost_memory_sm_slowdown(s, 2), 0.5};
    CostBeside beside = {COST_TRAFFIC_NVLINK, 2, 0.2};
    CostSlowdown slow = cost_slowdown(&book, work, beside);
    g_assert_cmpfloat_with_epsilon(slow.work, 2.0, 1e-12);
    g_assert_cmpfloat_with_epsilon(slow.traffic, 1.3, 1e-12);
    g_assert_cmpint(slow.basis, ==, COST_INTERPOLATED);
    beside.hbm_frac = 0.1;
    g_assert_cmpfloat_with_epsilon(cost_slowdown(&book, work, beside).work, 1.75, 1e-12);
    /* the collective's own slowdown: half way at 4 channels, the ends beyond */
    static const struct {
        double channels, slowdown;
    } cases[] = {{0, 1.3}, {2, 1.3}, {4, 1.5}, {6, 1.7}, {9, 1.7}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        beside.channels = cases[i].channels;
        g_assert_cmpfloat_with_epsilon(cost_slowdown(&book, work, beside).traffic,
                                       cases[i].slowdown, 1e-12);
    }
    /* no rows of another kind */
    beside.kind = COST_TRAFFIC_NETWORK;
    g_assert_cmpint(cost_slowdown(&book, work, beside).basis, ==, COST_MODELLED);
    cost_overlap_table_free(t);
}

/* Two rows of the same channels count as their mean. */
static void
test_repeated(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(CostOverlapTable) t =
        table_of(s, "gemm\tcopy\t0\t-\t-\t1.2\ngemm\tcopy\t0\t-\t-\t1.6\n", &error);
    g_assert_no_error(error);
    double value = 0;
    g_assert_true(cost_overlap_table_slowdown(t, COST_WORK_GEMM, COST_TRAFFIC_COPY, 3, &value));
    g_assert_cmpfloat_with_epsilon(value, 1.4, 1e-12);
    value = 7;
    g_assert_false(cost_overlap_table_excess(t, COST_WORK_GEMM, COST_TRAFFIC_COPY, 3, &value));
    g_assert_cmpfloat(value, ==, 7);
}

static void
test_bad(void)
{
    static const struct {
        const char *row, *message;
    } cases[] = {
        {"gem\tnvlink\t2\t6\t2\t1\n",
         "overlap.tsv:3: column work: 'gem' is no kind of work; did you "
         "mean 'gemm'?; write one of gemm, attention, memory"},
        {"gemm\tpcie\t2\t6\t2\t1\n", "overlap.tsv:3: column traffic: 'pcie' is no kind of traffic; "
                                     "write one of nvlink, network, send_recv, copy"},
        {"gemm\tnvlink\t10\t6\t2\t1\n", "overlap.tsv:3: column channels: must be from 0 to 9"},
        {"gemm\tnvlink\t-\t6\t2\t1\n", "overlap.tsv:3: column channels: '-' is not a number"},
        {"gemm\tnvlink\t2\t0\t2\t1\n", "overlap.tsv:3: column rate_GBps: must be from 0.001 to "
                                       "100000; write - where it was not measured"},
        {"gemm\tnvlink\t2\t6\t0.9\t1\n",
         "overlap.tsv:3: column work_slowdown: must be from 1 to 100; "
         "write - where it was not measured"},
        {"gemm\tnvlink\t2\t6\t2\t101\n",
         "overlap.tsv:3: column traffic_slowdown: must be from 1 to "
         "100; write - where it was not measured"},
        {"gemm\tnvlink\t2\t6\t-\t-\n", "overlap.tsv:3: column work_slowdown: neither slowdown was "
                                       "measured; leave the row out"},
    };
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *rows = g_strconcat("gemm\tnvlink\t2\t6\t2\t1\n", cases[i].row, NULL);
        g_autoptr(GError) error = NULL;
        g_assert_null(table_of(s, rows, &error));
        g_assert_nonnull(error);
        g_assert_true(g_str_has_prefix(error->message, cases[i].message) ||
                      (g_test_message("got: %s", error->message), FALSE));
    }
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfTable) short_one = conf_table_parse("o.tsv", "work\ttraffic\n", '\t', &error);
    g_assert_null(cost_overlap_table_new(s, short_one, &error));
    g_assert_nonnull(strstr(error->message, "channels"));
}

/* Whatever two ask of HBM, together they get no more than there is: rate of each is its share over its slowdown. */
static void
test_no_more_than_all(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    CostBook book = {.system = s, .measured = {[CLUSTER_TABLE_OVERLAP] = s}};
    for (guint i = 0; i < 1000; i++) {
        CostBusy work = {COST_WORK_MEMORY, 1, g_test_rand_double_range(0, 1)};
        CostBeside beside = {COST_TRAFFIC_NVLINK, 0, g_test_rand_double_range(0, 1)};
        CostSlowdown slow = cost_slowdown(&book, work, beside);
        g_assert_cmpfloat(slow.work, >=, 1);
        g_assert_cmpfloat(slow.traffic, >=, 1);
        g_assert_cmpfloat(work.hbm_frac / slow.work + beside.hbm_frac / slow.traffic, <=,
                          1 + 1e-12);
    }
}

/* The model alone against published measurements (overlap.c has the table). */
static void
test_published(void)
{
    g_autoptr(ClusterSystem) a100 = cost_fixture_shipped("dgx-a100-80g"),
                             h100 = cost_fixture_shipped("dgx-h100");
    const struct {
        const ClusterSystem *system;
        double sent_Bps, channels, measured, tolerance;
    } cases[] = {
        {a100, 234e9, 24, 1.83, 0.05}, /* attention */
        {a100, 234e9, 24, 1.76, 0.05}, /* GEMM */
        {a100, 234e9, 24, 2.5, 0.30},  /* elementwise: 1.8 to 3.7 as rounded */
        {h100, 369e9, 24, 1.70, 0.05}, /* GEMM, if its tiles were many */
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        CostBook book = {.system = cases[i].system,
                         .measured = {[CLUSTER_TABLE_OVERLAP] = cases[i].system}};
        CostBusy work = {COST_WORK_GEMM,
                         cost_memory_sm_slowdown(cases[i].system, cases[i].channels), 0.2};
        CostBeside beside = {
            COST_TRAFFIC_NVLINK, cases[i].channels,
            cost_traffic_hbm_frac(cases[i].system, COST_TRAFFIC_NVLINK, cases[i].sent_Bps, 1e9)};
        double model = cost_slowdown(&book, work, beside).work;
        g_test_message("%s: measured %.2f, model %.2f", cases[i].system->name, cases[i].measured,
                       model);
        g_assert_cmpfloat(ABS(model / cases[i].measured - 1), <, cases[i].tolerance);
    }
}

static void
test_shipped(void)
{
    static const struct {
        const char *name;
        guint rows;
    } cases[] = {{"dgx-a100-80g", 3}, {"dgx-h100", 1}, {"dgx1-v100-32g", 0}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(ClusterSystem) s = cost_fixture_shipped(cases[i].name);
        g_autoptr(CostBook) book = cost_fixture_book(s);
        g_assert_cmpuint(cost_book_overlap_rows(book), ==, cases[i].rows);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("kernels and collectives slow each other as measured, else as SMs and HBM say");
    g_test_add_func("/cost/overlap/model", test_model);
    g_test_add_func("/cost/overlap/waves-of-a-shape", test_waves);
    g_test_add_func("/cost/overlap/rows-correct-the-model", test_rows);
    g_test_add_func("/cost/overlap/repeated-rows-are-averaged", test_repeated);
    g_test_add_func("/cost/overlap/bad-rows-are-refused", test_bad);
    g_test_add_func("/cost/overlap/no-more-hbm-than-there-is", test_no_more_than_all);
    g_test_add_func("/cost/overlap/published-measurements", test_published);
    g_test_add_func("/cost/overlap/shipped-rows", test_shipped);
    return g_test_run();
}
