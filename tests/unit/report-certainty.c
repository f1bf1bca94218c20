/* How sure times are, in words and columns; which of several is surely best. */
#include "config.h"

#include "report/certainty.h"

#include <string.h>

static GArray *
doubts_new(const StepDoubt *doubts, guint n)
{
    GArray *array = g_array_new(FALSE, FALSE, sizeof(StepDoubt));
    g_array_append_vals(array, doubts, n);
    step_doubts_sort(array);
    return array;
}

static void
test_words(void)
{
    const ReportCertainty rows[] = {{1.5, {0.267, 0.717, 0.016}}, {2, {0.267, 0.7, 0.033}}};
    g_autofree char *one = report_certainty_words(rows[0]);
    g_autoptr(GString) out = g_string_new(NULL);
    g_assert_cmpstr(one, ==, "26.7 % measured, 71.7 % interpolated, 1.6 % modelled");
    report_append_certainties(rows, 2, out);
    g_assert_cmpstr(
        out->str, ==,
        "  +- is one sigma; compute and communication are 26.7 % measured, 70.0 to 71.7 % "
        "interpolated,\n  1.6 to 3.3 % modelled.\n");
    g_string_truncate(out, 0);
    report_append_certainties(rows, 0, out);
    report_append_modelled(0, 2, out);
    g_assert_cmpstr(out->str, ==, "");
    report_append_modelled(1, 2, out);
    g_assert_true(g_str_has_prefix(out->str, "  WARNING: 1 of 2 rows rests mostly on shapes"));
    g_assert_false(report_certainty_is_modelled(rows[0]));
}

static void
test_columns(void)
{
    const ReportCertainty c = {1.5, {0.25, 0.75, 0}};
    g_autoptr(GString) out = g_string_new(NULL);
    report_certainty_fields(c, out);
    g_assert_cmpstr(out->str, ==, "\t1.5\t0.25\t0.75\t0");
    g_string_truncate(out, 0);
    report_certainty_fields(report_no_certainty, out);
    g_assert_cmpstr(out->str, ==, "\t\t\t\t");
    g_auto(GStrv) heads = g_strsplit(report_certainty_columns, "\t", -1);
    g_assert_cmpuint(g_strv_length(heads), ==, 5);
    g_assert_true(g_str_has_suffix(report_certainty_columns, report_share_columns));
}

/* 10 s; 10.3 s that errs by 0.4 s beside what both share; 10.3 s that shares all; 12 s; one that takes no part. */
static void
test_best(void)
{
    const StepDoubt best[] = {{1, 1e9}}, own[] = {{1, 1e9}, {2, 0.4e9}}, shared[] = {{1, 1.03e9}};
    g_autoptr(GArray) x = doubts_new(best, 1), y = doubts_new(own, 2), z = doubts_new(shared, 1);
    const ReportRival rivals[] = {{12, 1, y},   {10.3, 1, y}, {10, 1, x},   {10.3, 1, z},
                                  {9, 1, NULL}, {5, 2, x},    {20, 0.51, z}};
    const char *const names[] = {"late", "close", "first", "alike", "absent", "twice", "half"};
    guint at = 99, n = G_N_ELEMENTS(rivals);
    g_autofree gboolean *is = report_rivals_of_best(rivals, n, &at);
    g_test_summary(
        "as sure as their common error makes them, errors that are shared do not make two times alike");
    g_assert_cmpuint(at, ==, 2);
    g_assert_false(is[0]);
    g_assert_true(is[1]);
    g_assert_true(is[2]);
    g_assert_false(is[3]); /* 0.3 s apart, and the error of that is 0.03 s */
    g_assert_false(is[4]);
    g_assert_true(is[5]); /* the same, of half the time, twice */
    g_assert_true(is[6]); /* 10.2 s; what it shares counts 0.51 times, so the error is 0.475 s */
    g_autoptr(GString) out = g_string_new(NULL);
    report_append_best(rivals, names, n, "time", out);
    g_assert_nonnull(strstr(out->str, "better than: close; twice; half."));
    g_string_truncate(out, 0);
    report_append_best(&rivals[2], &names[2], 2, "time", out);
    g_assert_nonnull(strstr(out->str, "It is better than all others by more"));
    g_string_truncate(out, 0);
    report_append_best(&rivals[3], &names[3], 2, "time", out); /* nothing to compare with */
    report_append_best(&rivals[4], &names[4], 1, "time", out);
    g_assert_cmpstr(out->str, ==, "");
    g_assert_null(report_rivals_of_best(&rivals[4], 1, &at));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/certainty/words", test_words);
    g_test_add_func("/report/certainty/columns", test_columns);
    g_test_add_func("/report/certainty/best", test_best);
    return g_test_run();
}
