/* Quantiles by hand, and beside a slow twin. */
#include "config.h"

#include "units/quantile.h"

#include <math.h>

static void
test_by_hand(void)
{
    static const struct {
        double sorted[5];
        guint n;
        double part, expected;
    } cases[] = {
        {{7}, 1, 0, 7},
        {{7}, 1, 0.5, 7},
        {{7}, 1, 1, 7},
        {{1, 3}, 2, 0.5, 2},
        {{1, 2, 9}, 3, 0.5, 2},
        {{1, 2, 9}, 3, 0.75, 5.5},
        {{0, 1, 2, 3, 4}, 5, 0.9, 3.6},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpfloat_with_epsilon(units_quantile(cases[i].sorted, cases[i].n, cases[i].part),
                                       cases[i].expected, 1e-12);
}

static void
test_none(void)
{
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(double));
    g_assert_true(isnan(units_quantile_of(none, 0.5)));
}

/* As many are below as above, for every count. */
static void
test_counts(void)
{
    for (guint n = 1; n < 40; n++) {
        g_autoptr(GArray) xs = g_array_new(FALSE, FALSE, sizeof(double));
        for (guint i = 0; i < n; i++) {
            double x = g_test_rand_double_range(-5, 5);
            g_array_append_val(xs, x);
        }
        double median = units_quantile_of(xs, 0.5), least = units_quantile_of(xs, 0);
        guint below = 0, above = 0;
        for (guint i = 0; i < n; i++) {
            double x = g_array_index(xs, double, i);
            below += x < median;
            above += x > median;
            g_assert_cmpfloat(x, >=, least);
        }
        g_assert_cmpuint(below, ==, above);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/units/quantile/by-hand", test_by_hand);
    g_test_add_func("/units/quantile/none", test_none);
    g_test_add_func("/units/quantile/counts", test_counts);
    return g_test_run();
}
