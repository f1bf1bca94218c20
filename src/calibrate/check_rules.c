/* Rules about single rows. A rule that says "wrong" leaves no other reading: faster than the data sheet, one thing
 * measured twice with times far apart, twice or half of what all around it says, half the time for more work. Less than
 * that is odd: machines do such things. */
#include "config.h"

#include "calibrate/check_parts.h"

#include "calibrate/nearby.h"
#include "units/quantile.h"

#include <math.h>

#define CLOCK_FRAC 0.02    /* above the data sheet's rate: clocks differ that much */
#define FLOOR_PART 4       /* of the shortest kernel, below which no time can be */
#define LEAST_SLOWDOWN 0.9 /* a kernel beside traffic is not faster than alone */
#define TWICE_ODD 0.05     /* ln: rows of one thing are that far apart */
#define TWICE_WRONG 0.69   /* ln 2 */
/* By chance alone one row in 2000 is off by 3.5 sigmas and one in 16000 by 4; and by so much, besides, next to none. */
#define OUTLIER_ODD_SIGMAS 3.5
#define OUTLIER_WRONG_SIGMAS 4
#define OUTLIER_ODD 0.14    /* ln: less is nobody's concern */
#define OUTLIER_WRONG 0.69  /* ln 2 */
#define OUTLIER_ABSURD 1.61 /* ln 5: wrong from the sigmas on from which a row is told at all */
#define NORMAL 1.4826       /* sigma over the median of |x| */
#define FALL_ODD 0.10       /* of the time */
#define FALL_WRONG 0.50
#define SPREAD_ODD 0.02

/* --- faster than the machine --------------------------------------------------------------------- */

static void
check_slowdown(CalibrateChecking *c, guint row)
{
    const CalibrateObservation *o = calibrate_observation_at(c->rows, row);
    if (o->value >= LEAST_SLOWDOWN)
        return;
    c->is_doubted[row] = TRUE;
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
            check_slowdown(c, i);
        double least = MAX(o->least_ns / (1 + CLOCK_FRAC), floor_ns);
        if (c->rows->table == CLUSTER_TABLE_OVERLAP || !c->in_unit[o->series] || o->value >= least)
            continue;
        g_autofree char *is = calibrate_check_amount(c->rows->table, o->value);
        g_autofree char *must = calibrate_check_amount(c->rows->table, MAX(o->least_ns, floor_ns));
        c->is_doubted[i] = TRUE;
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
        /* One of the two was told already. */
        if (c->is_doubted[i] || c->is_doubted[i - 1])
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

typedef struct {
    guint row;
    double off, sigmas;
    CalibrateNearby near;
} Suspect;

/* How far a row is from what those around it say, itself and doubted ones left out; FALSE: they are too few. */
static gboolean
ask_neighbours(CalibrateChecking *c, const CalibrateSeries *s, guint row, Suspect *ret)
{
    const CalibrateObservation *o = calibrate_observation_at(c->rows, row);
    gboolean was = c->is_doubted[row];
    c->is_doubted[row] = TRUE;
    gboolean enough = calibrate_nearby(c->rows, s, o->x, c->is_doubted, &ret->near);
    c->is_doubted[row] = was;
    ret->row = row;
    ret->off = enough ? log(o->value / (o->nominal_ns + s->base)) - ret->near.y : 0;
    return enough;
}

/* `times`: what rows of the series are farther off as a rule than the scatter of those around them says; where that is more
 * than once, no plane is as good as it looks. */
static gboolean
is_far(Suspect *suspect, double times)
{
    suspect->near.error *= times;
    suspect->sigmas = calibrate_nearby_sigmas(&suspect->near, suspect->off);
    return fabs(suspect->off) > OUTLIER_ODD && suspect->sigmas > OUTLIER_ODD_SIGMAS;
}

/* Least likely first. */
static int
compare_suspects(gconstpointer a, gconstpointer b)
{
    const Suspect *p = a, *q = b;
    if (p->sigmas != q->sigmas)
        return p->sigmas > q->sigmas ? -1 : 1;
    return p->row < q->row ? -1 : p->row > q->row;
}

static void
add_outlier(CalibrateChecking *c, const CalibrateSeries *s, const Suspect *suspect)
{
    const CalibrateObservation *o = calibrate_observation_at(c->rows, suspect->row);
    double size = fabs(suspect->off), times = exp(size);
    c->is_doubted[suspect->row] = TRUE;
    gboolean wrong =
        size > OUTLIER_ABSURD || (size > OUTLIER_WRONG && suspect->sigmas > OUTLIER_WRONG_SIGMAS);
    g_autofree char *is = calibrate_check_amount(c->rows->table, o->value);
    g_autofree char *due = calibrate_check_amount(c->rows->table, o->value / exp(suspect->off));
    char sigmas[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(sigmas, sizeof sigmas, "%.1f", suspect->sigmas);
    const char *hint = times > 900 && times < 1100  ? "; a thousand: is it in the unit that is due?"
                       : times > 7.5 && times < 8.5 ? "; eight: bits for bytes?"
                                                    : "";
    calibrate_check_add(
        c, o->line, CALIBRATE_RULE_OUTLIER, wrong, size,
        g_strdup_printf("%s: %s, where the %u rows nearest to it say %s (%s sigmas)%s", s->of, is,
                        suspect->near.n, due, sigmas, hint));
}

/* Each row beside the plane through those around it. An outlier can pull that of a row beside it where others are few, so
 * that the suspects are asked again from the least likely on, those that were found left out. */
static void
check_series(CalibrateChecking *c, const CalibrateSeries *s)
{
    g_autoptr(GArray) suspects = g_array_sized_new(FALSE, FALSE, sizeof(Suspect), s->n);
    g_autoptr(GArray) sizes = g_array_sized_new(FALSE, FALSE, sizeof(double), s->n);
    for (guint row = s->first; row < s->first + s->n; row++) {
        Suspect suspect = {0};
        /* What is impossible was told already. */
        if (c->is_doubted[row] || !ask_neighbours(c, s, row, &suspect))
            continue;
        double size = fabs(suspect.off) / suspect.near.error;
        g_array_append_val(suspects, suspect);
        g_array_append_val(sizes, size);
    }
    if (sizes->len == 0)
        return;
    double times = MAX(1, NORMAL * units_quantile_of(sizes, 0.5));
    for (guint i = 0; i < suspects->len; i++)
        is_far(&g_array_index(suspects, Suspect, i), times);
    g_array_sort(suspects, compare_suspects);
    for (guint i = 0; i < suspects->len; i++) {
        Suspect *suspect = &g_array_index(suspects, Suspect, i);
        if (suspect->sigmas <= OUTLIER_ODD_SIGMAS)
            break;
        if (ask_neighbours(c, s, suspect->row, suspect) && is_far(suspect, times))
            add_outlier(c, s, suspect);
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
            /* It was told already; the row beside it is innocent. */
            if (!c->is_doubted[less->id] && !c->is_doubted[more->id] &&
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
