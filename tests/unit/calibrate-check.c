/* The rules of a check over tables made by hand: each fires once, and none where nothing is wrong. */
#include "config.h"

#include "calibrate/check.h"

#include <math.h>
#include <string.h>

/* HBM 100 GB/s, L2 1 MB, bf16 10 Tflop/s, NVLink 50 GB/s through switches, 8 cards of 100 Gbit/s, kernels of 2 us. */
static const char machine[] = "[gpu]\nname = T\npeak-fp32 = 1TFLOPS\npeak-bf16 = 10TFLOPS\n"
                              "memory = 10GB\nmemory-usable = 9GB\nmemory-rate = 100GBps\n"
                              "memory-efficiency = 0.9\nl2 = 1MB\nsms = 10\nclock = 1GHz\n"
                              "kernel-floor = 2us\n[node]\ngpus = 8\nlink = nvswitch\n"
                              "nvlink-rate = 50GBps\nnvlink-efficiency = 0.7\n"
                              "nvlink-latency = 1us\npcie-rate = 10GBps\n[nic]\ncount = 8\n"
                              "rate = 100Gbps\nefficiency = 0.9\nlatency = 8us\n[fabric]\n"
                              "kind = fat-tree\n[host]\nlaunch = 4us\nsync = 10us\n"
                              "fixed-memory = 1GB\n";

static CalibrateCheck *
check(ClusterTable id, const char *text)
{
    GError *error = NULL;
    g_autoptr(ClusterSystem) system = cluster_system_parse("t", machine, NULL, &error);
    g_assert_no_error(error);
    g_autoptr(ConfTable) table = conf_table_parse("t.tsv", text, '\t', &error);
    g_assert_no_error(error);
    CalibrateCheck *found = calibrate_check_table(system, id, table, &error);
    g_assert_no_error(error);
    return found;
}

/* Copies of 1/4 to 64 MB in steps of half an octave or so at 5 us + bytes / 80 GB/s; `faulty` takes `times` as long. */
static GString *
copies(gint64 faulty, double times, double all)
{
    static const double sizes_mb[] = {0.25, 0.5, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
    GString *text = g_string_new("kernel\tbytes\ttime_us\tspread_frac\n");
    for (guint i = 0; i < G_N_ELEMENTS(sizes_mb); i++) {
        gint64 bytes = (gint64)(sizes_mb[i] * 1e6);
        double us = (5 + (double)bytes / 80e3) * (bytes == faulty ? times : 1) * all;
        g_string_append_printf(text, "copy\t%" G_GINT64_FORMAT "\t%.6g\t0.01\n", bytes, us);
    }
    return text;
}

static guint
count(const CalibrateCheck *found, CalibrateRule rule, gboolean wrong)
{
    guint n = 0;
    for (guint i = 0; i < found->findings->len; i++) {
        const CalibrateFinding *f = &g_array_index(found->findings, CalibrateFinding, i);
        n += f->rule == rule && f->wrong == wrong;
    }
    return n;
}

static const CalibrateFinding *
only(const CalibrateCheck *found)
{
    g_assert_cmpuint(found->findings->len, ==, 1);
    return &g_array_index(found->findings, CalibrateFinding, 0);
}

static void
test_clean(void)
{
    g_autoptr(GString) text = copies(0, 1, 1);
    g_autoptr(CalibrateCheck) found = check(CLUSTER_TABLE_MEMORY, text->str);
    g_assert_cmpuint(found->findings->len, ==, 0);
    g_assert_cmpuint(found->n_rows, ==, 14);
    g_assert_cmpuint(found->covered->len, ==, 1);
}

static void
test_outlier(void)
{
    static const struct {
        double times;
        gboolean wrong;
    } cases[] = {{3, TRUE}, {1 / 1.4, FALSE}, {1.6, FALSE}, {1000, TRUE}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) text = copies(8000000, cases[i].times, 1);
        g_autoptr(CalibrateCheck) found = check(CLUSTER_TABLE_MEMORY, text->str);
        g_assert_cmpuint(count(found, CALIBRATE_RULE_OUTLIER, cases[i].wrong), ==, 1);
        /* 8 MB is on the 9th line; it alone. */
        g_assert_cmpuint(count(found, CALIBRATE_RULE_OUTLIER, !cases[i].wrong), ==, 0);
        g_assert_cmpuint(count(found, CALIBRATE_RULE_FALLING, FALSE), ==, 0);
    }
    g_autoptr(GString) text = copies(8000000, 3, 1);
    g_autoptr(CalibrateCheck) found = check(CLUSTER_TABLE_MEMORY, text->str);
    g_assert_cmpuint(only(found)->line, ==, 9);
    g_assert_cmpuint(found->n_wrong, ==, 1);
}

static void
test_unit(void)
{
    static const struct {
        double all;
        const char *says; /* NULL: nothing */
    } cases[] = {{1e-3, "in ms"}, {1e3, "in ns"}, {1e6, "in ps"}, {2, NULL}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) text = copies(0, 1, cases[i].all);
        g_autoptr(CalibrateCheck) found = check(CLUSTER_TABLE_MEMORY, text->str);
        g_assert_cmpuint(count(found, CALIBRATE_RULE_UNIT, TRUE), ==, cases[i].says != NULL);
        if (cases[i].says != NULL)
            g_assert_nonnull(strstr(only(found)->text, cases[i].says));
    }
}

/* Two kernels of which all is too fast are one finding, of the table. */
static void
test_unit_of_the_table(void)
{
    g_autoptr(GString) text = copies(0, 1, 1e-3);
    for (gint64 bytes = 1000000; bytes <= 64000000; bytes *= 2)
        g_string_append_printf(text, "norm\t%" G_GINT64_FORMAT "\t%.6g\t0\n", bytes,
                               0.005 + (double)bytes / 80e6);
    g_autoptr(CalibrateCheck) found = check(CLUSTER_TABLE_MEMORY, text->str);
    g_assert_cmpuint(only(found)->line, ==, 0);
    g_assert_cmpint(only(found)->rule, ==, CALIBRATE_RULE_UNIT);
}

/* Messages in KiB where bytes are due: 64 to 65536 KiB at 5 us + bytes / 10 GB/s. Small ones that are all latency are
 * slow, too, but do not take longer for more. */
static void
test_unit_of_sizes(void)
{
    g_autoptr(GString) kib = g_string_new("op\tdtype\tranks\tnodes\tbytes\ttime_us\n");
    g_autoptr(GString) latency = g_string_new(kib->str);
    for (gint64 n = 64; n <= 65536; n *= 4) {
        g_string_append_printf(kib, "send_recv\tbf16\t2\t2\t%" G_GINT64_FORMAT "\t%.6g\n", n,
                               5 + (double)n * 1024 / 10e3);
        g_string_append_printf(latency, "send_recv\tbf16\t2\t2\t%" G_GINT64_FORMAT "\t%.6g\n", n,
                               5 + (double)n / 10e3);
    }
    g_autoptr(CalibrateCheck) found = check(CLUSTER_TABLE_COLLECTIVE, kib->str);
    g_assert_nonnull(strstr(only(found)->text, "KiB"));
    g_autoptr(CalibrateCheck) none = check(CLUSTER_TABLE_COLLECTIVE, latency->str);
    g_assert_cmpuint(none->findings->len, ==, 0);
}

/* One row each, on one side of the least time and on the other. */
static void
test_impossible(void)
{
    static const struct {
        ClusterTable table;
        const char *text;
        gboolean impossible;
    } cases[] = {
        /* 2 x 4096^3 flops at 10 Tflop/s are 13744 us */
        {CLUSTER_TABLE_GEMM, "dtype\tm\tn\tk\tbatch\ttime_us\nbf16\t4096\t4096\t4096\t1\t13000\n",
         TRUE},
        {CLUSTER_TABLE_GEMM, "dtype\tm\tn\tk\tbatch\ttime_us\nbf16\t4096\t4096\t4096\t1\t13750\n",
         FALSE},
        /* 101 MB less the 1 MB of the cache at 100 GB/s are 1000 us */
        {CLUSTER_TABLE_MEMORY, "kernel\tbytes\ttime_us\ncopy\t101000000\t970\n", TRUE},
        {CLUSTER_TABLE_MEMORY, "kernel\tbytes\ttime_us\ncopy\t101000000\t1000\n", FALSE},
        /* no kernel takes a quarter of the floor, 2 us */
        {CLUSTER_TABLE_MEMORY, "kernel\tbytes\ttime_us\ncopy\t100\t0.4\n", TRUE},
        /* 400 MB: each GPU of 8 receives 350 MB, 7000 us at 50 GB/s; an all-reduce in the switch sends 400, 8000 us,
         * where a ring sends 700 */
        {CLUSTER_TABLE_COLLECTIVE,
         "op\tdtype\tranks\tnodes\tbytes\ttime_us\nall_gather\tbf16\t8\t1\t400000000\t6800\n",
         TRUE},
        {CLUSTER_TABLE_COLLECTIVE,
         "op\tdtype\tranks\tnodes\tbytes\ttime_us\nall_gather\tbf16\t8\t1\t400000000\t7000\n",
         FALSE},
        {CLUSTER_TABLE_COLLECTIVE,
         "op\tdtype\tranks\tnodes\tbytes\ttime_us\nall_reduce\tbf16\t8\t1\t400000000\t8100\n",
         FALSE},
        {CLUSTER_TABLE_COLLECTIVE,
         "op\tdtype\tranks\tnodes\tbytes\ttime_us\nall_reduce\tbf16\t8\t1\t400000000\t7700\n",
         TRUE},
        /* 16 GPUs on 2 nodes: half of 400 MB enters each node through 8 cards of 12.5 GB/s, 2000 us */
        {CLUSTER_TABLE_COLLECTIVE,
         "op\tdtype\tranks\tnodes\tbytes\ttime_us\nall_gather\tbf16\t16\t2\t400000000\t1900\n",
         TRUE},
        {CLUSTER_TABLE_COLLECTIVE,
         "op\tdtype\tranks\tnodes\tbytes\ttime_us\nall_gather\tbf16\t16\t2\t400000000\t2000\n",
         FALSE},
        {CLUSTER_TABLE_OVERLAP,
         "work\ttraffic\tchannels\trate_GBps\twork_slowdown\ttraffic_slowdown\n"
         "gemm\tnvlink\t2\t-\t0.8\t-\n",
         TRUE},
        /* Half of 4 x 16 x 16384^2 x 64 flops at 10 Tflop/s are 54976 us */
        {CLUSTER_TABLE_ATTENTION,
         "dtype\tbatch\theads\tkv_heads\thead_dim\tseq\tcausal\tforward_us\tbackward_us\n"
         "bf16\t1\t16\t16\t64\t16384\t1\t50000\t-\n",
         TRUE},
        {CLUSTER_TABLE_ATTENTION,
         "dtype\tbatch\theads\tkv_heads\thead_dim\tseq\tcausal\tforward_us\tbackward_us\n"
         "bf16\t1\t16\t16\t64\t16384\t1\t55000\t-\n",
         FALSE},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(CalibrateCheck) found = check(cases[i].table, cases[i].text);
        g_test_message("case %u", i);
        g_assert_cmpuint(count(found, CALIBRATE_RULE_IMPOSSIBLE, TRUE), ==, cases[i].impossible);
        g_assert_cmpuint(found->n_wrong, ==, cases[i].impossible);
    }
}

static void
test_rows_among_themselves(void)
{
    static const struct {
        const char *rows;
        CalibrateRule rule;
        gboolean wrong;
    } cases[] = {
        {"copy\t1000000\t20\t0\ncopy\t1000000\t22\t0\n", CALIBRATE_RULE_TWICE, FALSE},
        {"copy\t1000000\t20\t0\ncopy\t1000000\t44\t0\n", CALIBRATE_RULE_TWICE, TRUE},
        {"copy\t1000000\t20\t0\ncopy\t2000000\t17\t0\n", CALIBRATE_RULE_FALLING, FALSE},
        {"copy\t100000\t70\t0\ncopy\t1000000\t30\t0\n", CALIBRATE_RULE_FALLING, TRUE},
        {"copy\t1000000\t20\t0.03\n", CALIBRATE_RULE_SPREAD, FALSE},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text =
            g_strconcat("kernel\tbytes\ttime_us\tspread_frac\n", cases[i].rows, NULL);
        g_autoptr(CalibrateCheck) found = check(CLUSTER_TABLE_MEMORY, text);
        g_assert_cmpint(only(found)->rule, ==, cases[i].rule);
        g_assert_cmpint(only(found)->wrong, ==, cases[i].wrong);
    }
}

/* Products of sizes between, with times of the roofline at 0.7 and 5 us: the plane through neighbours calls one in a hundred
 * wrong at most. */
static void
test_plane(void)
{
    g_autoptr(GString) text = g_string_new("dtype\tm\tn\tk\tbatch\ttime_us\n");
    for (guint i = 0; i < 200; i++) {
        int m = 128 * g_test_rand_int_range(1, 64), n = 128 * g_test_rand_int_range(1, 64);
        int k = 128 * g_test_rand_int_range(1, 64);
        g_string_append_printf(text, "bf16\t%d\t%d\t%d\t1\t%.6g\n", m, n, k,
                               5 + 2e-7 * m * n * k / 0.7);
    }
    g_autoptr(CalibrateCheck) found = check(CLUSTER_TABLE_GEMM, text->str);
    g_assert_cmpuint(found->n_wrong, <=, 2); /* at the corners they are few */
}

static void
test_bad_cells(void)
{
    static const char *const cases[] = {"kernel\tbytes\ttime_us\ncopi\t1\t1\n",
                                        "kernel\tbytes\ttime_us\ncopy\t0\t1\n",
                                        "kernel\tbytes\ttime_us\ncopy\t1\t-\n", "kernel\tbytes\n"};
    g_autoptr(ClusterSystem) system = cluster_system_parse("t", machine, NULL, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        GError *error = NULL;
        g_autoptr(ConfTable) table = conf_table_parse("t.tsv", cases[i], '\t', &error);
        g_assert_no_error(error);
        g_assert_null(calibrate_check_table(system, CLUSTER_TABLE_MEMORY, table, &error));
        g_assert_nonnull(error);
        g_clear_error(&error);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/calibrate/check/clean", test_clean);
    g_test_add_func("/calibrate/check/outlier", test_outlier);
    g_test_add_func("/calibrate/check/unit", test_unit);
    g_test_add_func("/calibrate/check/unit-of-the-table", test_unit_of_the_table);
    g_test_add_func("/calibrate/check/unit-of-sizes", test_unit_of_sizes);
    g_test_add_func("/calibrate/check/impossible", test_impossible);
    g_test_add_func("/calibrate/check/rows-among-themselves", test_rows_among_themselves);
    g_test_add_func("/calibrate/check/plane", test_plane);
    g_test_add_func("/calibrate/check/bad-cells", test_bad_cells);
    return g_test_run();
}
