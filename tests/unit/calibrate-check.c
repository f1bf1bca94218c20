/* The rules of a check over tables made by hand: each fires once, and none where nothing is wrong. */
#include "config.h"

#include "calibrate/check.h"

#include "conf/complaint.h"

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

/* Of eight copies, an octave apart, one or two take a thousandth: they are impossible, once each, and the others are well. Of
 * three that take a thousandth it is not known which unit is meant; where two of them do, neither. */
static void
test_bad_rows_are_no_unit(void)
{
    static const struct {
        guint n, bad[2]; /* counted from 1; 0: none */
        guint n_impossible, n_unit;
    } cases[] = {{8, {7, 0}, 1, 0},    {8, {8, 0}, 1, 0},    {8, {6, 0}, 1, 0},
                 {16, {15, 16}, 2, 0}, {16, {13, 14}, 2, 0}, {2, {1, 0}, 1, 0},
                 {2, {1, 2}, 2, 0},    {3, {2, 0}, 1, 0},    {3, {2, 3}, 0, 1}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) text = g_string_new("kernel\tbytes\ttime_us\n");
        for (guint row = 1; row <= cases[i].n; row++) {
            double bytes = exp2(22 + row), us = 5 + bytes / 80e3;
            gboolean bad = row == cases[i].bad[0] || row == cases[i].bad[1];
            g_string_append_printf(text, "copy\t%.0f\t%.6g\n", bytes, bad ? us / 1000 : us);
        }
        g_autoptr(CalibrateCheck) found = check(CLUSTER_TABLE_MEMORY, text->str);
        g_test_message("case %u", i);
        g_assert_cmpuint(count(found, CALIBRATE_RULE_UNIT, TRUE), ==, cases[i].n_unit);
        g_assert_cmpuint(count(found, CALIBRATE_RULE_IMPOSSIBLE, TRUE), ==, cases[i].n_impossible);
        /* Where a unit is suspected the row that has it falls behind those that have not. */
        g_assert_cmpuint(count(found, CALIBRATE_RULE_FALLING, TRUE), ==, cases[i].n_unit);
        g_assert_cmpuint(found->n_wrong, ==, 2 * cases[i].n_unit + cases[i].n_impossible);
    }
}

/* Two of three sizes are all latency, at a thousandth of the rate: the largest is not. */
static void
test_short_rows_are_no_unit(void)
{
    g_autoptr(CalibrateCheck) found =
        check(CLUSTER_TABLE_COLLECTIVE,
              "op\tdtype\tranks\tnodes\tbytes\ttime_us\nsend_recv\tbf16\t2\t2\t4000\t8\n"
              "send_recv\tbf16\t2\t2\t40000\t9\nsend_recv\tbf16\t2\t2\t1000000000\t110000\n");
    g_assert_cmpuint(found->findings->len, ==, 0);
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

/* --- surfaces with noise ------------------------------------------------------------------------ */

typedef enum { RANDOM_PRODUCTS, GRID_OF_PRODUCTS, SWEEP_OF_COPIES, N_SURFACES } Surface;

static const guint surface_rows[N_SURFACES] = {200, 216, 20};

static double
normal_deviate(void)
{
    double sum = -6; /* of twelve uniform ones: variance 1 */
    for (guint i = 0; i < 12; i++)
        sum += g_test_rand_double();
    return sum;
}

/* Row i without noise. Products: the roofline at 0.7 and 5 us, of sizes anywhere (few at the corners) or on a grid of octaves.
 * Copies: 5 us + bytes / 90 GB/s, an octave apart. */
static double
add_row(GString *text, Surface surface, guint i)
{
    if (surface == SWEEP_OF_COPIES) {
        g_string_append_printf(text, "copy\t%" G_GINT64_FORMAT, G_GINT64_CONSTANT(1024) << i);
        return 5 + 1024 * exp2(i) / 90e3;
    }
    const int grid[] = {256 << i % 6, 256 << i / 6 % 6, 256 << i / 36};
    int size[3];
    for (guint axis = 0; axis < 3; axis++)
        size[axis] = surface == RANDOM_PRODUCTS ? 128 * g_test_rand_int_range(1, 64) : grid[axis];
    double m = size[0], n = size[1], k = size[2];
    g_string_append_printf(text, "bf16\t%d\t%d\t%d\t1", size[0], size[1], size[2]);
    return 5 + MAX(2e-7 * m * n * k / 0.7, 2e-5 * (m * k + k * n + m * n) / 0.9);
}

/* What the check finds where row `disturbed` takes `times` as long. */
static CalibrateCheck *
check_surface(Surface surface, double noise, guint disturbed, double times)
{
    gboolean copies = surface == SWEEP_OF_COPIES;
    g_autoptr(GString) text =
        g_string_new(copies ? "kernel\tbytes\ttime_us\n" : "dtype\tm\tn\tk\tbatch\ttime_us\n");
    for (guint i = 0; i < surface_rows[surface]; i++) {
        double us = add_row(text, surface, i) * exp(noise * normal_deviate());
        g_string_append_printf(text, "\t%.6g\n", us * (i == disturbed ? times : 1));
    }
    return check(copies ? CLUSTER_TABLE_MEMORY : CLUSTER_TABLE_GEMM, text->str);
}

/* Of 50 tables of each surface with noise of nothing to 3 % none has a row that is called wrong; by the rule one row in
 * 2000 is odd by chance where noise alone makes 15 %, and of these next to none. */
static void
test_false_alarms(void)
{
    static const double noises[] = {0, 0.01, 0.03};
    for (guint surface = 0; surface < N_SURFACES; surface++) {
        guint n_outliers = 0, n_rows = 0;
        for (guint i = 0; i < 51; i++) {
            g_autoptr(CalibrateCheck) found =
                check_surface((Surface)surface, noises[i % 3], G_MAXUINT, 1);
            g_assert_cmpuint(found->n_wrong, ==, 0);
            n_outliers += count(found, CALIBRATE_RULE_OUTLIER, FALSE);
            n_rows += found->n_rows;
        }
        g_assert_cmpuint(n_outliers, <=, n_rows / 2000);
    }
}

/* Was the row told of? `ret_others`: outliers beside it that are called wrong. */
static gboolean
is_found(const CalibrateCheck *found, guint line, guint *ret_others)
{
    gboolean is = FALSE;
    for (guint i = 0; i < found->findings->len; i++) {
        const CalibrateFinding *f = &g_array_index(found->findings, CalibrateFinding, i);
        is = is || f->line == line;
        *ret_others += f->line != line && f->wrong && f->rule == CALIBRATE_RULE_OUTLIER;
    }
    return is;
}

/* One row of a table with noise of 1 % is disturbed. Half, or twice and a half, is found all but always, 1.3 times mostly: at
 * a corner, or an end of a sweep, rows on one side alone may leave it open. */
static void
test_misses(void)
{
    static const struct {
        Surface surface;
        double times;
        guint least; /* found of 40 */
    } cases[] = {
        {RANDOM_PRODUCTS, 0.5, 36},  {RANDOM_PRODUCTS, 2.5, 36},  {RANDOM_PRODUCTS, 1.3, 24},
        {GRID_OF_PRODUCTS, 0.5, 39}, {GRID_OF_PRODUCTS, 2.5, 39}, {GRID_OF_PRODUCTS, 1.3, 16},
        {SWEEP_OF_COPIES, 0.5, 38},  {SWEEP_OF_COPIES, 2.5, 38},  {SWEEP_OF_COPIES, 1.3, 24}};
    guint n_others = 0;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        guint n_found = 0;
        for (guint j = 0; j < 40; j++) {
            guint row = (guint)g_test_rand_int_range(0, (int)surface_rows[cases[i].surface]);
            g_autoptr(CalibrateCheck) found =
                check_surface(cases[i].surface, 0.01, row, cases[i].times);
            n_found += is_found(found, row + 2, &n_others);
        }
        g_test_message("case %u: %u of 40", i, n_found);
        g_assert_cmpuint(n_found, >=, cases[i].least);
    }
    /* Where two rows are alone in a corner, nobody knows which of them it is. */
    g_assert_cmpuint(n_others, <=, 3);
}

/* Measurements that a check once found in tables that ship, and that were left out of them since. */
static void
test_rows_once_left_out(void)
{
    static const struct {
        const char *system;
        ClusterTable table;
        const char *row;
    } cases[] = {
        {"a100-pcie", CLUSTER_TABLE_GEMM, "bf16\t64\t512\t64\t1\t9.318\tforward\n"},
        {"dgx-a100-80g", CLUSTER_TABLE_GEMM, "bf16\t64\t512\t64\t1\t8.433\tforward\n"},
        {"dgx-a100-80g", CLUSTER_TABLE_COLLECTIVE,
         "all_to_all\tfp32\t5\t1\t3221225460\t314864.0\n"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        GError *error = NULL;
        g_autoptr(ClusterSystem) system = cluster_system_load(cases[i].system, NULL, &error);
        g_assert_no_error(error);
        g_autofree char *path = cluster_table_path(system, cases[i].table);
        g_autofree char *text = conf_read_text(path, NULL, &error);
        g_assert_no_error(error);
        g_autofree char *whole = g_strconcat(text, cases[i].row, NULL);
        g_autoptr(ConfTable) table = conf_table_parse(path, whole, '\t', &error);
        g_assert_no_error(error);
        g_autoptr(CalibrateCheck) found =
            calibrate_check_table(system, cases[i].table, table, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(found->n_wrong, ==, 1);
        const CalibrateFinding *f = &g_array_index(found->findings, CalibrateFinding, 0);
        g_assert_cmpint(f->rule, ==, CALIBRATE_RULE_OUTLIER);
        g_assert_cmpuint(f->line, ==, conf_table_line(table, conf_table_n_rows(table) - 1));
    }
}

/* --- all ----------------------------------------------------------------------------------------- */

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
    g_test_add_func("/calibrate/check/bad-rows-are-no-unit", test_bad_rows_are_no_unit);
    g_test_add_func("/calibrate/check/short-rows-are-no-unit", test_short_rows_are_no_unit);
    g_test_add_func("/calibrate/check/unit-of-sizes", test_unit_of_sizes);
    g_test_add_func("/calibrate/check/impossible", test_impossible);
    g_test_add_func("/calibrate/check/rows-among-themselves", test_rows_among_themselves);
    g_test_add_func("/calibrate/check/false-alarms", test_false_alarms);
    g_test_add_func("/calibrate/check/misses", test_misses);
    g_test_add_func("/calibrate/check/rows-once-left-out", test_rows_once_left_out);
    g_test_add_func("/calibrate/check/bad-cells", test_bad_cells);
    return g_test_run();
}
