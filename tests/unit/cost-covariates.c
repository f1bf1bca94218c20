/* Coefficients that were put on a smooth surface are found again, disturbed points or not. */
#include "config.h"

#include "cost/covariates.h"

#include <math.h>

enum { N_POINTS = 800, N_COVARIATES = 3 };

typedef struct {
    CostSurface *surface;
    double x[N_POINTS][COST_SURFACE_AXES], y[N_POINTS], z[N_POINTS * N_COVARIATES];
} Fixture;

/* A smooth y plus coefficients . z, of which z are steps; each tenth point is off by `off`. */
static void
fill(Fixture *f, const double *coefficients, double off)
{
    f->surface = cost_surface_new();
    for (guint i = 0; i < N_POINTS; i++) {
        for (int axis = 0; axis < COST_SURFACE_AXES; axis++)
            f->x[i][axis] = axis < 3 ? g_test_rand_double_range(0, 6) : 0;
        f->y[i] = sin(f->x[i][0] / 3) + cos(f->x[i][1] / 4) + (i % 10 == 0 ? off : 0);
        for (guint c = 0; c < N_COVARIATES; c++) {
            double step = g_test_rand_double() < 0.5 ? 0.1 : 0.4 + 0.1 * c;
            f->z[i * N_COVARIATES + c] = step;
            f->y[i] += coefficients[c] * step;
        }
        cost_surface_add(f->surface, f->x[i], f->y[i]);
    }
    cost_surface_build(f->surface);
}

static void
test_found(gconstpointer off)
{
    static const double wanted[N_COVARIATES] = {0.5, -0.8, 0};
    g_autofree Fixture *f = g_new0(Fixture, 1);
    double found[N_COVARIATES];
    fill(f, wanted, *(const double *)off);
    cost_covariates_fit(f->surface, f->y, f->z, N_COVARIATES, found);
    for (guint c = 0; c < N_COVARIATES; c++)
        g_assert_cmpfloat_with_epsilon(found[c], wanted[c], 0.06);
    cost_surface_free(f->surface);
}

/* Without what they explain, points are predicted by the others: it was a tenth or more, it is a percent or so. */
static void
test_lowered(void)
{
    static const double wanted[N_COVARIATES] = {0.5, -0.8, 0};
    g_autofree Fixture *f = g_new0(Fixture, 1);
    g_autofree Fixture *g = g_new0(Fixture, 1);
    double found[N_COVARIATES], less[N_POINTS];
    fill(f, wanted, 0);
    g->surface = cost_surface_new();
    for (guint i = 0; i < N_POINTS; i++)
        cost_surface_add(g->surface, f->x[i], f->y[i]);
    cost_surface_build(g->surface);
    cost_covariates_fit(f->surface, f->y, f->z, N_COVARIATES, found);
    for (guint i = 0; i < N_POINTS; i++) {
        less[i] = 0;
        for (guint c = 0; c < N_COVARIATES; c++)
            less[i] += found[c] * f->z[i * N_COVARIATES + c];
    }
    cost_surface_lower(f->surface, less);
    g_assert_cmpfloat(cost_surface_leave_one_out(g->surface, 200), >, 0.06);
    g_assert_cmpfloat(cost_surface_leave_one_out(f->surface, 200), <, 0.03);
    cost_surface_free(f->surface);
    cost_surface_free(g->surface);
}

/* Points all at one place say nothing, and nothing is what they are told. */
static void
test_one_place(void)
{
    g_autoptr(CostSurface) s = cost_surface_new();
    double x[COST_SURFACE_AXES] = {0}, y[4] = {1, 2, 1, 2}, z[4] = {1, 1, 1, 1}, found[1];
    for (guint i = 0; i < 4; i++)
        cost_surface_add(s, x, y[i]);
    cost_surface_build(s);
    cost_covariates_fit(s, y, z, 1, found);
    g_assert_true(isfinite(found[0]));
}

int
main(int argc, char **argv)
{
    static const double none = 0, much = 0.7;
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/cost/covariates/coefficients-are-found", &none, test_found);
    g_test_add_data_func("/cost/covariates/disturbed-points-move-them-little", &much, test_found);
    g_test_add_func("/cost/covariates/what-is-explained-is-gone", test_lowered);
    g_test_add_func("/cost/covariates/points-at-one-place", test_one_place);
    return g_test_run();
}
