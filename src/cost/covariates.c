/* A surface and a linear part (P. M. Robinson, Root-N-consistent semiparametric regression, Econometrica 56, 1988):
 *   y = f(x) + c . z
 * A point's y less what the others make of it, and its z less what they would make of it in the same way, are free
 * of f as far as f is smooth, so that c is a regression of the one on the other. The sum of absolute errors is made
 * least, by least squares with weights 1/|error|: some points are of other kernels. A ridge holds coefficients of
 * covariates that say the same. */
#include "config.h"

#include "cost/covariates.h"

#include <math.h>

#define MOST_POINTS 500
#define ROUNDS 8
/* An error so small counts fully. */
#define SMALL 0.03
/* As if so many points said that a coefficient is 0. */
#define RIDGE 0.1

typedef struct {
    double y, z[COST_COVARIATES_MOST];
} Left;

/* Of the symmetric positive definite a z = r; both are overwritten, z = r. */
static void
solve(double a[COST_COVARIATES_MOST][COST_COVARIATES_MOST], double *r, guint n)
{
    for (guint i = 0; i < n; i++)
        for (guint j = i + 1; j < n; j++) {
            double f = a[j][i] / a[i][i];
            for (guint c = i; c < n; c++)
                a[j][c] -= f * a[i][c];
            r[j] -= f * r[i];
        }
    for (guint i = n; i-- > 0;) {
        for (guint j = i + 1; j < n; j++)
            r[i] -= a[i][j] * r[j];
        r[i] /= a[i][i];
    }
}

static Left
left_at(const CostSurface *surface, const double *y, const double *z, guint n, guint point)
{
    guint ids[COST_SURFACE_NEIGHBOURS];
    double weights[COST_SURFACE_NEIGHBOURS];
    guint n_others = cost_surface_makeup(surface, point, ids, weights);
    Left left = {.y = y[point]};
    for (guint c = 0; c < n; c++)
        left.z[c] = z[point * n + c];
    for (guint i = 0; i < n_others; i++) {
        left.y -= weights[i] * y[ids[i]];
        for (guint c = 0; c < n; c++)
            left.z[c] -= weights[i] * z[ids[i] * n + c];
    }
    return left;
}

/* One round of weighted least squares. */
static void
improve(const GArray *lefts, guint n, double *coefficients)
{
    double a[COST_COVARIATES_MOST][COST_COVARIATES_MOST] = {{0}}, r[COST_COVARIATES_MOST] = {0};
    for (guint i = 0; i < lefts->len; i++) {
        const Left *left = &g_array_index(lefts, Left, i);
        double error = left->y;
        for (guint c = 0; c < n; c++)
            error -= coefficients[c] * left->z[c];
        double w = SMALL / MAX(fabs(error), SMALL);
        for (guint c = 0; c < n; c++) {
            r[c] += w * left->z[c] * left->y;
            for (guint d = 0; d < n; d++)
                a[c][d] += w * left->z[c] * left->z[d];
        }
    }
    for (guint c = 0; c < n; c++)
        a[c][c] += RIDGE;
    solve(a, r, n);
    for (guint c = 0; c < n; c++)
        coefficients[c] = r[c];
}

void
cost_covariates_fit(const CostSurface *surface, const double *y, const double *z, guint n,
                    double *ret_coefficients)
{
    g_assert(n <= COST_COVARIATES_MOST);
    guint n_points = cost_surface_n_points(surface), taken = MIN(n_points, MOST_POINTS);
    g_autoptr(GArray) lefts = g_array_sized_new(FALSE, FALSE, sizeof(Left), taken);
    for (guint i = 0; i < taken; i++) {
        guint point = (guint)((guint64)i * n_points / taken);
        Left left = left_at(surface, y, z, n, point);
        g_array_append_val(lefts, left);
    }
    for (guint c = 0; c < n; c++)
        ret_coefficients[c] = 0;
    for (guint round = 0; round < ROUNDS; round++)
        improve(lefts, n, ret_coefficients);
}
