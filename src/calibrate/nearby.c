/* What rows near a place say of it: ln(value / (nominal + base)) as a plane over log2 of the sizes, through the nearest
 * rows, weights 1 / (1/4 + distance^2) times Huber's, then times those of Tukey's bisquare. */
#include "config.h"

#include "calibrate/observations.h"

#include <math.h>
#include <string.h>

enum { MOST = 14, LEAST = 4, UNKNOWNS = CALIBRATE_AXES + 1, GENTLE_ROUNDS = 4, ROUNDS = 8 };

#define RIDGE 0.02       /* slopes that few rows fix are small */
#define HUBER 1.5        /* sigmas beyond which a row pulls less */
#define BISQUARE 4.685   /* beyond which it does not pull at all */
#define LEAST_SIGMA 0.01 /* of ln: rows are rounded and clocks move */
#define NORMAL 1.4826    /* sigma over the median of |x| */

typedef struct {
    double distance2, weight;
    double x[CALIBRATE_AXES], y;
} Near;

static double
distance2(const double a[CALIBRATE_AXES], const double b[CALIBRATE_AXES])
{
    double sum = 0;
    for (guint axis = 0; axis < CALIBRATE_AXES; axis++)
        sum += (a[axis] - b[axis]) * (a[axis] - b[axis]);
    return sum;
}

/* Nearest first; of those as near the first in order of rows. */
static guint
find_nearest(const CalibrateObservations *o, const CalibrateSeries *s,
             const double x[CALIBRATE_AXES], int left_out, Near near[MOST])
{
    guint n = 0;
    for (guint i = s->first; i < s->first + s->n; i++) {
        const CalibrateObservation *row = calibrate_observation_at(o, i);
        double d2 = distance2(row->x, x);
        if ((int)i == left_out || (n == MOST && d2 >= near[n - 1].distance2))
            continue;
        guint at = n < MOST ? n++ : n - 1;
        for (; at > 0 && near[at - 1].distance2 > d2; at--)
            near[at] = near[at - 1];
        near[at] = (Near){.distance2 = d2, .y = log(row->value / (row->nominal_ns + s->base))};
        for (guint axis = 0; axis < CALIBRATE_AXES; axis++)
            near[at].x[axis] = row->x[axis] - x[axis];
    }
    return n;
}

/* Gauss with the largest pivot; the ridge keeps it regular. */
static void
solve(double a[UNKNOWNS][UNKNOWNS + 1], double ret[UNKNOWNS])
{
    for (guint k = 0; k < UNKNOWNS; k++) {
        guint best = k;
        for (guint i = k + 1; i < UNKNOWNS; i++)
            if (fabs(a[i][k]) > fabs(a[best][k]))
                best = i;
        for (guint j = 0; j <= UNKNOWNS && best != k; j++) {
            double swap = a[k][j];
            a[k][j] = a[best][j];
            a[best][j] = swap;
        }
        for (guint i = k + 1; i < UNKNOWNS; i++)
            for (guint j = UNKNOWNS + 1; j-- > k;)
                a[i][j] -= a[k][j] * a[i][k] / a[k][k];
    }
    for (guint k = UNKNOWNS; k-- > 0;) {
        ret[k] = a[k][UNKNOWNS];
        for (guint j = k + 1; j < UNKNOWNS; j++)
            ret[k] -= a[k][j] * ret[j];
        ret[k] /= a[k][k];
    }
}

static void
fit_plane(const Near *near, guint n, double ret[UNKNOWNS])
{
    double a[UNKNOWNS][UNKNOWNS + 1] = {{0}};
    for (guint i = 0; i < n; i++) {
        double row[UNKNOWNS + 1] = {1};
        memcpy(row + 1, near[i].x, sizeof near[i].x);
        row[UNKNOWNS] = near[i].y;
        for (guint j = 0; j < UNKNOWNS; j++)
            for (guint k = 0; k <= UNKNOWNS; k++)
                a[j][k] += near[i].weight * row[j] * row[k];
    }
    for (guint j = 1; j < UNKNOWNS; j++)
        a[j][j] += RIDGE;
    solve(a, ret);
}

static double
off_plane(const Near *near, const double plane[UNKNOWNS])
{
    double y = plane[0];
    for (guint axis = 0; axis < CALIBRATE_AXES; axis++)
        y += plane[1 + axis] * near->x[axis];
    return near->y - y;
}

static int
compare_doubles(gconstpointer a, gconstpointer b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return p < q ? -1 : p > q;
}

/* sigma of what rows are off the plane. */
static double
scatter_of(const Near *near, guint n, const double plane[UNKNOWNS])
{
    double off[MOST] = {0};
    for (guint i = 0; i < n; i++)
        off[i] = fabs(off_plane(&near[i], plane));
    qsort(off, n, sizeof *off, compare_doubles);
    double median = n % 2 == 1 ? off[n / 2] : (off[n / 2 - 1] + off[n / 2]) / 2;
    return MAX(LEAST_SIGMA, NORMAL * median);
}

static gboolean
is_outside(const Near *near, guint n)
{
    for (guint axis = 0; axis < CALIBRATE_AXES; axis++) {
        double low = INFINITY, high = -INFINITY;
        for (guint i = 0; i < n; i++) {
            low = MIN(low, near[i].x[axis]);
            high = MAX(high, near[i].x[axis]);
        }
        if (low > 0 || high < 0)
            return TRUE;
    }
    return FALSE;
}

static double
huber(double off, double scatter)
{
    return off > HUBER * scatter ? HUBER * scatter / off : 1;
}

static double
bisquare(double off, double scatter)
{
    double part = off / (BISQUARE * scatter);
    return part < 1 ? (1 - part * part) * (1 - part * part) : 0;
}

gboolean
calibrate_nearby(const CalibrateObservations *o, const CalibrateSeries *series,
                 const double x[CALIBRATE_AXES], int left_out, CalibrateNearby *ret)
{
    Near near[MOST];
    guint n = find_nearest(o, series, x, left_out, near);
    if (n < LEAST)
        return FALSE;
    double plane[UNKNOWNS] = {0};
    double scatter = INFINITY;
    for (guint round = 0; round < ROUNDS; round++) {
        for (guint i = 0; i < n; i++) {
            double off = round == 0 ? 0 : fabs(off_plane(&near[i], plane));
            double pull = round < GENTLE_ROUNDS ? huber(off, scatter) : bisquare(off, scatter);
            near[i].weight = pull / (0.25 + near[i].distance2);
        }
        fit_plane(near, n, plane);
        scatter = scatter_of(near, n, plane);
    }
    *ret = (CalibrateNearby){plane[0], scatter, sqrt(near[0].distance2), is_outside(near, n), n};
    return TRUE;
}
