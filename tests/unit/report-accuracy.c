/* Errors over sets small enough to be worked out by hand; rows that were skipped, by reason. */
#include "config.h"

#include "report/accuracy.h"
#include "report/skipped.h"

#include <math.h>

static GArray *
log_ratios(const double *ratios, guint n)
{
    GArray *logs = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < n; i++) {
        double log_ratio = log(ratios[i]);
        g_array_append_val(logs, log_ratio);
    }
    return logs;
}

static void
test_errors(void)
{
    static const struct {
        double ratios[10];
        guint n;
        double median, p90, bias;
    } cases[] = {
        {{1.25}, 1, 0.25, 0.25, 0.25},
        /* 2 and 1/2 cancel out in the mean of logarithms; their errors are 1 and 1/2 */
        {{2, 0.5}, 2, 0.75, 1, 0},
        {{0.5, 1, 2}, 3, 0.5, 1, 0},
        /* nine of ten are 0.1 or less: the ninth is the ninetieth percentile */
        {{1.1, 0.9, 1.1, 0.9, 1.1, 0.9, 1.1, 0.9, 1.1, 3}, 10, 0.1, 0.1, NAN},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GArray) logs = log_ratios(cases[i].ratios, cases[i].n);
        ReportAccuracy e = report_accuracy(logs);
        g_assert_cmpuint(e.n, ==, cases[i].n);
        g_assert_cmpfloat_with_epsilon(e.median, cases[i].median, 1e-12);
        g_assert_cmpfloat_with_epsilon(e.p90, cases[i].p90, 1e-12);
        if (!isnan(cases[i].bias))
            g_assert_cmpfloat_with_epsilon(e.bias, cases[i].bias, 1e-12);
    }
}

static void
test_none(void)
{
    g_autoptr(GArray) logs = log_ratios(NULL, 0);
    ReportAccuracy e = report_accuracy(logs);
    g_assert_cmpuint(e.n, ==, 0);
    g_assert_true(isnan(e.median) && isnan(e.p90) && isnan(e.bias));
}

/* The order of rows is no matter. */
static void
test_order(void)
{
    double ratios[50];
    for (guint i = 0; i < G_N_ELEMENTS(ratios); i++)
        ratios[i] = g_test_rand_double_range(0.2, 5);
    g_autoptr(GArray) logs = log_ratios(ratios, G_N_ELEMENTS(ratios));
    ReportAccuracy before = report_accuracy(logs);
    for (guint i = logs->len; i > 1; i--) {
        guint j = (guint)g_test_rand_int_range(0, (int)i);
        double swap = g_array_index(logs, double, j);
        g_array_index(logs, double, j) = g_array_index(logs, double, i - 1);
        g_array_index(logs, double, i - 1) = swap;
    }
    ReportAccuracy after = report_accuracy(logs);
    g_assert_cmpfloat(after.median, ==, before.median);
    g_assert_cmpfloat(after.p90, ==, before.p90);
    g_assert_cmpfloat_with_epsilon(after.bias, before.bias, 1e-12);
    g_assert_cmpfloat(before.median, <=, before.p90);
}

static void
test_skipped(void)
{
    g_autoptr(GArray) skipped = g_array_new(FALSE, FALSE, sizeof(ReportSkipped));
    g_autofree char *again = g_strdup("no time");
    report_skipped_add(skipped, "no time", 2);
    report_skipped_add(skipped, "no GPU", 1);
    report_skipped_add(skipped, again, 3);
    g_autoptr(GString) out = g_string_new(NULL);
    report_skipped_text(skipped, 10, out);
    g_assert_cmpstr(out->str, ==, "skipped: 6 of 10 rows\n     5  no time\n     1  no GPU\n");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/accuracy/by-hand", test_errors);
    g_test_add_func("/report/accuracy/none", test_none);
    g_test_add_func("/report/accuracy/order", test_order);
    g_test_add_func("/report/skipped/by-reason", test_skipped);
    return g_test_run();
}
