/* Rows of two tables by what they are of. Where B has no row of a shape that A has, the plane through B's rows around it
 * says what it would take there: nominal time and base are B's, so that a plane of efficiencies carries over. */
#include "config.h"

#include "calibrate/diff.h"

#include "calibrate/nearby.h"
#include "units/quantile.h"

#include <math.h>
#include <string.h>

#define WORST 5
/* What B's rows say of a place must be as sure as this: so far from the nearest, and off by so much of ln at one sigma. */
#define NEAR_OCTAVES 1.0
#define NEAR_ERROR 0.1

typedef struct {
    const CalibrateObservations *a, *b;
    const CalibrateObservations *a_on_b; /* A's rows with B's data sheet, in the same order */
} Pair;

static CalibrateRatios
ratios_of(GArray *ratios)
{
    if (ratios->len == 0)
        return (CalibrateRatios){0, NAN, NAN, NAN};
    double median = units_quantile_of(ratios, 0.5);
    const double *sorted = (const double *)(gconstpointer)ratios->data;
    return (CalibrateRatios){ratios->len, median, units_quantile(sorted, ratios->len, 0.1),
                             units_quantile(sorted, ratios->len, 0.9)};
}

static int
compare_places(const CalibrateObservation *a, const CalibrateObservation *b)
{
    for (guint axis = 0; axis < CALIBRATE_AXES; axis++)
        if (a->x[axis] != b->x[axis])
            return a->x[axis] < b->x[axis] ? -1 : 1;
    return 0;
}

static char *
place_of(ClusterTable table, const CalibrateObservation *o)
{
    GString *out = g_string_new(NULL);
    double shift = table == CLUSTER_TABLE_OVERLAP ? 1 : 0; /* log2(1 + channels) */
    for (guint axis = 0; axis < CALIBRATE_AXES && calibrate_axis_name(table, axis) != NULL; axis++)
        g_string_append_printf(out, "%s%s %.0f", axis > 0 ? ", " : "",
                               calibrate_axis_name(table, axis), round(exp2(o->x[axis])) - shift);
    return g_string_free(out, FALSE);
}

static void
add_row(GArray *rows, ClusterTable table, const CalibrateSeries *s, const CalibrateObservation *a,
        const CalibrateObservation *b)
{
    CalibrateRowDiff row = {.table = table,
                            .of = g_strdup(s->of),
                            .at = place_of(table, a),
                            .line = {a->line, b->line},
                            .value = {a->value, b->value},
                            .ratio = b->value / a->value};
    g_array_append_val(rows, row);
}

/* What B's rows around A's i-th say that B would take; FALSE: none are near enough. */
static gboolean
predict(const Pair *p, const CalibrateSeries *in_b, guint i, double *ret)
{
    const CalibrateObservation *o = calibrate_observation_at(p->a_on_b, i);
    CalibrateNearby near;
    if (!calibrate_nearby(p->b, in_b, o->x, NULL, &near) || near.distance > NEAR_OCTAVES ||
        near.error > NEAR_ERROR)
        return FALSE;
    *ret = exp(near.y) * (o->nominal_ns + in_b->base);
    return TRUE;
}

/* Both are sorted by place; rows of one place go by turns. */
static void
compare_series(const Pair *p, const CalibrateSeries *in_a, const CalibrateSeries *in_b,
               CalibrateSeriesDiff *diff, GArray *rows)
{
    g_autoptr(GArray) same = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GArray) near = g_array_new(FALSE, FALSE, sizeof(double));
    guint first = rows->len, j = in_b->first, end = in_b->first + in_b->n;
    for (guint i = in_a->first; i < in_a->first + in_a->n; i++) {
        const CalibrateObservation *a = calibrate_observation_at(p->a, i);
        while (j < end && compare_places(calibrate_observation_at(p->b, j), a) < 0)
            j++;
        double ratio = 0;
        if (j < end && compare_places(calibrate_observation_at(p->b, j), a) == 0) {
            const CalibrateObservation *b = calibrate_observation_at(p->b, j++);
            ratio = b->value / a->value;
            g_array_append_val(same, ratio);
            add_row(rows, p->a->table, in_a, a, b);
        } else if (predict(p, in_b, i, &ratio)) {
            ratio /= a->value;
            g_array_append_val(near, ratio);
        }
    }
    diff->same = ratios_of(same);
    diff->near = ratios_of(near);
    diff->only[CALIBRATE_A] = in_a->n - same->len;
    diff->only[CALIBRATE_B] = in_b->n - same->len;
    for (guint i = first; i < rows->len; i++) {
        CalibrateRowDiff *row = &g_array_index(rows, CalibrateRowDiff, i);
        row->off = fabs(log(row->ratio / diff->same.median));
    }
}

static int
compare_off(gconstpointer a, gconstpointer b)
{
    const CalibrateRowDiff *p = a, *q = b;
    if (p->off != q->off)
        return p->off > q->off ? -1 : 1;
    guint x = p->line[CALIBRATE_A], y = q->line[CALIBRATE_A];
    return x != y ? (x < y ? -1 : 1) : strcmp(p->of, q->of);
}

static void
keep_worst(CalibrateDiff *diff, GArray *rows)
{
    g_array_sort(rows, compare_off);
    for (guint i = 0; i < rows->len; i++) {
        CalibrateRowDiff *row = &g_array_index(rows, CalibrateRowDiff, i);
        if (i < WORST && row->off > 0) {
            g_array_append_val(diff->worst, *row);
            continue;
        }
        g_free(row->of);
        g_free(row->at);
    }
}

/* Series of either, in order of name. */
static void
compare_tables(CalibrateDiff *diff, const Pair *p)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(CalibrateRowDiff));
    guint i = 0, j = 0;
    while (i < p->a->series->len || j < p->b->series->len) {
        const CalibrateSeries *a = i < p->a->series->len ? calibrate_series_at(p->a, i) : NULL;
        const CalibrateSeries *b = j < p->b->series->len ? calibrate_series_at(p->b, j) : NULL;
        int order = a == NULL ? 1 : b == NULL ? -1 : strcmp(a->of, b->of);
        const CalibrateRatios none = {0, NAN, NAN, NAN};
        CalibrateSeriesDiff series = {.table = p->a->table,
                                      .of = g_strdup(order <= 0 ? a->of : b->of),
                                      .same = none,
                                      .near = none,
                                      .only = {order <= 0 ? a->n : 0, order >= 0 ? b->n : 0}};
        if (order == 0)
            compare_series(p, a, b, &series, rows);
        g_array_append_val(diff->series, series);
        i += order <= 0;
        j += order >= 0;
    }
    keep_worst(diff, rows);
}

gboolean
calibrate_diff_table(CalibrateDiff *diff, ClusterTable table,
                     const ClusterSystem *const system[CALIBRATE_N_SIDES],
                     const ConfTable *const rows[CALIBRATE_N_SIDES], GError **error)
{
    g_autoptr(CalibrateObservations) a =
        calibrate_observe(system[CALIBRATE_A], table, rows[CALIBRATE_A], error);
    g_autoptr(CalibrateObservations) b =
        a != NULL ? calibrate_observe(system[CALIBRATE_B], table, rows[CALIBRATE_B], error) : NULL;
    g_autoptr(CalibrateObservations) a_on_b =
        b != NULL ? calibrate_observe(system[CALIBRATE_B], table, rows[CALIBRATE_A], error) : NULL;
    if (a_on_b == NULL)
        return FALSE;
    compare_tables(diff, &(Pair){a, b, a_on_b});
    return TRUE;
}
