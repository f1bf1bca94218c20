/* Refinement against grids: where it measures, and what that is worth. */
#include "config.h"

#include <unistd.h>
#include <signal.h>

#include "calib/refine.h"

#include "calib-recorded.h"

enum { LOW = 7, HIGH = 15, QUERIES = 4000 };

/* log of the recorded machine's efficiency, over log2 of m, n, k. */
static double
surface_at(const double x[3])
{
    CalibGemm g = {CALIB_BF16, CALIB_FORWARD, 1, 1, 1, 1, 1};
    g.m = (int64_t)exp2(x[0]);
    g.n = (int64_t)exp2(x[1]);
    g.k = (int64_t)exp2(x[2]);
    return log(recorded_gemm_frac(&g));
}

static double
weight_of_all(const void *context, const double x[3])
{
    (void)context;
    return x[0] >= x[1] ? 1 : 0;
}

static CalibRefine *
refine_new(void)
{
    return calib_refine_new(
        &(CalibRefineBox){{LOW, LOW, LOW}, {HIGH, HIGH, HIGH}, 2, 0.25, weight_of_all, NULL});
}

/* A grid over m >= n; `ret_n` points. */
static void
add_grid(void (*add)(void *, const double *, double), void *to, double step, guint *ret_n)
{
    *ret_n = 0;
    for (double m = LOW; m <= HIGH; m += step)
        for (double n = LOW; n <= m; n += step)
            for (double k = LOW; k <= HIGH; k += step) {
                double x[3] = {m, n, k};
                add(to, x, surface_at(x));
                ++*ret_n;
            }
}

static void
add_to_surface(void *to, const double *x, double y)
{
    calib_surface_add(to, x, y);
}

static void
add_to_refine(void *to, const double *x, double y)
{
    calib_refine_tell(to, x, y);
}

static int
compare(gconstpointer a, gconstpointer b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

typedef struct {
    double rms, p95;
} Errors;

/* Of guesses at random shapes that are the same for all. */
static Errors
errors_of(const CalibSurface *surface)
{
    double errors[QUERIES], sum = 0;
    GRand *random = g_rand_new_with_seed(7);
    for (int i = 0; i < QUERIES; i++) {
        double x[3];
        for (int axis = 0; axis < 3; axis++)
            x[axis] = g_rand_double_range(random, LOW, HIGH);
        if (x[0] < x[1]) {
            double swap = x[0];
            x[0] = x[1];
            x[1] = swap;
        }
        errors[i] = fabs(calib_surface_at(surface, x).y - surface_at(x));
        sum += errors[i] * errors[i];
    }
    g_rand_free(random);
    qsort(errors, QUERIES, sizeof *errors, compare);
    return (Errors){sqrt(sum / QUERIES), errors[QUERIES * 95 / 100]};
}

/* As many points as a grid in steps of 2 has (405): from the grid in steps of 4, refined. Its guesses are closer. */
static void
test_beats_uniform(void)
{
    CalibSurface uniform = {0};
    CalibRefine *refine = refine_new();
    guint n_uniform, n;
    add_grid(add_to_surface, &uniform, 1, &n_uniform);
    add_grid(add_to_refine, refine, 2, &n);
    double x[3];
    for (; n < n_uniform && calib_refine_best(refine, x) > 0; n++)
        calib_refine_cut(refine, x, surface_at(x));
    g_assert_cmpuint(n, ==, n_uniform);
    Errors of_uniform = errors_of(&uniform), adaptive = errors_of(calib_refine_surface(refine));
    g_test_message("%u points: rms %.4f uniform, %.4f adaptive; p95 %.4f, %.4f", n, of_uniform.rms,
                   adaptive.rms, of_uniform.p95, adaptive.p95);
    g_assert_cmpfloat(adaptive.rms, <, of_uniform.rms);
    g_assert_cmpfloat(adaptive.p95, <, of_uniform.p95);
    calib_surface_clear(&uniform);
    calib_refine_free(refine);
}

/* Flat but for a cliff at k = 2^11 where n is below 2^9: that is where it goes. */
static double
cliff_at(const double x[3])
{
    return x[2] > 11 && x[1] < 9 ? -0.5 : -0.1;
}

static void
test_goes_to_cliff(void)
{
    CalibRefine *refine = refine_new();
    double x[3];
    for (x[0] = LOW; x[0] <= HIGH; x[0] += 2)
        for (x[1] = LOW; x[1] <= x[0]; x[1] += 2)
            for (x[2] = LOW; x[2] <= HIGH; x[2] += 2)
                calib_refine_tell(refine, x, cliff_at(x));
    unsigned near = 0;
    enum { N = 60 };
    for (int i = 0; i < N; i++) {
        g_assert_cmpfloat(calib_refine_best(refine, x), >, 0);
        near += (fabs(x[2] - 11) <= 2 && x[1] <= 11) || fabs(x[1] - 9) <= 2;
        calib_refine_cut(refine, x, cliff_at(x));
    }
    g_assert_cmpuint(near, >=, N * 9 / 10);
    calib_refine_free(refine);
}

/* A plane needs no more points: nothing is expected to be off. */
static void
test_plane_is_left_alone(void)
{
    CalibRefine *refine = refine_new();
    double x[3];
    for (x[0] = LOW; x[0] <= HIGH; x[0] += 2)
        for (x[1] = LOW; x[1] <= x[0]; x[1] += 2)
            for (x[2] = LOW; x[2] <= HIGH; x[2] += 2)
                calib_refine_tell(refine, x, -0.3);
    g_assert_cmpfloat(calib_refine_best(refine, x), <, 1e-9);
    calib_refine_free(refine);
}

/* Candidates are never twice, never outside, never where the weight is 0; cells end at a quarter. */
static void
test_candidates(void)
{
    CalibRefine *refine = refine_new();
    guint n;
    add_grid(add_to_refine, refine, 2, &n);
    GHashTable *seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    double x[3];
    for (int i = 0; i < 2000 && calib_refine_best(refine, x) > 0; i++) {
        g_assert_cmpfloat(x[0], >=, x[1]);
        for (int axis = 0; axis < 3; axis++) {
            g_assert_cmpfloat(x[axis], >, LOW);
            g_assert_cmpfloat(x[axis], <, HIGH);
            g_assert_cmpfloat(x[axis] * 8, ==, floor(x[axis] * 8));
        }
        g_assert_true(g_hash_table_add(seen, g_strdup_printf("%g %g %g", x[0], x[1], x[2])));
        if (g_test_rand_int_range(0, 10) == 0)
            calib_refine_drop(refine);
        else
            calib_refine_cut(refine, x, surface_at(x));
    }
    g_hash_table_unref(seen);
    calib_refine_free(refine);
}

/* A plane through exact points gives the plane, also between them; one point gives itself. */
static void
test_surface(void)
{
    CalibSurface surface = {0};
    double at[3] = {1, 2, 3};
    calib_surface_add(&surface, at, 5);
    g_assert_cmpfloat_with_epsilon(calib_surface_at(&surface, at).y, 5, 1e-9);
    calib_surface_clear(&surface);
    for (int i = 0; i < 64; i++) {
        double x[3] = {i / 16, i / 4 % 4, i % 4};
        calib_surface_add(&surface, x, 1 + 0.2 * x[0] - 0.1 * x[1] + 0.3 * x[2]);
    }
    double middle[3] = {1.5, 1.5, 1.5};
    CalibSurfaceGuess guess = calib_surface_at(&surface, middle);
    g_assert_cmpfloat_with_epsilon(guess.y, 1.6, 0.01);
    g_assert_cmpfloat(guess.residual, <, 0.01);
    calib_surface_clear(&surface);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/calib/refine/surface-is-exact-on-planes", test_surface);
    g_test_add_func("/calib/refine/beats-a-uniform-grid-of-as-many-points", test_beats_uniform);
    g_test_add_func("/calib/refine/goes-to-a-cliff", test_goes_to_cliff);
    g_test_add_func("/calib/refine/leaves-planes-alone", test_plane_is_left_alone);
    g_test_add_func("/calib/refine/candidates-are-new-and-within", test_candidates);
    return g_test_run();
}
