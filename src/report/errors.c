/* Median, ninetieth percentile (nearest rank) and bias. */
#include "config.h"

#include "report/errors.h"

#include <math.h>

static int
compare_doubles(gconstpointer a, gconstpointer b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

ReportErrors
report_errors(const GArray *log_ratios)
{
    guint n = log_ratios->len;
    double sum = 0.0;
    if (n == 0)
        return (ReportErrors){0, NAN, NAN, NAN};
    g_autoptr(GArray) sizes = g_array_sized_new(FALSE, FALSE, sizeof(double), n);
    for (guint i = 0; i < n; i++) {
        double log_ratio = g_array_index(log_ratios, double, i);
        double size = fabs(exp(log_ratio) - 1.0);
        sum += log_ratio;
        g_array_append_val(sizes, size);
    }
    g_array_sort(sizes, compare_doubles);
    const double *v = (const double *)(gconstpointer)sizes->data;
    return (ReportErrors){.n = n,
                          .median = n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2,
                          .p90 = v[(guint)ceil(0.9 * n) - 1],
                          .bias = exp(sum / n) - 1.0};
}
