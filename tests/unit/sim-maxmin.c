/* Max-min fair speeds: textbook cases, invariants, and an obvious twin. */
#include "config.h"

#include "sim/maxmin.h"

#include <math.h>

#define NEAR(a, b) g_assert_cmpfloat(fabs((a) - (b)), <=, 1e-9 * (1 + fabs(b)))

static void
test_alone(void)
{
    /* Alone and within capacity: full speed. Alone and above it: C / r = 10 / 40. No use at all: 1. */
    const guint32 first[] = {0, 1, 2, 2};
    const SimUse uses[] = {{0, 10}, {1, 40}};
    const double capacity[] = {10, 10};
    double speed[3];
    sim_maxmin_solve(3, first, uses, 2, capacity, NULL, speed);
    g_assert_cmpfloat(speed[0], ==, 1);
    g_assert_cmpfloat(speed[1], ==, 0.25);
    g_assert_cmpfloat(speed[2], ==, 1);
}

static void
test_linear_network(void)
{
    /* Bertsekas & Gallager's line: one long flow over links 0, 1, 2 and one short flow on each link;
     * capacities 1, 2, 4 and full-speed rates 1 (link 2's users ask for 3).
     *   link 0: long + short0 share 1           -> 1/2 each
     *   link 1: long 1/2, short1 needs 1 of 1.5 -> 1
     *   link 2: short2 rate 3, 4 - 1/2 = 3.5    -> 1 */
    const guint32 first[] = {0, 3, 4, 5, 6};
    const SimUse uses[] = {{0, 1}, {1, 1}, {2, 1}, {0, 1}, {1, 1}, {2, 3}};
    const double capacity[] = {1, 2, 4};
    double speed[4];
    sim_maxmin_solve(4, first, uses, 3, capacity, NULL, speed);
    const double expected[] = {0.5, 0.5, 1, 1};
    for (guint j = 0; j < 4; j++)
        NEAR(speed[j], expected[j]);
}

static void
test_three_way(void)
{
    /* Three activities of rate 1. A on links 0 and 1, B on 0, C on 1 and C asks 2.
     * Capacities 1 and 1.2. All rise together: link 1 (A + 2C = 3x) saturates at 0.4, freezing A and
     * C; link 0 leaves B 1 - 0.4 = 0.6. */
    const guint32 first[] = {0, 2, 3, 4};
    const SimUse uses[] = {{0, 1}, {1, 1}, {0, 1}, {1, 2}};
    const double capacity[] = {1, 1.2};
    double speed[3];
    sim_maxmin_solve(3, first, uses, 2, capacity, NULL, speed);
    NEAR(speed[0], 0.4);
    NEAR(speed[1], 0.6);
    NEAR(speed[2], 0.4);
}

static void
test_two_uses_of_one_resource(void)
{
    /* Two entries of one activity for one resource add: 2 + 3 = 5 against 4 gives 4/5. */
    const guint32 first[] = {0, 2};
    const SimUse uses[] = {{0, 2}, {0, 3}};
    const double capacity[] = {4};
    double speed[1];
    sim_maxmin_solve(1, first, uses, 1, capacity, NULL, speed);
    NEAR(speed[0], 0.8);
}

static void
test_caps(void)
{
    /* Two share a link of 1 at rate 1: the one capped at 0.3 leaves the other 0.7; capped at 0.6 it does not
     * matter, both get 1/2. Alone on a wide link: its cap, exactly. */
    const guint32 first[] = {0, 1, 2, 3};
    const SimUse uses[] = {{0, 1}, {0, 1}, {1, 1}};
    const double capacity[] = {1, 9};
    const double low[] = {0.3, 1, 0.77}, high[] = {0.6, 1, 0.77};
    double speed[3];
    sim_maxmin_solve(3, first, uses, 2, capacity, low, speed);
    g_assert_cmpfloat(speed[0], ==, 0.3);
    NEAR(speed[1], 0.7);
    g_assert_cmpfloat(speed[2], ==, 0.77);
    sim_maxmin_solve(3, first, uses, 2, capacity, high, speed);
    NEAR(speed[0], 0.5);
    NEAR(speed[1], 0.5);
    g_assert_cmpfloat(speed[2], ==, 0.77);
}

static void
test_no_capacity(void)
{
    /* Link 0 is cut: who uses it stands still, also on link 1, and leaves that to the other. */
    const guint32 first[] = {0, 2, 3};
    const SimUse uses[] = {{0, 1}, {1, 1}, {1, 4}};
    const double capacity[] = {0, 2};
    double speed[2];
    sim_maxmin_solve(2, first, uses, 2, capacity, NULL, speed);
    g_assert_cmpfloat(speed[0], ==, 0);
    g_assert_cmpfloat(speed[1], ==, 0.5);
}

typedef struct {
    guint n_activities, n_resources;
    guint32 *first;
    SimUse *uses;
    double *capacity, *cap;
} Problem;

static void
problem_clear(Problem *p)
{
    g_free(p->first);
    g_free(p->uses);
    g_free(p->capacity);
    g_free(p->cap);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Problem, problem_clear)

static void
problem_init(Problem *p)
{
    p->n_activities = g_test_rand_int_range(1, 12);
    p->n_resources = g_test_rand_int_range(1, 8);
    p->first = g_new0(guint32, p->n_activities + 1);
    p->uses = g_new0(SimUse, p->n_activities * p->n_resources);
    p->capacity = g_new0(double, p->n_resources);
    p->cap = g_new0(double, p->n_activities);
    gboolean any_fails = g_test_rand_int_range(0, 4) == 0, capped = g_test_rand_bit();
    for (guint i = 0; i < p->n_resources; i++)
        p->capacity[i] = any_fails && g_test_rand_bit() ? 0 : g_test_rand_double_range(0.5, 20);
    guint32 n = 0;
    for (guint j = 0; j < p->n_activities; j++) {
        for (guint32 i = 0; i < p->n_resources; i++)
            if (g_test_rand_bit())
                p->uses[n++] = (SimUse){i, g_test_rand_bit() ? g_test_rand_int_range(1, 4)
                                                             : g_test_rand_double_range(0.01, 50)};
        p->first[j + 1] = n;
        p->cap[j] = !capped || g_test_rand_int_range(0, 3) == 0 ? 1
                    : g_test_rand_bit()                         ? 0.5
                                                                : g_test_rand_double_range(1e-4, 1);
    }
}

static void
solve(const Problem *p, double *speed)
{
    sim_maxmin_solve(p->n_activities, p->first, p->uses, p->n_resources, p->capacity, p->cap,
                     speed);
}

/* The level at which resource `i` saturates when all that are not frozen go on rising. */
static double
level_of(const Problem *p, guint i, const gboolean *frozen, const double *speed)
{
    double left = p->capacity[i], rising = 0;
    for (guint j = 0; j < p->n_activities; j++)
        for (guint32 u = p->first[j]; u < p->first[j + 1]; u++)
            if (p->uses[u].resource == i && frozen[j])
                left -= p->uses[u].rate * speed[j];
            else if (p->uses[u].resource == i)
                rising += p->uses[u].rate;
    return rising > 0 ? MAX(left, 0) / rising : INFINITY;
}

/* The obvious twin: in each round look at everything, find the lowest level or cap, freeze whom it stops. */
static void
solve_slowly(const Problem *p, double *speed)
{
    gboolean *frozen = g_newa0(gboolean, p->n_activities);
    for (guint round = 0; round <= p->n_resources + p->n_activities; round++) {
        double lowest = INFINITY;
        guint where = G_MAXUINT, who = G_MAXUINT;
        for (guint j = 0; j < p->n_activities; j++)
            if (!frozen[j] && p->cap[j] < lowest) {
                lowest = p->cap[j];
                who = j;
            }
        for (guint i = 0; i < p->n_resources; i++) {
            double level = level_of(p, i, frozen, speed);
            if (level < lowest) {
                lowest = level;
                where = i;
            }
        }
        for (guint j = 0; j < p->n_activities; j++) {
            gboolean hit = where == G_MAXUINT && j == who;
            for (guint32 u = p->first[j]; u < p->first[j + 1]; u++)
                hit |= p->uses[u].resource == where;
            if (hit && !frozen[j]) {
                speed[j] = lowest;
                frozen[j] = TRUE;
            }
        }
    }
}

static void
check_fair(const Problem *p, const double *speed)
{
    gboolean *excused = g_newa0(gboolean, p->n_activities);
    for (guint i = 0; i < p->n_resources; i++) {
        double used = 0, top = 0;
        for (guint j = 0; j < p->n_activities; j++)
            for (guint32 u = p->first[j]; u < p->first[j + 1]; u++)
                if (p->uses[u].resource == i) {
                    used += p->uses[u].rate * speed[j];
                    top = MAX(top, speed[j]);
                }
        g_assert_cmpfloat(used, <=, p->capacity[i] * (1 + 1e-9));
        if (used < p->capacity[i] * (1 - 1e-9))
            continue;
        for (guint j = 0; j < p->n_activities; j++) /* saturated: its fastest users are excused */
            for (guint32 u = p->first[j]; u < p->first[j + 1]; u++)
                if (p->uses[u].resource == i && speed[j] >= top * (1 - 1e-9))
                    excused[j] = TRUE;
    }
    for (guint j = 0; j < p->n_activities; j++) {
        g_assert_true(speed[j] >= 0 && speed[j] <= p->cap[j]);
        g_assert_true(speed[j] == p->cap[j] || excused[j]);
    }
}

static void
test_property(void)
{
    SimMaxmin buffers = {0};
    for (guint n = 0; n < 5000; n++) {
        g_auto(Problem) p = {0};
        problem_init(&p);
        double *speed = g_newa0(double, p.n_activities), *twin = g_newa0(double, p.n_activities);
        sim_maxmin_solve_in(&buffers, p.n_activities, p.first, p.uses, p.n_resources, p.capacity,
                            p.cap, speed);
        check_fair(&p, speed);
        solve_slowly(&p, twin);
        for (guint j = 0; j < p.n_activities; j++)
            NEAR(speed[j], twin[j]);
    }
    sim_maxmin_clear(&buffers);
}

static void
test_scaling(void)
{
    /* Doubling every rate and every capacity changes nothing, to the bit; another factor only rounding. */
    for (guint n = 0; n < 300; n++) {
        g_auto(Problem) p = {0};
        problem_init(&p);
        double *speed = g_newa0(double, p.n_activities), *scaled = g_newa0(double, p.n_activities);
        double factor = n % 2 ? 2 : g_test_rand_double_range(1e-3, 1e9);
        solve(&p, speed);
        for (guint32 u = 0; u < p.first[p.n_activities]; u++)
            p.uses[u].rate *= factor;
        for (guint i = 0; i < p.n_resources; i++)
            p.capacity[i] *= factor;
        solve(&p, scaled);
        for (guint j = 0; j < p.n_activities; j++) {
            if (factor == 2)
                g_assert_cmpfloat(speed[j], ==, scaled[j]);
            NEAR(scaled[j], speed[j]);
        }
    }
}

static void
test_permutation(void)
{
    /* The same activities and resources last to first get the same speeds last to first. */
    for (guint n = 0; n < 300; n++) {
        g_auto(Problem) p = {0}, q = {0};
        problem_init(&p);
        guint m = q.n_activities = p.n_activities;
        q.n_resources = p.n_resources;
        q.first = g_new0(guint32, m + 1);
        q.uses = g_new0(SimUse, p.first[m] + 1);
        q.capacity = g_new0(double, p.n_resources);
        q.cap = g_new0(double, m);
        double *speed = g_newa0(double, m), *turned = g_newa0(double, m);
        guint32 at = 0;
        for (guint j = 0; j < m; j++) {
            for (guint32 u = p.first[m - 1 - j]; u < p.first[m - j]; u++)
                q.uses[at++] = (SimUse){p.n_resources - 1 - p.uses[u].resource, p.uses[u].rate};
            q.first[j + 1] = at;
            q.cap[j] = p.cap[m - 1 - j];
        }
        for (guint i = 0; i < p.n_resources; i++)
            q.capacity[i] = p.capacity[p.n_resources - 1 - i];
        solve(&p, speed);
        solve(&q, turned);
        for (guint j = 0; j < m; j++)
            NEAR(turned[j], speed[m - 1 - j]);
    }
}

static void
test_splitting(void)
{
    /* Every resource as two of half the capacity, of which each user uses half as much each. */
    for (guint n = 0; n < 300; n++) {
        g_auto(Problem) p = {0}, q = {0};
        problem_init(&p);
        guint m = q.n_activities = p.n_activities;
        q.n_resources = 2 * p.n_resources;
        q.first = g_new0(guint32, m + 1);
        q.uses = g_new0(SimUse, 2 * p.first[m] + 1);
        q.capacity = g_new0(double, q.n_resources);
        q.cap = g_memdup2(p.cap, m * sizeof(double));
        for (guint32 u = 0; u < 2 * p.first[m]; u++) {
            SimUse use = p.uses[u / 2];
            q.uses[u] = (SimUse){2 * use.resource + u % 2, use.rate / 2};
        }
        for (guint j = 0; j <= m; j++)
            q.first[j] = 2 * p.first[j];
        for (guint i = 0; i < q.n_resources; i++)
            q.capacity[i] = p.capacity[i / 2] / 2;
        double *speed = g_newa0(double, m), *halves = g_newa0(double, m);
        solve(&p, speed);
        solve(&q, halves);
        for (guint j = 0; j < m; j++)
            g_assert_cmpfloat(halves[j], ==, speed[j]);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sim/maxmin/alone-runs-at-full-speed-or-capacity", test_alone);
    g_test_add_func("/sim/maxmin/long-flow-over-a-line-of-links", test_linear_network);
    g_test_add_func("/sim/maxmin/three-activities-on-two-links", test_three_way);
    g_test_add_func("/sim/maxmin/uses-of-one-resource-add", test_two_uses_of_one_resource);
    g_test_add_func("/sim/maxmin/nobody-passes-its-cap", test_caps);
    g_test_add_func("/sim/maxmin/users-of-no-capacity-stand-still", test_no_capacity);
    g_test_add_func("/sim/maxmin/is-fair-and-agrees-with-the-twin", test_property);
    g_test_add_func("/sim/maxmin/scaling-changes-nothing", test_scaling);
    g_test_add_func("/sim/maxmin/permutation-permutes", test_permutation);
    g_test_add_func("/sim/maxmin/a-link-in-two-is-a-link", test_splitting);
    return g_test_run();
}
