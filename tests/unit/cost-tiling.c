/* Coordinates of tiles by hand: waves that are full or not, operands that fit into the cache or not. */
#include "config.h"

#include "cost/tiling.h"

#include "cost-fixture.h"
#include "cost/roofline.h"

#include <math.h>

static CostGemm
gemm(gint64 m, gint64 n, gint64 k)
{
    return (CostGemm){.dtype = CLUSTER_BF16, .m = m, .n = n, .k = k, .batch = 1};
}

/* 10 SMs: 1280 x 256 are 10 tiles of 256 x 128, one full wave; 1408 x 256 are 11 of 128 x 256, of whose two waves
 * log2(2 / 1.1) = 0.86 doublings are lost; of few tiles one doubling at most. */
static void
test_waves(void)
{
    static const struct {
        gint64 m, n;
        double lost;
    } cases[] = {{1280, 256, 0}, {1408, 256, 0.8625}, {2560, 256, 0}, {128, 128, 1}};
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        CostGemm g = gemm(cases[i].m, cases[i].n, 65536);
        double axes[COST_TILING_AXES], whole[COST_TILING_AXES];
        CostGemm few = gemm(128, 128, 65536);
        cost_tiling_axes(s, &g, axes);
        cost_tiling_axes(s, &few, whole);
        double scale = whole[0] / cost_gemm_compute_share(s, &few);
        g_assert_cmpfloat(scale, >, 0);
        g_assert_cmpfloat_with_epsilon(axes[0] / scale / cost_gemm_compute_share(s, &g),
                                       cases[i].lost, 1e-3);
    }
}

/* A cache of 1 MB, x of 16 k and y of 16 n elements of 2 bytes. n 250, k 1000: weights of 500 kB, two of them fill
 * it, and 40 kB more leave 0.6 of it; n 300: two of 600 kB thrash; n 10: five of 20 kB fit. */
static void
test_cached(void)
{
    static const struct {
        gint64 n;
        double cached;
    } cases[] = {{250, 0.6}, {300, 0}, {10, 1}, {2000, 0}};
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    CostGemm fits = gemm(16, 10, 1000);
    double axes[COST_TILING_AXES];
    cost_tiling_axes(s, &fits, axes);
    double scale = axes[2] / (1 - cost_gemm_compute_share(s, &fits));
    g_assert_cmpfloat(scale, >, 0);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        CostGemm g = gemm(16, cases[i].n, 1000);
        double z[COST_TILING_COVARIATES];
        cost_tiling_axes(s, &g, axes);
        g_assert_cmpfloat_with_epsilon(axes[2] / scale / (1 - cost_gemm_compute_share(s, &g)),
                                       cases[i].cached, 1e-6);
        cost_tiling_covariates(s, &g, cost_gemm_reference_ns(s, &g), z);
        double in_cache = z[COST_TILING_COVARIATES - 1];
        g_assert_true(cases[i].cached > 0 ? in_cache < 0 : in_cache >= 0);
    }
}

static void
test_ragged(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    CostGemm even = gemm(1024, 1024, 1024), ragged = gemm(1025, 1024, 1024);
    double a[COST_TILING_AXES], b[COST_TILING_AXES];
    cost_tiling_axes(s, &even, a);
    cost_tiling_axes(s, &ragged, b);
    g_assert_cmpfloat(a[3], ==, 0);
    g_assert_cmpfloat(b[3], >, 0);
}

/* A last wave that counts as a full one is worth nothing where waves are full, and log(2 / 1.1) where there are 1.1. */
static void
test_last_wave(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_system("gpu.memory-rate=100TBps");
    static const struct {
        gint64 m;
        double more;
    } cases[] = {{1280, 0}, {1408, 0.598}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        CostGemm g = gemm(cases[i].m, 256, 65536);
        double z[COST_TILING_COVARIATES];
        cost_tiling_covariates(s, &g, cost_gemm_reference_ns(s, &g), z);
        g_assert_cmpfloat_with_epsilon(z[1] - z[0], cases[i].more, 2e-3);
    }
}

/* Random shapes: finite, and none of the coordinates outweighs some doublings of a shape. */
static void
test_range(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    for (guint i = 0; i < 2000; i++) {
        CostGemm g = gemm(g_test_rand_int_range(1, 1 << g_test_rand_int_range(1, 20)),
                          g_test_rand_int_range(1, 1 << g_test_rand_int_range(1, 20)),
                          g_test_rand_int_range(1, 1 << g_test_rand_int_range(1, 20)));
        double x[COST_TILING_AXES], z[COST_TILING_COVARIATES];
        g.batch = g_test_rand_int_range(1, 200);
        cost_tiling_axes(s, &g, x);
        cost_tiling_covariates(s, &g, cost_gemm_reference_ns(s, &g), z);
        for (guint axis = 0; axis < COST_TILING_AXES; axis++) {
            g_assert_cmpfloat(x[axis], >=, 0);
            g_assert_cmpfloat(x[axis], <=, 5);
        }
        for (guint c = 0; c < COST_TILING_COVARIATES; c++)
            g_assert_true(isfinite(z[c]));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cost/tiling/waves-that-are-not-full", test_waves);
    g_test_add_func("/cost/tiling/weights-that-fit-the-cache", test_cached);
    g_test_add_func("/cost/tiling/rows-that-do-not-divide", test_ragged);
    g_test_add_func("/cost/tiling/last-wave-counts-where-there-is-one", test_last_wave);
    g_test_add_func("/cost/tiling/all-shapes-are-in-range", test_range);
    return g_test_run();
}
