/* GEMM times: what was measured comes back, what was not lies near it, and nothing jumps. */
#include "config.h"

#include "cost/gemm_table.h"
#include "cost/roofline.h"

#include "conf/table.h"
#include "cost-fixture.h"

#include <math.h>

static CostTime
time_of(const CostBook *book, ClusterDtype dtype, gint64 m, gint64 n, gint64 k)
{
    CostGemm g = {.dtype = dtype, .m = m, .n = n, .k = k, .batch = 1};
    return cost_gemm(book, &g);
}

static double
tflops(CostTime time, double m, double n, double k)
{
    return 2 * m * n * k / time.ns / 1e3;
}

/* Each forward row of the shipped table is answered with its own time. */
static void
test_exact(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_shipped("dgx-a100-80g");
    g_autoptr(CostBook) book = cost_fixture_book(s);
    g_autofree char *path = g_build_filename(s->directory, "gemm.tsv", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfTable) table = conf_table_load(path, &error);
    g_assert_no_error(error);
    guint n_checked = 0;
    for (guint row = 0; row < conf_table_n_rows(table); row++) {
        ClusterDtype dtype;
        gint64 size[3];
        double us = 0;
        if (!g_str_equal(conf_table_text(table, row, 6), "forward"))
            continue;
        g_assert_true(cluster_dtype_parse(conf_table_text(table, row, 0), &dtype, &error));
        for (guint i = 0; i < 3; i++)
            g_assert_true(conf_table_int(table, row, 1 + i, &size[i], &error));
        g_assert_true(conf_table_double(table, row, 5, &us, &error));
        CostTime time = time_of(book, dtype, size[0], size[1], size[2]);
        g_assert_cmpint(time.basis, ==, COST_MEASURED);
        g_assert_cmpfloat_with_epsilon(time.ns, us * 1e3, 1e-6 * time.ns);
        g_assert_cmpfloat(time.error_frac, ==, 0);
        n_checked++;
    }
    g_assert_cmpuint(n_checked, >, 3000);
}

/* A row that is left out is found again within a few percent: the model of tiles and waves carries
 * the shape. */
static void
test_leave_one_out(void)
{
    static const struct {
        const char *system;
        ClusterDtype dtype;
        double bound;
    } cases[] = {{"dgx-a100-80g", CLUSTER_BF16, 0.05},
                 {"dgx-h100", CLUSTER_BF16, 0.04},
                 {"dgx-h100", CLUSTER_FP8, 0.09},
                 {"dgx1-v100-32g", CLUSTER_FP16, 0.09}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(ClusterSystem) s = cost_fixture_shipped(cases[i].system);
        g_autoptr(CostBook) book = cost_fixture_book(s);
        double residual = cost_book_gemm_residual(book, cases[i].dtype, G_MAXUINT);
        g_test_message("%s %s: median error of a row left out %.4f", cases[i].system,
                       cluster_dtype_name(cases[i].dtype), residual);
        g_assert_cmpfloat(residual, >, 0);
        g_assert_cmpfloat(residual, <, cases[i].bound);
    }
}

/* Doubling m never makes a GEMM notably shorter, nor much more than twice as long; but where cuBLAS
 * itself changes to another kernel (256 columns on A100: 216 -> 158 Tflop/s), one query in a
 * thousand may say so. */
static void
test_monotone(void)
{
    static const char *const systems[] = {"dgx-a100-80g", "dgx-h100", "dgx1-v100-32g"};
    for (guint i = 0; i < G_N_ELEMENTS(systems); i++) {
        g_autoptr(ClusterSystem) s = cost_fixture_shipped(systems[i]);
        g_autoptr(CostBook) book = cost_fixture_book(s);
        double least = HUGE_VAL, most = 0;
        guint n_strange = 0;
        for (int trial = 0; trial < 4000; trial++) {
            gint64 m = 8 * g_test_rand_int_range(16, 2048), n = 8 * g_test_rand_int_range(32, 2048);
            gint64 k = 8 * g_test_rand_int_range(32, 2048);
            double once = time_of(book, CLUSTER_FP16, m, n, k).ns;
            double ratio = time_of(book, CLUSTER_FP16, 2 * m, n, k).ns / once;
            least = MIN(least, ratio);
            most = MAX(most, ratio);
            n_strange += ratio < 0.98 || ratio > 2.6;
        }
        g_test_message("%s: doubling m multiplies the time by %.2f to %.2f", systems[i], least,
                       most);
        g_assert_cmpuint(n_strange, <=, 8);
        g_assert_cmpfloat(least, >, 0.6);
        g_assert_cmpfloat(most, <, 3.0);
    }
}

static void
test_large(void)
{
    static const struct {
        const char *system;
        ClusterDtype dtype;
    } cases[] = {{"dgx-a100-80g", CLUSTER_BF16},
                 {"dgx-h100", CLUSTER_BF16},
                 {"dgx-h100", CLUSTER_FP8},
                 {"dgx1-v100-32g", CLUSTER_FP16}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(ClusterSystem) s = cost_fixture_shipped(cases[i].system);
        g_autoptr(CostBook) book = cost_fixture_book(s);
        CostTime time = time_of(book, cases[i].dtype, 50000, 50000, 50000);
        double share =
            tflops(time, 50000, 50000, 50000) * 1e12 / (double)s->peak_flops[cases[i].dtype];
        g_test_message("%s %s: 50000^3 at %.3f of peak", cases[i].system,
                       cluster_dtype_name(cases[i].dtype), share);
        g_assert_cmpint(time.basis, ==, COST_MODELLED);
        g_assert_cmpfloat(share, >, 0.55);
        g_assert_cmpfloat(share, <, 0.95);
        g_assert_cmpfloat(time.error_frac, >, 0);
    }
}

/* Shapes of training on A100, against what published runs and other measurements of such GEMMs
 * say: 200 to 270 Tflop/s for large ones. */
static void
test_training_shapes(void)
{
    static const gint64 shapes[][3] = {
        {2048, 4608, 12288}, {2048, 12288, 1536}, {2048, 6144, 12288}, {2048, 12288, 6144},
        {16384, 9216, 2304}, {2048, 6400, 12288}, {8192, 7200, 1800},  {2048, 62720, 14336}};
    g_autoptr(ClusterSystem) s = cost_fixture_shipped("dgx-a100-80g");
    g_autoptr(CostBook) book = cost_fixture_book(s);
    for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
        const gint64 *d = shapes[i];
        CostTime time = time_of(book, CLUSTER_BF16, d[0], d[1], d[2]);
        double rate = tflops(time, (double)d[0], (double)d[1], (double)d[2]);
        g_assert_cmpfloat(rate, >, 215);
        g_assert_cmpfloat(rate, <, 275);
        g_assert_cmpint(time.basis, !=, COST_MODELLED);
        /* The weight gradient adds into fp32 and is slower, but not by much. */
        CostGemm w = {.dtype = CLUSTER_BF16,
                      .pass = COST_GEMM_WGRAD,
                      .m = d[1],
                      .n = d[2],
                      .k = d[0],
                      .batch = 1,
                      .accumulate_fp32 = TRUE};
        double ratio = cost_gemm(book, &w).ns / time.ns;
        g_assert_cmpfloat(ratio, >, 0.9);
        g_assert_cmpfloat(ratio, <, 1.35);
    }
}

static void
test_dtypes(void)
{
    g_autoptr(ClusterSystem) a100 = cost_fixture_shipped("dgx-a100-80g"),
                             v100 = cost_fixture_shipped("dgx1-v100-32g");
    g_autoptr(CostBook) a = cost_fixture_book(a100), v = cost_fixture_book(v100);
    /* fp16 uses the rows of bf16. */
    g_assert_cmpfloat(time_of(a, CLUSTER_FP16, 2048, 6144, 12288).ns, ==,
                      time_of(a, CLUSTER_BF16, 2048, 6144, 12288).ns);
    g_assert_cmpint(time_of(a, CLUSTER_FP16, 2048, 6144, 12288).basis, ==, COST_MEASURED);
    /* fp32 has no rows: the efficiency of bf16 at its own peak, modelled. */
    CostTime wide = time_of(a, CLUSTER_FP32, 8192, 8192, 8192);
    g_assert_cmpint(wide.basis, ==, COST_MODELLED);
    g_assert_cmpfloat(tflops(wide, 8192, 8192, 8192), <, 19.5);
    g_assert_cmpfloat(tflops(wide, 8192, 8192, 8192), >, 12);
    /* A V100 has no bf16: it runs as fp32. */
    CostTime emulated = time_of(v, CLUSTER_BF16, 8192, 8192, 8192);
    g_assert_cmpint(emulated.basis, ==, COST_MODELLED);
    g_assert_cmpfloat(tflops(emulated, 8192, 8192, 8192), <, 15.7);
}

static void
test_batched(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_shipped("dgx-a100-80g");
    g_autoptr(CostBook) book = cost_fixture_book(s);
    /* Scores of an unfused attention: bound by writing them. */
    CostGemm g = {.dtype = CLUSTER_BF16, .m = 2048, .n = 2048, .k = 128, .batch = 64};
    double bytes = 2.0 * 64 * (2048.0 * 2048 + 2 * 2048 * 128);
    CostTime all = cost_gemm(book, &g);
    g_assert_cmpfloat(bytes / all.ns, <, 2039); /* GB/s */
    g_assert_cmpfloat(bytes / all.ns, >, 500);
    /* Half the batch takes about half the time, and one alone much more than its share. */
    g.batch = 32;
    double half = cost_gemm(book, &g).ns;
    g_assert_cmpfloat(half / all.ns, >, 0.45);
    g_assert_cmpfloat(half / all.ns, <, 0.62);
    g.batch = 1;
    g_assert_cmpfloat(cost_gemm(book, &g).ns, >, all.ns / 64);
}

/* Without any table a GEMM runs at a share of its roofline and says so. */
static void
test_no_table(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    g_autoptr(CostBook) book = cost_fixture_book(s);
    guint gemm = 1, attention = 1, memory = 1;
    cost_book_counts(book, &gemm, &attention, &memory);
    g_assert_cmpuint(gemm + attention + memory, ==, 0);
    CostTime time = time_of(book, CLUSTER_BF16, 4096, 4096, 4096);
    CostGemm g = {.dtype = CLUSTER_BF16, .m = 4096, .n = 4096, .k = 4096, .batch = 1};
    g_assert_cmpint(time.basis, ==, COST_MODELLED);
    g_assert_cmpfloat_with_epsilon(time.ns, cost_gemm_roofline_ns(s, &g) / 0.8, 1);
    g_assert_cmpfloat(time.error_frac, >, 0.1);
    /* Nothing is shorter than the kernel floor. */
    g_assert_cmpfloat(time_of(book, CLUSTER_BF16, 8, 8, 8).ns, ==, 2000);
}

static double
table_ns(const char *comment, ClusterDtype dtype, const char *rows, CostGemmPass pass, gint64 n)
{
    g_autoptr(ClusterSystem) s = cost_fixture_system("gpu.peak-fp8=20TFLOPS");
    g_autofree char *text =
        g_strconcat(comment, "dtype\tm\tn\tk\tbatch\ttime_us\tpass\n", rows, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfTable) table = conf_table_parse("gemm.tsv", text, '\t', &error);
    g_assert_no_error(error);
    g_autoptr(CostGemmTable) gemm = cost_gemm_table_new(s, table, dtype, &error);
    g_assert_no_error(error);
    g_assert_true(cost_gemm_table_less_cast(gemm) == (*comment != '\0' && dtype == CLUSTER_FP8));
    CostGemm g = {.dtype = dtype, .pass = pass, .m = 1000, .n = n, .k = 1000, .batch = 1};
    double ns = 0;
    g_assert_true(cost_gemm_table_find(gemm, &g, &ns));
    return ns;
}

/* The fixture casts at 100 GB/s x 0.9 x 0.85: a million elements of 3 bytes in 39.2 us, and a kernel starts, 2
 * us. A row is never less than its roofline, 2 x 10^9 / 20 Tflop/s or what it moves. */
static void
test_less_cast(void)
{
    const char *note = "# with-cast: fp8\n";
    const char *rows = "fp8\t1000\t1000\t1000\t1\t1000\tforward\n"
                       "bf16\t1000\t1000\t1000\t1\t1000\tforward\n";
    double cast = 2000 + 3e6 / 76.5;
    g_assert_cmpfloat_with_epsilon(table_ns(note, CLUSTER_FP8, rows, COST_GEMM_FORWARD, 1000),
                                   1e6 - cast, 1e-3);
    g_assert_cmpfloat(table_ns(note, CLUSTER_BF16, rows, COST_GEMM_FORWARD, 1000), ==, 1e6);
    g_assert_cmpfloat(table_ns("", CLUSTER_FP8, rows, COST_GEMM_FORWARD, 1000), ==, 1e6);
    const char *fast = "fp8\t1000\t1000\t1000\t1\t140\tforward\n";
    g_autoptr(ClusterSystem) s = cost_fixture_system("gpu.peak-fp8=20TFLOPS");
    CostGemm g = {.dtype = CLUSTER_FP8, .m = 1000, .n = 1000, .k = 1000, .batch = 1};
    g_assert_cmpfloat(table_ns(note, CLUSTER_FP8, fast, COST_GEMM_FORWARD, 1000), ==,
                      cost_gemm_roofline_ns(s, &g));
}

/* Of the shipped H100: backward 1.15 times the forward in 8 bits; in 16 the table's own rows decide. */
static void
test_accumulation(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_shipped("dgx-h100");
    g_autoptr(CostBook) book = cost_fixture_book(s);
    CostGemm g = {.dtype = CLUSTER_FP8, .m = 9000, .n = 9000, .k = 9000, .batch = 1};
    double forward = cost_gemm(book, &g).ns;
    g.pass = COST_GEMM_DGRAD;
    g_assert_cmpfloat_with_epsilon(cost_gemm(book, &g).ns / forward, 1.15, 1e-9);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cost/gemm/measured-rows-come-back", test_exact);
    g_test_add_func("/cost/gemm/a-row-left-out-is-found-again", test_leave_one_out);
    g_test_add_func("/cost/gemm/doubling-doubles-at-most", test_monotone);
    g_test_add_func("/cost/gemm/the-largest-keep-the-plateau", test_large);
    g_test_add_func("/cost/gemm/training-shapes-of-a100", test_training_shapes);
    g_test_add_func("/cost/gemm/dtypes-share-or-borrow", test_dtypes);
    g_test_add_func("/cost/gemm/batches-amortise", test_batched);
    g_test_add_func("/cost/gemm/casts-are-taken-off", test_less_cast);
    g_test_add_func("/cost/gemm/slow-accumulation-of-fp8", test_accumulation);
    g_test_add_func("/cost/gemm/without-a-table-all-is-modelled", test_no_table);
    return g_test_run();
}
