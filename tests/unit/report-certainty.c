/* How sure times are, in words and columns; which of several is surely best. */
#include "config.h"

#include "report/certainty.h"

#include "step-doubts.h"

#include <string.h>

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
    g_assert_cmpstr(out->str, ==, "");
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

/* 10 s; 10.3 s that errs by 0.4 s beside what both share; 10.3 s that shares all; 12 s; one that did not run. */
static void
test_best(void)
{
    const StepDoubt best[] = {{1, 1e9}}, own[] = {{1, 1e9}, {2, 0.4e9}}, shared[] = {{1, 1.03e9}};
    g_autoptr(GArray) x = doubts_new(best, 1), y = doubts_new(own, 2), z = doubts_new(shared, 1);
    const ReportCertainty c = {1, {1, 0, 0}}, m = {1, {0, 0.4, 0.6}};
    const ReportRival rivals[] = {
        {"late", 12, 1, y, c, TRUE, FALSE},     {"close", 10.3, 1, y, c, TRUE, FALSE},
        {"first", 10, 1, x, c, TRUE, FALSE},    {"alike", 10.3, 1, z, m, TRUE, FALSE},
        {"absent", 9, 1, NULL, c, TRUE, FALSE}, {"twice", 5, 2, x, c, TRUE, FALSE},
        {"half", 20, 0.51, z, c, TRUE, FALSE},
    };
    guint n = G_N_ELEMENTS(rivals);
    g_autofree gboolean *is = report_rivals_of_best(rivals, n);
    g_test_summary(
        "as sure as their common error makes them, errors that are shared do not make two times alike");
    g_assert_false(is[0]);
    g_assert_true(is[1]);
    g_assert_true(is[2]);
    g_assert_false(is[3]); /* 0.3 s apart, and the error of that is 0.03 s */
    g_assert_false(is[4]);
    g_assert_true(is[5]); /* the same, of half the time, twice */
    g_assert_true(is[6]); /* 10.2 s; what it shares counts 0.51 times, so the error is 0.475 s */
    g_autoptr(GString) out = g_string_new(NULL);
    report_certainty_block(rivals, n, "time", out);
    g_assert_nonnull(strstr(out->str, "Best time: first. Errors (one sigma) leave open"));
    g_assert_nonnull(strstr(out->str, "close; twice; half."));
    g_assert_nonnull(strstr(out->str, "WARNING: 1 of 6 rows rests mostly on shapes"));
    g_string_truncate(out, 0);
    report_certainty_block(&rivals[2], 2, "time", out);
    g_assert_nonnull(strstr(out->str, "It is better than all others by more"));
    g_string_truncate(out, 0);
    report_certainty_block(&rivals[1], 1, "time", out); /* nothing to compare with */
    report_certainty_block(&rivals[4], 1, "time", out);
    g_assert_null(strstr(out->str, "Best"));
    g_autofree gboolean *none = report_rivals_of_best(&rivals[4], 1);
    g_assert_false(none[0]);
}

/* What the block says of rows f(its) or n(ot), s(tale) or not, each far slower than the one before it. */
static void
test_left_out(void)
{
    static const struct {
        const char *rows, *says;
        guint best;
    } cases[] = {
        {"f f f", "Best time: 0. It is better than all others by more", 0},
        {"n f f", "Best time of those that fit: 1. It is better than all others of those that", 1},
        {"n n", "Best time: 0. It", 0},
        {"fs f f", "Best time of synchronous schedules: 1. It", 1},
        {"fs f f", "Asynchronous schedules take no part: their weights", 1},
        {"fs n f f", "Best time of synchronous schedules that fit: 2. It", 2},
        {"fs fs", "Best time: 0. It", 0},
        {"fs fs n", "It is asynchronous: its weights are stale.", 0},
        {"ns f f", "Best time of those that fit: 1. It", 1}, /* would not have been best */
        {"ns n n", "Best time of synchronous schedules: 1. It", 1},
    };
    const StepDoubt doubt = {1, 1e6};
    g_autoptr(GArray) doubts = doubts_new(&doubt, 1);
    const char *const names[] = {"0", "1", "2", "3"};
    for (guint k = 0; k < G_N_ELEMENTS(cases); k++) {
        g_auto(GStrv) rows = g_strsplit(cases[k].rows, " ", -1);
        guint n = g_strv_length(rows);
        ReportRival rivals[G_N_ELEMENTS(names)];
        g_autoptr(GString) out = g_string_new(NULL);
        for (guint i = 0; i < n; i++)
            rivals[i] = (ReportRival){
                names[i], 1 + i, 1, doubts, {1, {1, 0, 0}}, rows[i][0] == 'f', rows[i][1] == 's'};
        report_certainty_block(rivals, n, "time", out);
        g_strdelimit(out->str, "\n", ' ');
        g_auto(GStrv) words = g_strsplit(out->str, "   ", -1); /* where lines were broken */
        g_autofree char *line = g_strjoinv(" ", words);
        g_test_message("%s: %s", cases[k].rows, line);
        g_assert_nonnull(strstr(line, cases[k].says));
        g_autofree gboolean *is = report_rivals_of_best(rivals, n);
        for (guint i = 0; i < n; i++)
            g_assert_cmpint(is[i], ==, i == cases[k].best);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/certainty/words", test_words);
    g_test_add_func("/report/certainty/columns", test_columns);
    g_test_add_func("/report/certainty/best", test_best);
    g_test_add_func("/report/certainty/left-out", test_left_out);
    return g_test_run();
}
