/* A curve of few constants through measurements, which bears noise and outliers; errors are relative.
 *
 *     y = b x                           in proportion
 *     y = a + b x                       line
 *     y = a + b x + c sqrt(x)           filled: c = 2 sqrt(f a b), f what a pipeline loses while it fills (net/algorithm.h)
 *
 * Iteratively reweighted least squares. With m the curve and r = ln(y / m), constants minimise
 *
 *     sum w(r) ((y - m) / m)^2,   a >= 0, b >= 0, c >= 0
 *
 * first with w = 1 / |r| (least absolute deviations), then with Tukey's bisquare w = (1 - (r / (4.685 s))^2)^2, 0
 * beyond 4.685 s, where s = 1.4826 median |r| of the first is what a normal distribution has as its sigma: rows
 * farther off are outliers and count nothing. Standard errors are those of the weighted least squares with that s. */
#pragma once

#include <glib.h>

typedef struct {
    double x, y; /* y > 0; x > 0 */
} CalibratePoint;

typedef enum { CALIBRATE_PROPORTION, CALIBRATE_LINE, CALIBRATE_FILLED } CalibrateForm;

typedef struct {
    double a, b, c;
    double a_error, b_error; /* one standard error; NAN: fewer rows than it takes, or at a bound */
    guint n, n_used;         /* rows, and those that are no outliers */
} CalibrateLine;

/* n >= 1; with fewer than three sizes in proportion, with fewer than eight not filled. */
CalibrateLine calibrate_line_fit(const CalibratePoint *points, guint n, CalibrateForm form);
/* f of a filled curve; NAN where a or b is 0. */
double calibrate_line_fill(const CalibrateLine *line);

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
CalibrateResiduals calibrate_line_left_out(const CalibratePoint *points, guint n,
                                           CalibrateForm form, guint folds);
/* The part 0..folds-1 of each of n rows: parts differ by at most one in size. Caller frees. */
guint *calibrate_folds(guint n, guint folds);
