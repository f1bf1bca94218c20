/* Local planes over scattered points.
 *
 * An estimate takes the nearest points and fits a plane
 *   y = a + b . (x - query), weights 1 / (d^2 + e^2), slopes held small by a ridge,
 * and a is the answer, kept within what the neighbours say. The plane is fitted twice: the second
 * time a point that is off the first one counts less, as it may be a kernel of another kind, or a
 * disturbed measurement. Outside the range of the points the
 * query moves to its
 * edge first: what is large keeps the value of the largest.
 * Neighbours are found through a grid of cells of half a unit.
 *
 * How far an estimate is off shows in how far its neighbours are off when each is left out: surfaces are smooth in
 * some places and jump in others (a kernel takes over from another). */
#include "config.h"

#include "cost/surface.h"

#include "units/quantile.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#define N_NEIGHBOURS COST_SURFACE_NEIGHBOURS
#define CELLS_PER_UNIT 2
#define MAX_CELLS 64 /* an axis */
#define NEAR2 0.02   /* e^2: within about a tenth of a unit all points count alike */
#define RIDGE 0.05
#define OFF 0.05 /* so far off the first plane, and a point counts half */
/* Residuals: within about a unit all neighbours count alike. */
#define RESIDUAL_NEAR2 0.5

typedef struct {
    double x[COST_SURFACE_AXES];
    double y;
    guint id; /* in order of adding */
} Point;

typedef struct {
    const Point *point;
    double distance2;
} Neighbour;

struct CostSurface {
    GArray *points; /* Point; sorted by cell once built */
    guint *cells;   /* first point of each cell; one more at the end */
    guint *places;  /* [id] where a point lies in `points` */
    /* [points] how far the estimate without a point is off it; NAN: nobody asked yet. Threads that ask for the same
     * one at a time find the same. */
    _Atomic double *left_out;
    int n_cells[3];
    double low[3], high[3];
};

static int
cell_coordinate(const CostSurface *t, int axis, double x)
{
    int c = (int)floor((x - t->low[axis]) * CELLS_PER_UNIT);
    return CLAMP(c, 0, t->n_cells[axis] - 1);
}

static guint
cell_of(const CostSurface *t, const double *x)
{
    guint cell = 0;
    for (int axis = 0; axis < 3; axis++)
        cell = cell * (guint)t->n_cells[axis] + (guint)cell_coordinate(t, axis, x[axis]);
    return cell;
}

static int
compare_points(gconstpointer a, gconstpointer b, gpointer table)
{
    const Point *p = a, *q = b;
    guint left = cell_of(table, p->x), right = cell_of(table, q->x);
    if (left != right)
        return left < right ? -1 : 1;
    for (int i = 0; i < COST_SURFACE_AXES; i++)
        if (p->x[i] < q->x[i] || p->x[i] > q->x[i])
            return p->x[i] < q->x[i] ? -1 : 1;
    if (p->y < q->y || p->y > q->y)
        return p->y < q->y ? -1 : 1;
    return p->id < q->id ? -1 : p->id > q->id;
}

void
cost_surface_build(CostSurface *t)
{
    g_assert(!t->cells);
    for (guint i = 0; i < t->points->len; i++)
        for (int axis = 0; axis < COST_SURFACE_SLOPES; axis++) {
            double x = g_array_index(t->points, Point, i).x[axis];
            t->low[axis] = i ? MIN(t->low[axis], x) : x;
            t->high[axis] = i ? MAX(t->high[axis], x) : x;
        }
    guint n = 1;
    for (int axis = 0; axis < 3; axis++) {
        int wanted = (int)((t->high[axis] - t->low[axis]) * CELLS_PER_UNIT) + 1;
        t->n_cells[axis] = CLAMP(wanted, 1, MAX_CELLS);
        n *= (guint)t->n_cells[axis];
    }
    g_array_sort_with_data(t->points, compare_points, t);
    t->cells = g_new0(guint, n + 1);
    for (guint i = 0; i < t->points->len; i++)
        t->cells[cell_of(t, g_array_index(t->points, Point, i).x) + 1]++;
    for (guint i = 0; i < n; i++)
        t->cells[i + 1] += t->cells[i];
    t->left_out = g_new(_Atomic double, t->points->len);
    t->places = g_new(guint, t->points->len);
    for (guint i = 0; i < t->points->len; i++) {
        atomic_init(&t->left_out[i], NAN);
        t->places[g_array_index(t->points, Point, i).id] = i;
    }
}

/* Keeps the nearest N_NEIGHBOURS in order of distance; ties keep the earlier point. */
static guint
keep(Neighbour *best, guint n, const Point *point, double distance2)
{
    if (n == N_NEIGHBOURS && distance2 >= best[n - 1].distance2)
        return n;
    guint i = n < N_NEIGHBOURS ? n : N_NEIGHBOURS - 1;
    for (; i > 0 && best[i - 1].distance2 > distance2; i--)
        best[i] = best[i - 1];
    best[i] = (Neighbour){point, distance2};
    return n < N_NEIGHBOURS ? n + 1 : n;
}

static inline double
distance2_to(const Point *p, const double *x, int from, int to)
{
    double sum = 0;
    for (int axis = from; axis < to; axis++)
        sum += (p->x[axis] - x[axis]) * (p->x[axis] - x[axis]);
    return sum;
}

static gboolean
is_at(const Point *p, const double *x)
{
    return distance2_to(p, x, 0, COST_SURFACE_AXES) < 1e-12;
}

/* Points of the cells `from` to `to`, which follow each other along the third axis. */
static guint
scan_cells(const CostSurface *t, const double *x, const double *skip, guint from, guint to,
           Neighbour *best, guint n)
{
    for (guint i = t->cells[from]; i < t->cells[to + 1]; i++) {
        const Point *p = &g_array_index(t->points, Point, i);
        /* most are too far away along the first axes already */
        double distance2 = distance2_to(p, x, 0, COST_SURFACE_SLOPES);
        if (n == N_NEIGHBOURS && distance2 >= best[n - 1].distance2)
            continue;
        if (skip && is_at(p, skip))
            continue;
        distance2 += distance2_to(p, x, COST_SURFACE_SLOPES, COST_SURFACE_AXES);
        n = keep(best, n, p, distance2);
    }
    return n;
}

/* Scans the shell of cells at `radius` around the query's cell. */
static guint
scan_shell(const CostSurface *t, const double *x, const double *skip, int radius, Neighbour *best,
           guint n)
{
    int from[3], to[3], home[3];
    for (int axis = 0; axis < 3; axis++) {
        home[axis] = cell_coordinate(t, axis, x[axis]);
        from[axis] = MAX(home[axis] - radius, 0);
        to[axis] = MIN(home[axis] + radius, t->n_cells[axis] - 1);
    }
    for (int a = from[0]; a <= to[0]; a++)
        for (int b = from[1]; b <= to[1]; b++) {
            guint row = ((guint)a * (guint)t->n_cells[1] + (guint)b) * (guint)t->n_cells[2];
            int below = home[2] - radius, above = home[2] + radius;
            if (MAX(abs(a - home[0]), abs(b - home[1])) == radius) {
                n = scan_cells(t, x, skip, row + (guint)from[2], row + (guint)to[2], best, n);
                continue;
            }
            if (below >= 0)
                n = scan_cells(t, x, skip, row + (guint)below, row + (guint)below, best, n);
            if (above < t->n_cells[2])
                n = scan_cells(t, x, skip, row + (guint)above, row + (guint)above, best, n);
        }
    return n;
}

static guint
find_neighbours(const CostSurface *t, const double *x, const double *skip, Neighbour *best)
{
    guint n = 0;
    for (int radius = 0; radius < MAX_CELLS; radius++) {
        n = scan_shell(t, x, skip, radius, best, n);
        /* Whatever lies beyond this shell is at least so far away. */
        double beyond = (double)radius / CELLS_PER_UNIT;
        if (n == N_NEIGHBOURS && best[n - 1].distance2 <= beyond * beyond)
            break;
    }
    return n;
}

/* --- the local plane -------------------------------------------------------------------------- */

/* Solves the symmetric positive definite a z = r by elimination; a and r are overwritten, z = r. */
static void
solve4(double a[4][4], double r[4])
{
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++) {
            double f = a[j][i] / a[i][i];
            for (int c = i; c < 4; c++)
                a[j][c] -= f * a[i][c];
            r[j] -= f * r[i];
        }
    for (int i = 3; i >= 0; i--) {
        for (int j = i + 1; j < 4; j++)
            r[i] -= a[i][j] * r[j];
        r[i] /= a[i][i];
    }
}

/* Adds w v v', v = (1, p - x), and the ridge. */
static void
add_squares(const double *x, const Neighbour *near, const double *weights, guint n, double a[4][4])
{
    double total = 0;
    for (guint i = 0; i < n; i++) {
        const Point *p = near[i].point;
        double w = weights[i], v[4] = {1, p->x[0] - x[0], p->x[1] - x[1], p->x[2] - x[2]};
        for (int row = 0; row < 4; row++)
            for (int column = 0; column < 4; column++)
                a[row][column] += w * v[row] * v[column];
        total += w;
    }
    for (int i = 1; i < 4; i++)
        a[i][i] += RIDGE * total;
}

/* Of a plane: height at x and slopes. */
static double
height_at(const double *x, const Point *p, const double z[4])
{
    double height = z[0];
    for (int axis = 0; axis < COST_SURFACE_SLOPES; axis++)
        height += z[axis + 1] * (p->x[axis] - x[axis]);
    return height;
}

static void
fit_plane(const double *x, const Neighbour *near, const double *weights, guint n, double z[4])
{
    double a[4][4] = {{0}};
    for (int row = 0; row < 4; row++)
        z[row] = 0;
    for (guint i = 0; i < n; i++) {
        const Point *p = near[i].point;
        double v[4] = {1, p->x[0] - x[0], p->x[1] - x[1], p->x[2] - x[2]};
        for (int row = 0; row < 4; row++)
            z[row] += weights[i] * v[row] * p->y;
    }
    add_squares(x, near, weights, n, a);
    solve4(a, z);
}

/* What each neighbour counts: by its distance, and by how far it is off a plane through all. */
static void
weigh(const double *x, const Neighbour *near, guint n, double *weights)
{
    double z[4];
    for (guint i = 0; i < n; i++)
        weights[i] = 1 / (near[i].distance2 + NEAR2);
    fit_plane(x, near, weights, n, z);
    for (guint i = 0; i < n; i++)
        weights[i] /= 1 + fabs(near[i].point->y - height_at(x, near[i].point, z)) / OFF;
}

static double
plane_at(const double *x, const Neighbour *near, guint n)
{
    double weights[N_NEIGHBOURS] = {0}, z[4], low = HUGE_VAL, high = -HUGE_VAL;
    for (guint i = 0; i < n; i++) {
        low = MIN(low, near[i].point->y);
        high = MAX(high, near[i].point->y);
    }
    weigh(x, near, n, weights);
    fit_plane(x, near, weights, n, z);
    return CLAMP(z[0], low, high);
}

/* The height of the plane is the first row of the inverse times sums over w v y. */
guint
cost_surface_makeup(const CostSurface *t, guint point, guint *ids, double *weights)
{
    g_assert(t->cells && point < t->points->len);
    const double *x = g_array_index(t->points, Point, t->places[point]).x;
    double a[4][4] = {{0}}, first[4] = {1, 0, 0, 0};
    Neighbour near[N_NEIGHBOURS];
    guint n = find_neighbours(t, x, x, near);
    if (n == 0)
        return 0;
    weigh(x, near, n, weights);
    add_squares(x, near, weights, n, a);
    solve4(a, first);
    for (guint i = 0; i < n; i++) {
        ids[i] = near[i].point->id;
        weights[i] *= height_at(x, near[i].point, first);
    }
    return n;
}

void
cost_surface_lower(CostSurface *t, const double *less)
{
    for (guint i = 0; i < t->points->len; i++) {
        Point *p = &g_array_index(t->points, Point, i);
        p->y -= less[p->id];
    }
}

static CostEstimate estimate(const CostSurface *t, const double *where, const double *skip);

static double
left_out_at(const CostSurface *t, const Point *p)
{
    _Atomic double *known = &t->left_out[p - &g_array_index(t->points, Point, 0)];
    double error = atomic_load_explicit(known, memory_order_relaxed);
    if (isnan(error)) {
        error = fabs(estimate(t, p->x, p->x).y - p->y);
        atomic_store_explicit(known, error, memory_order_relaxed);
    }
    return error;
}

static void
find_residual(const CostSurface *t, const Neighbour *near, guint n, CostEstimate *e)
{
    double sum = 0, first = 1 / (near[0].distance2 + RESIDUAL_NEAR2);
    for (guint i = 0; i < n; i++) {
        const Point *p = near[i].point;
        double w = 1 / (near[i].distance2 + RESIDUAL_NEAR2) / first;
        sum += w * left_out_at(t, p);
        e->support += w;
    }
    e->residual = sum / e->support;
}

static CostEstimate
estimate(const CostSurface *t, const double *where, const double *skip)
{
    double x[COST_SURFACE_AXES], moved2 = 0;
    for (int axis = COST_SURFACE_SLOPES; axis < COST_SURFACE_AXES; axis++)
        x[axis] = where[axis];
    for (int axis = 0; axis < COST_SURFACE_SLOPES; axis++) {
        x[axis] = CLAMP(where[axis], t->low[axis], t->high[axis]);
        moved2 += (x[axis] - where[axis]) * (x[axis] - where[axis]);
    }
    Neighbour near[N_NEIGHBOURS];
    guint n = find_neighbours(t, x, skip, near);
    CostEstimate e = {.y = plane_at(x, near, n),
                      .distance = sqrt(distance2_to(near[0].point, x, 0, COST_SURFACE_SLOPES)) +
                                  sqrt(moved2),
                      .outside = sqrt(moved2)};
    if (skip == NULL && t->points->len > 1)
        find_residual(t, near, n, &e);
    return e;
}

/* --- the whole -------------------------------------------------------------------------------- */

CostSurface *
cost_surface_new(void)
{
    CostSurface *t = g_new0(CostSurface, 1);
    t->points = g_array_new(FALSE, FALSE, sizeof(Point));
    return t;
}

void
cost_surface_free(CostSurface *t)
{
    if (!t)
        return;
    g_array_unref(t->points);
    g_free(t->cells);
    g_free(t->left_out);
    g_free(t->places);
    g_free(t);
}

void
cost_surface_add(CostSurface *t, const double x[COST_SURFACE_AXES], double y)
{
    g_assert(!t->cells);
    Point p = {.y = y, .id = t->points->len};
    for (int axis = 0; axis < COST_SURFACE_AXES; axis++)
        p.x[axis] = x[axis];
    g_array_append_val(t->points, p);
}

guint
cost_surface_n_points(const CostSurface *t)
{
    return t->points->len;
}

CostEstimate
cost_surface_at(const CostSurface *t, const double x[COST_SURFACE_AXES])
{
    g_assert(t->cells && t->points->len > 0);
    return estimate(t, x, NULL);
}

/* At most `most` of them, evenly taken; caller frees. */
static GArray *
left_out_of(const CostSurface *t, guint most)
{
    GArray *errors = g_array_new(FALSE, FALSE, sizeof(double));
    guint n = t->points->len, taken = MIN(n, most);
    for (guint i = 0; i < taken && n > 1; i++) {
        const Point *p = &g_array_index(t->points, Point, (guint)((guint64)i * n / taken));
        double error = left_out_at(t, p);
        g_array_append_val(errors, error);
    }
    return errors;
}

double
cost_surface_leave_one_out(const CostSurface *t, guint most)
{
    g_autoptr(GArray) errors = left_out_of(t, most);
    return errors->len > 0 ? units_quantile_of(errors, 0.5) : 0;
}

double
cost_surface_mean_left_out(const CostSurface *t, guint most)
{
    g_autoptr(GArray) errors = left_out_of(t, most);
    double sum = 0;
    for (guint i = 0; i < errors->len; i++)
        sum += g_array_index(errors, double, i);
    return errors->len > 0 ? sum / errors->len : 0;
}
