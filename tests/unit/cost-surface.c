/* Surfaces: exact at their points, exact for planes, within their neighbours, flat outside. */
#include "config.h"

#include "cost/surface.h"

#include <math.h>

static double
plane(const double *x)
{
    return 0.5 + 0.01 * x[0] - 0.02 * x[1] + 0.005 * x[2];
}

/* Every integer point of a box. */
static CostSurface *
grid(double (*f)(const double *x))
{
    CostSurface *s = cost_surface_new();
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < 8; b++)
            for (int c = 0; c < 8; c++) {
                double x[COST_SURFACE_AXES] = {a, b, c};
                cost_surface_add(s, x, f(x));
            }
    cost_surface_build(s);
    return s;
}

static double
wavy(const double *x)
{
    return sin(x[0]) + cos(x[1] / 2) - sin(x[2] / 3);
}

static void
test_plane(void)
{
    g_autoptr(CostSurface) s = grid(plane);
    g_assert_cmpuint(cost_surface_n_points(s), ==, 512);
    for (int i = 0; i < 200; i++) {
        double x[COST_SURFACE_AXES] = {0};
        for (int axis = 0; axis < 3; axis++)
            x[axis] = g_test_rand_double_range(1, 6);
        CostEstimate at = cost_surface_at(s, x);
        g_assert_cmpfloat_with_epsilon(at.y, plane(x), 0.01);
        g_assert_cmpfloat(at.distance, <=, sqrt(3) / 2 + 1e-9);
        g_assert_cmpfloat(at.outside, ==, 0);
    }
    g_assert_cmpfloat(cost_surface_leave_one_out(s, 100), <, 0.01);
}

/* The slow twin: the nearest point by looking at all of them. */
static void
test_nearest(void)
{
    g_autoptr(CostSurface) s = cost_surface_new();
    double points[300][COST_SURFACE_AXES] = {{0}};
    for (int i = 0; i < 300; i++) {
        for (int axis = 0; axis < 3; axis++)
            points[i][axis] = g_test_rand_double_range(0, axis == 2 ? 20 : 6);
        cost_surface_add(s, points[i], wavy(points[i]));
    }
    cost_surface_build(s);
    for (int q = 0; q < 300; q++) {
        double x[COST_SURFACE_AXES] = {0}, nearest = HUGE_VAL;
        for (int axis = 0; axis < 3; axis++)
            x[axis] = g_test_rand_double_range(1, 5);
        for (int i = 0; i < 300; i++)
            nearest = MIN(nearest, hypot(hypot(points[i][0] - x[0], points[i][1] - x[1]),
                                         points[i][2] - x[2]));
        CostEstimate at = cost_surface_at(s, x);
        g_assert_cmpfloat_with_epsilon(at.distance, nearest, 1e-9);
        g_assert_cmpfloat(fabs(at.y), <=, 3);
    }
}

/* Far outside, an estimate is that at the edge. */
static void
test_outside(void)
{
    g_autoptr(CostSurface) s = grid(plane);
    double edge[COST_SURFACE_AXES] = {7, 3.3, 7}, far[COST_SURFACE_AXES] = {12, 3.3, 19};
    CostEstimate at = cost_surface_at(s, edge), beyond = cost_surface_at(s, far);
    g_assert_cmpfloat(at.y, ==, beyond.y);
    g_assert_cmpfloat_with_epsilon(beyond.outside, 13, 1e-9);
    g_assert_cmpfloat_with_epsilon(beyond.distance, at.distance + 13, 1e-9);
}

static void
test_order(void)
{
    g_autoptr(CostSurface) s = cost_surface_new(), t = cost_surface_new();
    double points[100][COST_SURFACE_AXES] = {{0}};
    for (int i = 0; i < 100; i++)
        for (int axis = 0; axis < 3; axis++)
            points[i][axis] = g_test_rand_double_range(0, 9);
    for (int i = 0; i < 100; i++) {
        cost_surface_add(s, points[i], wavy(points[i]));
        cost_surface_add(t, points[99 - i], wavy(points[99 - i]));
    }
    cost_surface_build(s);
    cost_surface_build(t);
    for (int q = 0; q < 50; q++) {
        double x[COST_SURFACE_AXES] = {q / 5.0, 9 - q / 6.0, q / 7.0};
        g_assert_cmpfloat(cost_surface_at(s, x).y, ==, cost_surface_at(t, x).y);
    }
}

static void
test_single(void)
{
    g_autoptr(CostSurface) s = cost_surface_new();
    double x[COST_SURFACE_AXES] = {1, 2, 3}, elsewhere[COST_SURFACE_AXES] = {5, 5, 5};
    cost_surface_add(s, x, -0.25);
    cost_surface_build(s);
    g_assert_cmpfloat_with_epsilon(cost_surface_at(s, elsewhere).y, -0.25, 1e-12);
    g_assert_cmpfloat(cost_surface_leave_one_out(s, 10), ==, 0);
}

/* The slow twin: the same points without one. */
static void
test_makeup(void)
{
    double points[200][COST_SURFACE_AXES] = {{0}};
    g_autoptr(CostSurface) s = cost_surface_new();
    for (int i = 0; i < 200; i++) {
        for (int axis = 0; axis < 4; axis++)
            points[i][axis] = g_test_rand_double_range(0, 6);
        cost_surface_add(s, points[i], wavy(points[i]));
    }
    cost_surface_build(s);
    for (guint out = 0; out < 40; out++) {
        g_autoptr(CostSurface) others = cost_surface_new();
        for (guint i = 0; i < 200; i++)
            if (i != out)
                cost_surface_add(others, points[i], wavy(points[i]));
        cost_surface_build(others);
        guint ids[COST_SURFACE_NEIGHBOURS];
        double weights[COST_SURFACE_NEIGHBOURS], sum = 0, y = 0, low = HUGE_VAL, high = -HUGE_VAL;
        guint n = cost_surface_makeup(s, out, ids, weights);
        g_assert_cmpuint(n, ==, COST_SURFACE_NEIGHBOURS);
        for (guint i = 0; i < n; i++) {
            g_assert_cmpuint(ids[i], !=, out);
            double of = wavy(points[ids[i]]);
            sum += weights[i];
            y += weights[i] * of;
            low = MIN(low, of);
            high = MAX(high, of);
        }
        g_assert_cmpfloat_with_epsilon(sum, 1, 1e-9);
        CostEstimate twin = cost_surface_at(others, points[out]);
        if (twin.outside <= 0)
            g_assert_cmpfloat_with_epsilon(CLAMP(y, low, high), twin.y, 1e-9);
    }
}

/* Lowered by a constant, a surface is lower by that everywhere. */
static void
test_lower(void)
{
    g_autoptr(CostSurface) s = grid(wavy), t = grid(wavy);
    double less[512], x[COST_SURFACE_AXES] = {3.2, 4.4, 2.7};
    for (guint i = 0; i < G_N_ELEMENTS(less); i++)
        less[i] = 0.25;
    cost_surface_lower(t, less);
    g_assert_cmpfloat_with_epsilon(cost_surface_at(t, x).y, cost_surface_at(s, x).y - 0.25, 1e-9);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cost/surface/reproduces-planes", test_plane);
    g_test_add_func("/cost/surface/finds-the-nearest-point", test_nearest);
    g_test_add_func("/cost/surface/stays-flat-outside", test_outside);
    g_test_add_func("/cost/surface/order-of-points-does-not-matter", test_order);
    g_test_add_func("/cost/surface/one-point-is-everywhere", test_single);
    g_test_add_func("/cost/surface/says-what-makes-up-an-estimate", test_makeup);
    g_test_add_func("/cost/surface/is-lowered", test_lower);
    return g_test_run();
}
