/* Robust curves: constants come back from noise and outliers; errors are honest; bounds; parts left out. */
#include "config.h"

#include "calibrate/fit_line.h"

#include <math.h>

/* Standard normal, by twelve uniforms. */
static double
noise(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += g_test_rand_double();
    return sum;
}

/* y = a + b x + 2 sqrt(f a b x), sizes over six decades; `sigma` of ln y; one row in `every` takes 1.5 to 5 times as
 * long. */
static CalibratePoint *
points_of(guint n, double a, double b, double fill, double sigma, guint every)
{
    CalibratePoint *points = g_new(CalibratePoint, n);
    for (guint i = 0; i < n; i++) {
        double x = pow(10, 6.0 * i / (n - 1)) * a / b / 1e3;
        double y = (a + b * x + 2 * sqrt(fill * a * b * x)) * exp(sigma * noise());
        if (every > 0 && i % every == every / 2)
            y *= g_test_rand_double_range(1.5, 5);
        points[i] = (CalibratePoint){x, y};
    }
    return points;
}

static void
assert_close(double value, double expected, double tolerance_frac)
{
    g_assert_cmpfloat_with_epsilon(value, expected, tolerance_frac * fabs(expected));
}

static void
test_exact(void)
{
    static const struct {
        CalibrateForm form;
        double a, b, fill;
    } cases[] = {{CALIBRATE_LINE, 5000, 0.1, 0},
                 {CALIBRATE_LINE, 1e-3, 2e6, 0},
                 {CALIBRATE_FILLED, 5000, 0.1, 0},
                 {CALIBRATE_FILLED, 12e3, 0.003, 0.08},
                 {CALIBRATE_FILLED, 12e3, 0.003, 0.5}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree CalibratePoint *points =
            points_of(30, cases[i].a, cases[i].b, cases[i].fill, 0, 0);
        CalibrateLine line = calibrate_line_fit(points, 30, cases[i].form);
        assert_close(line.a, cases[i].a, 1e-4);
        assert_close(line.b, cases[i].b, 1e-4);
        g_assert_cmpfloat_with_epsilon(calibrate_line_fill(&line), cases[i].fill, 1e-3);
        g_assert_cmpuint(line.n_used, ==, 30);
        g_assert_cmpfloat(calibrate_line_residuals(&line, points, 30).p90, <, 1e-4);
    }
}

/* 3 % of noise and every fifth row an outlier: constants within 5 %, and within three standard errors nearly always. */
static void
test_noise_and_outliers(void)
{
    guint within = 0, trials = 60;
    for (guint trial = 0; trial < trials; trial++) {
        double a = exp(g_test_rand_double_range(0, 10)), b = exp(g_test_rand_double_range(-8, 2));
        g_autofree CalibratePoint *points = points_of(60, a, b, 0, 0.03, 5);
        CalibrateLine line = calibrate_line_fit(points, 60, CALIBRATE_LINE);
        assert_close(line.a, a, 0.05);
        assert_close(line.b, b, 0.05);
        within += fabs(line.a - a) < 3 * line.a_error && fabs(line.b - b) < 3 * line.b_error;
        g_assert_cmpuint(line.n_used, <=, 54);
        g_assert_cmpuint(line.n_used, >=, 44);
        /* half of the rows are within 0.67 sigma of their like; outliers make it a little more */
        CalibrateResiduals residual = calibrate_line_residuals(&line, points, 60);
        g_assert_cmpfloat(residual.median, >, 0.01);
        g_assert_cmpfloat(residual.median, <, 0.05);
        g_assert_cmpfloat(residual.p90, >, 0.25); /* a row of 1.5 times is 33 % above the line */
    }
    g_assert_cmpuint(within, >=, trials * 85 / 100);
}

static void
test_filled_noise(void)
{
    for (guint trial = 0; trial < 20; trial++) {
        double fill = g_test_rand_double_range(0.02, 0.5);
        g_autofree CalibratePoint *points = points_of(60, 1e4, 0.02, fill, 0.02, 10);
        CalibrateLine line = calibrate_line_fit(points, 60, CALIBRATE_FILLED);
        assert_close(line.a, 1e4, 0.08);
        assert_close(line.b, 0.02, 0.08);
        /* a line without filling makes the rate too low */
        CalibrateLine plain = calibrate_line_fit(points, 60, CALIBRATE_LINE);
        g_assert_cmpfloat(plain.b, >, line.b);
    }
}

/* Units do not matter, nor the order of rows. */
static void
test_scaling(void)
{
    g_autofree CalibratePoint *points = points_of(41, 700, 0.3, 0.1, 0.05, 7);
    CalibrateLine line = calibrate_line_fit(points, 41, CALIBRATE_FILLED);
    for (guint i = 0; i < 41; i++)
        points[i] = (CalibratePoint){points[i].x * 8, points[i].y * 1000};
    CalibrateLine scaled = calibrate_line_fit(points, 41, CALIBRATE_FILLED);
    assert_close(scaled.a, line.a * 1000, 1e-6);
    assert_close(scaled.b, line.b * 125, 1e-6);
    assert_close(scaled.a_error, line.a_error * 1000, 1e-6);
    for (guint i = 0; i < 20; i++) {
        CalibratePoint swap = points[i];
        points[i] = points[40 - i];
        points[40 - i] = swap;
    }
    CalibrateLine turned = calibrate_line_fit(points, 41, CALIBRATE_FILLED);
    assert_close(turned.a, scaled.a, 1e-6);
    assert_close(turned.b, scaled.b, 1e-6);
}

static void
test_bounds(void)
{
    /* in proportion: no latency, not a negative one */
    const CalibratePoint proportion[] = {{1, 2.1}, {2, 4}, {4, 7.7}, {8, 15}};
    CalibrateLine line = calibrate_line_fit(proportion, 4, CALIBRATE_LINE);
    g_assert_cmpfloat(line.a, >=, 0);
    g_assert_cmpfloat(line.b, >, 0);
    /* a convex one would have a < 0 */
    const CalibratePoint convex[] = {{1, 1}, {2, 2.3}, {4, 5}, {8, 11}, {16, 25}};
    line = calibrate_line_fit(convex, 5, CALIBRATE_LINE);
    g_assert_cmpfloat(line.a, ==, 0);
    g_assert_true(isnan(line.a_error));
    /* what falls has no rate */
    const CalibratePoint falls[] = {{1, 5}, {2, 4.9}, {4, 5}, {8, 4.8}};
    line = calibrate_line_fit(falls, 4, CALIBRATE_LINE);
    g_assert_cmpfloat(line.b, ==, 0);
    assert_close(line.a, 4.93, 0.03);
    /* one row; two sizes: in proportion */
    line = calibrate_line_fit(falls, 1, CALIBRATE_FILLED);
    g_assert_cmpfloat(line.a, ==, 0);
    assert_close(line.b, 5, 1e-9);
    g_assert_true(isnan(line.b_error));
    line = calibrate_line_fit(proportion, 2, CALIBRATE_LINE);
    g_assert_cmpfloat(line.a, ==, 0);
    assert_close(line.b, 2.05, 0.03);
}

static void
test_folds(void)
{
    for (guint n = 0; n < 40; n++)
        for (guint folds = 2; folds < 6; folds++) {
            g_autofree guint *part = calibrate_folds(n, folds);
            g_autofree guint *again = calibrate_folds(n, folds);
            guint count[6] = {0};
            for (guint i = 0; i < n; i++) {
                g_assert_cmpuint(part[i], <, folds);
                g_assert_cmpuint(part[i], ==, again[i]);
                count[part[i]]++;
            }
            for (guint f = 1; f < folds; f++)
                g_assert_cmpuint(ABS((int)count[f] - (int)count[0]), <=, 1);
        }
}

static void
test_left_out(void)
{
    g_autofree CalibratePoint *exact = points_of(20, 50, 2, 0, 0, 0);
    g_assert_cmpfloat(calibrate_line_left_out(exact, 20, CALIBRATE_LINE, 2).p90, <, 1e-4);
    g_autofree CalibratePoint *noisy = points_of(200, 50, 2, 0, 0.1, 0);
    CalibrateLine line = calibrate_line_fit(noisy, 200, CALIBRATE_LINE);
    CalibrateResiduals in = calibrate_line_residuals(&line, noisy, 200);
    CalibrateResiduals out = calibrate_line_left_out(noisy, 200, CALIBRATE_LINE, 2);
    g_assert_cmpuint(out.n, ==, 200);
    /* 0.6745 sigma, and two constants of a hundred rows cost little */
    assert_close(in.median, 0.067, 0.45);
    assert_close(out.median, in.median, 0.35);
    /* one row cannot be predicted from none */
    g_assert_true(isnan(calibrate_line_left_out(exact, 1, CALIBRATE_LINE, 2).median));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("Constants come back from rows with noise and outliers, with errors that hold.");
    g_test_add_func("/calibrate/fit-line/exact-rows-give-their-constants", test_exact);
    g_test_add_func("/calibrate/fit-line/noise-and-outliers", test_noise_and_outliers);
    g_test_add_func("/calibrate/fit-line/filled-curves-with-noise", test_filled_noise);
    g_test_add_func("/calibrate/fit-line/units-and-order-do-not-matter", test_scaling);
    g_test_add_func("/calibrate/fit-line/constants-are-not-negative", test_bounds);
    g_test_add_func("/calibrate/fit-line/parts-are-even", test_folds);
    g_test_add_func("/calibrate/fit-line/rows-left-out", test_left_out);
    return g_test_run();
}
