/* Two tables made by hand, row by row and by the surface of one of them. */
#include "config.h"

#include "calibrate/diff.h"

#include <math.h>

static ClusterSystem *
machine(const char *peak, const char *hbm)
{
    g_autofree char *text = g_strdup_printf(
        "[gpu]\nname = T\npeak-fp32 = 1TFLOPS\npeak-bf16 = %s\nmemory = 10GB\n"
        "memory-usable = 9GB\nmemory-rate = %s\nmemory-efficiency = 0.9\nl2 = 1MB\nsms = 10\n"
        "clock = 1GHz\nkernel-floor = 2us\n[node]\ngpus = 8\nlink = nvswitch\n"
        "nvlink-rate = 50GBps\nnvlink-efficiency = 0.7\nnvlink-latency = 1us\n"
        "pcie-rate = 10GBps\n[nic]\ncount = 8\nrate = 100Gbps\nefficiency = 0.9\n"
        "latency = 8us\n[fabric]\nkind = fat-tree\n[host]\nlaunch = 4us\nsync = 10us\n"
        "fixed-memory = 1GB\n",
        peak, hbm);
    GError *error = NULL;
    ClusterSystem *system = cluster_system_parse("t", text, NULL, &error);
    g_assert_no_error(error);
    return system;
}

static CalibrateDiff *
compare(ClusterTable id, const char *a, const char *b)
{
    GError *error = NULL;
    g_autoptr(ClusterSystem) in_a = machine("10TFLOPS", "100GBps");
    g_autoptr(ClusterSystem) in_b = machine("20TFLOPS", "200GBps");
    g_autoptr(ConfTable) rows_a = conf_table_parse("a.tsv", a, '\t', &error);
    g_assert_no_error(error);
    g_autoptr(ConfTable) rows_b = conf_table_parse("b.tsv", b, '\t', &error);
    g_assert_no_error(error);
    const ClusterSystem *const systems[] = {in_a, in_b};
    const ConfTable *const tables[] = {rows_a, rows_b};
    g_autoptr(CalibrateDiff) diff = calibrate_diff_new();
    g_assert_true(calibrate_diff_table(diff, id, systems, tables, &error));
    g_assert_no_error(error);
    return g_steal_pointer(&diff);
}

static const CalibrateSeriesDiff *
series(const CalibrateDiff *diff, guint i)
{
    g_assert_cmpuint(i, <, diff->series->len);
    return &g_array_index(diff->series, CalibrateSeriesDiff, i);
}

/* Ratios 0.5, 0.6 and 1 of rows in another order: the median is 0.6, a tenth of the way 0.5 + 0.2 x 0.1 = 0.52, and the
 * row farthest from it is that of 1: ln (1 / 0.6) = 0.511. Row 4 is A's alone, norm B's. */
static void
test_same_rows(void)
{
    g_autoptr(CalibrateDiff) diff =
        compare(CLUSTER_TABLE_MEMORY,
                "kernel\tbytes\ttime_us\ncopy\t1000\t10\ncopy\t2000\t20\ncopy\t3000\t30\n"
                "copy\t4000\t40\n",
                "kernel\tbytes\ttime_us\nnorm\t7\t7\ncopy\t3000\t30\ncopy\t1000\t5\n"
                "copy\t2000\t12\n");
    g_assert_cmpuint(diff->series->len, ==, 2);
    const CalibrateSeriesDiff *copy = series(diff, 0), *norm = series(diff, 1);
    g_assert_cmpstr(copy->of, ==, "copy");
    g_assert_cmpuint(copy->same.n, ==, 3);
    g_assert_cmpfloat_with_epsilon(copy->same.median, 0.6, 1e-9);
    g_assert_cmpfloat_with_epsilon(copy->same.p10, 0.52, 1e-9);
    g_assert_cmpfloat_with_epsilon(copy->same.p90, 0.92, 1e-9);
    g_assert_cmpuint(copy->near.n, ==, 0); /* three rows make no plane */
    g_assert_cmpuint(copy->only[CALIBRATE_A], ==, 1);
    g_assert_cmpuint(copy->only[CALIBRATE_B], ==, 0);
    g_assert_cmpuint(norm->same.n, ==, 0);
    g_assert_true(isnan(norm->same.median));
    g_assert_cmpuint(norm->only[CALIBRATE_B], ==, 1);
    const CalibrateRowDiff *worst = &g_array_index(diff->worst, CalibrateRowDiff, 0);
    g_assert_cmpuint(diff->worst->len, ==, 2); /* the median itself is off by nothing */
    g_assert_cmpuint(worst->line[CALIBRATE_A], ==, 4);
    g_assert_cmpuint(worst->line[CALIBRATE_B], ==, 3);
    g_assert_cmpfloat_with_epsilon(worst->off, log(1 / 0.6), 1e-9);
    g_assert_cmpstr(worst->at, ==, "bytes 3000");
}

/* One thing twice in A meets B's rows of it by turns. */
static void
test_twice(void)
{
    g_autoptr(CalibrateDiff) diff =
        compare(CLUSTER_TABLE_MEMORY, "kernel\tbytes\ttime_us\ncopy\t1000\t10\ncopy\t1000\t20\n",
                "kernel\tbytes\ttime_us\ncopy\t1000\t10\n");
    g_assert_cmpuint(series(diff, 0)->same.n, ==, 1);
    g_assert_cmpuint(series(diff, 0)->only[CALIBRATE_A], ==, 1);
}

/* A runs at 0.7 of 10 Tflop/s after 4 us, B at 0.7 of 20 after 2; of each other's shapes they have none. B's surface
 * says half of A's times, but for waves of tiles, which are not in these times. Shapes far from all of B's are left
 * out. */
static void
test_surface(void)
{
    g_autoptr(GString) a = g_string_new("dtype\tm\tn\tk\tbatch\ttime_us\n");
    g_autoptr(GString) b = g_string_new(a->str);
    for (int m = 1024; m <= 8192; m *= 2)
        for (int n = 1024; n <= 8192; n *= 2)
            for (int k = 1024; k <= 8192; k *= 2)
                g_string_append_printf(b, "bf16\t%d\t%d\t%d\t1\t%.6g\n", m, n, k,
                                       2 + 1e-7 * m * n * k / 0.7);
    for (guint i = 0; i < 50; i++) {
        int m = g_test_rand_int_range(1100, 8000), n = g_test_rand_int_range(1100, 8000);
        int k = g_test_rand_int_range(1100, 8000);
        g_string_append_printf(a, "bf16\t%d\t%d\t%d\t1\t%.6g\n", m, n, k,
                               4 + 2e-7 * m * n * k / 0.7);
    }
    g_string_append(a, "bf16\t8\t8\t8\t1\t4\n");
    g_autoptr(CalibrateDiff) diff = compare(CLUSTER_TABLE_GEMM, a->str, b->str);
    const CalibrateRatios *near = &series(diff, 0)->near;
    g_assert_cmpuint(series(diff, 0)->same.n, ==, 0);
    g_assert_cmpuint(near->n, >, 25);
    g_assert_cmpuint(near->n, <=, 50);
    g_assert_cmpfloat_with_epsilon(near->median, 0.5, 0.01);
    g_assert_cmpfloat_with_epsilon(near->p10, 0.5, 0.06);
    g_assert_cmpfloat_with_epsilon(near->p90, 0.5, 0.06);
}

static void
test_facts(void)
{
    GError *error = NULL;
    g_autoptr(ClusterSystem) a = machine("10TFLOPS", "100GBps");
    g_autoptr(ClusterSystem) b = machine("20TFLOPS", "0.1TBps");
    g_autoptr(CalibrateDiff) diff = calibrate_diff(a, b, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(diff->facts->len, ==, 1); /* 0.1TBps is 100GBps */
    const CalibrateFact *fact = &g_array_index(diff->facts, CalibrateFact, 0);
    g_assert_cmpstr(fact->key, ==, "peak-bf16");
    g_assert_cmpfloat_with_epsilon(fact->ratio, 2, 1e-12);
    g_assert_cmpuint(diff->series->len, ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/calibrate/diff/same-rows", test_same_rows);
    g_test_add_func("/calibrate/diff/twice", test_twice);
    g_test_add_func("/calibrate/diff/surface", test_surface);
    g_test_add_func("/calibrate/diff/facts", test_facts);
    return g_test_run();
}
