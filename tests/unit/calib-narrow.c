/* Rounding to 16 and 8 bits: known numbers, ties, and every number of a format against a search for the nearest. */
#include "config.h"

#include "calib/narrow.h"

#include <glib.h>
#include <math.h>

static void
test_known(void)
{
    static const struct {
        float value;
        guint bf16, fp16, e4m3;
    } cases[] = {
        {0, 0x0000, 0x0000, 0x00},
        {1, 0x3f80, 0x3c00, 0x38},
        {-2, 0xc000, 0xc000, 0xc0},
        {448, 0x43e0, 0x5f00, 0x7e},
        {1e6f, 0x4974, 0x7c00, 0x7e},          /* too large */
        {1.0625f, 0x3f88, 0x3c40, 0x38},       /* a tie of e4m3: to the even one below */
        {1.1875f, 0x3f98, 0x3cc0, 0x3a},       /* and above */
        {1.00390625f, 0x3f80, 0x3c04, 0x38},   /* a tie of bf16 */
        {1.9990234375f, 0x4000, 0x3fff, 0x40}, /* carries into the exponent */
        {5.9604645e-8f, 0x3380, 0x0001, 0x00}, /* the least of fp16 */
        {0.001953125f, 0x3b00, 0x1800, 0x01},  /* of e4m3 */
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_cmphex(calib_narrow_bf16(cases[i].value), ==, cases[i].bf16);
        g_assert_cmphex(calib_narrow_fp16(cases[i].value), ==, cases[i].fp16);
        g_assert_cmphex(calib_narrow_e4m3(cases[i].value), ==, cases[i].e4m3);
    }
}

/* The number that a sign, `exponent` and `mantissa` bits stand for. */
static double
value_of(guint bits, int exponent, int mantissa)
{
    int field = (int)(bits >> mantissa) & ((1 << exponent) - 1), bias = (1 << (exponent - 1)) - 1;
    double steps = bits & ((1u << mantissa) - 1);
    if (field > 0)
        steps += 1 << mantissa;
    return ldexp(steps, MAX(field, 1) - bias - mantissa);
}

/* The nearest of all finite numbers; of two as near the even one. */
static guint
search(double value, int exponent, int mantissa, guint most)
{
    guint best = 0;
    for (guint bits = 1; bits <= most; bits++) {
        double step = fabs(value_of(bits, exponent, mantissa) - value);
        double least = fabs(value_of(best, exponent, mantissa) - value);
        if (step < least || (!(step > least) && bits % 2 == 0))
            best = bits;
    }
    return best;
}

static void
test_nearest(void)
{
    for (int i = 0; i < 400; i++) {
        float value = (float)ldexp(g_test_rand_double_range(1, 2), g_test_rand_int_range(-11, 9));
        if (value < 448)
            g_assert_cmphex(calib_narrow_e4m3(value), ==, search((double)value, 4, 3, 0x7e));
        if (i < 40)
            g_assert_cmphex(calib_narrow_fp16(value), ==, search((double)value, 5, 10, 0x7bff));
        g_assert_cmphex(calib_narrow_e4m3(-value), ==, calib_narrow_e4m3(value) | 0x80);
        g_assert_cmphex(calib_narrow_fp16(-value), ==, calib_narrow_fp16(value) | 0x8000);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("random numbers of 16 and 8 bits are rounded to the nearest, ties to even");
    g_test_add_func("/calib/narrow/known-numbers", test_known);
    g_test_add_func("/calib/narrow/nearest-of-all", test_nearest);
    return g_test_run();
}
