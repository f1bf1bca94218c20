/* A line through measurements that bears noise and outliers: y = a + b x, errors relative.
 *
 * Iteratively reweighted least squares. With m = a + b x and r = ln(y / m), both constants minimise
 *
 *     sum w(r) ((y - m) / m)^2,   a >= 0, b >= 0
 *
 * first with w = 1 / |r| (least absolute deviations), then with Tukey's bisquare w = (1 - (r / (4.685 s))^2)^2, 0
 * beyond 4.685 s, where s = 1.4826 median |r| of the first is what a normal distribution has as its sigma: rows
 * farther off are outliers and count nothing. Standard errors are those of the weighted least squares with that s. */
#pragma once

#include <glib.h>

typedef struct {
    double x, y; /* y > 0; x > 0 */
} CalibratePoint;

typedef struct {
    double a, b;
    double a_error, b_error; /* one standard error; NAN: fewer rows than it takes */
    guint n, n_used;         /* rows, and those that are no outliers */
} CalibrateLine;

/* `with_a` FALSE: a = 0. n >= 1; with fewer than three sizes a is 0, too. */
CalibrateLine calibrate_line_fit(const CalibratePoint *points, guint n, gboolean with_a);

/* Of |m / y - 1|. */
typedef struct {
    double median, p90; /* NAN: no rows */
    guint n;
} CalibrateResiduals;

/* Of relative errors; sorts them. */
CalibrateResiduals calibrate_residuals_of(GArray *doubles);
CalibrateResiduals calibrate_line_residuals(const CalibrateLine *line, const CalibratePoint *points,
                                            guint n);
/* Of points that were left out of the fit: each in one of `folds` parts, dealt out at random by a fixed seed. */
CalibrateResiduals calibrate_line_left_out(const CalibratePoint *points, guint n, gboolean with_a,
                                           guint folds);
/* The part 0..folds-1 of each of n rows: parts differ by at most one in size. Caller frees. */
guint *calibrate_folds(guint n, guint folds);
