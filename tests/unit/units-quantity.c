/* Quantities: units in the text, exact integers in memory, errors that say what to write. */
#include "config.h"

#include "units/quantity.h"

#include <locale.h>
#include <math.h>

typedef struct {
    UnitsKind kind;
    const char *text;
    gint64 value;
} Good;

static const Good good[] = {
    {UNITS_TIME, "9us", 9000},
    {UNITS_TIME, "9 us", 9000},
    {UNITS_TIME, "9\302\265s", 9000},
    {UNITS_TIME, "9\316\274s", 9000},
    {UNITS_TIME, "1.5ms", 1500000},
    {UNITS_TIME, "1.5e-3s", 1500000},
    {UNITS_TIME, "0.5ns", 1},
    {UNITS_TIME, "0ns", 0},
    {UNITS_TIME, "2min", 120000000000},
    {UNITS_TIME, "1h", 3600000000000},
    {UNITS_TIME, "1d", 86400000000000},
    {UNITS_TIME, "0.000000000000000000000000000001e30ns", 1},
    {UNITS_TIME, "9223372036854775807ns", G_MAXINT64},
    {UNITS_BYTES, "80GB", 80000000000},
    {UNITS_BYTES, "80GiB", 85899345920},
    {UNITS_BYTES, ".5KiB", 512},
    {UNITS_BYTES, "5.KB", 5000},
    {UNITS_RATE, "1555GBps", 1555000000000},
    {UNITS_RATE, "400Gbps", 50000000000},
    {UNITS_RATE, "400Gb/s", 50000000000},
    {UNITS_RATE, "8Kbps", 1000},
    {UNITS_RATE, "3.35TB/s", 3350000000000},
    {UNITS_RATE, "1GiB/s", 1073741824},
    {UNITS_FLOPS, "312TFLOPS", 312000000000000},
    {UNITS_FLOPS, "989.5TFLOP/s", 989500000000000},
    {UNITS_FLOPS, "1E3GFLOPS", 1000000000000},
    {UNITS_FREQUENCY, "1410MHz", 1410000000},
    {UNITS_COUNT, "108", 108},
    {UNITS_COUNT, "128K", 128000},
    {UNITS_COUNT, "128Ki", 131072},
    {UNITS_COUNT, "1.5K", 1500},
    {UNITS_COUNT, "1e3", 1000},
};

static const struct {
    UnitsKind kind;
    const char *text;
    UnitsError code;
    const char *message; /* or NULL: any */
} bad[] = {
    {UNITS_RATE, "1555", UNITS_ERROR_NO_UNIT, "'1555' has no unit; write 1555GBps"},
    {UNITS_TIME, "0", UNITS_ERROR_NO_UNIT, "'0' has no unit; write 0us"},
    {UNITS_BYTES, "80 ", UNITS_ERROR_NO_UNIT, NULL},
    {UNITS_BYTES, "80GBx", UNITS_ERROR_UNKNOWN_UNIT, NULL},
    {UNITS_BYTES, "80GB ", UNITS_ERROR_UNKNOWN_UNIT, NULL},
    {UNITS_BYTES, "80gb", UNITS_ERROR_UNKNOWN_UNIT, "'80gb' has the unknown unit 'gb'; write 80GB"},
    {UNITS_RATE, "50gbps", UNITS_ERROR_UNKNOWN_UNIT,
     "'50gbps' has the unknown unit 'gbps'; write 50GBps or 50Gbps"},
    {UNITS_RATE, "80GB", UNITS_ERROR_UNKNOWN_UNIT, NULL},
    {UNITS_TIME, "5e", UNITS_ERROR_UNKNOWN_UNIT, NULL},
    {UNITS_TIME, "1e5", UNITS_ERROR_NO_UNIT, NULL},
    {UNITS_TIME, "1,5ms", UNITS_ERROR_UNKNOWN_UNIT, NULL},
    {UNITS_TIME, "1.2.3ms", UNITS_ERROR_UNKNOWN_UNIT, NULL},
    {UNITS_TIME, "", UNITS_ERROR_NOT_A_NUMBER, NULL},
    {UNITS_TIME, " 1ms", UNITS_ERROR_NOT_A_NUMBER, NULL},
    {UNITS_TIME, "+1ms", UNITS_ERROR_NOT_A_NUMBER, NULL},
    {UNITS_TIME, ".ms", UNITS_ERROR_NOT_A_NUMBER, NULL},
    {UNITS_TIME, "nan", UNITS_ERROR_NOT_A_NUMBER, NULL},
    {UNITS_TIME, "infs", UNITS_ERROR_NOT_A_NUMBER, NULL},
    {UNITS_TIME, "fast", UNITS_ERROR_NOT_A_NUMBER, NULL},
    {UNITS_TIME, "0x10ms", UNITS_ERROR_UNKNOWN_UNIT, NULL},
    {UNITS_TIME, "-1ms", UNITS_ERROR_RANGE, NULL},
    {UNITS_TIME, "9223372036854775808ns", UNITS_ERROR_RANGE, NULL},
    {UNITS_TIME, "200000d", UNITS_ERROR_RANGE, NULL},
    {UNITS_TIME, "1e99999999999s", UNITS_ERROR_RANGE, NULL},
    {UNITS_TIME, "0.2ns", UNITS_ERROR_RANGE, "'0.2ns' is too small; write 0ns or at least 1ns"},
    {UNITS_TIME, "1e-99999999999s", UNITS_ERROR_RANGE, NULL},
    {UNITS_COUNT, "1.5", UNITS_ERROR_NOT_A_NUMBER, "'1.5' is not a whole number; write digits"},
    {UNITS_COUNT, "8 nodes", UNITS_ERROR_UNKNOWN_UNIT, NULL},
    {UNITS_COUNT, "-8", UNITS_ERROR_RANGE, NULL},
};

static void
test_good(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(good); i++) {
        gint64 value = -1;
        GError *error = NULL;
        gboolean done = units_parse(good[i].kind, good[i].text, &value, &error);
        g_assert_no_error(error);
        g_assert_true(done);
        g_assert_cmpint(value, ==, good[i].value);
    }
}

static void
test_bad(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
        gint64 value = -7;
        g_autoptr(GError) error = NULL;
        g_assert_false(units_parse(bad[i].kind, bad[i].text, &value, &error));
        g_test_message("%s", error->message);
        g_assert_error(error, UNITS_ERROR, (int)bad[i].code);
        g_assert_cmpint(value, ==, -7);
        if (bad[i].message != NULL)
            g_assert_cmpstr(error->message, ==, bad[i].message);
    }
}

static void
test_fraction(void)
{
    static const struct {
        const char *text;
        double value; /* negative: an error */
    } cases[] = {
        {"0", 0},       {"1", 1},    {"0.25", 0.25}, {"12%", 0.12}, {"12 %", 0.12}, {"100%", 1},
        {"1e-3", 1e-3}, {"1.5", -1}, {"101%", -1},   {"-0.1", -1},  {"", -1},       {"x", -1},
        {"0.5x", -1},   {"nan", -1}, {"0x1p-1", -1}, {"%", -1},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        double value = -7;
        g_autoptr(GError) error = NULL;
        gboolean done = units_parse_fraction(cases[i].text, &value, &error);
        g_assert_cmpint(done, ==, cases[i].value >= 0);
        g_assert_cmpint(done, ==, error == NULL);
        g_assert_cmpfloat(value, ==, done ? cases[i].value : -7);
    }
}

static void
test_format(void)
{
    static const struct {
        UnitsKind kind;
        gint64 value;
        int digits;
        const char *text;
    } cases[] = {
        {UNITS_TIME, 0, 4, "0ns"},
        {UNITS_TIME, 7, 4, "7ns"},
        {UNITS_TIME, 1500000, 4, "1.5ms"},
        {UNITS_TIME, 1234567, 4, "1.235ms"},
        {UNITS_TIME, 999999, 3, "1ms"},
        {UNITS_TIME, 90000000000, 4, "90s"},
        {UNITS_TIME, 7200000000000, 4, "2h"},
        {UNITS_TIME, -1500000, 4, "-1.5ms"},
        {UNITS_BYTES, 80000000000, 4, "80GB"},
        {UNITS_BYTES, 85899345920, 4, "80GiB"},
        {UNITS_BYTES, 12345678901, 4, "12.35GB"},
        {UNITS_RATE, 50000000000, 4, "50GBps"},
        {UNITS_FLOPS, 312000000000000, 4, "312TFLOPS"},
        {UNITS_FREQUENCY, 1410000000, 4, "1.41GHz"},
        {UNITS_COUNT, 1536, 4, "1536"},
        {UNITS_COUNT, 128000, 4, "128K"},
        {UNITS_COUNT, 175181291520, 4, "175.2G"},
        {UNITS_TIME, G_MAXINT64, 17, "9223372036.8547758s"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = units_format(cases[i].kind, cases[i].value, cases[i].digits);
        g_assert_cmpstr(text, ==, cases[i].text);
    }
}

static gint64
random_value(void)
{
    guint64 bits = (guint64)(guint32)g_test_rand_int() << 32 | (guint32)g_test_rand_int();
    gint64 value = (gint64)(bits >> g_test_rand_int_range(1, 64));
    /* round numbers are what people write */
    gint64 step = g_test_rand_bit() ? 1000 : 1024;
    while (value < G_MAXINT64 / step / 8 && g_test_rand_bit())
        value *= step;
    return value;
}

static void
test_round_trip(void)
{
    for (int i = 0; i < 100000; i++) {
        UnitsKind kind = (UnitsKind)g_test_rand_int_range(UNITS_TIME, UNITS_COUNT + 1);
        gint64 value = i == 0 ? G_MAXINT64 : random_value(), back = -1;
        g_autofree char *text = units_format_exact(kind, value);
        g_assert_true(units_parse(kind, text, &back, NULL));
        g_assert_cmpint(back, ==, value);

        int digits = g_test_rand_int_range(2, 17);
        g_autofree char *rounded = units_format(kind, value, digits);
        gint64 near = -1;
        if (!units_parse(kind, rounded, &near, NULL))
            g_assert_cmpint(value, >, G_MAXINT64 / 100 * 94);
        else
            g_assert_cmpfloat((double)ABS(near - value), <=,
                              (double)value * 0.5001 * pow(10, 1 - digits) + 0.5);
    }
}

static void
test_locale(void)
{
    /* Where a comma is the decimal point, nothing changes; skipped where no such locale exists. */
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL && setlocale(LC_ALL, "fr_FR.UTF-8") == NULL) {
        g_test_skip("no locale with a decimal comma on this machine");
        return;
    }
    gint64 value = 0;
    g_assert_true(units_parse(UNITS_TIME, "1.5ms", &value, NULL));
    g_assert_cmpint(value, ==, 1500000);
    g_autofree char *text = units_format(UNITS_TIME, value, 4);
    g_assert_cmpstr(text, ==, "1.5ms");
    setlocale(LC_ALL, "C");
}

static void
test_duration(void)
{
    g_assert_cmpint(units_duration_ns(0, 1), ==, 0);
    g_assert_cmpint(units_duration_ns(1, 1000000000), ==, 1);
    g_assert_cmpint(units_duration_ns(1, 3000000000), ==, 1);
    g_assert_cmpint(units_duration_ns(1000000000, 1000000000), ==, 1000000000);
    g_assert_cmpint(units_duration_ns(G_MAXINT64, 1000000000), ==, G_MAXINT64);
    g_assert_cmpint(units_duration_ns(G_MAXINT64, 1), ==, G_MAXINT64);
    for (int i = 0; i < 10000; i++) {
        gint64 bytes = g_test_rand_int_range(0, G_MAXINT32),
               rate = g_test_rand_int_range(1, G_MAXINT32);
        gint64 ns = units_duration_ns(bytes, rate);
        /* the least ns with ns * rate >= bytes * 1e9 */
        g_assert_cmpfloat((double)ns * (double)rate, >=, (double)bytes * 1e9 * (1 - 1e-15));
        g_assert_true(ns == 0 || (__int128)(ns - 1) * rate < (__int128)bytes * 1000000000);
    }
}

static void
test_round_up(void)
{
    g_assert_cmpint(units_round_up_ns(0), ==, 0);
    g_assert_cmpint(units_round_up_ns(1.0), ==, 1);
    g_assert_cmpint(units_round_up_ns(1.0000000001), ==, 1);
    g_assert_cmpint(units_round_up_ns(1.001), ==, 2);
    g_assert_cmpint(units_round_up_ns(1e300), ==, G_MAXINT64);
    g_assert_cmpint(units_round_up_ns(INFINITY), ==, G_MAXINT64);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/units/quantity/reads-numbers-with-units", test_good);
    g_test_add_func("/units/quantity/says-what-to-write", test_bad);
    g_test_add_func("/units/quantity/reads-fractions-and-percents", test_fraction);
    g_test_add_func("/units/quantity/formats-short-text", test_format);
    g_test_add_func("/units/quantity/format-and-parse-agree", test_round_trip);
    g_test_add_func("/units/quantity/ignores-the-locale", test_locale);
    g_test_add_func("/units/quantity/durations-round-up", test_duration);
    g_test_add_func("/units/quantity/costs-round-up-once", test_round_up);
    return g_test_run();
}
