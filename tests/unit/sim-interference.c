/* Kinds of work that slow each other down, paces: the arithmetic in words. */
#include "config.h"

#include "sim/engine.h"

enum { KERNEL = 1, COLLECTIVE = 2, COPY = 3 };

static guint
add(SimTemplate *t, guint slot, gint64 duration_ns, guint kind, guint32 tag)
{
    SimWork work = {.duration_ns = duration_ns, .load = {(double)duration_ns}, .kind = kind};
    return sim_template_add(t, slot, work, tag);
}

static guint
add_joining(SimTemplate *t, guint slot, gint64 duration_ns, guint kind, SimJoin join, guint port,
            guint32 tag)
{
    guint op = add(t, slot, duration_ns, kind, tag);
    sim_template_join(t, op, join, port, FALSE);
    return op;
}

/* Ends by rank and tag, and the critical path, latest first. */
typedef struct {
    gint64 end_ns[8][16];
    SimSegment path[16];
    guint n_path;
} Ends;

static void
note(void *user, guint32 rank, guint slot, guint32 tag, guint call, gint64 start_ns, gint64 end_ns)
{
    (void)slot, (void)call, (void)start_ns;
    ((Ends *)user)->end_ns[rank][tag] = end_ns;
}

static void
visit(void *user, const SimSegment *segment)
{
    Ends *ends = user;
    if (ends->n_path < G_N_ELEMENTS(ends->path))
        ends->path[ends->n_path] = *segment;
    ends->n_path++;
}

/* Runs the templates, one a rank; all ranks see the same ports 0.. as meetings. */
static Ends
run(SimEngine *e, SimTemplate *const *templates, guint n, guint n_meetings)
{
    Ends ends = {0};
    g_autoptr(GPtrArray) programs =
        g_ptr_array_new_with_free_func((GDestroyNotify)sim_program_free);
    const guint32 ports[] = {0, 1, 2, 3};
    for (guint rank = 0; rank < n; rank++) {
        SimProgram *p = sim_program_new();
        sim_program_call(p, templates[rank], 0, 0);
        sim_engine_add_rank(e, p, ports, n_meetings);
        g_ptr_array_add(programs, p);
    }
    sim_engine_set_probe(e, &(SimProbe){note, &ends});
    g_autoptr(GError) error = NULL;
    g_assert_true(sim_engine_run(e, NULL, NULL, &error));
    g_assert_no_error(error);
    sim_engine_critical_path(e, visit, &ends);
    return ends;
}

static SimEngine *
new_engine(double kernel_speed, double collective_speed)
{
    SimEngine *e = sim_engine_new();
    sim_engine_set_interference(e, KERNEL, COLLECTIVE, kernel_speed);
    sim_engine_set_interference(e, COLLECTIVE, KERNEL, collective_speed);
    return e;
}

static void
test_beside(void)
{
    /* A kernel of 1000 beside a collective of 400 on one rank. The kernel goes at 0.8, the collective at 0.5:
     * it takes 800, in which the kernel does 640; the other 360 alone: 1160. */
    g_autoptr(SimTemplate) t = sim_template_new();
    add(t, 0, 1000, KERNEL, 1);
    add_joining(t, 1, 400, COLLECTIVE, SIM_JOIN_ALL, 0, 2);
    g_autoptr(SimEngine) e = new_engine(0.8, 0.5);
    sim_engine_add_meetings(e, 1, 1);
    Ends ends = run(e, &t, 1, 1);
    g_assert_cmpint(ends.end_ns[0][2], ==, 800);
    g_assert_cmpint(ends.end_ns[0][1], ==, 1160);
}

static void
test_other_rank(void)
{
    /* On two ranks, or of kinds that nothing was said of, neither disturbs the other. */
    g_autoptr(SimTemplate) t = sim_template_new(), u = sim_template_new();
    add(t, 0, 1000, KERNEL, 1);
    add(t, 1, 900, COPY, 2);
    add(t, 2, 800, 0, 3);
    add_joining(u, 1, 400, COLLECTIVE, SIM_JOIN_ALL, 0, 4);
    SimTemplate *templates[] = {t, u};
    g_autoptr(SimEngine) e = new_engine(0.8, 0.5);
    sim_engine_add_meetings(e, 1, 1);
    Ends ends = run(e, templates, 2, 1);
    g_assert_cmpint(ends.end_ns[0][1], ==, 1000);
    g_assert_cmpint(ends.end_ns[0][2], ==, 900);
    g_assert_cmpint(ends.end_ns[0][3], ==, 800);
    g_assert_cmpint(ends.end_ns[1][4], ==, 400);
}

static void
test_product(void)
{
    /* Beside two copies the kernel goes at 0.9 x 0.9 of its speed, beside a collective too at 0.5 of that.
     * All begin at 0; copies (not slowed) end at 1000, the collective (not slowed) at 2000.
     *   to 1000: 0.405 x 1000 = 405;  to 2000: 0.5 x 1000 = 500;  95 of 1000 are left: 2095 */
    g_autoptr(SimTemplate) t = sim_template_new();
    add(t, 0, 1000, KERNEL, 1);
    add_joining(t, 1, 2000, COLLECTIVE, SIM_JOIN_ALL, 0, 2);
    add(t, 2, 1000, COPY, 3);
    add(t, 3, 1000, COPY, 4);
    g_autoptr(SimEngine) e = new_engine(0.5, 1);
    sim_engine_set_interference(e, KERNEL, COPY, 0.9);
    sim_engine_add_meetings(e, 1, 1);
    Ends ends = run(e, &t, 1, 1);
    g_assert_cmpint(ends.end_ns[0][2], ==, 2000);
    g_assert_cmpint(ends.end_ns[0][3], ==, 1000);
    g_assert_cmpint(ends.end_ns[0][1], ==, 2095);
}

static void
test_own_kind(void)
{
    /* Two kernels at once, each at 0.5 beside the other: 2000 for both. One alone is no neighbour of itself. */
    g_autoptr(SimTemplate) t = sim_template_new();
    add(t, 0, 1000, KERNEL, 1);
    add(t, 1, 1000, KERNEL, 2);
    g_autoptr(SimTemplate) u = sim_template_new();
    add(u, 0, 1000, KERNEL, 1);
    SimTemplate *templates[] = {t, u};
    g_autoptr(SimEngine) e = sim_engine_new();
    sim_engine_set_interference(e, KERNEL, KERNEL, 0.5);
    Ends ends = run(e, templates, 2, 0);
    g_assert_cmpint(ends.end_ns[0][1], ==, 2000);
    g_assert_cmpint(ends.end_ns[0][2], ==, 2000);
    g_assert_cmpint(ends.end_ns[1][1], ==, 1000);
}

static void
test_least_of_members(void)
{
    /* A collective of two ranks, alone 1000, while rank 1 computes for 300 and nobody on rank 0: at 0.5 until
     * the kernel's end. Rank 1's kernel goes at 0.6, so until 500; then 750 are left: 1250. */
    g_autoptr(SimTemplate) t = sim_template_new(), u = sim_template_new();
    add_joining(t, 1, 1000, COLLECTIVE, SIM_JOIN_ALL, 0, 2);
    add_joining(u, 1, 1000, COLLECTIVE, SIM_JOIN_ALL, 0, 2);
    add(u, 0, 300, KERNEL, 1);
    SimTemplate *templates[] = {t, u};
    g_autoptr(SimEngine) e = new_engine(0.6, 0.5);
    sim_engine_add_meetings(e, 2, 1);
    Ends ends = run(e, templates, 2, 1);
    g_assert_cmpint(ends.end_ns[1][1], ==, 500);
    g_assert_cmpint(ends.end_ns[0][2], ==, 1250);
    g_assert_cmpint(ends.end_ns[1][2], ==, 1250);
}

static void
test_waiting_disturbs_nobody(void)
{
    /* Rank 0 stands in the collective from 0, rank 1 comes at 700: rank 0's kernel of 600 is not slowed. */
    g_autoptr(SimTemplate) t = sim_template_new(), u = sim_template_new();
    add(t, 0, 600, KERNEL, 1);
    add_joining(t, 1, 100, COLLECTIVE, SIM_JOIN_ALL, 0, 2);
    add(u, 1, 700, 0, 1);
    add_joining(u, 1, 100, COLLECTIVE, SIM_JOIN_ALL, 0, 2);
    SimTemplate *templates[] = {t, u};
    g_autoptr(SimEngine) e = new_engine(0.5, 0.5);
    sim_engine_add_meetings(e, 2, 1);
    Ends ends = run(e, templates, 2, 1);
    g_assert_cmpint(ends.end_ns[0][1], ==, 600);
    g_assert_cmpint(ends.end_ns[0][2], ==, 800);
}

static void
test_one_rank_twice(void)
{
    /* A meeting of two streams of one rank is one piece of work: it does not disturb itself. */
    g_autoptr(SimTemplate) t = sim_template_new();
    add_joining(t, 1, 1000, COLLECTIVE, SIM_JOIN_ALL, 0, 1);
    add_joining(t, 2, 1000, COLLECTIVE, SIM_JOIN_ALL, 0, 2);
    g_autoptr(SimEngine) e = sim_engine_new();
    sim_engine_set_interference(e, COLLECTIVE, COLLECTIVE, 0.5);
    sim_engine_add_meetings(e, 2, 1);
    Ends ends = run(e, &t, 1, 1);
    g_assert_cmpint(ends.end_ns[0][1], ==, 1000);
    g_assert_cmpint(ends.end_ns[0][2], ==, 1000);
}

static void
test_eager(void)
{
    /* The message (1000 alone) is slowed by the sender's kernel (kernel 400, not slowed), not by the
     * receiver's: 400 at 0.5 = 200, 800 left: 1200. */
    g_autoptr(SimTemplate) t = sim_template_new(), u = sim_template_new();
    add_joining(t, 0, 1000, COLLECTIVE, SIM_JOIN_SEND, 0, 2);
    add(t, 0, 400, KERNEL, 1);
    add(u, 1, 1100, KERNEL, 1);
    add_joining(u, 0, 0, COLLECTIVE, SIM_JOIN_RECV, 0, 2);
    SimTemplate *templates[] = {t, u};
    g_autoptr(SimEngine) e = new_engine(1, 0.5);
    sim_engine_add_meetings(e, 2, 1);
    Ends ends = run(e, templates, 2, 1);
    g_assert_cmpint(ends.end_ns[0][2], ==, 0);
    g_assert_cmpint(ends.end_ns[0][1], ==, 400);
    g_assert_cmpint(ends.end_ns[1][2], ==, 1200);
}

static void
test_and_links(void)
{
    /* Two collectives on one link made for one, each 1000. One is slowed to 0.3 by a long kernel on its rank:
     * it leaves 0.7 to the other, which ends at 1000 / 0.7 = 1428.6, so 1429. The first goes on at 0.3 (a cap,
     * not a share): 1000 / 0.3 = 3333.3, so 3334. A cap of 0.6 would not bind: 2000 and 2000. */
    for (guint high = 0; high < 2; high++) {
        g_autoptr(SimTemplate) t = sim_template_new(), u = sim_template_new();
        add_joining(t, 1, 1000, COLLECTIVE, SIM_JOIN_ALL, 0, 2);
        add(t, 0, 9000, KERNEL, 1);
        add_joining(u, 1, 1000, COLLECTIVE, SIM_JOIN_ALL, 0, 2);
        SimTemplate *templates[] = {t, u};
        g_autoptr(SimEngine) e = new_engine(1, high ? 0.6 : 0.3);
        guint32 link = sim_engine_add_resource(e, 1e9);
        sim_engine_add_meetings(e, 1, 1);
        sim_engine_use(e, 0, 1, link, 0, 1);
        Ends ends = run(e, templates, 2, 1);
        g_assert_cmpint(ends.end_ns[0][2], ==, high ? 2000 : 3334);
        g_assert_cmpint(ends.end_ns[1][2], ==, high ? 2000 : 1429);
    }
}

static void
test_back_to_back(void)
{
    /* 1000 kernels of 7 one after the other beside one collective: nothing changes between them, so the
     * collective has one event and ends at 1000 x 7 / 0.7 = 10000: all its time beside kernels at 0.9. */
    g_autoptr(SimTemplate) t = sim_template_new();
    for (guint i = 0; i < 1000; i++)
        add(t, 0, 7, KERNEL, 1);
    add_joining(t, 1, 9000, COLLECTIVE, SIM_JOIN_ALL, 0, 2);
    g_autoptr(SimEngine) e = new_engine(0.7, 0.9);
    sim_engine_add_meetings(e, 1, 1);
    Ends ends = run(e, &t, 1, 1);
    g_assert_cmpint(ends.end_ns[0][1], ==, 10000);
    g_assert_cmpint(ends.end_ns[0][2], ==, 10000);
    g_assert_cmpuint(sim_engine_n_events(e), ==, 1001);
}

static void
test_alone(void)
{
    /* Alone, work takes its time to the ns, however long; so do kernels after the other. */
    g_autoptr(SimTemplate) t = sim_template_new();
    const gint64 long_ns = G_GINT64_CONSTANT(100000000000000003);
    add(t, 0, long_ns, KERNEL, 1);
    guint op = add_joining(t, 1, 5, COLLECTIVE, SIM_JOIN_ALL, 0, 2);
    sim_template_wait_slot(t, op, 0);
    g_autoptr(SimEngine) e = new_engine(0.7, 0.9);
    sim_engine_add_meetings(e, 1, 1);
    Ends ends = run(e, &t, 1, 1);
    g_assert_cmpint(ends.end_ns[0][1], ==, long_ns);
    g_assert_cmpint(ends.end_ns[0][2], ==, long_ns + 5);
}

static void
test_crowd(void)
{
    /* 700 messages at once, each at 0.3 for every other: 0.3 ^ 699 is no number of its own any more, and nobody
     * ever ends. That is said, not divided by. */
    g_autoptr(SimTemplate) t = sim_template_new(), u = sim_template_new();
    for (guint i = 0; i < 700; i++) {
        SimWork work = {.duration_ns = 1000, .kind = COLLECTIVE};
        sim_template_join(t, sim_template_add(t, 0, work, 1), SIM_JOIN_SEND, i, FALSE);
        sim_template_join(u, sim_template_add(u, 0, work, 2), SIM_JOIN_RECV, i, FALSE);
    }
    g_autoptr(SimEngine) e = sim_engine_new();
    sim_engine_set_interference(e, COLLECTIVE, COLLECTIVE, 0.3);
    guint32 ports[700];
    for (guint i = 0; i < 700; i++)
        ports[i] = sim_engine_add_meetings(e, 2, 1);
    g_autoptr(SimProgram) p = sim_program_new(), q = sim_program_new();
    sim_program_call(p, t, 0, 0);
    sim_program_call(q, u, 0, 0);
    sim_engine_add_rank(e, p, ports, 700);
    sim_engine_add_rank(e, q, ports, 700);
    g_autoptr(GError) error = NULL;
    g_assert_false(sim_engine_run(e, NULL, NULL, &error));
    g_assert_error(error, SIM_ERROR, SIM_ERROR_LIMIT);
}

typedef struct {
    guint n;
    guint32 rank[16];
    gint64 at_ns[16];
} Asked;

/* Rank 1 takes twice as long; tag 9 takes no time at all. */
static gint64
slow_rank(void *user, guint32 rank, guint slot, guint32 tag, guint call, gint64 start_ns,
          gint64 duration_ns)
{
    (void)slot, (void)call;
    Asked *asked = user;
    g_assert_cmpuint(asked->n, <, 16);
    asked->rank[asked->n] = rank;
    asked->at_ns[asked->n++] = start_ns;
    return tag == 9 ? 0 : rank == 1 ? 2 * duration_ns : duration_ns;
}

static void
test_pace(void)
{
    /* Kernels of 100, then a collective of 50 of both, whose pace is that of the last to come: rank 1, at 200,
     * so 100. Then rank 0 sends (30) and rank 1 receives, which is asked for with the sender: 330. Ops of no
     * duration and receives are not asked for. */
    g_autoptr(SimTemplate) t = sim_template_new(), u = sim_template_new();
    add(t, 0, 100, 0, 1);
    add_joining(t, 0, 50, 0, SIM_JOIN_ALL, 0, 2);
    add(t, 0, 0, 0, 4);
    add_joining(t, 0, 30, 0, SIM_JOIN_SEND, 1, 3);
    add(t, 0, 77, 0, 9);
    add(u, 0, 100, 0, 1);
    add_joining(u, 0, 50, 0, SIM_JOIN_ALL, 0, 2);
    add_joining(u, 0, 30, 0, SIM_JOIN_RECV, 1, 3);
    SimTemplate *templates[] = {t, u};
    Asked asked = {0};
    g_autoptr(SimEngine) e = sim_engine_new();
    sim_engine_add_meetings(e, 2, 2);
    sim_engine_set_pace(e, &(SimPace){slow_rank, &asked});
    Ends ends = run(e, templates, 2, 2);
    g_assert_cmpint(ends.end_ns[1][1], ==, 200);
    g_assert_cmpint(ends.end_ns[0][2], ==, 300);
    g_assert_cmpint(ends.end_ns[0][9], ==, 300);
    g_assert_cmpint(ends.end_ns[1][3], ==, 330);
    const guint32 ranks[] = {0, 1, 1, 0, 0};
    const gint64 at_ns[] = {0, 0, 200, 300, 300};
    g_assert_cmpuint(asked.n, ==, 5);
    for (guint i = 0; i < asked.n; i++) {
        g_assert_cmpuint(asked.rank[i], ==, ranks[i]);
        g_assert_cmpint(asked.at_ns[i], ==, at_ns[i]);
    }
    /* The path blames rank 1: message, collective, its kernel. */
    g_assert_cmpuint(ends.n_path, ==, 3);
    const gint64 starts_ns[] = {300, 200, 0};
    for (guint i = 0; i < 3; i++)
        g_assert_cmpint(ends.path[i].start_ns, ==, starts_ns[i]);
    g_assert_cmpuint(ends.path[2].rank, ==, 1);
}

static void
test_pace_and_rates(void)
{
    /* Rank 1's collective takes 2000 instead of 1000 for the same bytes: half the rate, so that beside it on a
     * link of 1.5 GB/s rank 0's goes at full speed. */
    g_autoptr(SimTemplate) t = sim_template_new();
    add_joining(t, 0, 1000, 0, SIM_JOIN_ALL, 0, 1);
    SimTemplate *templates[] = {t, t};
    Asked asked = {0};
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 link = sim_engine_add_resource(e, 1.5e9);
    sim_engine_add_meetings(e, 1, 1);
    sim_engine_use(e, 0, 1, link, 0, 1);
    sim_engine_set_pace(e, &(SimPace){slow_rank, &asked});
    Ends ends = run(e, templates, 2, 1);
    g_assert_cmpint(ends.end_ns[0][1], ==, 1000);
    g_assert_cmpint(ends.end_ns[1][1], ==, 2000);
    g_assert_cmpfloat(sim_engine_resource_load(e, link), ==, 2000);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sim/interference/each-slows-the-other", test_beside);
    g_test_add_func("/sim/interference/not-on-other-ranks-nor-other-kinds", test_other_rank);
    g_test_add_func("/sim/interference/beside-several-the-product", test_product);
    g_test_add_func("/sim/interference/of-its-own-kind-but-not-itself", test_own_kind);
    g_test_add_func("/sim/interference/a-meeting-goes-at-the-least", test_least_of_members);
    g_test_add_func("/sim/interference/who-waits-disturbs-nobody", test_waiting_disturbs_nobody);
    g_test_add_func("/sim/interference/a-meeting-of-one-rank", test_one_rank_twice);
    g_test_add_func("/sim/interference/a-message-runs-on-the-senders-rank", test_eager);
    g_test_add_func("/sim/interference/a-cap-leaves-the-link-to-others", test_and_links);
    g_test_add_func("/sim/interference/back-to-back-is-no-change", test_back_to_back);
    g_test_add_func("/sim/interference/alone-exactly-its-time", test_alone);
    g_test_add_func("/sim/interference/a-crowd-never-ends", test_crowd);
    g_test_add_func("/sim/pace/asked-once-where-work-starts", test_pace);
    g_test_add_func("/sim/pace/slower-work-uses-links-less", test_pace_and_rates);
    return g_test_run();
}
