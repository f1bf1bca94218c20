/* Robust lines: least absolute deviations, then the bisquare; rows left out in turn. */
#include "config.h"

#include "calibrate/fit_line.h"

#include "sim/random.h"
#include "units/quantile.h"

#include <math.h>
#include <string.h>

#define ITERATIONS 40
/* Different sizes that a line takes, and a filled curve. */
#define LINE_SIZES 3
#define FILLED_SIZES 8
#define BISQUARE 4.685
#define SIGMA_OF_MEDIAN 1.4826
/* Errors below this are alike: no clock is better, and a weight stays finite. */
#define LEAST_ERROR 1e-4
#define SEED 1

CalibrateResiduals
calibrate_residuals_of(GArray *errors)
{
    double median = units_quantile_of(errors, 0.5);
    return (CalibrateResiduals){median, units_quantile_of(errors, 0.9), errors->len};
}

/* --- the fit ------------------------------------------------------------------------------------ */

enum { A, B, C, N_TERMS };

typedef struct {
    const CalibratePoint *points;
    guint n, n_terms;
    const int *terms; /* those that the form has */
    double *weights;  /* of each point */
    /* of the weighted least squares: normal equations, and the sum of y^2 */
    double matrix[N_TERMS][N_TERMS], right[N_TERMS], y2;
} Problem;

static double
line_at(const CalibrateLine *line, double x)
{
    return line->a + line->b * x + line->c * sqrt(x);
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
    return units_quantile_of(errors, 0.5);
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
    memset(problem->matrix, 0, sizeof problem->matrix);
    memset(problem->right, 0, sizeof problem->right);
    problem->y2 = 0;
    for (guint i = 0; i < problem->n; i++) {
        const CalibratePoint *p = &problem->points[i];
        double error = log_error(line, p), m = MAX(line_at(line, p->x), 1e-12 * p->y);
        double weight = scale > 0 ? bisquare(error, scale) : 1 / MAX(fabs(error), LEAST_ERROR);
        problem->weights[i] = weight;
        double w = weight / (m * m), value[N_TERMS] = {1, p->x, sqrt(p->x)};
        for (int row = 0; row < N_TERMS; row++) {
            for (int column = 0; column < N_TERMS; column++)
                problem->matrix[row][column] += w * value[row] * value[column];
            problem->right[row] += w * value[row] * p->y;
        }
        problem->y2 += w * p->y * p->y;
    }
}

/* Gauss-Jordan on n <= 3 chosen terms, each scaled by its own diagonal. FALSE: they say the same. */
static gboolean
invert(const Problem *p, const int *terms, guint n, double inverse[N_TERMS][N_TERMS])
{
    double a[N_TERMS][2 * N_TERMS] = {{0}}, scale[N_TERMS];
    for (guint i = 0; i < n; i++)
        scale[i] = sqrt(p->matrix[terms[i]][terms[i]]);
    for (guint i = 0; i < n; i++) {
        for (guint j = 0; j < n; j++)
            a[i][j] = p->matrix[terms[i]][terms[j]] / (scale[i] * scale[j]);
        a[i][n + i] = 1;
    }
    for (guint i = 0; i < n; i++) { /* positive definite: no pivoting */
        if (!(a[i][i] > 1e-10))
            return FALSE;
        for (guint j = 2 * n; j-- > i;)
            a[i][j] /= a[i][i];
        for (guint row = 0; row < n; row++) {
            double factor = row != i ? a[row][i] : 0;
            for (guint j = i; j < 2 * n; j++)
                a[row][j] -= factor * a[i][j];
        }
    }
    for (guint i = 0; i < n; i++)
        for (guint j = 0; j < n; j++)
            inverse[i][j] = a[i][n + j] / (scale[i] * scale[j]);
    return TRUE;
}

/* The least squares among all choices of terms whose constants are not negative. */
static void
solve(const Problem *p, CalibrateLine *line)
{
    double least = HUGE_VAL;
    for (guint chosen = 1; chosen < 1u << p->n_terms; chosen++) {
        int terms[N_TERMS];
        double inverse[N_TERMS][N_TERMS], constants[N_TERMS] = {0}, squares = p->y2;
        guint n = 0;
        for (guint i = 0; i < p->n_terms; i++)
            if (chosen & 1u << i)
                terms[n++] = p->terms[i];
        gboolean good = invert(p, terms, n, inverse);
        for (guint i = 0; good && i < n; i++) {
            for (guint j = 0; j < n; j++)
                constants[terms[i]] += inverse[i][j] * p->right[terms[j]];
            squares -= constants[terms[i]] * p->right[terms[i]];
            good = constants[terms[i]] >= 0;
        }
        /* what another term gains by rounding alone is none */
        if (!good || squares > least - 1e-12 * p->y2)
            continue;
        least = squares;
        line->a = constants[A];
        line->b = constants[B];
        line->c = constants[C];
    }
}

/* By medians: the slope of the third with the largest x, then the level of the third with the smallest. */
static CalibrateLine
start(const Problem *problem)
{
    g_autoptr(GArray) xs = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(double));
    gboolean with_a = problem->n_terms > 1;
    for (guint i = 0; i < problem->n; i++)
        g_array_append_val(xs, problem->points[i].x);
    double low = units_quantile_of(xs, 1.0 / 3), high = units_quantile_of(xs, 2.0 / 3);
    for (guint i = 0; i < problem->n; i++) {
        double slope = problem->points[i].y / problem->points[i].x;
        if (!with_a || problem->points[i].x >= high)
            g_array_append_val(values, slope);
    }
    CalibrateLine line = {.b = units_quantile_of(values, 0.5)};
    g_array_set_size(values, 0);
    for (guint i = 0; with_a && i < problem->n; i++) {
        double level = problem->points[i].y - line.b * problem->points[i].x;
        if (problem->points[i].x <= low)
            g_array_append_val(values, level);
    }
    line.a = values->len > 0 ? MAX(units_quantile_of(values, 0.5), 0) : 0;
    return line;
}

/* Different x, counted up to `most`. */
static guint
count_sizes(const CalibratePoint *points, guint n, guint most)
{
    g_autoptr(GArray) xs = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < n; i++)
        g_array_append_val(xs, points[i].x);
    g_array_sort(xs, units_compare_doubles);
    guint sizes = 1;
    for (guint i = 1; i < n && sizes < most; i++)
        sizes += g_array_index(xs, double, i) > g_array_index(xs, double, i - 1) * (1 + 1e-6);
    return sizes;
}

/* Of the last weights, and of those terms that are not at their bound. */
static void
find_errors(const Problem *p, double scale, CalibrateLine *line)
{
    const double constants[N_TERMS] = {line->a, line->b, line->c};
    double inverse[N_TERMS][N_TERMS];
    int terms[N_TERMS];
    guint n = 0;
    line->a_error = line->b_error = NAN;
    for (guint i = 0; i < p->n; i++)
        line->n_used += p->weights[i] > 0;
    for (guint i = 0; i < p->n_terms; i++)
        if (constants[p->terms[i]] > 0)
            terms[n++] = p->terms[i];
    if (line->n_used <= n || !invert(p, terms, n, inverse))
        return;
    double variance = scale * scale * line->n_used / (line->n_used - n);
    for (guint i = 0; i < n; i++) {
        if (terms[i] == A)
            line->a_error = sqrt(variance * inverse[i][i]);
        if (terms[i] == B)
            line->b_error = sqrt(variance * inverse[i][i]);
    }
}

CalibrateLine
calibrate_line_fit(const CalibratePoint *points, guint n, CalibrateForm form)
{
    static const int proportion[] = {B}, all[] = {A, B, C};
    g_assert(n > 0);
    guint sizes = count_sizes(points, n, FILLED_SIZES);
    guint n_terms = sizes < LINE_SIZES || form == CALIBRATE_PROPORTION ? 1
                    : sizes < FILLED_SIZES || form == CALIBRATE_LINE   ? 2
                                                                       : 3;
    g_autofree double *weights = g_new(double, n);
    Problem problem = {.points = points,
                       .n = n,
                       .n_terms = n_terms,
                       .terms = n_terms == 1 ? proportion : all,
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

double
calibrate_line_fill(const CalibrateLine *line)
{
    return line->a > 0 && line->b > 0 ? line->c * line->c / (4 * line->a * line->b) : NAN;
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
calibrate_line_left_out(const CalibratePoint *points, guint n, CalibrateForm form, guint folds)
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
        CalibrateLine line = calibrate_line_fit(fitted, n_fitted, form);
        append_errors(&line, left_out, n_left_out, errors);
    }
    return calibrate_residuals_of(errors);
}
