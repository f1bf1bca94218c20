/* Quantiles. */
#include "config.h"

#include "units/quantile.h"

#include <math.h>

int
units_compare_doubles(gconstpointer a, gconstpointer b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return p < q ? -1 : p > q;
}

double
units_quantile(const double *sorted, guint n, double part)
{
    g_assert(n > 0 && part >= 0 && part <= 1);
    double at = part * (n - 1);
    guint low = (guint)at, high = MIN(low + 1, n - 1);
    double beyond = at - low;
    return (1 - beyond) * sorted[low] + beyond * sorted[high];
}

double
units_quantile_of(GArray *doubles, double part)
{
    if (doubles->len == 0)
        return NAN;
    g_array_sort(doubles, units_compare_doubles);
    return units_quantile((const double *)(gconstpointer)doubles->data, doubles->len, part);
}
