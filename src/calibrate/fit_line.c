/* Robust lines: least absolute deviations, then the bisquare; rows left out in turn. */
#include "config.h"

#include "calibrate/fit_line.h"

#include "sim/random.h"

#include <math.h>

#define ITERATIONS 40
#define BISQUARE 4.685
#define SIGMA_OF_MEDIAN 1.4826
/* Errors below this are alike: no clock is better, and a weight stays finite. */
#define LEAST_ERROR 1e-4
#define SEED 1

static int
compare_doubles(gconstpointer a, gconstpointer b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return p < q ? -1 : p > q;
}

static double
quantile(const GArray *sorted, double q)
{
    double at = q * (sorted->len - 1);
    guint low = (guint)at, high = MIN(low + 1, sorted->len - 1);
    double x = at - low;
    return (1 - x) * g_array_index(sorted, double, low) + x * g_array_index(sorted, double, high);
}

CalibrateResiduals
calibrate_residuals_of(GArray *errors)
{
    if (errors->len == 0)
        return (CalibrateResiduals){NAN, NAN, 0};
    g_array_sort(errors, compare_doubles);
    return (CalibrateResiduals){quantile(errors, 0.5), quantile(errors, 0.9), errors->len};
}

/* --- the fit ------------------------------------------------------------------------------------ */

typedef struct {
    const CalibratePoint *points;
    guint n;
    gboolean with_a;
    double *weights;            /* of each point */
    double sxx, sx, s, sxy, sy; /* sums of weight / m^2 times that */
} Problem;

static double
line_at(const CalibrateLine *line, double x)
{
    return line->a + line->b * x;
}

static double
log_error(const CalibrateLine *line, const CalibratePoint *p)
{
    return log(p->y / MAX(line_at(line, p->x), 1e-12 * p->y));
}

static double
median_log_error(const Problem *problem, const CalibrateLine *line)
{
    g_autoptr(GArray) errors = g_array_sized_new(FALSE, FALSE, sizeof(double), problem->n);
    for (guint i = 0; i < problem->n; i++) {
        double error = fabs(log_error(line, &problem->points[i]));
        g_array_append_val(errors, error);
    }
    return calibrate_residuals_of(errors).median;
}

static double
bisquare(double error, double scale)
{
    double u = error / (BISQUARE * scale);
    return fabs(u) < 1 ? (1 - u * u) * (1 - u * u) : 0;
}

/* `scale` 0: least absolute deviations. */
static void
weigh(Problem *problem, const CalibrateLine *line, double scale)
{
    problem->sxx = problem->sx = problem->s = problem->sxy = problem->sy = 0;
    for (guint i = 0; i < problem->n; i++) {
        const CalibratePoint *p = &problem->points[i];
        double error = log_error(line, p), m = MAX(line_at(line, p->x), 1e-12 * p->y);
        double weight = scale > 0 ? bisquare(error, scale) : 1 / MAX(fabs(error), LEAST_ERROR);
        problem->weights[i] = weight;
        double w = weight / (m * m);
        problem->sxx += w * p->x * p->x;
        problem->sx += w * p->x;
        problem->s += w;
        problem->sxy += w * p->x * p->y;
        problem->sy += w * p->y;
    }
}

/* Least squares by the weights; a bound that would be crossed is met, and the other constant fitted alone. */
static void
solve(const Problem *p, CalibrateLine *line)
{
    double determinant = p->s * p->sxx - p->sx * p->sx;
    gboolean both = p->with_a && determinant > 1e-12 * p->s * p->sxx;
    double a = both ? (p->sxx * p->sy - p->sx * p->sxy) / determinant : 0;
    double b = both ? (p->s * p->sxy - p->sx * p->sy) / determinant : 0;
    if (both && a >= 0 && b >= 0) {
        line->a = a;
        line->b = b;
    } else if (both && b < 0) {
        line->a = p->sy / p->s;
        line->b = 0;
    } else {
        line->a = 0;
        line->b = p->sxy / p->sxx;
    }
}

/* By medians: the slope of the third with the largest x, then the level of the third with the smallest. */
static CalibrateLine
start(const Problem *problem)
{
    g_autoptr(GArray) xs = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < problem->n; i++)
        g_array_append_val(xs, problem->points[i].x);
    g_array_sort(xs, compare_doubles);
    double low = quantile(xs, 1.0 / 3), high = quantile(xs, 2.0 / 3);
    for (guint i = 0; i < problem->n; i++) {
        double slope = problem->points[i].y / problem->points[i].x;
        if (!problem->with_a || problem->points[i].x >= high)
            g_array_append_val(values, slope);
    }
    CalibrateLine line = {.b = calibrate_residuals_of(values).median};
    g_array_set_size(values, 0);
    for (guint i = 0; problem->with_a && i < problem->n; i++) {
        double level = problem->points[i].y - line.b * problem->points[i].x;
        if (problem->points[i].x <= low)
            g_array_append_val(values, level);
    }
    line.a = values->len > 0 ? MAX(calibrate_residuals_of(values).median, 0) : 0;
    return line;
}

static gboolean
has_three_sizes(const CalibratePoint *points, guint n)
{
    double first = points[0].x, second = first;
    for (guint i = 1; i < n; i++) {
        double x = points[i].x;
        if (fabs(x / first - 1) < 1e-6 || fabs(x / second - 1) < 1e-6)
            continue;
        if (second != first)
            return TRUE;
        second = x;
    }
    return FALSE;
}

/* Of the last weights. */
static void
find_errors(const Problem *p, double scale, CalibrateLine *line)
{
    guint constants = p->with_a ? 2 : 1;
    line->a_error = line->b_error = NAN;
    for (guint i = 0; i < p->n; i++)
        line->n_used += p->weights[i] > 0;
    if (line->n_used <= constants)
        return;
    double variance = scale * scale * line->n_used / (line->n_used - constants);
    double determinant = p->s * p->sxx - p->sx * p->sx;
    if (p->with_a && determinant > 1e-12 * p->s * p->sxx) {
        line->a_error = sqrt(variance * p->sxx / determinant);
        line->b_error = sqrt(variance * p->s / determinant);
    } else if (!p->with_a) {
        line->b_error = sqrt(variance / p->sxx);
    }
}

CalibrateLine
calibrate_line_fit(const CalibratePoint *points, guint n, gboolean with_a)
{
    g_assert(n > 0);
    g_autofree double *weights = g_new(double, n);
    Problem problem = {.points = points,
                       .n = n,
                       .with_a = with_a && has_three_sizes(points, n),
                       .weights = weights};
    CalibrateLine line = start(&problem);
    for (guint i = 0; i < ITERATIONS; i++) {
        weigh(&problem, &line, 0);
        solve(&problem, &line);
    }
    double scale = MAX(SIGMA_OF_MEDIAN * median_log_error(&problem, &line), LEAST_ERROR);
    for (guint i = 0; i < ITERATIONS; i++) {
        weigh(&problem, &line, scale);
        solve(&problem, &line);
    }
    weigh(&problem, &line, scale);
    line.n = n;
    find_errors(&problem, scale, &line);
    return line;
}

/* --- residuals ---------------------------------------------------------------------------------- */

static void
append_errors(const CalibrateLine *line, const CalibratePoint *points, guint n, GArray *errors)
{
    for (guint i = 0; i < n; i++) {
        double error = fabs(line_at(line, points[i].x) / points[i].y - 1);
        g_array_append_val(errors, error);
    }
}

CalibrateResiduals
calibrate_line_residuals(const CalibrateLine *line, const CalibratePoint *points, guint n)
{
    g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
    append_errors(line, points, n, errors);
    return calibrate_residuals_of(errors);
}

guint *
calibrate_folds(guint n, guint folds)
{
    SimRandom random = sim_random_init(SEED, "calibrate.folds", 0);
    guint *part = g_new(guint, n + 1);
    for (guint i = 0; i < n; i++)
        part[i] = i % folds;
    for (guint i = n; i > 1; i--) {
        guint j = sim_random_below(&random, i);
        guint swap = part[i - 1];
        part[i - 1] = part[j];
        part[j] = swap;
    }
    return part;
}

CalibrateResiduals
calibrate_line_left_out(const CalibratePoint *points, guint n, gboolean with_a, guint folds)
{
    g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
    g_autofree guint *part = calibrate_folds(n, folds);
    g_autofree CalibratePoint *fitted = g_new(CalibratePoint, n + 1);
    g_autofree CalibratePoint *left_out = g_new(CalibratePoint, n + 1);
    for (guint fold = 0; fold < folds; fold++) {
        guint n_fitted = 0, n_left_out = 0;
        for (guint i = 0; i < n; i++)
            if (part[i] == fold)
                left_out[n_left_out++] = points[i];
            else
                fitted[n_fitted++] = points[i];
        if (n_fitted == 0)
            continue;
        CalibrateLine line = calibrate_line_fit(fitted, n_fitted, with_a);
        append_errors(&line, left_out, n_left_out, errors);
    }
    return calibrate_residuals_of(errors);
}
