/* Median, ninetieth percentile (nearest rank) and bias. */
#include "config.h"

#include "report/accuracy.h"

#include "units/quantile.h"

#include <math.h>

ReportAccuracy
report_accuracy(const GArray *log_ratios)
{
    guint n = log_ratios->len;
    double sum = 0.0;
    if (n == 0)
        return (ReportAccuracy){0, NAN, NAN, NAN};
    g_autoptr(GArray) sizes = g_array_sized_new(FALSE, FALSE, sizeof(double), n);
    for (guint i = 0; i < n; i++) {
        double log_ratio = g_array_index(log_ratios, double, i);
        double size = fabs(exp(log_ratio) - 1.0);
        sum += log_ratio;
        g_array_append_val(sizes, size);
    }
    double median = units_quantile_of(sizes, 0.5);
    return (ReportAccuracy){.n = n,
                            .median = median,
                            .p90 = g_array_index(sizes, double, (guint)ceil(0.9 * n) - 1),
                            .bias = exp(sum / n) - 1.0};
}
