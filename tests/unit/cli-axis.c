/* Ranges of a sweep. */
#include "config.h"

#include "cli/command.h"
#include "cli/inputs.h"
#include "schedule/schedule.h"

static const CliOption option = {"tp", CLI_OPTION_COUNT, 0, 1, 1000000, NULL, "N", "ranks"};

static void
ranges_and_lists_give_their_values(void)
{
    const struct {
        const char *text, *values;
    } cases[] = {{"1..4", "1 2 3 4"},    {"1..10:4", "1 5 9"}, {"1..64*2", "1 2 4 8 16 32 64"},
                 {"3..3", "3"},          {"1,2,4", "1 2 4"},   {"8,1..3", "8 1 2 3"},
                 {"2..100*7", "2 14 98"}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        CliAxis *axis = cli_axis_parse(&option, cases[i].text, &error);
        g_assert_no_error(error);
        g_autoptr(GString) values = g_string_new(NULL);
        for (guint k = 0; k < axis->values->len; k++)
            g_string_append_printf(values, "%s%" G_GINT64_FORMAT, k > 0 ? " " : "",
                                   g_array_index(axis->values, gint64, k));
        g_assert_cmpstr(values->str, ==, cases[i].values);
        cli_axis_free(axis);
    }
}

static void
what_is_no_range_is_refused(void)
{
    static const char *const texts[] = {"",       "1..",      "..4",        "4..1",  "1..4:0",
                                        "1..4*1", "1,,2",     "1..4..8",    "0..4",  "1..x",
                                        "1..4:",  "1..4:2:2", "1..1000000", "-4..4", "1..2000000"};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        CliAxis *axis = cli_axis_parse(&option, texts[i], &error);
        g_assert_null(axis);
        g_assert_error(error, CLI_ERROR, CLI_ERROR_USAGE);
        g_assert_true(g_str_has_prefix(error->message, "--tp: "));
    }
}

static void
schedules_are_an_axis_of_names(void)
{
    static const CliOption schedule = {"schedule", CLI_OPTION_TEXT, 0, 0, 0, NULL, "NAME", "order"};
    g_autoptr(GError) error = NULL;
    CliAxis *axis = cli_axis_parse(&schedule, "1f1b,interleaved,my.csv", &error);
    static const char *const names[] = {"1f1b", "interleaved_megatron", "my.csv"};
    g_assert_no_error(error);
    g_assert_cmpuint(axis->values->len, ==, 3);
    for (guint i = 0; i < 3; i++) {
        g_assert_cmpint(g_array_index(axis->values, gint64, i), ==, i);
        g_assert_cmpstr(axis->names->pdata[i], ==, names[i]);
    }
    cli_axis_free(axis);
    axis = cli_axis_parse(&schedule, "1f1b,2f2b", &error);
    g_assert_null(axis);
    g_assert_error(error, SCHEDULE_ERROR, SCHEDULE_ERROR_UNKNOWN);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cli/axis/ranges-and-lists-give-their-values",
                    ranges_and_lists_give_their_values);
    g_test_add_func("/cli/axis/what-is-no-range-is-refused", what_is_no_range_is_refused);
    g_test_add_func("/cli/axis/schedules-are-an-axis-of-names", schedules_are_an_axis_of_names);
    return g_test_run();
}
