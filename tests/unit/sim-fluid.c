/* Fluid sharing in the engine: the arithmetic in words, exactness alone, and an obvious twin. */
#include "config.h"

#include "sim/engine.h"
#include "sim/maxmin.h"

#include <math.h>

#define NS 1e-9

/* One rank: idle until `start_ns`, then one activity of `duration_ns` with `load` on port 0. */
typedef struct {
    gint64 start_ns, duration_ns;
    double load;
    guint32 meeting;
} Job;

static void
note_end(void *user, guint32 rank, guint slot, guint32 tag, guint call, gint64 start_ns,
         gint64 end_ns)
{
    (void)slot, (void)call, (void)start_ns;
    if (tag == 2)
        ((gint64 *)user)[rank] = end_ns;
}

/* Runs the jobs in an engine whose resources and meetings are there; ends by job. */
static void
run_jobs(SimEngine *e, const Job *jobs, guint n, gint64 *end_ns)
{
    g_autoptr(GPtrArray) templates =
        g_ptr_array_new_with_free_func((GDestroyNotify)sim_template_free);
    g_autoptr(GPtrArray) programs =
        g_ptr_array_new_with_free_func((GDestroyNotify)sim_program_free);
    for (guint j = 0; j < n; j++) {
        SimTemplate *t = sim_template_new();
        SimProgram *p = sim_program_new();
        sim_template_add(t, 0, (SimWork){.duration_ns = jobs[j].start_ns}, 1);
        guint op = sim_template_add(
            t, 0, (SimWork){.duration_ns = jobs[j].duration_ns, .load = {jobs[j].load}}, 2);
        sim_template_join(t, op, SIM_JOIN_ALL, 0, FALSE);
        sim_program_call(p, t, 0, 0);
        sim_engine_add_rank(e, p, &jobs[j].meeting, 1);
        g_ptr_array_add(templates, t);
        g_ptr_array_add(programs, p);
    }
    SimProbe probe = {note_end, end_ns};
    sim_engine_set_probe(e, &probe);
    g_autoptr(GError) error = NULL;
    g_assert_true(sim_engine_run(e, NULL, NULL, &error));
    g_assert_no_error(error);
}

static void
test_two_equal(void)
{
    /* Each moves 1000 bytes in 1000 ns (1 GB/s); the link carries 1 GB/s: both take 2000 ns. */
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 link = sim_engine_add_resource(e, 1e9), meeting = sim_engine_add_meetings(e, 1, 1);
    sim_engine_use(e, meeting, 1, link, 0, 1);
    const Job jobs[] = {{0, 1000, 1000, meeting}, {0, 1000, 1000, meeting}};
    gint64 end_ns[2];
    run_jobs(e, jobs, 2, end_ns);
    g_assert_cmpint(end_ns[0], ==, 2000);
    g_assert_cmpint(end_ns[1], ==, 2000);
    g_assert_cmpfloat(sim_engine_resource_load(e, link), ==, 2000);
    g_assert_cmpint(sim_engine_resource_busy_ns(e, link), ==, 2000);
}

static void
test_midway(void)
{
    /* A starts at 0, B at 500; each takes 1000 alone at the link's full rate. At 500 A has 500 left
     * and both go at half speed: A ends at 500 + 1000 = 1500. B has then done 500 and does the other
     * 500 alone: 2000. */
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 link = sim_engine_add_resource(e, 1e9), meeting = sim_engine_add_meetings(e, 1, 1);
    sim_engine_use(e, meeting, 1, link, 0, 1);
    const Job jobs[] = {{0, 1000, 1000, meeting}, {500, 1000, 1000, meeting}};
    gint64 end_ns[2];
    run_jobs(e, jobs, 2, end_ns);
    g_assert_cmpint(end_ns[0], ==, 1500);
    g_assert_cmpint(end_ns[1], ==, 2000);
}

static void
test_thirds(void)
{
    /* Three share a link made for one: 3 x 1000 exactly, not 3001, although 1/3 is not a double. A
     * fourth that fits beside them on another link is not touched, nor is one on a wide link. */
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 narrow = sim_engine_add_resource(e, 1e9), wide = sim_engine_add_resource(e, 8e9);
    guint32 meeting = sim_engine_add_meetings(e, 1, 2);
    sim_engine_use(e, meeting, 1, narrow, 0, 1);
    sim_engine_use(e, meeting, 2, wide, 0, 1);
    const Job jobs[] = {{0, 1000, 1000, meeting},
                        {0, 1000, 1000, meeting},
                        {0, 1000, 1000, meeting},
                        {0, 999, 999, meeting + 1}};
    gint64 end_ns[4];
    run_jobs(e, jobs, 4, end_ns);
    for (guint j = 0; j < 3; j++)
        g_assert_cmpint(end_ns[j], ==, 3000);
    g_assert_cmpint(end_ns[3], ==, 999);
    g_assert_cmpint(sim_engine_resource_busy_ns(e, wide), ==, 3000);
    g_assert_cmpfloat(sim_engine_resource_load(e, wide), ==, 3999);
}

static void
test_above_capacity_alone(void)
{
    /* Alone, but asking 4 GB/s (weight 4) of 1 GB/s: four times as long. */
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 link = sim_engine_add_resource(e, 1e9), meeting = sim_engine_add_meetings(e, 1, 1);
    sim_engine_use(e, meeting, 1, link, 0, 4);
    const Job jobs[] = {{0, 1000, 1000, meeting}};
    gint64 end_ns[1];
    run_jobs(e, jobs, 1, end_ns);
    g_assert_cmpint(end_ns[0], ==, 4000);
}

static void
test_beside_plain_work(void)
{
    /* The same beside a rank that only computes, 9000: time must not run on to 9000 before the first
     * rank's speed is known. */
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 link = sim_engine_add_resource(e, 1e9), meeting = sim_engine_add_meetings(e, 1, 1);
    sim_engine_use(e, meeting, 1, link, 0, 4);
    g_autoptr(SimTemplate) shares = sim_template_new(), plain = sim_template_new();
    guint op = sim_template_add(shares, 0, (SimWork){.duration_ns = 1000, .load = {1000}}, 1);
    sim_template_join(shares, op, SIM_JOIN_ALL, 0, FALSE);
    sim_template_add(plain, 0, (SimWork){.duration_ns = 9000}, 2);
    g_autoptr(SimProgram) p = sim_program_new(), q = sim_program_new();
    sim_program_call(p, shares, 0, 0);
    sim_program_call(q, plain, 0, 0);
    sim_engine_add_rank(e, p, &meeting, 1);
    sim_engine_add_rank(e, q, NULL, 0);
    g_assert_true(sim_engine_run(e, NULL, NULL, NULL));
    g_assert_cmpint(sim_engine_rank_end(e, 0), ==, 4000);
    g_assert_cmpint(sim_engine_now(e), ==, 9000);
}

static void
test_rounded_up(void)
{
    /* 10 ns at 0.3 of its rate: 33.3 ns, so 34. */
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 link = sim_engine_add_resource(e, 0.3e9), meeting = sim_engine_add_meetings(e, 1, 1);
    sim_engine_use(e, meeting, 1, link, 0, 1);
    const Job jobs[] = {{7, 10, 10, meeting}};
    gint64 end_ns[1];
    run_jobs(e, jobs, 1, end_ns);
    g_assert_cmpint(end_ns[0], ==, 7 + 34);
}

static void
test_split(void)
{
    /* A uses link 0, C link 1, B both: one component while B runs (each link carries one at full
     * rate), two when it has ended.  At half speed B (100) ends at 200; A and C (1000) have then
     * done 100 and end 900 later. */
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 left = sim_engine_add_resource(e, 1e9), right = sim_engine_add_resource(e, 1e9);
    guint32 meeting = sim_engine_add_meetings(e, 1, 3);
    sim_engine_use(e, meeting, 2, left, 0, 1);
    sim_engine_use(e, meeting + 1, 2, right, 0, 1);
    const Job jobs[] = {
        {0, 1000, 1000, meeting}, {0, 100, 100, meeting + 1}, {0, 1000, 1000, meeting + 2}};
    gint64 end_ns[3];
    run_jobs(e, jobs, 3, end_ns);
    g_assert_cmpint(end_ns[0], ==, 1100);
    g_assert_cmpint(end_ns[1], ==, 200);
    g_assert_cmpint(end_ns[2], ==, 1100);
}

static void
test_kinds_add(void)
{
    /* Loads of kind 0 (600) and kind 1 (300, weight 2) meet on one link of 1 GB/s: 1200 bytes in
     * 1000 ns alone are too much, so 1200 ns. */
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 link = sim_engine_add_resource(e, 1e9), meeting = sim_engine_add_meetings(e, 1, 1);
    sim_engine_use(e, meeting, 1, link, 0, 1);
    sim_engine_use(e, meeting, 1, link, 1, 2);
    g_autoptr(SimTemplate) t = sim_template_new();
    guint op = sim_template_add(t, 0, (SimWork){.duration_ns = 1000, .load = {600, 300, 5, 5}}, 0);
    sim_template_join(t, op, SIM_JOIN_ALL, 0, FALSE);
    g_autoptr(SimProgram) p = sim_program_new();
    sim_program_call(p, t, 0, 0);
    sim_engine_add_rank(e, p, &meeting, 1);
    g_assert_true(sim_engine_run(e, NULL, NULL, NULL));
    g_assert_cmpint(sim_engine_now(e), ==, 1200);
    g_assert_cmpfloat(sim_engine_resource_load(e, link), ==, 1200);
}

static void
test_eager_shares(void)
{
    /* Two eager sends of 1000 through one link: both arrive at 2000, the sender is free at 0. */
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 link = sim_engine_add_resource(e, 1e9), meeting = sim_engine_add_meetings(e, 2, 2);
    sim_engine_use(e, meeting, 2, link, 0, 1);
    g_autoptr(SimTemplate) send = sim_template_new(), receive = sim_template_new();
    for (guint i = 0; i < 2; i++) {
        guint op = sim_template_add(send, 0, (SimWork){.duration_ns = 1000, .load = {1000}}, 0);
        sim_template_join(send, op, SIM_JOIN_SEND, i, FALSE);
        op = sim_template_add(receive, 0, (SimWork){0}, 0);
        sim_template_join(receive, op, SIM_JOIN_RECV, i, FALSE);
    }
    g_autoptr(SimProgram) a = sim_program_new(), b = sim_program_new();
    sim_program_call(a, send, 0, 0);
    sim_program_call(b, receive, 0, 0);
    const guint32 ports[] = {meeting, meeting + 1};
    sim_engine_add_rank(e, a, ports, 2);
    sim_engine_add_rank(e, b, ports, 2);
    g_assert_true(sim_engine_run(e, NULL, NULL, NULL));
    g_assert_cmpint(sim_engine_rank_end(e, 0), ==, 0);
    g_assert_cmpint(sim_engine_rank_end(e, 1), ==, 2000);
}

#define N_LINKS 5
#define N_JOBS 14

/* The obvious twin: step from change to change, solving everything each time. */
static void
run_slowly(const Job *jobs, const double weight[N_JOBS][N_LINKS], const double *capacity,
           gint64 *end_ns)
{
    double left[N_JOBS];
    for (guint j = 0; j < N_JOBS; j++) {
        left[j] = (double)jobs[j].duration_ns;
        end_ns[j] = -1;
    }
    for (gint64 now_ns = 0;;) {
        guint32 first[N_JOBS + 1] = {0}, who[N_JOBS], n = 0, n_uses = 0;
        SimUse uses[N_JOBS * N_LINKS];
        gint64 next_ns = G_MAXINT64;
        for (guint j = 0; j < N_JOBS; j++) {
            if (jobs[j].start_ns > now_ns)
                next_ns = MIN(next_ns, jobs[j].start_ns);
            if (jobs[j].start_ns > now_ns || end_ns[j] >= 0)
                continue;
            for (guint i = 0; i < N_LINKS; i++)
                if (weight[j][i] > 0)
                    uses[n_uses++] = (SimUse){i, weight[j][i] * jobs[j].load /
                                                     ((double)jobs[j].duration_ns * NS)};
            who[n++] = j;
            first[n] = n_uses;
        }
        double speed[N_JOBS];
        sim_maxmin_solve(n, first, uses, N_LINKS, capacity, NULL, speed);
        for (guint k = 0; k < n; k++)
            next_ns = MIN(next_ns, now_ns + (gint64)MAX(1, ceil(left[who[k]] / speed[k] - 1e-5)));
        if (next_ns == G_MAXINT64)
            return;
        for (guint k = 0; k < n; k++) {
            left[who[k]] -= speed[k] * (double)(next_ns - now_ns);
            if (left[who[k]] <= 1e-5 * speed[k])
                end_ns[who[k]] = next_ns;
        }
        now_ns = next_ns;
    }
}

static void
test_twin(void)
{
    for (guint round = 0; round < 400; round++) {
        g_autoptr(SimEngine) e = sim_engine_new();
        double capacity[N_LINKS], weight[N_JOBS][N_LINKS];
        for (guint i = 0; i < N_LINKS; i++) {
            capacity[i] = g_test_rand_double_range(0.5e9, 4e9);
            sim_engine_add_resource(e, capacity[i]);
        }
        guint32 meeting = sim_engine_add_meetings(e, 1, N_JOBS);
        Job jobs[N_JOBS];
        for (guint j = 0; j < N_JOBS; j++) {
            jobs[j] = (Job){g_test_rand_int_range(0, 4000), g_test_rand_int_range(1, 5000),
                            g_test_rand_double_range(1, 5000), meeting + j};
            for (guint i = 0; i < N_LINKS; i++) {
                gboolean on = g_test_rand_int_range(0, 3) == 0;
                weight[j][i] = on ? g_test_rand_double_range(0.1, 3) : 0;
                if (on)
                    sim_engine_use(e, meeting + j, 1, i, 0, weight[j][i]);
            }
        }
        gint64 end_ns[N_JOBS], twin_ns[N_JOBS];
        run_jobs(e, jobs, N_JOBS, end_ns);
        run_slowly(jobs, (const double(*)[N_LINKS])weight, capacity, twin_ns);
        for (guint j = 0; j < N_JOBS; j++) {
            /* Rounding of one end may move another by a ns. */
            g_assert_cmpint(ABS(end_ns[j] - twin_ns[j]), <=, 1);
            g_assert_cmpint(end_ns[j], >=, jobs[j].start_ns + jobs[j].duration_ns);
        }
    }
}

static void
test_order_of_ranks(void)
{
    /* The same jobs added last to first end at the same times. */
    for (guint round = 0; round < 100; round++) {
        Job jobs[8], turned[8];
        gint64 end_ns[8], turned_ns[8];
        for (guint j = 0; j < 8; j++) {
            jobs[j] = (Job){g_test_rand_int_range(0, 300), g_test_rand_int_range(1, 500), 0, j % 2};
            jobs[j].load = (double)jobs[j].duration_ns;
            turned[7 - j] = jobs[j];
        }
        for (guint turn = 0; turn < 2; turn++) {
            g_autoptr(SimEngine) e = sim_engine_new();
            guint32 link = sim_engine_add_resource(e, 1e9),
                    meeting = sim_engine_add_meetings(e, 1, 2);
            sim_engine_use(e, meeting, 2, link, 0, 1);
            run_jobs(e, turn ? turned : jobs, 8, turn ? turned_ns : end_ns);
        }
        for (guint j = 0; j < 8; j++)
            g_assert_cmpint(turned_ns[7 - j], ==, end_ns[j]);
    }
}

static void
test_many_changes(void)
{
    /* 300 jobs crowd one link, so that void events must be swept; what went through it is the sum,
     * and it was busy for exactly that long at 1 byte a ns. */
    enum { N = 300 };
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 link = sim_engine_add_resource(e, 1e9), meeting = sim_engine_add_meetings(e, 1, 1);
    sim_engine_use(e, meeting, 1, link, 0, 1);
    g_autofree Job *jobs = g_new(Job, N);
    g_autofree gint64 *end_ns = g_new(gint64, N);
    gint64 sum = 0, last_ns = 0;
    for (guint j = 0; j < N; j++) {
        gint64 duration_ns = 100000 + g_test_rand_int_range(0, 100000);
        jobs[j] = (Job){j, duration_ns, (double)duration_ns, meeting};
        sum += duration_ns;
    }
    run_jobs(e, jobs, N, end_ns);
    for (guint j = 0; j < N; j++)
        last_ns = MAX(last_ns, end_ns[j]);
    g_assert_cmpint(ABS(last_ns - sum), <=, N);
    g_assert_cmpint(last_ns, >=, sum);
    g_assert_cmpint(sim_engine_resource_busy_ns(e, link), ==, last_ns);
    g_assert_cmpfloat(sim_engine_resource_load(e, link), ==, (double)sum);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sim/fluid/two-equal-take-twice-as-long", test_two_equal);
    g_test_add_func("/sim/fluid/one-starting-midway", test_midway);
    g_test_add_func("/sim/fluid/thirds-are-exact-and-wide-links-do-not-bind", test_thirds);
    g_test_add_func("/sim/fluid/above-capacity-alone", test_above_capacity_alone);
    g_test_add_func("/sim/fluid/above-capacity-beside-plain-work", test_beside_plain_work);
    g_test_add_func("/sim/fluid/ends-are-rounded-up", test_rounded_up);
    g_test_add_func("/sim/fluid/a-component-splits", test_split);
    g_test_add_func("/sim/fluid/kinds-of-load-add-on-a-resource", test_kinds_add);
    g_test_add_func("/sim/fluid/eager-sends-share-too", test_eager_shares);
    g_test_add_func("/sim/fluid/agrees-with-the-twin", test_twin);
    g_test_add_func("/sim/fluid/order-of-ranks-does-not-matter", test_order_of_ranks);
    g_test_add_func("/sim/fluid/many-changes-on-one-link", test_many_changes);
    return g_test_run();
}
