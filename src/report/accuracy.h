/* How far predictions are off, over a set of them. */
#pragma once

#include <glib.h>

typedef struct {
    guint n;
    double median, p90; /* of |predicted / measured - 1|; NAN when n = 0 */
    double bias;        /* exp(mean ln(predicted / measured)) - 1; NAN when n = 0 */
} ReportAccuracy;

/* `log_ratios`: of double, ln(predicted / measured). */
ReportAccuracy report_accuracy(const GArray *log_ratios);
