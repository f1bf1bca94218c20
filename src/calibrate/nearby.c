/* A plane through the nearest rows: weighted least squares with a prior of its slopes, reweighted so that outliers do not
 * pull. */
#include "config.h"

#include "calibrate/nearby.h"

#include "units/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 4, UNKNOWNS = CALIBRATE_AXES + 1, GENTLE_ROUNDS = 4, ROUNDS = 10 };
/* Rows for each axis along which the series extends, and for the level. */
enum { PER_AXIS = 3, FOR_LEVEL = 5, MOST = FOR_LEVEL + PER_AXIS * CALIBRATE_AXES };

#define SLOPE_SIGMA 0.35 /* of ln an octave: half of ln 2 */
#define BEND 0.06 /* of ln an octave squared: half of the sharpest; its neighbours are flatter */
#define HUBER 1.5 /* sigmas beyond which a row pulls less */
#define BISQUARE 4.685   /* beyond which it does not pull at all */
#define LEAST_SIGMA 0.01 /* of ln: rows are rounded and clocks move */
#define NORMAL 1.4826    /* sigma over the median of |x| */

typedef struct {
    double distance2, pull;
    double x[UNKNOWNS], y; /* x: 1, then octaves from the place */
} Near;

typedef struct {
    Near near[MOST];
    guint n;
    double plane[UNKNOWNS];
    double inverse[UNKNOWNS][UNKNOWNS]; /* of the normal equations */
    double tau, prior;                  /* prior: tau^2 / SLOPE_SIGMA^2 */
} Fit;

static double
distance2(const double a[CALIBRATE_AXES], const double b[CALIBRATE_AXES])
{
    double sum = 0;
    for (guint axis = 0; axis < CALIBRATE_AXES; axis++)
        sum += (a[axis] - b[axis]) * (a[axis] - b[axis]);
    return sum;
}

/* Nearest first; of those as near the first that came. */
static void
offer(Fit *fit, guint most, const CalibrateObservation *row, const CalibrateSeries *s,
      const double x[CALIBRATE_AXES])
{
    Near *near = fit->near;
    double d2 = distance2(row->x, x);
    if (fit->n == most && d2 >= near[most - 1].distance2)
        return;
    guint at = fit->n < most ? fit->n++ : most - 1;
    for (; at > 0 && near[at - 1].distance2 > d2; at--)
        near[at] = near[at - 1];
    near[at] =
        (Near){.distance2 = d2, .x = {1}, .y = log(row->value / (row->nominal_ns + s->base))};
    for (guint axis = 0; axis < CALIBRATE_AXES; axis++)
        near[at].x[1 + axis] = row->x[axis] - x[axis];
}

/* The first row of the series whose first size is no less. */
static guint
first_at(const CalibrateObservations *o, const CalibrateSeries *s, double x)
{
    guint low = s->first, high = s->first + s->n;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (calibrate_observation_at(o, middle)->x[0] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Rows are in order of the first size: outwards from the place, until that alone is farther than all that were found. */
static void
find_nearest(Fit *fit, guint most, const CalibrateObservations *o, const CalibrateSeries *s,
             const double x[CALIBRATE_AXES], const gboolean *left_out)
{
    guint up = first_at(o, s, x[0]), down = up, end = s->first + s->n;
    while (down > s->first || up < end) {
        double below =
            down > s->first ? x[0] - calibrate_observation_at(o, down - 1)->x[0] : INFINITY;
        double above = up < end ? calibrate_observation_at(o, up)->x[0] - x[0] : INFINITY;
        double step = MIN(below, above);
        if (fit->n == most && step * step >= fit->near[most - 1].distance2)
            return;
        guint i = below < above ? --down : up++;
        if (left_out == NULL || !left_out[i])
            offer(fit, most, calibrate_observation_at(o, i), s, x);
    }
}

/* Gauss-Jordan; the prior keeps the matrix positive definite, so that it needs no pivots. */
static void
invert(double a[UNKNOWNS][UNKNOWNS], double ret[UNKNOWNS][UNKNOWNS])
{
    memset(ret, 0, sizeof(double[UNKNOWNS][UNKNOWNS]));
    for (guint k = 0; k < UNKNOWNS; k++)
        ret[k][k] = 1;
    for (guint k = 0; k < UNKNOWNS; k++) {
        double pivot = a[k][k];
        for (guint j = 0; j < UNKNOWNS; j++) {
            a[k][j] /= pivot;
            ret[k][j] /= pivot;
        }
        for (guint i = 0; i < UNKNOWNS; i++) {
            double factor = i != k ? a[i][k] : 0;
            for (guint j = 0; j < UNKNOWNS; j++) {
                a[i][j] -= factor * a[k][j];
                ret[i][j] -= factor * ret[k][j];
            }
        }
    }
}

static double
weight_of(const Near *near)
{
    return near->pull / (1 + near->distance2);
}

static double
off_plane(const Fit *fit, const Near *near)
{
    double off = near->y;
    for (guint j = 0; j < UNKNOWNS; j++)
        off -= fit->plane[j] * near->x[j];
    return off;
}

/* In units of what tau is of. */
static double
size_off(const Fit *fit, const Near *near)
{
    return fabs(off_plane(fit, near)) / sqrt(1 + near->distance2);
}

static double
huber(double off, double sigma)
{
    return off > HUBER * sigma ? HUBER * sigma / off : 1;
}

static double
bisquare(double off, double sigma)
{
    double part = off / (BISQUARE * sigma);
    return part < 1 ? (1 - part * part) * (1 - part * part) : 0;
}

static void
fit_plane(Fit *fit)
{
    double a[UNKNOWNS][UNKNOWNS] = {{0}}, right[UNKNOWNS] = {0};
    for (guint i = 0; i < fit->n; i++) {
        const Near *near = &fit->near[i];
        double weight = weight_of(near);
        for (guint j = 0; j < UNKNOWNS; j++) {
            right[j] += weight * near->x[j] * near->y;
            for (guint k = 0; k < UNKNOWNS; k++)
                a[j][k] += weight * near->x[j] * near->x[k];
        }
    }
    fit->prior = fit->tau * fit->tau / (SLOPE_SIGMA * SLOPE_SIGMA);
    for (guint j = 1; j < UNKNOWNS; j++)
        a[j][j] += fit->prior;
    invert(a, fit->inverse);
    memset(fit->plane, 0, sizeof fit->plane);
    for (guint j = 0; j < UNKNOWNS; j++)
        for (guint k = 0; k < UNKNOWNS; k++)
            fit->plane[j] += fit->inverse[j][k] * right[k];
}

/* By the median, which outliers do not move. */
static double
find_tau(const Fit *fit)
{
    double off[MOST] = {0};
    for (guint i = 0; i < fit->n; i++)
        off[i] = size_off(fit, &fit->near[i]);
    qsort(off, fit->n, sizeof *off, units_compare_doubles);
    return MAX(LEAST_SIGMA, NORMAL * units_quantile(off, fit->n, 0.5));
}

static CalibrateNearby
result_of(const Fit *fit)
{
    double squares = 0, pulls = 0, known = UNKNOWNS, bend = 0;
    for (guint j = 1; j < UNKNOWNS; j++)
        known -= fit->prior * fit->inverse[j][j]; /* what the prior said, rows need not */
    for (guint i = 0; i < fit->n; i++) {
        const Near *near = &fit->near[i];
        double off = off_plane(fit, near), share = 0;
        for (guint j = 0; j < UNKNOWNS; j++)
            share += fit->inverse[0][j] * near->x[j];
        share *= weight_of(near); /* of its y in that of the place */
        squares += weight_of(near) * off * off;
        pulls += near->pull;
        bend += BEND / 2 * fabs(share) * near->distance2;
    }
    double freedom = pulls - known;
    double tau = freedom > 0 ? MAX(LEAST_SIGMA, sqrt(squares / freedom)) : INFINITY;
    return (CalibrateNearby){.y = fit->plane[0],
                             .error = tau * sqrt(1 + fit->inverse[0][0]),
                             .bend = bend,
                             .freedom = freedom,
                             .distance = sqrt(fit->near[0].distance2),
                             .n = fit->n};
}

gboolean
calibrate_nearby(const CalibrateObservations *o, const CalibrateSeries *series,
                 const double x[CALIBRATE_AXES], const gboolean *left_out, CalibrateNearby *ret)
{
    Fit fit = {.tau = SLOPE_SIGMA};
    find_nearest(&fit, FOR_LEVEL + PER_AXIS * series->n_axes, o, series, x, left_out);
    if (fit.n < LEAST)
        return FALSE;
    for (guint round = 0; round < ROUNDS; round++) {
        for (guint i = 0; i < fit.n; i++) {
            double off = round == 0 ? 0 : size_off(&fit, &fit.near[i]);
            fit.near[i].pull = round < GENTLE_ROUNDS ? huber(off, fit.tau) : bisquare(off, fit.tau);
        }
        fit_plane(&fit);
        fit.tau = find_tau(&fit);
    }
    *ret = result_of(&fit);
    return TRUE;
}

/* Wallace, Annals of Mathematical Statistics 30 (1959) 1124: t with v degrees of freedom is as rare as the normal
 * deviate (8 v + 1) / (8 v + 3) sqrt(v ln(1 + t^2 / v)). */
double
calibrate_nearby_sigmas(const CalibrateNearby *near, double off)
{
    double v = near->freedom, t = MAX(0, fabs(off) - near->bend) / near->error;
    return v > 0 ? (8 * v + 1) / (8 * v + 3) * sqrt(v * log1p(t * t / v)) : 0;
}
