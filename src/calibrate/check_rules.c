/* Rules about single rows. A rule that says "wrong" leaves no other reading: faster than the data sheet, one thing
 * measured twice with times far apart, twice or half of what all around it says, half the time for more work. Less than
 * that is odd: machines do such things. */
#include "config.h"

#include "calibrate/check_parts.h"

#include <math.h>

#define CLOCK_FRAC 0.02    /* above the data sheet's rate: clocks differ that much */
#define FLOOR_PART 4       /* of the shortest kernel, below which no time can be */
#define LEAST_SLOWDOWN 0.9 /* a kernel beside traffic is not faster than alone */
#define TWICE_ODD 0.05     /* ln: rows of one thing are that far apart */
#define TWICE_WRONG 0.69   /* ln 2 */
#define OUTLIER_ODD_SIGMAS 5
#define OUTLIER_WRONG_SIGMAS 8
#define OUTLIER_ODD 0.14    /* ln: less is nobody's concern */
#define OUTLIER_WRONG 0.69  /* ln 2 */
#define OUTLIER_ABSURD 1.61 /* ln 5: wrong whatever the sigmas */
#define LEAST_SIGMA 0.02
#define NORMAL 1.4826 /* sigma over the median of |x| */
#define FAR 2.0       /* octaves: what rows so far away say is no evidence */
#define OUTSIDE 2     /* times the sigmas where rows near it are all on one side */
#define FALL_ODD 0.10 /* of the time */
#define FALL_WRONG 0.50
#define SPREAD_ODD 0.02

/* --- faster than the machine --------------------------------------------------------------------- */

static void
check_slowdown(CalibrateChecking *c, const CalibrateObservation *o)
{
    if (o->value >= LEAST_SLOWDOWN)
        return;
    g_autofree char *is = calibrate_check_amount(c->rows->table, o->value);
    calibrate_check_add(
        c, o->line, CALIBRATE_RULE_IMPOSSIBLE, TRUE, -log(o->value),
        g_strdup_printf("%s: %s as long as alone; nothing gets faster beside another",
                        calibrate_series_at(c->rows, o->series)->of, is));
}

void
calibrate_check_impossible(CalibrateChecking *c)
{
    double floor_ns = (double)c->system->kernel_floor_ns / FLOOR_PART;
    for (guint i = 0; i < c->rows->rows->len; i++) {
        const CalibrateObservation *o = calibrate_observation_at(c->rows, i);
        if (c->rows->table == CLUSTER_TABLE_OVERLAP)
            check_slowdown(c, o);
        double least = MAX(o->least_ns / (1 + CLOCK_FRAC), floor_ns);
        if (c->rows->table == CLUSTER_TABLE_OVERLAP || !c->in_unit[o->series] || o->value >= least)
            continue;
        g_autofree char *is = calibrate_check_amount(c->rows->table, o->value);
        g_autofree char *must = calibrate_check_amount(c->rows->table, MAX(o->least_ns, floor_ns));
        calibrate_check_add(c, o->line, CALIBRATE_RULE_IMPOSSIBLE, TRUE, log(least / o->value),
                            g_strdup_printf("%s: %s, where %s leaves no less than %s",
                                            calibrate_series_at(c->rows, o->series)->of, is,
                                            o->least_ns > floor_ns ? "the data sheet" : "a launch",
                                            must));
    }
}

/* --- one thing twice ----------------------------------------------------------------------------- */

static gboolean
is_same_place(const CalibrateObservation *a, const CalibrateObservation *b, int but)
{
    if (a->series != b->series)
        return FALSE;
    for (int axis = 0; axis < CALIBRATE_AXES; axis++)
        if (axis != but && a->x[axis] != b->x[axis])
            return FALSE;
    return TRUE;
}

void
calibrate_check_twice(CalibrateChecking *c)
{
    for (guint i = 1; i < c->rows->rows->len; i++) {
        const CalibrateObservation *o = calibrate_observation_at(c->rows, i);
        const CalibrateObservation *before = calibrate_observation_at(c->rows, i - 1);
        double off = fabs(log(o->value / before->value));
        if (!is_same_place(o, before, CALIBRATE_AXES) || !(off > TWICE_ODD))
            continue;
        g_autofree char *is = calibrate_check_amount(c->rows->table, o->value);
        g_autofree char *was = calibrate_check_amount(c->rows->table, before->value);
        calibrate_check_add(c, o->line, CALIBRATE_RULE_TWICE, off > TWICE_WRONG, off,
                            g_strdup_printf("%s: %s, and %s for the same on line %u",
                                            calibrate_series_at(c->rows, o->series)->of, is, was,
                                            before->line));
    }
}

/* --- far from its neighbours --------------------------------------------------------------------- */

static int
compare_doubles(gconstpointer a, gconstpointer b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return p < q ? -1 : p > q;
}

static void
add_outlier(CalibrateChecking *c, guint row, const CalibrateSeries *s, double off, double sigma,
            guint n_near)
{
    const CalibrateObservation *o = calibrate_observation_at(c->rows, row);
    c->is_outlier[row] = TRUE;
    gboolean wrong = fabs(off) > OUTLIER_ABSURD ||
                     (fabs(off) > OUTLIER_WRONG && fabs(off) > OUTLIER_WRONG_SIGMAS * sigma);
    g_autofree char *is = calibrate_check_amount(c->rows->table, o->value);
    g_autofree char *due = calibrate_check_amount(c->rows->table, o->value / exp(off));
    char sigmas[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(sigmas, sizeof sigmas, "%.0f", fabs(off) / sigma);
    double times = exp(fabs(off));
    const char *hint = times > 900 && times < 1100  ? "; a thousand: is it in the unit that is due?"
                       : times > 7.5 && times < 8.5 ? "; eight: bits for bytes?"
                                                    : "";
    calibrate_check_add(
        c, o->line, CALIBRATE_RULE_OUTLIER, wrong, fabs(off),
        g_strdup_printf("%s: %s, where the %u rows nearest to it say %s (%s sigmas)%s", s->of, is,
                        n_near, due, sigmas, hint));
}

/* Each row beside the plane through those around it; sigma is of the series, or of the place where that is more. */
static void
check_series(CalibrateChecking *c, const CalibrateSeries *s)
{
    g_autofree double *off = g_new0(double, s->n);
    g_autofree CalibrateNearby *near = g_new0(CalibrateNearby, s->n);
    g_autoptr(GArray) sizes = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < s->n; i++) {
        const CalibrateObservation *o = calibrate_observation_at(c->rows, s->first + i);
        if (!calibrate_nearby(c->rows, s, o->x, (int)(s->first + i), &near[i]))
            return;
        off[i] = log(o->value / (o->nominal_ns + s->base)) - near[i].y;
        double size = fabs(off[i]);
        g_array_append_val(sizes, size);
    }
    g_array_sort(sizes, compare_doubles);
    double sigma = NORMAL * g_array_index(sizes, double, sizes->len / 2);
    for (guint i = 0; i < s->n; i++) {
        double own =
            MAX(MAX(sigma, near[i].scatter), LEAST_SIGMA) * (near[i].outside ? OUTSIDE : 1);
        if (near[i].distance <= FAR && fabs(off[i]) > OUTLIER_ODD &&
            fabs(off[i]) > OUTLIER_ODD_SIGMAS * own)
            add_outlier(c, s->first + i, s, off[i], own, near[i].n);
    }
}

void
calibrate_check_outliers(CalibrateChecking *c)
{
    for (guint i = 0; i < c->rows->series->len; i++)
        check_series(c, calibrate_series_at(c->rows, i));
}

/* --- less time for more work --------------------------------------------------------------------- */

typedef struct {
    const CalibrateObservation *row;
    guint id, axis;
} Along;

/* Rows that differ along one axis alone stand together, in order of it. */
static int
compare_along(gconstpointer a, gconstpointer b)
{
    const Along *p = a, *q = b;
    if (p->row->series != q->row->series)
        return p->row->series < q->row->series ? -1 : 1;
    for (guint axis = 0; axis < CALIBRATE_AXES; axis++)
        if (axis != p->axis && p->row->x[axis] != q->row->x[axis])
            return p->row->x[axis] < q->row->x[axis] ? -1 : 1;
    double x = p->row->x[p->axis], y = q->row->x[p->axis];
    if (x != y)
        return x < y ? -1 : 1;
    return p->row->line < q->row->line ? -1 : p->row->line > q->row->line;
}

static void
check_step(CalibrateChecking *c, const CalibrateObservation *less, const CalibrateObservation *more,
           guint axis)
{
    double fall = 1 - more->value / less->value;
    if (!(fall > FALL_ODD))
        return;
    g_autofree char *is = calibrate_check_amount(c->rows->table, more->value);
    g_autofree char *was = calibrate_check_amount(c->rows->table, less->value);
    calibrate_check_add(c, more->line, CALIBRATE_RULE_FALLING, fall > FALL_WRONG, fall,
                        g_strdup_printf("%s: %s, and %s on line %u with less %s",
                                        calibrate_series_at(c->rows, more->series)->of, is, was,
                                        less->line, calibrate_axis_name(c->rows->table, axis)));
}

void
calibrate_check_falling(CalibrateChecking *c)
{
    if (c->rows->table == CLUSTER_TABLE_OVERLAP)
        return;
    g_autoptr(GArray) along = g_array_new(FALSE, FALSE, sizeof(Along));
    for (guint axis = 0; axis < CALIBRATE_AXES; axis++) {
        if (calibrate_axis_name(c->rows->table, axis) == NULL)
            break;
        g_array_set_size(along, 0);
        for (guint i = 0; i < c->rows->rows->len; i++) {
            Along a = {calibrate_observation_at(c->rows, i), i, axis};
            g_array_append_val(along, a);
        }
        g_array_sort(along, compare_along);
        for (guint i = 1; i < along->len; i++) {
            const Along *less = &g_array_index(along, Along, i - 1);
            const Along *more = &g_array_index(along, Along, i);
            /* An outlier was told already; the row beside it is innocent. */
            if (!c->is_outlier[less->id] && !c->is_outlier[more->id] &&
                is_same_place(less->row, more->row, (int)axis) &&
                less->row->x[axis] < more->row->x[axis])
                check_step(c, less->row, more->row, axis);
        }
    }
}

/* --- samples that disagreed ---------------------------------------------------------------------- */

void
calibrate_check_spread(CalibrateChecking *c)
{
    for (guint i = 0; i < c->rows->rows->len; i++) {
        const CalibrateObservation *o = calibrate_observation_at(c->rows, i);
        if (!(o->spread_frac > SPREAD_ODD))
            continue;
        char text[G_ASCII_DTOSTR_BUF_SIZE];
        g_ascii_formatd(text, sizeof text, "%.1f", 100 * o->spread_frac);
        calibrate_check_add(c, o->line, CALIBRATE_RULE_SPREAD, FALSE, o->spread_frac,
                            g_strdup_printf("%s: its samples spread over %s %%",
                                            calibrate_series_at(c->rows, o->series)->of, text));
    }
}
