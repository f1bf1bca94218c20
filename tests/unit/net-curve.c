/* Measured sweeps as monotone curves. */
#include "config.h"

#include "net/curve.h"

#include <math.h>

static void
test_hits_and_between(void)
{
    const NetSample samples[] = {{4000, 30}, {1000, 10}, {2000, 12}};
    g_autoptr(NetCurve) curve = net_curve_new(samples, 3);
    gboolean hit;
    double spread;
    g_assert_cmpfloat(net_curve_ns(curve, 1000, &hit, &spread), ==, 10);
    g_assert_true(hit);
    g_assert_cmpfloat(spread, ==, 0);
    g_assert_cmpfloat(net_curve_ns(curve, 4000, &hit, NULL), ==, 30);
    g_assert_true(hit);
    g_assert_cmpfloat_with_epsilon(net_curve_ns(curve, 3000, &hit, NULL), 21, 1e-9);
    g_assert_false(hit);
    g_assert_cmpfloat(net_curve_ns(curve, 1, NULL, NULL), ==, 10);
    g_assert_cmpfloat(net_curve_ns(curve, 1e9, NULL, NULL), ==, 30);
    g_assert_cmpfloat(net_curve_first_bytes(curve), ==, 1000);
    g_assert_cmpfloat(net_curve_last_bytes(curve), ==, 4000);
}

static void
test_rows_of_one_size(void)
{
    /* 33553920 and 33554432 are one size to a sweep over 80 ranks */
    const NetSample samples[] = {{33554432, 90}, {33553920, 100}, {33554432, 121}, {1 << 26, 200}};
    g_autoptr(NetCurve) curve = net_curve_new(samples, 4);
    gboolean hit;
    double spread;
    g_assert_cmpfloat(net_curve_ns(curve, 33554432, &hit, &spread), ==, 100);
    g_assert_true(hit);
    g_assert_cmpfloat(spread, >, 0.1);
    g_assert_cmpfloat(spread, <, 0.2);
    const NetSample two[] = {{1000, 100}, {1000, 400}};
    g_autoptr(NetCurve) even = net_curve_new(two, 2);
    g_assert_cmpfloat_with_epsilon(net_curve_ns(even, 1000, NULL, NULL), 200, 1e-6);
}

/* Isotonic regression in its slow form: x_i = max over a <= i of min over b >= i of mean(a..b). */
static double
slow_monotone(const double *logs, guint n, guint i)
{
    double best = -INFINITY;
    for (guint a = 0; a <= i; a++) {
        double least = INFINITY;
        for (guint b = i; b < n; b++) {
            double sum = 0.0;
            for (guint j = a; j <= b; j++)
                sum += logs[j];
            least = MIN(least, sum / (b - a + 1));
        }
        best = MAX(best, least);
    }
    return exp(best);
}

static void
test_noise_becomes_monotone(void)
{
    for (int round = 0; round < 50; round++) {
        guint n = (guint)g_test_rand_int_range(1, 25);
        NetSample samples[25];
        double logs[25];
        for (guint i = 0; i < n; i++) {
            samples[i].bytes = 100.0 * (i + 1);
            samples[i].ns = exp(0.1 * i + g_test_rand_double_range(-1.0, 1.0));
            logs[i] = log(samples[i].ns);
        }
        g_autoptr(NetCurve) curve = net_curve_new(samples, n);
        double last = 0.0;
        for (guint i = 0; i < n; i++) {
            double ns = net_curve_ns(curve, samples[i].bytes, NULL, NULL);
            g_assert_cmpfloat_with_epsilon(ns / slow_monotone(logs, n, i), 1.0, 1e-9);
            g_assert_cmpfloat(ns, >=, last);
            last = ns;
        }
    }
}

/* Points of latency + bytes / rate lie on their own line everywhere between. */
static void
test_line_is_exact(void)
{
    NetSample samples[12];
    for (guint i = 0; i < 12; i++) {
        samples[i].bytes = 1000.0 * (1 << i);
        samples[i].ns = 5000.0 + samples[i].bytes / 3.0;
    }
    g_autoptr(NetCurve) curve = net_curve_new(samples, 12);
    for (double bytes = 1100.0; bytes < 2048000.0; bytes *= 2.0)
        g_assert_cmpfloat_with_epsilon(net_curve_ns(curve, bytes, NULL, NULL), 5000.0 + bytes / 3.0,
                                       1e-6);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/curve/measured-sizes-are-exact", test_hits_and_between);
    g_test_add_func("/net/curve/rows-of-one-size-become-their-median", test_rows_of_one_size);
    g_test_add_func("/net/curve/noise-becomes-monotone", test_noise_becomes_monotone);
    g_test_add_func("/net/curve/latency-and-rate-are-exact-between-sizes", test_line_is_exact);
    return g_test_run();
}
