/* Median, spread by the median absolute deviation, drift. */
#include "config.h"

#include "calib/statistics.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Makes the median absolute deviation of normal noise its standard deviation: 1 / the 3/4 quantile. */
#define SIGMA_OF_MAD 1.4826

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double
calib_median(const double *values, unsigned n)
{
    double sorted[CALIB_MAX_SAMPLES];
    assert(n >= 1 && n <= CALIB_MAX_SAMPLES);
    memcpy(sorted, values, n * sizeof *values);
    qsort(sorted, n, sizeof *sorted, compare);
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

double
calib_spread_frac(const double *values, unsigned n)
{
    double away[CALIB_MAX_SAMPLES], middle = calib_median(values, n);
    if (!(middle > 0))
        return 0;
    for (unsigned i = 0; i < n; i++)
        away[i] = fabs(values[i] - middle);
    return SIGMA_OF_MAD * calib_median(away, n) / middle;
}

double
calib_drift_frac(const double *values, unsigned n)
{
    unsigned third = n / 3;
    if (third < 2)
        return 0;
    double first = calib_median(values, third);
    return first > 0 ? calib_median(values + n - third, third) / first - 1 : 0;
}
