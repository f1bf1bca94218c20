/* Errors of two times set against each other: by hand, and against a slow twin. */
#include "config.h"

#include "step-doubts.h"

#include <math.h>

static void
test_by_hand(void)
{
    const StepDoubt one[] = {{7, 3}, {2, 4}}, other[] = {{7, 3}, {9, 12}},
                    same[] = {{2, 1}, {2, 3}};
    g_autoptr(GArray) x = doubts_new(one, 2), y = doubts_new(other, 2), z = doubts_new(same, 2);
    g_test_summary(
        "3 and 4 are 5 together; what two times share, 3, does not tell them apart: 4 and 12 are left, "
        "sqrt(160); of one source errors add up: 1 + 3");
    g_assert_cmpfloat_with_epsilon(step_doubt_of_difference(x, 1, NULL, 0), 5, 1e-12);
    g_assert_cmpfloat_with_epsilon(step_doubt_of_difference(x, 1, y, 1), sqrt(160), 1e-12);
    g_assert_cmpfloat_with_epsilon(step_doubt_of_difference(x, 1, x, 1), 0, 1e-12);
    g_assert_cmpfloat_with_epsilon(step_doubt_of_difference(x, 2, x, 1), 5, 1e-12);
    g_assert_cmpuint(z->len, ==, 1);
    g_assert_cmpfloat_with_epsilon(step_doubt_of_difference(z, 1, NULL, 0), 4, 1e-12);
}

static GArray *
drawn(GRand *rand)
{
    GArray *array = g_array_new(FALSE, FALSE, sizeof(StepDoubt));
    for (gint i = g_rand_int_range(rand, 0, 30); i > 0; i--) {
        StepDoubt doubt = {(guint64)g_rand_int_range(rand, 0, 40), g_rand_double_range(rand, 0, 9)};
        g_array_append_val(array, doubt);
    }
    return array;
}

static double
of_source(const GArray *doubts, guint64 source)
{
    double sum = 0;
    for (guint i = 0; i < doubts->len; i++)
        if (g_array_index(doubts, StepDoubt, i).source == source)
            sum += g_array_index(doubts, StepDoubt, i).ns;
    return sum;
}

/* Source by source over the unsorted lists. */
static double
twin(const GArray *x, double x_scale, const GArray *y, double y_scale)
{
    double variance = 0;
    for (guint64 source = 0; source < 40; source++) {
        double ns = x_scale * of_source(x, source) - y_scale * of_source(y, source);
        variance += ns * ns;
    }
    return sqrt(variance);
}

static void
test_random(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed((guint32)g_test_rand_int());
    for (guint round = 0; round < 2000; round++) {
        g_autoptr(GArray) x = drawn(rand), y = drawn(rand);
        double a = g_rand_double_range(rand, 0.1, 3), b = g_rand_double_range(rand, 0.1, 3);
        double expected = twin(x, a, y, b);
        step_doubts_sort(x);
        step_doubts_sort(y);
        double found = step_doubt_of_difference(x, a, y, b);
        g_assert_cmpfloat_with_epsilon(found, expected, 1e-9);
        g_assert_cmpfloat_with_epsilon(step_doubt_of_difference(y, b, x, a), found, 1e-9);
        double alone =
            hypot(step_doubt_of_difference(x, a, NULL, 0), step_doubt_of_difference(y, b, NULL, 0));
        g_assert_cmpfloat(found, <=, alone + 1e-9); /* what is shared never adds */
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/step/doubt/by-hand", test_by_hand);
    g_test_add_func("/step/doubt/random", test_random);
    return g_test_run();
}
