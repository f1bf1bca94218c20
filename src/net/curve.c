/* A measured sweep as a monotone curve. */
#include "config.h"

#include "net/curve.h"

#include <math.h>

#define SAME_SIZE 1.005

typedef struct {
    double bytes;
    double ns;
    double weight;
    double spread_frac;
    double off; /* |ln| of ns over what the points beside it say; 0 at the ends */
} Point;

struct NetCurve {
    Point *points; /* owned; bytes rise, ns never falls */
    guint n;
};

static int
compare_samples(gconstpointer a, gconstpointer b)
{
    const NetSample *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static int
compare_ns(gconstpointer a, gconstpointer b)
{
    const NetSample *x = a, *y = b;
    return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* One point of n rows of one size; sorts them by time. */
static Point
point_of(NetSample *rows, guint n)
{
    Point point = {.bytes = rows[0].bytes, .weight = n};
    qsort(rows, n, sizeof *rows, compare_ns);
    double low = log(rows[(n - 1) / 2].ns), high = log(rows[n / 2].ns);
    point.ns = n % 2 == 1 ? rows[n / 2].ns : exp((low + high) / 2.0);
    double sum = 0.0;
    for (guint i = 0; i < n; i++)
        sum += pow(log(rows[i].ns / point.ns), 2.0);
    point.spread_frac = n > 1 ? sqrt(sum / (n - 1)) : 0.0;
    return point;
}

/* Pool adjacent violators: while a block's mean log time is below the one before it, join them. */
static void
make_monotone(Point *points, guint n)
{
    typedef struct {
        double sum, weight;
        guint n;
    } Block;
    g_autofree Block *blocks = g_new(Block, n);
    guint n_blocks = 0;
    for (guint i = 0; i < n; i++) {
        Block block = {points[i].weight * log(points[i].ns), points[i].weight, 1};
        while (n_blocks > 0 &&
               blocks[n_blocks - 1].sum / blocks[n_blocks - 1].weight > block.sum / block.weight) {
            Block last = blocks[--n_blocks];
            block = (Block){last.sum + block.sum, last.weight + block.weight, last.n + block.n};
        }
        blocks[n_blocks++] = block;
    }
    guint i = 0;
    for (guint b = 0; b < n_blocks; b++) {
        double ns = exp(blocks[b].sum / blocks[b].weight);
        if (blocks[b].n == 1)
            ns = points[i].ns; /* to the last bit what was measured */
        for (guint j = 0; j < blocks[b].n; j++, i++) {
            points[i].spread_frac = MAX(points[i].spread_frac, fabs(points[i].ns / ns - 1.0));
            points[i].ns = ns;
        }
    }
    for (i = 1; i < n; i++) /* exp(log()) may lose the last bit */
        points[i].ns = MAX(points[i].ns, points[i - 1].ns);
}

static double
line_ns(const Point *a, const Point *b, double bytes)
{
    return a->ns + (b->ns - a->ns) * (bytes - a->bytes) / (b->bytes - a->bytes);
}

static void
leave_out(NetCurve *curve)
{
    for (guint i = 0; i < curve->n; i++) {
        Point *p = &curve->points[i];
        p->off = i > 0 && i + 1 < curve->n ? fabs(log(p->ns / line_ns(p - 1, p + 1, p->bytes))) : 0;
    }
}

NetCurve *
net_curve_new(const NetSample *samples, guint n)
{
    g_assert(n > 0);
    g_autofree NetSample *rows = g_memdup2(samples, n * sizeof *samples);
    qsort(rows, n, sizeof *rows, compare_samples);
    NetCurve *curve = g_new0(NetCurve, 1);
    curve->points = g_new(Point, n);
    for (guint i = 0; i < n;) {
        g_assert(rows[i].bytes > 0.0 && rows[i].ns > 0.0);
        guint end = i + 1;
        while (end < n && rows[end].bytes <= rows[i].bytes * SAME_SIZE)
            end++;
        curve->points[curve->n++] = point_of(&rows[i], end - i);
        i = end;
    }
    for (guint i = 1; i < curve->n; i++) /* point_of sorted by time: put sizes back in order */
        g_assert(curve->points[i].bytes > curve->points[i - 1].bytes);
    make_monotone(curve->points, curve->n);
    leave_out(curve);
    return curve;
}

NetCurve *
net_curve_copy(const NetCurve *curve)
{
    NetCurve *copy = g_new(NetCurve, 1);
    *copy = (NetCurve){g_memdup2(curve->points, curve->n * sizeof *curve->points), curve->n};
    return copy;
}

void
net_curve_free(NetCurve *curve)
{
    if (curve == NULL)
        return;
    g_free(curve->points);
    g_free(curve);
}

guint
net_curve_n_points(const NetCurve *curve)
{
    return curve->n;
}

NetSample
net_curve_point(const NetCurve *curve, guint i)
{
    g_assert(i < curve->n);
    return (NetSample){curve->points[i].bytes, curve->points[i].ns};
}

double
net_curve_first_bytes(const NetCurve *curve)
{
    return curve->points[0].bytes;
}

double
net_curve_last_bytes(const NetCurve *curve)
{
    return curve->points[curve->n - 1].bytes;
}

double
net_curve_ns(const NetCurve *curve, double bytes, gboolean *ret_hit, double *ret_spread_frac)
{
    const Point *points = curve->points;
    guint low = 0, high = curve->n - 1;
    while (low < high) { /* the last point whose size is not above `bytes` */
        guint middle = (low + high + 1) / 2;
        if (points[middle].bytes <= bytes)
            low = middle;
        else
            high = middle - 1;
    }
    const Point *a = &points[low];
    const Point *b = low + 1 < curve->n && bytes > a->bytes ? &points[low + 1] : a;
    if (bytes >= b->bytes / SAME_SIZE)
        a = b;
    gboolean hit = bytes >= a->bytes / SAME_SIZE && bytes <= a->bytes * SAME_SIZE;
    if (ret_hit != NULL)
        *ret_hit = hit;
    if (ret_spread_frac != NULL)
        *ret_spread_frac = MAX(a->spread_frac, hit ? 0.0 : b->spread_frac);
    if (hit || a == b || bytes <= a->bytes)
        return a->ns;
    return line_ns(a, b, bytes);
}

/* A point between its neighbours is twice as far from them as what is asked for between two points, and off by as
 * much more. */
#define LEFT_OUT 0.5
/* Counts as much as one point. */
#define ERROR_BETWEEN 0.03
/* A mean absolute error of a normal distribution times this is its sigma. */
#define SIGMA_OF_MEAN 1.2533

double
net_curve_error_frac(const NetCurve *curve, double bytes)
{
    guint next = 0;
    while (next < curve->n && curve->points[next].bytes < bytes)
        next++;
    const Point *b = &curve->points[MIN(next, curve->n - 1)], *a = next > 0 ? b - 1 : b;
    return (SIGMA_OF_MEAN * LEFT_OUT * (a->off + b->off) + ERROR_BETWEEN) / 3;
}
