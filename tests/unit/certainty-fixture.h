/* How many of many predictions are within one sigma of what was measured. */
#pragma once

#include "cost/kernel.h"

#include <math.h>

typedef struct {
    guint n, within;
    double squares; /* of errors in sigmas, at most FAR of them */
} Tally;

/* One row of another machine counts as that, and no more. */
#define FAR 5.0

static inline void
tally_add(Tally *t, CostTime predicted, double measured_ns)
{
    double z = log(predicted.ns / measured_ns) / predicted.error_frac;
    g_assert_cmpfloat(predicted.error_frac, >, 0);
    t->n++;
    t->within += fabs(z) < 1;
    t->squares += MIN(z * z, FAR * FAR);
}

/* Of a normal distribution 68 % are within one sigma, and the root of the mean square is 1. */
static inline void
tally_check(const Tally *t, const char *what, double least, double most)
{
    double share = (double)t->within / t->n, rms = sqrt(t->squares / t->n);
    g_test_message("%s: of %u predictions %.1f %% within one sigma; rms %.2f sigma", what, t->n,
                   100 * share, rms);
    g_assert_cmpfloat(share, >=, least);
    g_assert_cmpfloat(share, <=, most);
    g_assert_cmpfloat(rms, >, 0.6);
    g_assert_cmpfloat(rms, <, 1.75);
}
