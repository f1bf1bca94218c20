/* Numbers in options are strict. */
#include "config.h"

#include "cli/arguments.h"

#include "cli/command.h"

static void
counts_take_digits_and_nothing_else(void)
{
    const struct {
        const char *text;
        gint64 value; /* -1: refused */
    } cases[] = {{"1", 1},
                 {"64", 64},
                 {"007", 7},
                 {"1000", 1000},
                 {"0", -1},
                 {"1001", -1},
                 {"", -1},
                 {"-", -1},
                 {"-1", -1},
                 {"+1", -1},
                 {" 1", -1},
                 {"1 ", -1},
                 {"4x", -1},
                 {"1.0", -1},
                 {"0x8", -1},
                 {"1e2", -1},
                 {"9223372036854775808", -1}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        gint64 value = -7;
        gboolean ok = cli_parse_count("--tp", cases[i].text, 1, 1000, &value, &error);
        g_assert_cmpint(ok, ==, cases[i].value >= 0);
        g_assert_cmpint(value, ==, ok ? cases[i].value : -7);
        if (!ok)
            g_assert_error(error, CLI_ERROR, CLI_ERROR_USAGE);
    }
}

static void
numbers_are_finite_and_not_negative(void)
{
    static const char *const bad[] = {"", "nan", "inf", "-1", "1x", "1e999", " 1", "0x"};
    double value = -7;
    g_assert_true(cli_parse_number("--clip", "0.5", &value, NULL));
    g_assert_cmpfloat(value, ==, 0.5);
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        gboolean ok = cli_parse_number("--clip", bad[i], &value, &error);
        g_assert_false(ok);
        g_assert_error(error, CLI_ERROR, CLI_ERROR_USAGE);
        g_assert_cmpfloat(value, ==, 0.5);
    }
}

static void
a_near_choice_is_hinted_at(void)
{
    static const char *const choices[] = {"none", "selective", "full", NULL};
    g_autoptr(GError) error = NULL;
    guint index = 9;
    g_assert_true(cli_parse_choice("--recompute", "full", choices, &index, NULL));
    g_assert_cmpuint(index, ==, 2);
    gboolean ok = cli_parse_choice("--recompute", "ful", choices, &index, &error);
    g_assert_false(ok);
    g_assert_cmpuint(index, ==, 2);
    g_assert_cmpstr(error->message, ==,
                    "--recompute: 'ful' is not known; did you mean 'full'?; write one of: "
                    "none selective full");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cli/arguments/counts-take-digits-and-nothing-else",
                    counts_take_digits_and_nothing_else);
    g_test_add_func("/cli/arguments/numbers-are-finite-and-not-negative",
                    numbers_are_finite_and_not_negative);
    g_test_add_func("/cli/arguments/a-near-choice-is-hinted-at", a_near_choice_is_hinted_at);
    return g_test_run();
}
