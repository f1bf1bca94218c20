/* Whole series in another unit than is due. Large rows of a machine reach a good part of what its data sheet says: the
 * median of nominal / measured over the largest quarter of a series, three rows or more, is between 0.1 and 1. Where it is
 * 8, a thousand or a million times that, a unit was mistaken; so it is where it is a thousandth, of the largest row
 * too, and time grows with the work (else it is latency). Two rows say nothing: either may be a bad one. A smallest row that takes milliseconds, or less than a kernel can, says that the times are wrong; else it
 * is the sizes. */
#include "config.h"

#include "calibrate/check_parts.h"

#include "units/quantile.h"

#include <math.h>

#define GOOD_LOW 0.1
#define GOOD_HIGH 1.1
#define LARGE_PART 4        /* the largest quarter */
#define LEAST_LARGE 3       /* rows, so that a bad one is outvoted */
#define GROWS 0.5           /* of ln time over ln work: it is the work that takes the time */
#define LEAST_WIDTH 4.0     /* of the work, to say how time grows */
#define LONG_BASE_NS 1e6    /* no smallest kernel takes a millisecond */
#define SHORT_BASE_NS 200.0 /* or less than this */

typedef struct {
    double nominal, value;
} Work;

static int
compare_work(gconstpointer a, gconstpointer b)
{
    const Work *p = a, *q = b;
    if (p->nominal != q->nominal)
        return p->nominal < q->nominal ? -1 : 1;
    return p->value < q->value ? -1 : p->value > q->value;
}

/* Of nominal / measured. */
typedef struct {
    double part;    /* the median of the large rows; NAN: nothing to say */
    double largest; /* of the largest alone */
    gboolean grows; /* does time grow as work does? */
} Efficiency;

/* Of two in the middle that which needs less of an explanation: half of the rows may be bad. */
static double
middle_of(GArray *parts)
{
    g_array_sort(parts, units_compare_doubles);
    double low = g_array_index(parts, double, (parts->len - 1) / 2);
    double high = g_array_index(parts, double, parts->len / 2);
    return fabs(log(low)) <= fabs(log(high)) ? low : high;
}

static Efficiency
efficiency_of(const CalibrateObservations *rows, const CalibrateSeries *s)
{
    Efficiency e = {NAN, NAN, FALSE};
    g_autoptr(GArray) work = g_array_new(FALSE, FALSE, sizeof(Work));
    for (guint i = s->first; i < s->first + s->n; i++) {
        const CalibrateObservation *o = calibrate_observation_at(rows, i);
        Work w = {o->nominal_ns, o->value};
        if (o->nominal_ns > 0)
            g_array_append_val(work, w);
    }
    if (work->len < LEAST_LARGE)
        return e;
    g_array_sort(work, compare_work);
    const Work *last = &g_array_index(work, Work, work->len - 1);
    g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(double));
    guint n_large = MAX((work->len + LARGE_PART - 1) / LARGE_PART, LEAST_LARGE);
    for (guint i = work->len - n_large; i < work->len; i++) {
        const Work *w = &g_array_index(work, Work, i);
        double part = w->nominal / w->value;
        g_array_append_val(parts, part);
    }
    for (guint i = work->len; i-- > 0;) {
        const Work *w = &g_array_index(work, Work, i);
        if (w->nominal * LEAST_WIDTH > last->nominal)
            continue;
        e.grows = log(last->value / w->value) > GROWS * log(last->nominal / w->nominal);
        break;
    }
    e.largest = last->nominal / last->value;
    e.part = middle_of(parts);
    return e;
}

static gboolean
is_good(double part)
{
    return part >= GOOD_LOW && part <= GOOD_HIGH;
}

/* How many times too small (> 1) or too large (< 1) times or sizes are where so much of the nominal rate is reached;
 * 1: neither. */
static double
factor_of_part(double part, gboolean grows)
{
    static const double factors[] = {8, 1e3, 1e6};
    if (isnan(part) || is_good(part))
        return 1;
    for (guint i = 0; i < G_N_ELEMENTS(factors); i++) {
        /* Few reach more than half of a link by eight: that is slow, not bits. */
        gboolean bits = i == 0;
        if (part > 1 && is_good(part / factors[i]) && (!bits || part >= 2.5))
            return factors[i];
        if (part < 1 && grows && !bits && is_good(part * factors[i]))
            return 1 / factors[i];
    }
    return 1;
}

/* A large row that is slow may yet be short; the largest is least so. */
static double
factor_of(const Efficiency *e)
{
    double factor = factor_of_part(e->part, e->grows);
    return factor < 1 && factor_of_part(e->largest, e->grows) != factor ? 1 : factor;
}

/* What was mistaken for what. */
static const char *
guess(ClusterTable table, double factor, double base)
{
    gboolean has_bytes = table == CLUSTER_TABLE_MEMORY || table == CLUSTER_TABLE_COLLECTIVE;
    if (factor == 8)
        return has_bytes ? "sizes are in bits where bytes are due"
                         : "times are an eighth of what they can be";
    gboolean times = !has_bytes || (factor > 1 ? base < SHORT_BASE_NS : base > LONG_BASE_NS);
    if (factor > 1 && times)
        return factor < 1e4 ? "times are in ms where us are due"
                            : "times are in s where us are due";
    if (times)
        return factor > 1e-4 ? "times are in ns where us are due"
                             : "times are in ps where us are due";
    if (factor > 1)
        return factor < 1e4 ? "sizes are a thousand times what they should be"
                            : "sizes are a million times what they should be";
    return factor > 1e-4 ? "sizes are in KB or KiB where bytes are due"
                         : "sizes are in MB or MiB where bytes are due";
}

static void
add_series(CalibrateChecking *c, guint i, double part, double factor, gboolean whole)
{
    const CalibrateSeries *s = calibrate_series_at(c->rows, i);
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(text, sizeof text, "%.2g", part);
    guint line = G_MAXUINT;
    for (guint row = s->first; row < s->first + s->n; row++)
        line = MIN(line, calibrate_observation_at(c->rows, row)->line);
    calibrate_check_add(
        c, whole ? 0 : line, CALIBRATE_RULE_UNIT, TRUE, fabs(log(factor)),
        g_strdup_printf("%s%s%s: large rows run at %s of the data sheet's rate; it seems that %s",
                        whole ? "all of it, as " : "all ", whole ? "" : "of ", s->of, text,
                        guess(c->rows->table, factor, s->base)));
}

void
calibrate_check_units(CalibrateChecking *c)
{
    guint n = c->rows->series->len, n_judged = 0, first = 0;
    g_autofree Efficiency *judged = g_new0(Efficiency, n + 1);
    g_autofree double *factors = g_new0(double, n + 1);
    gboolean whole = n > 1;
    for (guint i = 0; i < n; i++) {
        judged[i] = efficiency_of(c->rows, calibrate_series_at(c->rows, i));
        factors[i] = factor_of(&judged[i]);
        c->in_unit[i] = factors[i] == 1;
        if (isnan(judged[i].part))
            continue;
        first = n_judged++ == 0 ? i : first;
        whole = whole && factors[i] == factors[first];
    }
    if (n_judged > 1 && whole && factors[first] != 1) {
        /* Of too few rows, but of the same table. */
        for (guint i = 0; i < n; i++)
            c->in_unit[i] = FALSE;
        add_series(c, first, judged[first].part, factors[first], TRUE);
        return;
    }
    for (guint i = 0; i < n; i++)
        if (factors[i] != 1)
            add_series(c, i, judged[i].part, factors[i], FALSE);
}
