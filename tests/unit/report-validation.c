/* Errors of predictions: mean, median and bias by hand. */
#include "config.h"

#include "report/validation.h"

#include <math.h>
#include <string.h>

static GArray *
rows_new(void)
{
    const ReportValidated rows[] = {
        {"a", "one", 10, 11, {1, {1, 0, 0}}, NAN, 5, TRUE, FALSE, NULL}, /* +10 % */
        {"b", "one", 10, 8, {1.5, {1, 0, 0}}, 10, 5, TRUE, FALSE, NULL}, /* -20 %, memory -50 % */
        {"c", "two", 10, 13, {1, {0, 0, 1}}, NAN, 5, TRUE, FALSE, NULL}, /* +30 % */
        {"d", "two", 10, NAN, {NAN, {0}}, NAN, NAN, FALSE, FALSE, "no such GPU"},
        {"e",
         "two",
         NAN,
         1,
         {0.1, {0, 1, 0}},
         NAN,
         90,
         FALSE,
         TRUE,
         NULL}, /* ran out of memory, rightly predicted */
    };
    GArray *array = g_array_new(FALSE, FALSE, sizeof(ReportValidated));
    g_array_append_vals(array, rows, G_N_ELEMENTS(rows));
    return array;
}

static void
means_medians_and_bias_are_as_by_hand(void)
{
    g_autoptr(GArray) rows = rows_new();
    ReportErrors all = report_time_errors(rows, NULL);
    g_assert_cmpuint(all.n, ==, 3);
    g_assert_cmpfloat_with_epsilon(all.mean_absolute, 0.2, 1e-12);
    g_assert_cmpfloat_with_epsilon(all.median_absolute, 0.2, 1e-12);
    g_assert_cmpfloat_with_epsilon(all.bias, 0.2 / 3, 1e-12);
    ReportErrors one = report_time_errors(rows, "one");
    g_assert_cmpuint(one.n, ==, 2);
    g_assert_cmpfloat_with_epsilon(one.median_absolute, 0.15, 1e-12);
    g_assert_cmpfloat_with_epsilon(one.bias, -0.05, 1e-12);
    g_assert_cmpfloat_with_epsilon(report_memory_errors(rows, NULL).bias, -0.5, 1e-12);
    g_assert_true(isnan(report_time_errors(rows, "three").bias));
    g_assert_cmpuint(all.within, ==, 1); /* 10 % is within */
    g_assert_cmpuint(report_memory_errors(rows, NULL).within, ==, 0);
}

/* a: 1 s off, as its error; b: 2 s of 1.5 s; c: 3 s of 1 s; the others have no measured time. */
static void
distances_are_in_sigmas(void)
{
    g_autoptr(GArray) rows = rows_new();
    g_autoptr(GString) text = g_string_new(NULL);
    ReportSigmas all = report_time_sigmas(rows, NULL), one = report_time_sigmas(rows, "one");
    g_assert_cmpuint(all.n, ==, 3);
    g_assert_cmpuint(all.within_one, ==, 1);
    g_assert_cmpuint(all.within_two, ==, 2);
    g_assert_cmpuint(one.n, ==, 2);
    g_assert_cmpuint(one.within_two, ==, 2);
    report_validation(rows, 5, "text", text);
    g_assert_nonnull(strstr(text->str, "1 of 3 (33.3 %)"));
    g_string_truncate(text, 0);
    report_validation(rows, 5, "tsv", text);
    g_assert_nonnull(strstr(text->str, "\t\t1\t1\t0\t0\nb\t"));
    g_assert_nonnull(strstr(text->str, "no such GPU\t\t\t\t\n"));
}

static void
runs_are_counted_by_what_was_predicted(void)
{
    const ReportValidated more[] = {
        {"f",
         "two",
         NAN,
         1,
         {0.1, {0, 1, 0}},
         NAN,
         30,
         TRUE,
         TRUE,
         NULL}, /* ran out of memory, unforeseen */
        {"g",
         "two",
         NAN,
         1,
         {0.1, {0, 1, 0}},
         60,
         90,
         FALSE,
         FALSE,
         NULL}, /* ran, against the prediction */
        {"h", "three", NAN, NAN, {NAN, {0}}, NAN, NAN, FALSE, TRUE, "no such GPU"},
    };
    g_autoptr(GArray) rows = rows_new();
    g_array_append_vals(rows, more, G_N_ELEMENTS(more));
    ReportFits all = report_fit_counts(rows, NULL), one = report_fit_counts(rows, "one");
    g_assert_cmpuint(all.ran_fits, ==, 3);
    g_assert_cmpuint(all.ran_not, ==, 1);
    g_assert_cmpuint(all.oom_fits, ==, 1);
    g_assert_cmpuint(all.oom_not, ==, 1);
    g_assert_cmpuint(one.ran_fits + one.ran_not, ==, 2);
    g_autoptr(GString) text = g_string_new(NULL);
    report_validation(rows, 1, "text", text);
    const char *worst = strstr(text->str, "worst memory");
    g_assert_nonnull(worst);
    g_assert_nonnull(strstr(worst, "\ng ") == NULL ? strstr(worst, "\nb ")
                                                   : NULL); /* 50 %, equal: place */
    g_assert_nonnull(strstr(text->str, "66.7 %"));          /* 4 of 6 right */
}

/* Rows of memory alone have no table with bars, so there is nothing to say of bars. */
static void
bars_are_explained_where_there_are_bars(void)
{
    const ReportValidated memory = {"m", "one", NAN, 9, {1, {1, 0, 0}}, 10, 5, TRUE, FALSE, NULL};
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(ReportValidated));
    g_autoptr(GString) text = g_string_new(NULL);
    g_array_append_val(rows, memory);
    report_validation(rows, 5, "text", text);
    g_assert_null(strstr(text->str, "+-"));
    g_assert_nonnull(strstr(text->str, "worst memory"));
    g_autoptr(GArray) timed = rows_new();
    g_string_truncate(text, 0);
    report_validation(timed, 5, "text", text);
    g_assert_nonnull(strstr(text->str, "+- is one sigma"));
    g_assert_nonnull(strstr(text->str, "err together"));
}

static void
the_worst_row_comes_first_and_skipped_rows_say_why(void)
{
    g_autoptr(GArray) rows = rows_new();
    g_autoptr(GString) text = g_string_new(NULL);
    report_validation(rows, 2, "text", text);
    const char *c = strstr(text->str, "\nc "), *b = strstr(text->str, "\nb ");
    g_assert_nonnull(c);
    g_assert_nonnull(b);
    g_assert_true(c < b);
    g_assert_null(strstr(text->str, "\na "));
    g_assert_nonnull(strstr(text->str, "no such GPU"));
    g_assert_nonnull(strstr(text->str, "ran out of memory: 1 of 1 predicted not to fit"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/validation/means-medians-and-bias-are-as-by-hand",
                    means_medians_and_bias_are_as_by_hand);
    g_test_add_func("/report/validation/distances-are-in-sigmas", distances_are_in_sigmas);
    g_test_add_func("/report/validation/bars-are-explained-where-there-are-bars",
                    bars_are_explained_where_there_are_bars);
    g_test_add_func("/report/validation/runs-are-counted-by-what-was-predicted",
                    runs_are_counted_by_what_was_predicted);
    g_test_add_func("/report/validation/the-worst-row-comes-first-and-skipped-rows-say-why",
                    the_worst_row_comes_first_and_skipped_rows_say_why);
    return g_test_run();
}
