/* The table of the normal distribution's quantiles, and its tail. */
#include "config.h"

#include "sim/normal.h"

#include <math.h>

#define GRAIN 0x1p24

/* x with P(|z| > x) = `beyond`, 0 < beyond <= 1: Newton's steps on erfc(x / sqrt 2), whose slope is
 * -sqrt(2/pi) exp(-x^2/2). It is convex there, so that steps from below never pass the root. */
static double
quantile_beyond(double beyond)
{
    double x = 0;
    for (guint i = 0; i < 64; i++) {
        double excess = erfc(x * G_SQRT2 / 2) - beyond;
        double move = excess / (sqrt(2 / G_PI) * exp(-x * x / 2));
        x += move;
        if (fabs(move) < 1e-12)
            break;
    }
    return round(x * GRAIN) / GRAIN;
}

void
sim_normal_init(SimNormal *normal)
{
    for (guint i = 0; i < SIM_NORMAL_CELLS; i++)
        normal->edge[i] = quantile_beyond(1 - (double)i / SIM_NORMAL_CELLS);
}

double
sim_normal_tail(double frac)
{
    return quantile_beyond(MAX(1 - frac, 0x1p-53) / SIM_NORMAL_CELLS);
}
