/* Capacities that change, and background: the arithmetic in words. */
#include "config.h"

#include "sim/engine.h"

/* An engine with one link of 1 GB/s (1 byte a ns) and one meeting for single members that uses it. */
static SimEngine *
new_engine(void)
{
    SimEngine *e = sim_engine_new();
    guint32 link = sim_engine_add_resource(e, 1e9), meeting = sim_engine_add_meetings(e, 1, 1);
    sim_engine_use(e, meeting, 1, link, 0, 1);
    return e;
}

typedef struct {
    gint64 idle_ns, duration_ns; /* first nothing, then a transfer at 1 byte a ns */
} Job;

/* Each job a rank; whether the run came to its end, ends of ranks. */
static gboolean
run(SimEngine *e, const Job *jobs, guint n, gint64 *ret_end_ns, GError **error)
{
    g_autoptr(GPtrArray) templates =
        g_ptr_array_new_with_free_func((GDestroyNotify)sim_template_free);
    g_autoptr(GPtrArray) programs =
        g_ptr_array_new_with_free_func((GDestroyNotify)sim_program_free);
    const guint32 port = 0;
    for (guint j = 0; j < n; j++) {
        SimTemplate *t = sim_template_new();
        SimProgram *p = sim_program_new();
        g_ptr_array_add(templates, t);
        g_ptr_array_add(programs, p);
        sim_template_add(t, 0, (SimWork){.duration_ns = jobs[j].idle_ns}, 0);
        SimWork work = {.duration_ns = jobs[j].duration_ns, .load = {(double)jobs[j].duration_ns}};
        sim_template_join(t, sim_template_add(t, 0, work, 1), SIM_JOIN_ALL, 0, FALSE);
        sim_program_call(p, t, 0, 0);
        sim_engine_add_rank(e, p, &port, 1);
    }
    gboolean ok = sim_engine_run(e, NULL, NULL, error);
    for (guint j = 0; j < n; j++)
        ret_end_ns[j] = sim_engine_rank_end(e, j);
    return ok;
}

static void
assert_ends(SimEngine *e, const Job *jobs, guint n, const gint64 *expected_ns)
{
    gint64 end_ns[8];
    g_autoptr(GError) error = NULL;
    g_assert_true(run(e, jobs, n, end_ns, &error));
    g_assert_no_error(error);
    for (guint j = 0; j < n; j++)
        g_assert_cmpint(end_ns[j], ==, expected_ns[j]);
}

static void
test_slower_link(void)
{
    /* 1000 bytes; after 400 the link carries a quarter: 600 / 0.25 = 2400 more. */
    g_autoptr(SimEngine) e = new_engine();
    sim_engine_schedule_capacity(e, 400, 0, 0.25e9);
    assert_ends(e, (Job[]){{0, 1000}}, 1, (gint64[]){2800});
    g_assert_cmpint(sim_engine_resource_busy_ns(e, 0), ==, 2800);
}

static void
test_faster_link(void)
{
    /* Two share: at 1000 each has moved 500. Then the link is wide enough for both: 500 more. A third that
     * starts at 3000 never knew it otherwise. */
    g_autoptr(SimEngine) e = new_engine();
    sim_engine_schedule_capacity(e, 1000, 0, 2e9);
    assert_ends(e, (Job[]){{0, 1000}, {0, 1000}, {3000, 70}}, 3, (gint64[]){1500, 1500, 3070});
}

static void
test_flap(void)
{
    /* Down from 300 to 800 and from 1000 to 1001: 1000 bytes take 1000 + 500 + 1, and nothing moves while it
     * is down. One that starts while it is down waits for it. */
    g_autoptr(SimEngine) e = new_engine();
    sim_engine_schedule_capacity(e, 800, 0, 1e9); /* in any order */
    sim_engine_schedule_capacity(e, 300, 0, 0);
    sim_engine_schedule_capacity(e, 1000, 0, 0);
    sim_engine_schedule_capacity(e, 1001, 0, 1e9);
    assert_ends(e, (Job[]){{0, 1000}}, 1, (gint64[]){1501});
    g_autoptr(SimEngine) f = new_engine();
    sim_engine_schedule_capacity(f, 300, 0, 0);
    sim_engine_schedule_capacity(f, 800, 0, 1e9);
    assert_ends(f, (Job[]){{400, 50}, {0, 300}}, 2, (gint64[]){850, 300});
}

static void
test_at_once(void)
{
    /* From the start; of two at one time the later said holds; changes after the end do not prolong the run. */
    g_autoptr(SimEngine) e = new_engine();
    sim_engine_schedule_capacity(e, 0, 0, 0);
    sim_engine_schedule_capacity(e, 0, 0, 0.5e9);
    sim_engine_schedule_capacity(e, 9000, 0, 0);
    sim_engine_schedule_capacity(e, 9500, 0, 1e9);
    assert_ends(e, (Job[]){{0, 1000}}, 1, (gint64[]){2000});
    g_assert_cmpint(sim_engine_now(e), ==, 2000);
}

static void
test_idle_link(void)
{
    /* Changes of a link that nobody uses, or that stays wide enough, are not noticed. */
    g_autoptr(SimEngine) e = new_engine();
    guint32 other = sim_engine_add_resource(e, 1e9);
    sim_engine_schedule_capacity(e, 100, other, 0);
    sim_engine_schedule_capacity(e, 200, 0, 5e9);
    sim_engine_schedule_capacity(e, 300, 0, 1e9);
    assert_ends(e, (Job[]){{0, 1000}}, 1, (gint64[]){1000});
}

static void
test_never_back(void)
{
    /* Down for good at 300: nobody can end, whatever other links do later; the error says which link, since
     * when nothing moves, and who stands there. */
    g_autoptr(SimEngine) e = new_engine();
    guint32 other = sim_engine_add_resource(e, 1e9);
    sim_engine_schedule_capacity(e, 300, 0, 0);
    sim_engine_schedule_capacity(e, 700, other, 2e9);
    gint64 end_ns[2];
    g_autoptr(GError) error = NULL;
    g_assert_false(run(e, (Job[]){{0, 1000}, {100, 1000}}, 2, end_ns, &error));
    g_assert_error(error, SIM_ERROR, SIM_ERROR_STANDSTILL);
    g_assert_cmpstr(
        error->message, ==,
        "standstill at 700 ns: resource 0 has capacity 0 and no later change raises it; "
        "rank 0 slot 0 at op 1 of call 0 (label 0) stands still on it, and 1 more");
}

static void
test_message_never_back(void)
{
    /* The same for a message whose sender has gone on. */
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 link = sim_engine_add_resource(e, 1e9), meeting = sim_engine_add_meetings(e, 2, 1);
    sim_engine_use(e, meeting, 1, link, 0, 1);
    sim_engine_schedule_capacity(e, 5, link, 0);
    g_autoptr(SimTemplate) t = sim_template_new(), u = sim_template_new();
    SimWork work = {.duration_ns = 100, .load = {100}};
    sim_template_join(t, sim_template_add(t, 0, work, 0), SIM_JOIN_SEND, 0, FALSE);
    sim_template_join(u, sim_template_add(u, 0, work, 0), SIM_JOIN_RECV, 0, FALSE);
    g_autoptr(SimProgram) p = sim_program_new(), q = sim_program_new();
    sim_program_call(p, t, 0, 0);
    sim_program_call(q, u, 0, 0);
    sim_engine_add_rank(e, p, &meeting, 1);
    sim_engine_add_rank(e, q, &meeting, 1);
    g_autoptr(GError) error = NULL;
    g_assert_false(sim_engine_run(e, NULL, NULL, &error));
    g_assert_error(error, SIM_ERROR, SIM_ERROR_STANDSTILL);
    g_assert_true(g_str_has_suffix(error->message,
                                   "; a send of rank 0 slot 0 into meeting 0 stands still on it"));
}

static void
test_deadlock_before_changes(void)
{
    /* A deadlock at 10 is told as one at 10, although a capacity changes at 1000. */
    g_autoptr(SimEngine) e = new_engine();
    guint32 pair = sim_engine_add_meetings(e, 2, 1);
    sim_engine_schedule_capacity(e, 1000, 0, 0);
    g_autoptr(SimTemplate) t = sim_template_new();
    sim_template_add(t, 0, (SimWork){.duration_ns = 10}, 0);
    sim_template_join(t, sim_template_add(t, 0, (SimWork){0}, 0), SIM_JOIN_ALL, 0, FALSE);
    g_autoptr(SimProgram) p = sim_program_new();
    sim_program_call(p, t, 0, 0);
    sim_engine_add_rank(e, p, &pair, 1);
    g_autoptr(GError) error = NULL;
    g_assert_false(sim_engine_run(e, NULL, NULL, &error));
    g_assert_error(error, SIM_ERROR, SIM_ERROR_DEADLOCK);
    g_assert_true(g_str_has_prefix(error->message, "deadlock at 10 ns: "));
}

static void
test_background(void)
{
    /* Somebody asks 1 GB/s of the link of 1 GB/s all the time: the transfer gets half. With 0.5 GB/s of it both
     * would go at 1 / 1.5 of their full speed: 1500. Asking 3 GB/s, both at a quarter: 4000. */
    const struct {
        double rate;
        gint64 end_ns;
    } cases[] = {{0, 1000}, {1e9, 2000}, {0.5e9, 1500}, {3e9, 4000}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(SimEngine) e = new_engine();
        sim_engine_add_background(e, 0, cases[i].rate);
        assert_ends(e, (Job[]){{0, 1000}}, 1, (gint64[]){cases[i].end_ns});
        g_assert_cmpfloat(sim_engine_resource_load(e, 0), ==, 1000);
        g_assert_cmpint(sim_engine_resource_busy_ns(e, 0), ==, cases[i].end_ns);
    }
}

static void
test_background_beside_nobody(void)
{
    /* It keeps no run alive, and is no load. Two of them add; on a wide link they are not noticed. */
    g_autoptr(SimEngine) e = new_engine();
    guint32 wide = sim_engine_add_resource(e, 4e9);
    sim_engine_use(e, 0, 1, wide, 0, 1);
    sim_engine_add_background(e, wide, 1e9);
    sim_engine_add_background(e, wide, 2e9);
    assert_ends(e, (Job[]){{50, 1000}}, 1, (gint64[]){1050});
    g_assert_cmpint(sim_engine_resource_busy_ns(e, wide), ==, 1000);
    g_autoptr(SimEngine) f = new_engine();
    sim_engine_add_background(f, 0, 9e9);
    g_assert_true(sim_engine_run(f, NULL, NULL, NULL));
    g_assert_cmpint(sim_engine_now(f), ==, 0);
    g_assert_cmpfloat(sim_engine_resource_load(f, 0), ==, 0);
    g_assert_cmpint(sim_engine_resource_busy_ns(f, 0), ==, 0);
}

static void
test_background_and_flap(void)
{
    /* Background of 1 GB/s on a link of 1 GB/s that is down from 1000 to 1500: 500 + 0 + 500 / 0.5. */
    g_autoptr(SimEngine) e = new_engine();
    sim_engine_add_background(e, 0, 1e9);
    sim_engine_schedule_capacity(e, 1000, 0, 0);
    sim_engine_schedule_capacity(e, 1500, 0, 1e9);
    assert_ends(e, (Job[]){{0, 1000}}, 1, (gint64[]){2500});
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sim/changes/a-link-becomes-slower", test_slower_link);
    g_test_add_func("/sim/changes/a-link-becomes-wide-enough", test_faster_link);
    g_test_add_func("/sim/changes/a-flap-costs-its-length", test_flap);
    g_test_add_func("/sim/changes/from-the-start-and-after-the-end", test_at_once);
    g_test_add_func("/sim/changes/who-does-not-need-it-does-not-notice", test_idle_link);
    g_test_add_func("/sim/changes/a-link-that-never-comes-back", test_never_back);
    g_test_add_func("/sim/changes/a-message-on-such-a-link", test_message_never_back);
    g_test_add_func("/sim/changes/a-deadlock-is-one-all-the-same", test_deadlock_before_changes);
    g_test_add_func("/sim/background/shares-as-everybody-does", test_background);
    g_test_add_func("/sim/background/is-no-load-and-no-run", test_background_beside_nobody);
    g_test_add_func("/sim/background/through-a-flap", test_background_and_flap);
    return g_test_run();
}
