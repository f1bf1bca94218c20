/* Numbers for people: units, digits, and no locale. */
#include "config.h"

#include "report/number.h"

#include <math.h>

static void
times_have_a_unit_and_four_digits(void)
{
    const struct {
        double s;
        const char *text;
    } cases[] = {{0, "0 s"},           {17.826, "17.83 s"},  {131.42, "131.4 s"},
                 {0.412, "412.0 ms"},  {0.9999, "999.9 ms"}, {0.99996, "1.000 s"},
                 {9.1e-6, "9.100 us"}, {3e-9, "3.000 ns"},   {-0.25, "-250.0 ms"},
                 {9.9999, "10.00 s"},  {99.999, "100.0 s"},  {12345, "12345 s"}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpstr(report_time(cases[i].s).text, ==, cases[i].text);
}

static void
counts_are_short_or_grouped(void)
{
    g_assert_cmpstr(report_big(174.6e9).text, ==, "174.6 B");
    g_assert_cmpstr(report_big(1.008e12).text, ==, "1.008 T");
    g_assert_cmpstr(report_big(3145728).text, ==, "3.146 M");
    g_assert_cmpstr(report_big(812).text, ==, "812");
    g_assert_cmpstr(report_grouped(1234567).text, ==, "1 234 567");
    g_assert_cmpstr(report_grouped(-1234).text, ==, "-1 234");
    g_assert_cmpstr(report_grouped(999).text, ==, "999");
    g_assert_cmpstr(report_grouped(1e18).text, ==, "1 000 000 000 000 000 000");
}

static void
what_is_no_number_is_a_dash_or_nothing(void)
{
    g_assert_cmpstr(report_percent(NAN).text, ==, "-");
    g_assert_cmpstr(report_fixed(NAN, 2).text, ==, "-");
    g_assert_cmpstr(report_plain(NAN, 6).text, ==, "");
    g_assert_cmpstr(report_percent(0.4471).text, ==, "44.7 %");
    g_assert_cmpstr(report_plain(0.1, 6).text, ==, "0.1");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/number/times-have-a-unit-and-four-digits",
                    times_have_a_unit_and_four_digits);
    g_test_add_func("/report/number/counts-are-short-or-grouped", counts_are_short_or_grouped);
    g_test_add_func("/report/number/what-is-no-number-is-a-dash-or-nothing",
                    what_is_no_number_is_a_dash_or_nothing);
    return g_test_run();
}
