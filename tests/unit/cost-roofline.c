/* Rooflines: what can be worked out by hand. */
#include "config.h"

#include "cost/roofline.h"

#include "cost-fixture.h"

static void
test_compute(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    /* 10 tiles of 256 x 128 fill the 10 SMs once: 2 * 2560 * 128 * 1e5 flop / 10 Tflop/s = 6.5536
     * ms. */
    CostGemm g = {.dtype = CLUSTER_BF16, .m = 2560, .n = 128, .k = 100000, .batch = 1};
    g_assert_cmpfloat_with_epsilon(cost_gemm_roofline_ns(s, &g), 6553600, 1);
    /* Two thousand rows more occupy 8 of 10 SMs for a second wave; it counts as 0.8 + 0.4 * 0.2 of
     * one. */
    g.m = 2560 + 2048;
    g_assert_cmpfloat_with_epsilon(cost_gemm_roofline_ns(s, &g), 6553600 * 1.88, 1);
    /* Ten times the peak for fp32: a tenth of the rate. */
    g.m = 2560;
    g.dtype = CLUSTER_FP32;
    g_assert_cmpfloat_with_epsilon(cost_gemm_roofline_ns(s, &g), 65536000, 10);
}

static void
test_memory(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    /* k = 8: (2*4096*8 + 4096*4096) * 2 B = 33.7 MB at 90 GB/s */
    CostGemm g = {.dtype = CLUSTER_BF16, .m = 4096, .n = 4096, .k = 8, .batch = 1};
    double bytes = (2.0 * 4096 * 8 + 4096.0 * 4096) * 2;
    g_assert_cmpfloat_with_epsilon(cost_gemm_roofline_ns(s, &g), bytes / 90, 1);
    g.batch = 3;
    g_assert_cmpfloat_with_epsilon(cost_gemm_roofline_ns(s, &g), 3 * bytes / 90, 1);
    /* 0.3 of reading 4 and writing 4 instead of 2 bytes an element shows. */
    g.accumulate_fp32 = TRUE;
    double extra = 0.3 * 3 * 4096.0 * 4096 * 6 / 90;
    g_assert_cmpfloat_with_epsilon(cost_gemm_roofline_ns(s, &g), 3 * bytes / 90 + extra, 1);
}

/* C and its transpose take the same time. */
static void
test_transpose(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    for (int i = 0; i < 200; i++) {
        CostGemm g = {.dtype = CLUSTER_BF16,
                      .m = g_test_rand_int_range(1, 9000),
                      .n = g_test_rand_int_range(1, 9000),
                      .k = g_test_rand_int_range(1, 9000),
                      .batch = 1};
        CostGemm t = g;
        t.m = g.n;
        t.n = g.m;
        g_assert_cmpfloat_with_epsilon(cost_gemm_roofline_ns(s, &g), cost_gemm_roofline_ns(s, &t),
                                       1e-3);
        double flops = 2.0 * (double)g.m * (double)g.n * (double)g.k;
        g_assert_cmpfloat(cost_gemm_roofline_ns(s, &g) * (1 + 1e-12), >=,
                          flops / 1e4); /* never above peak */
    }
}

static void
test_misalignment(void)
{
    static const struct {
        CostGemmPass pass;
        gint64 m, n, k;
        double factor;
    } cases[] = {
        {COST_GEMM_FORWARD, 2049, 4096, 4096, 1}, /* rows of x are k long, of y n */
        {COST_GEMM_FORWARD, 2048, 50257, 768, 2.0}, {COST_GEMM_FORWARD, 2048, 2048, 150, 1.5},
        {COST_GEMM_FORWARD, 2048, 2048, 108, 1.15}, {COST_GEMM_FORWARD, 2048, 2048, 112, 1},
        {COST_GEMM_WGRAD, 50257, 768, 2048, 2.0}, /* dW is [m, n], dy has rows of m */
        {COST_GEMM_WGRAD, 4096, 4096, 2049, 1},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        CostGemm g = {.dtype = CLUSTER_BF16,
                      .pass = cases[i].pass,
                      .m = cases[i].m,
                      .n = cases[i].n,
                      .k = cases[i].k,
                      .batch = 1};
        g_assert_cmpfloat(cost_gemm_misalignment(&g), ==, cases[i].factor);
        g.dtype = CLUSTER_FP32;
        g_assert_cmpfloat(cost_gemm_misalignment(&g), ==, 1);
    }
}

static void
test_peaks(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_system("gpu.peak-bf16=0FLOPS");
    g_assert_cmpfloat(cost_peak_flops(s, CLUSTER_FP16), ==, 1e13);
    g_assert_cmpfloat(cost_peak_flops(s, CLUSTER_FP8), ==, 1e13);  /* as fp16 */
    g_assert_cmpfloat(cost_peak_flops(s, CLUSTER_BF16), ==, 1e12); /* as fp32 */
    g_assert_cmpfloat(cost_peak_flops(s, CLUSTER_TF32), ==, 1e12);
}

static void
test_attention(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    /* 10 blocks of 128 rows on 10 SMs: 4 * 1280^2 * 128 flop / 10 Tflop/s = 83.886 us; memory is
     * not in the way */
    CostAttention a = {.dtype = CLUSTER_BF16,
                       .batch = 1,
                       .heads = 1,
                       .kv_heads = 1,
                       .head_dim = 128,
                       .seq_q = 1280,
                       .seq_kv = 1280};
    g_assert_cmpfloat(cost_attention_flops(&a), ==, 4.0 * 1280 * 1280 * 128);
    g_assert_cmpfloat_with_epsilon(cost_attention_roofline_ns(s, &a), 83886.08, 0.01);
    a.backward = TRUE;
    g_assert_cmpfloat_with_epsilon(cost_attention_roofline_ns(s, &a), 2.5 * 83886.08, 0.01);
    a.causal = TRUE;
    g_assert_cmpfloat_with_epsilon(cost_attention_roofline_ns(s, &a), 1.25 * 83886.08, 0.01);
    /* A head of 100 runs as one of 128. */
    a.head_dim = 100;
    g_assert_cmpfloat_with_epsilon(cost_attention_roofline_ns(s, &a), 1.25 * 83886.08, 0.01);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cost/roofline/full-waves-run-at-peak", test_compute);
    g_test_add_func("/cost/roofline/thin-gemms-run-at-memory-rate", test_memory);
    g_test_add_func("/cost/roofline/transposes-cost-the-same", test_transpose);
    g_test_add_func("/cost/roofline/misaligned-rows-cost-extra", test_misalignment);
    g_test_add_func("/cost/roofline/missing-units-fall-back", test_peaks);
    g_test_add_func("/cost/roofline/attention-by-hand", test_attention);
    return g_test_run();
}
