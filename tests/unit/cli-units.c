/* Durations of textbook mode are exact. */
#include "config.h"

#include "cli/units.h"

#include "cli/command.h"

static void
numbers_come_to_a_common_denominator(void)
{
    const struct {
        const char *text;
        gint64 F, I, W, comm, scale;
    } cases[] = {{"F=1,I=1,W=1", 1, 1, 1, 0, 1}, {"F=2,I=3,W=1,comm=1", 2, 3, 1, 1, 1},
                 {"F=1,B=2", 1, 1, 1, 0, 1},     {"F=1,B=3,W=1", 1, 2, 1, 0, 1},
                 {"F=1,B=3,I=1", 1, 1, 2, 0, 1}, {"F=5/2,I=0.5,W=1/3", 15, 3, 2, 0, 6},
                 {"F=1,B=1", 2, 1, 1, 0, 2},     {"F=0.25,comm=.5", 1, 1, 1, 2, 4},
                 {"F=4/2,I=3", 2, 3, 0, 0, 1}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        CliUnits u;
        gboolean ok = cli_units_parse(cases[i].text, &u, &error);
        g_assert_no_error(error);
        g_assert_true(ok);
        g_assert_cmpint(u.scale, ==, cases[i].scale);
        g_assert_cmpint(u.units.F, ==, cases[i].F);
        g_assert_cmpint(u.units.I, ==, cases[i].I);
        g_assert_cmpint(u.units.W, ==, cases[i].W);
        g_assert_cmpint(u.units.comm, ==, cases[i].comm);
    }
}

static void
a_pair_is_as_long_as_it_is_said(void)
{
    const struct {
        const char *text;
        gint64 pair, F, scale;
    } cases[] = {
        {"F=1,I=1,W=1", 0, 1, 1}, {"F=1,I=1,W=1,pair=3", 3, 1, 1}, {"F=1,B=2,pair=5/2", 5, 2, 2}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        CliUnits u;
        gboolean ok = cli_units_parse(cases[i].text, &u, &error);
        g_assert_no_error(error);
        g_assert_true(ok);
        g_assert_cmpint(u.units.pair, ==, cases[i].pair);
        g_assert_cmpint(u.units.F, ==, cases[i].F);
        g_assert_cmpint(u.scale, ==, cases[i].scale);
    }
}

static void
what_is_no_duration_is_refused(void)
{
    static const char *const texts[] = {"",
                                        "F",
                                        "F=",
                                        "F=x",
                                        "F=-1",
                                        "F=1e3",
                                        "F=1/0",
                                        "F=1/2/3",
                                        "G=1",
                                        "F=1,,W=1",
                                        "F=nan",
                                        "F=1 ",
                                        "F=0,B=0",
                                        "B=1,I=2",
                                        "F=1.2.3",
                                        "F=.",
                                        "F=1,pair=0",
                                        "F=1,pair=",
                                        "pairs=1",
                                        "F=1,I=1,W=1,B=2",
                                        "F=99999999999999999999",
                                        "F=1/999999937,I=1/999999893"};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        CliUnits u = {.scale = -7};
        gboolean ok = cli_units_parse(texts[i], &u, &error);
        g_assert_false(ok);
        g_assert_error(error, CLI_ERROR, CLI_ERROR_USAGE);
        g_assert_cmpint(u.scale, ==, -7);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cli/units/numbers-come-to-a-common-denominator",
                    numbers_come_to_a_common_denominator);
    g_test_add_func("/cli/units/a-pair-is-as-long-as-it-is-said", a_pair_is_as_long_as_it_is_said);
    g_test_add_func("/cli/units/what-is-no-duration-is-refused", what_is_no_duration_is_refused);
    return g_test_run();
}
