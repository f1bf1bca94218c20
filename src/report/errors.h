/* What predictions are off by, over a set of them. */
#pragma once

#include <glib.h>

typedef struct {
    guint n;
    double median, p90; /* of |predicted / measured - 1|; NAN when n = 0 */
    double bias;        /* exp(mean ln(predicted / measured)) - 1; NAN when n = 0 */
} ReportErrors;

/* `log_ratios`: of double, ln(predicted / measured). */
ReportErrors report_errors(const GArray *log_ratios);
