/* Median, spread and drift of samples. */
#include "config.h"

#include "calib/statistics.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static void
test_median(void)
{
    static const struct {
        unsigned n;
        double values[5], median;
    } cases[] = {{1, {7}, 7}, {2, {4, 2}, 3}, {3, {9, 1, 5}, 5}, {5, {3, 3, 100, 3, 1}, 3}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpfloat(calib_median(cases[i].values, cases[i].n), ==, cases[i].median);
}

/* Deviations from 100 are 0 1 1 2 and 900: their median is 1, of which 1.4826 is the spread. */
static void
test_spread(void)
{
    static const double values[] = {99, 100, 101, 102, 1000};
    static const double same[] = {5, 5, 5, 5};
    g_assert_cmpfloat_with_epsilon(calib_spread_frac(values, 5), 1.4826 / 101, 1e-12);
    g_assert_cmpfloat(calib_spread_frac(same, 4), ==, 0);
    g_assert_cmpfloat(calib_spread_frac(same, 1), ==, 0);
}

static double
normal(void)
{
    double u = g_test_rand_double_range(1e-12, 1), v = g_test_rand_double();
    return sqrt(-2 * log(u)) * cos(2 * G_PI * v);
}

/* Of normal noise of 3 % the spread is 3 % on average, and a third of wild samples moves the median by no more than
 * some of it. */
static void
test_normal_noise(void)
{
    enum { N = 45, TIMES = 400 };
    double sum = 0;
    for (int t = 0; t < TIMES; t++) {
        double values[N];
        for (int i = 0; i < N; i++)
            values[i] = 50 * (1 + 0.03 * normal());
        sum += calib_spread_frac(values, N);
        for (int i = 0; i < N / 3; i++)
            values[i] = g_test_rand_double_range(60, 5000);
        g_assert_cmpfloat(fabs(calib_median(values, N) / 50 - 1), <, 0.06);
    }
    g_assert_cmpfloat(sum / TIMES, >, 0.027);
    g_assert_cmpfloat(sum / TIMES, <, 0.033);
}

/* First third 10, last third 11. */
static void
test_drift(void)
{
    static const double rising[] = {10, 10, 10, 10.5, 10.5, 10.5, 11, 11, 11};
    static const double few[] = {10, 11, 12, 13, 14};
    g_assert_cmpfloat_with_epsilon(calib_drift_frac(rising, 9), 0.1, 1e-12);
    g_assert_cmpfloat(calib_drift_frac(few, 5), ==, 0);
}

/* The samples given are not put in another order. */
static void
test_arguments_stay(void)
{
    double values[] = {3, 1, 2}, before[3];
    memcpy(before, values, sizeof values);
    calib_median(values, 3);
    calib_spread_frac(values, 3);
    g_assert_cmpmem(values, sizeof values, before, sizeof before);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/calib/statistics/median", test_median);
    g_test_add_func("/calib/statistics/spread-is-of-the-median-deviation", test_spread);
    g_test_add_func("/calib/statistics/spread-of-normal-noise-is-its-sigma", test_normal_noise);
    g_test_add_func("/calib/statistics/drift", test_drift);
    g_test_add_func("/calib/statistics/samples-keep-their-order", test_arguments_stay);
    return g_test_run();
}
