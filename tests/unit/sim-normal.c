/* Normal deviates from words of bits: moments, tails, agreement with the distribution, and no order. */
#include "config.h"

#include "sim/normal.h"

#include <math.h>

/* Shares of draws below -3, -2 ... 3 against the distribution's: five standard errors of a share. */
static void
test_distribution(void)
{
    SimNormal normal;
    sim_normal_init(&normal);
    enum { N = 2000000 };
    double sum[5] = {0};
    guint below[7] = {0};
    guint64 key = (guint64)g_test_rand_int() << 32 | (guint32)g_test_rand_int();
    for (guint i = 0; i < N; i++) {
        double z = sim_normal_draw(&normal, sim_normal_bits(key, i));
        for (guint k = 1; k < 5; k++)
            sum[k] += pow(z, k);
        for (int edge = -3; edge <= 3; edge++)
            below[edge + 3] += z < edge;
    }
    g_assert_cmpfloat(fabs(sum[1] / N), <, 5 / sqrt(N));
    g_assert_cmpfloat(fabs(sum[2] / N - 1), <, 5 * sqrt(2.0 / N));
    g_assert_cmpfloat(fabs(sum[3] / N), <, 5 * sqrt(15.0 / N));
    g_assert_cmpfloat(fabs(sum[4] / N - 3), <, 5 * sqrt(96.0 / N));
    for (int edge = -3; edge <= 3; edge++) {
        double p = 0.5 * erfc(-edge / sqrt(2));
        g_assert_cmpfloat(fabs((double)below[edge + 3] / N - p), <, 5 * sqrt(p * (1 - p) / N));
    }
}

/* The table is the quantile, and the tail goes on where the table ends. */
static void
test_quantiles(void)
{
    SimNormal normal;
    sim_normal_init(&normal);
    g_assert_cmpfloat(normal.edge[0], ==, 0);
    g_assert_cmpfloat_with_epsilon(normal.edge[SIM_NORMAL_CELLS / 2], 0.674489750, 1e-7);
    for (guint i = 1; i < SIM_NORMAL_CELLS; i++) {
        double p = (double)i / SIM_NORMAL_CELLS;
        g_assert_cmpfloat_with_epsilon(erf(normal.edge[i] / sqrt(2)), p, 1e-7);
    }
    g_assert_cmpfloat(sim_normal_tail(0), ==, normal.edge[SIM_NORMAL_CELLS - 1]);
    g_assert_cmpfloat_with_epsilon(sim_normal_tail(1 - 2048e-6), 4.891638, 1e-5);
    g_assert_cmpfloat(sim_normal_tail(1), <, 10);
}

/* Both signs of the same size are equally likely by construction. */
static void
test_symmetry(void)
{
    SimNormal normal;
    sim_normal_init(&normal);
    for (guint i = 0; i < 1000; i++) {
        guint64 bits = sim_normal_bits(7, i);
        double z = sim_normal_draw(&normal, bits);
        g_assert_cmpfloat(sim_normal_draw(&normal, bits ^ G_GUINT64_CONSTANT(1) << 63), ==, -z);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("Normal deviates are normal, one for each word of bits.");
    g_test_add_func("/sim/normal/distribution", test_distribution);
    g_test_add_func("/sim/normal/quantiles", test_quantiles);
    g_test_add_func("/sim/normal/symmetry", test_symmetry);
    return g_test_run();
}
