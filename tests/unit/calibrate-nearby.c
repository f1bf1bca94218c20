/* What rows near a place say: exactly on a plane, with an error that holds where there is noise, nothing where they cannot. */
#include "config.h"

#include "calibrate/nearby.h"

#include <math.h>

static CalibrateObservations *
observe(const char *text)
{
    GError *error = NULL;
    g_autoptr(ClusterSystem) system =
        cluster_system_load("1 node x 8 a100, nvswitch", NULL, &error);
    g_assert_no_error(error);
    g_autoptr(ConfTable) table = conf_table_parse("t.tsv", text, '\t', &error);
    g_assert_no_error(error);
    CalibrateObservations *rows = calibrate_observe(system, CLUSTER_TABLE_OVERLAP, table, &error);
    g_assert_no_error(error);
    return rows;
}

/* Slowdowns have no nominal time, so that y is ln(value / base); x is log2(1 + channels). */
static CalibrateObservations *
slowdowns(guint n, double slope, double noise)
{
    g_autoptr(GString) text =
        g_string_new("work\ttraffic\tchannels\trate_GBps\twork_slowdown\ttraffic_slowdown\n");
    for (guint i = 0; i < n; i++) {
        double uneven = noise * (g_test_rand_double_range(-1, 1) + g_test_rand_double_range(-1, 1));
        g_string_append_printf(text, "gemm\tnvlink\t%.17g\t-\t%.17g\t-\n", exp2(0.25 * (i + 1)) - 1,
                               exp(0.5 + slope * 0.25 * (i + 1) + uneven));
    }
    return observe(text->str);
}

static double
off_at(const CalibrateObservations *o, guint row, const CalibrateNearby *near)
{
    const CalibrateObservation *at = calibrate_observation_at(o, row);
    return log(at->value / calibrate_series_at(o, 0)->base) - near->y;
}

static gboolean
ask(const CalibrateObservations *o, guint row, CalibrateNearby *ret)
{
    g_autofree gboolean *left_out = g_new0(gboolean, o->rows->len);
    left_out[row] = TRUE;
    return calibrate_nearby(o, calibrate_series_at(o, 0), calibrate_observation_at(o, row)->x,
                            left_out, ret);
}

static void
test_plane(void)
{
    g_autoptr(CalibrateObservations) o = slowdowns(12, 0.1, 0);
    CalibrateNearby near;
    for (guint i = 0; i < o->rows->len; i++) {
        g_assert_true(ask(o, i, &near));
        /* but for the prior of the slope, 0.01 / 0.35 of what is out of the rows' own */
        g_assert_cmpfloat(fabs(off_at(o, i, &near)), <, 0.003);
        g_assert_cmpfloat(near.error, <, 0.03); /* the least sigma, 0.01, and the plane's own */
        g_assert_cmpuint(near.n, ==, 8);
        g_assert_cmpfloat_with_epsilon(near.distance, 0.25, 1e-9);
    }
}

/* Farther out of the rows they say less. */
static void
test_distance(void)
{
    g_autoptr(CalibrateObservations) o = slowdowns(12, 0.1, 0);
    CalibrateNearby near;
    double before = 0;
    for (guint octave = 0; octave < 6; octave++) {
        const double x[CALIBRATE_AXES] = {3 + octave};
        g_assert_true(calibrate_nearby(o, calibrate_series_at(o, 0), x, NULL, &near));
        g_assert_cmpfloat(near.error + near.bend, >, before);
        before = near.error + near.bend;
    }
    g_assert_cmpfloat(near.bend, >, 1);
}

/* By the rule of t, nineteen of twenty rows are within 1.96 sigmas. Noise that does not grow with the distance, as here, is
 * taken for some of what does: a few less, which is what a check's factor of the whole series is for. */
static void
test_coverage(void)
{
    guint n_in = 0, n = 0;
    for (guint i = 0; i < 40; i++) {
        g_autoptr(CalibrateObservations) o = slowdowns(20, 0.2, 0.05);
        CalibrateNearby near;
        for (guint row = 0; row < o->rows->len; row++, n++) {
            g_assert_true(ask(o, row, &near));
            n_in += calibrate_nearby_sigmas(&near, off_at(o, row, &near)) < 1.96;
        }
    }
    g_assert_cmpfloat((double)n_in / n, >, 0.88);
    g_assert_cmpfloat((double)n_in / n, <, 0.98);
}

static void
test_few(void)
{
    CalibrateNearby near;
    g_autoptr(CalibrateObservations) four = slowdowns(4, 0.1, 0);
    g_assert_false(ask(four, 0, &near));
    g_autoptr(CalibrateObservations) five = slowdowns(5, 0.1, 0);
    g_assert_true(ask(five, 0, &near));
    g_assert_cmpuint(near.n, ==, 4);
}

/* Tables of Student's t: two-sided 5 % and 0.1 % are 1.96 and 3.2905 sigmas. */
static void
test_sigmas(void)
{
    static const struct {
        double freedom, t, sigmas;
    } cases[] = {{4, 2.776, 1.96},    {10, 2.228, 1.96},   {30, 2.042, 1.96}, {4, 8.610, 3.2905},
                 {10, 4.587, 3.2905}, {30, 3.646, 3.2905}, {0, 100, 0},       {-2, 100, 0}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        CalibrateNearby near = {.error = 0.5, .bend = 0.25, .freedom = cases[i].freedom};
        g_assert_cmpfloat_with_epsilon(calibrate_nearby_sigmas(&near, -(0.25 + 0.5 * cases[i].t)),
                                       cases[i].sigmas, 0.05);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/calibrate/nearby/plane", test_plane);
    g_test_add_func("/calibrate/nearby/distance", test_distance);
    g_test_add_func("/calibrate/nearby/coverage", test_coverage);
    g_test_add_func("/calibrate/nearby/few", test_few);
    g_test_add_func("/calibrate/nearby/sigmas", test_sigmas);
    return g_test_run();
}
