/* A plane through the nearest points: y = a + b (x - query), weights 1 / (d^2 + e^2), slopes held small by a ridge; a is
 * the answer, kept within what the neighbours say. */
#include "config.h"

#include "calib/surface.h"

#include "calib/grow.h"

#include <math.h>
#include <string.h>

enum { N_NEAREST = 12 };
#define NEAR2 0.02
#define RIDGE 0.05

typedef struct {
    const CalibSurfacePoint *point;
    double distance2;
} Neighbour;

void
calib_surface_add(CalibSurface *s, const double x[3], double y)
{
    s->points = calib_grow(s->points, s->n, &s->room, sizeof *s->points);
    CalibSurfacePoint *point = &s->points[s->n++];
    memcpy(point->x, x, sizeof point->x);
    point->y = y;
}

void
calib_surface_clear(CalibSurface *s)
{
    free(s->points);
    *s = (CalibSurface){0};
}

/* The nearest first; of equally near ones the earlier. */
static unsigned
find_nearest(const CalibSurface *s, const double x[3], Neighbour nearest[N_NEAREST])
{
    unsigned n = 0;
    for (size_t i = 0; i < s->n; i++) {
        double distance2 = 0;
        for (int axis = 0; axis < 3; axis++) {
            double d = s->points[i].x[axis] - x[axis];
            distance2 += d * d;
        }
        if (n == N_NEAREST && distance2 >= nearest[n - 1].distance2)
            continue;
        unsigned at = n < N_NEAREST ? n++ : N_NEAREST - 1;
        for (; at > 0 && nearest[at - 1].distance2 > distance2; at--)
            nearest[at] = nearest[at - 1];
        nearest[at] = (Neighbour){&s->points[i], distance2};
    }
    return n;
}

/* Gauss with the rows in order: the ridge and the positive weights leave no zero on the diagonal. */
static void
solve(double m[4][5], double ret[4])
{
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++) {
            double f = m[j][i] / m[i][i];
            for (int c = i; c < 5; c++)
                m[j][c] -= f * m[i][c];
        }
    for (int i = 3; i >= 0; i--) {
        ret[i] = m[i][4];
        for (int c = i + 1; c < 4; c++)
            ret[i] -= m[i][c] * ret[c];
        ret[i] /= m[i][i];
    }
}

static void
fit(const Neighbour *nearest, unsigned n, const double x[3], double ret[4])
{
    double m[4][5] = {{0}};
    for (unsigned i = 0; i < n; i++) {
        const CalibSurfacePoint *p = nearest[i].point;
        double w = 1 / (nearest[i].distance2 + NEAR2);
        double row[5] = {1, p->x[0] - x[0], p->x[1] - x[1], p->x[2] - x[2], p->y};
        for (int r = 0; r < 4; r++)
            for (int c = 0; c < 5; c++)
                m[r][c] += w * row[r] * row[c];
    }
    for (int r = 1; r < 4; r++)
        m[r][r] += RIDGE;
    solve(m, ret);
}

CalibSurfaceGuess
calib_surface_at(const CalibSurface *s, const double x[3])
{
    Neighbour nearest[N_NEAREST];
    unsigned n = find_nearest(s, x, nearest);
    double plane[4], low = HUGE_VAL, high = -HUGE_VAL, sum = 0, weights = 0;
    fit(nearest, n, x, plane);
    for (unsigned i = 0; i < n; i++) {
        const CalibSurfacePoint *p = nearest[i].point;
        double w = 1 / (nearest[i].distance2 + NEAR2), left = p->y - plane[0];
        for (int axis = 0; axis < 3; axis++)
            left -= plane[axis + 1] * (p->x[axis] - x[axis]);
        sum += w * left * left;
        weights += w;
        low = fmin(low, p->y);
        high = fmax(high, p->y);
    }
    return (CalibSurfaceGuess){fmin(fmax(plane[0], low), high), sqrt(sum / weights)};
}
