/* The engine against the slow simulator on random worlds (sim-reference.h), and what must not change a run:
 * how ops are split over templates, the order of links, a link cut in two, the unit of loads. */
#include "config.h"

#include "sim-reference.h"

static gint64
random_ns(void)
{
    return g_test_rand_int_range(0, 6) ? g_test_rand_int_range(1, 20000) : 0;
}

static WorldOp
random_op(gboolean may_be_paced)
{
    WorldOp op = {.slot = g_test_rand_int_range(0, WORLD_SLOTS),
                  .kind = g_test_rand_int_range(0, 4),
                  .duration_ns = random_ns()};
    op.load = g_test_rand_int_range(0, 4) ? (double)op.duration_ns : 0;
    op.paced_ns = op.duration_ns;
    if (may_be_paced && g_test_rand_int_range(0, 4) == 0)
        op.paced_ns = g_test_rand_int_range(0, 30000);
    if (g_test_rand_bit())
        op.waits = g_test_rand_int_range(0, 1 << WORLD_SLOTS);
    return op;
}

static void
launch(World *w, guint rank, WorldOp op)
{
    if (w->n_ops[rank] < WORLD_OPS)
        w->ops[rank][w->n_ops[rank]++] = op;
}

static gboolean
is_full(const World *w)
{
    for (guint rank = 0; rank < WORLD_RANKS; rank++)
        if (w->n_ops[rank] >= WORLD_OPS - 1)
            return TRUE;
    return FALSE;
}

/* One more op, or one of each member: launched in a common order, so that no run can get stuck. */
static void
launch_something(World *w, gboolean paced)
{
    WorldOp op = random_op(paced);
    guint rank = g_test_rand_int_range(0, WORLD_RANKS);
    switch (g_test_rand_int_range(0, 8)) {
    case 0:
    case 1: {
        guint group = g_test_rand_int_range(0, WORLD_GROUPS);
        op.join = SIM_JOIN_ALL;
        op.meeting = group;
        op.slot = w->group_slot[group];
        for (rank = 0; rank < WORLD_RANKS; rank++)
            if (w->members[group] >> rank & 1)
                launch(w, rank, op);
        return;
    }
    case 2:
        op.join = SIM_JOIN_ALL;
        op.meeting = WORLD_GROUPS + g_test_rand_int_range(0, WORLD_LONE);
        break;
    case 3:
        if (WORLD_EAGER + w->n_messages == WORLD_MEETINGS)
            return;
        op.join = SIM_JOIN_SEND;
        op.meeting = WORLD_EAGER + w->n_messages++;
        launch(w, rank, op);
        rank = g_test_rand_int_range(0, WORLD_RANKS);
        op = (WorldOp){.slot = g_test_rand_int_range(0, WORLD_SLOTS),
                       .meeting = op.meeting,
                       .join = SIM_JOIN_RECV};
        break;
    default:
        break;
    }
    launch(w, rank, op);
}

enum {
    WITH_PACE = 1,
    WITH_KINDS = 2,
    WITH_CHANGES = 4,
    WITH_BACKGROUND = 8,
    WITH_ALL = 15,
};

static void
add_changes(World *w)
{
    for (guint i = 0; i < WORLD_LINKS; i++) {
        gint64 when_ns = 0;
        for (guint n = 0; n < WORLD_CHANGES / WORLD_LINKS; n++) {
            when_ns +=
                g_test_rand_int_range(1, 100000); /* no two at once, whose order would count */
            gboolean may_fail = n + 1 < WORLD_CHANGES / WORLD_LINKS;
            w->changes[w->n_changes].when_ns = when_ns;
            w->changes[w->n_changes].link = i;
            w->changes[w->n_changes++].capacity =
                may_fail && g_test_rand_bit() ? 0 : g_test_rand_double_range(0.2e9, 5e9);
        }
    }
}

static World *
world_new(guint with, guint n_steps)
{
    World *w = g_new0(World, 1);
    for (guint k = 0; k < WORLD_GROUPS; k++) {
        w->members[k] = g_test_rand_int_range(1, 1 << WORLD_RANKS);
        w->group_slot[k] = g_test_rand_int_range(0, WORLD_SLOTS);
    }
    for (guint k = 0; k < SIM_KINDS; k++)
        for (guint b = 0; b < SIM_KINDS; b++)
            w->speed[k][b] = k > 0 && b > 0 && with & WITH_KINDS && g_test_rand_bit()
                                 ? g_test_rand_double_range(0.3, 1)
                                 : 1;
    for (guint i = 0; i < WORLD_LINKS; i++) {
        w->capacity[i] = g_test_rand_double_range(0.4e9, 5e9);
        if (with & WITH_BACKGROUND && g_test_rand_bit())
            w->background[i] = g_test_rand_double_range(0.1e9, 4e9);
        for (guint m = 0; m < WORLD_MEETINGS; m++)
            if (g_test_rand_int_range(0, 3) == 0)
                w->weight[m][i] = g_test_rand_double_range(0.1, 3);
    }
    if (with & WITH_CHANGES)
        add_changes(w);
    for (guint step = 0; step < n_steps && !is_full(w); step++)
        launch_something(w, with & WITH_PACE);
    return w;
}

/* A run of the engine. */
typedef struct {
    const World *w;
    WorldTimes times;
    guint64 n_events;
    gint64 now_ns, path_ns;
} Run;

static void
note(void *user, guint32 rank, guint slot, guint32 tag, guint call, gint64 start_ns, gint64 end_ns)
{
    (void)call;
    Run *run = user;
    g_assert_cmpuint(run->w->ops[rank][tag].slot, ==, slot);
    run->times.start_ns[rank][tag] = start_ns;
    run->times.end_ns[rank][tag] = end_ns;
}

static gint64
pace(void *user, guint32 rank, guint slot, guint32 tag, guint call, gint64 start_ns,
     gint64 duration_ns)
{
    (void)slot, (void)call, (void)start_ns;
    Run *run = user;
    g_assert_cmpint(run->w->ops[rank][tag].duration_ns, ==, duration_ns);
    run->times.n_paced++;
    return run->w->ops[rank][tag].paced_ns;
}

static void
visit(void *user, const SimSegment *segment)
{
    Run *run = user;
    g_assert_cmpint(segment->end_ns, ==, run->path_ns);
    g_assert_cmpint(segment->start_ns, <, segment->end_ns);
    g_assert_cmpint(run->times.end_ns[segment->rank][segment->tag], ==, segment->end_ns);
    run->path_ns = segment->start_ns;
}

/* The ops of one rank as templates of 1 to `most` ops, each called once. */
static SimProgram *
new_program(const World *w, guint rank, guint most, GPtrArray *templates)
{
    SimProgram *p = sim_program_new();
    for (guint i = 0; i < w->n_ops[rank];) {
        SimTemplate *t = sim_template_new();
        g_ptr_array_add(templates, t);
        for (guint n = g_test_rand_int_range(1, most + 1); n > 0 && i < w->n_ops[rank]; n--, i++) {
            const WorldOp *op = &w->ops[rank][i];
            SimWork work = {.duration_ns = op->duration_ns, .load = {op->load}, .kind = op->kind};
            guint index = sim_template_add(t, op->slot, work, i);
            if (op->join != SIM_JOIN_NONE)
                sim_template_join(t, index, op->join, op->meeting, FALSE);
            for (guint slot = 0; slot < WORLD_SLOTS; slot++)
                if (op->waits >> slot & 1)
                    sim_template_wait_slot(t, index, slot);
        }
        sim_program_call(p, t, 0, 0);
    }
    return p;
}

static SimEngine *
new_engine(const World *w, guint cuts, double unit, gboolean turned)
{
    SimEngine *e = sim_engine_new();
    for (guint k = 0; k < WORLD_GROUPS; k++)
        sim_engine_add_meetings(e, (guint)__builtin_popcount(w->members[k]), 1);
    sim_engine_add_meetings(e, 1, WORLD_LONE);
    sim_engine_add_meetings(e, 2, WORLD_MEETINGS - WORLD_EAGER);
    double part = unit / cuts; /* of each link, which stands there `cuts` times */
    for (guint n = 0; n < WORLD_LINKS * cuts; n++)
        sim_engine_add_resource(e, part * w->capacity[turned ? WORLD_LINKS - 1 - n : n / cuts]);
    for (guint n = 0; n < WORLD_LINKS * cuts; n++) {
        guint link = turned ? WORLD_LINKS - 1 - n : n / cuts;
        for (guint m = 0; m < WORLD_MEETINGS; m++)
            sim_engine_use(e, m, 1, n, 0, part * w->weight[m][link]);
        sim_engine_add_background(e, n, part * w->background[link]);
        for (guint c = w->n_changes; c-- > 0;) /* in any order */
            if (w->changes[c].link == link)
                sim_engine_schedule_capacity(e, w->changes[c].when_ns, n,
                                             part * w->changes[c].capacity);
    }
    for (guint k = 1; k < SIM_KINDS; k++)
        for (guint b = 1; b < SIM_KINDS; b++)
            if (w->speed[k][b] < 1)
                sim_engine_set_interference(e, k, b, w->speed[k][b]);
    return e;
}

/* `most`: ops of a template; `cuts`: parts of a link; `unit`: factor of all loads and capacities. */
static void
run_world(const World *w, guint most, guint cuts, double unit, gboolean turned, Run *run)
{
    *run = (Run){.w = w};
    g_autoptr(GPtrArray) templates =
        g_ptr_array_new_with_free_func((GDestroyNotify)sim_template_free);
    g_autoptr(GPtrArray) programs =
        g_ptr_array_new_with_free_func((GDestroyNotify)sim_program_free);
    g_autoptr(SimEngine) e = new_engine(w, cuts, unit, turned);
    guint32 ports[WORLD_MEETINGS];
    for (guint m = 0; m < WORLD_MEETINGS; m++)
        ports[m] = m;
    for (guint rank = 0; rank < WORLD_RANKS; rank++) {
        g_ptr_array_add(programs, new_program(w, rank, most, templates));
        sim_engine_add_rank(e, programs->pdata[rank], ports, WORLD_MEETINGS);
    }
    sim_engine_set_probe(e, &(SimProbe){note, run});
    sim_engine_set_pace(e, &(SimPace){pace, run});
    g_autoptr(GError) error = NULL;
    g_assert_true(sim_engine_run(e, NULL, NULL, &error));
    g_assert_no_error(error);
    for (guint i = 0; i < WORLD_LINKS && cuts == 1 && !turned; i++) {
        run->times.load[i] = sim_engine_resource_load(e, i);
        run->times.busy_ns[i] = sim_engine_resource_busy_ns(e, i);
    }
    run->n_events = sim_engine_n_events(e);
    run->now_ns = run->path_ns = sim_engine_now(e);
    sim_engine_critical_path(e, visit, run);
    g_assert_cmpint(run->path_ns, ==, 0);
}

/* The farthest that an op's end lies from the other's. */
static gint64
distance_ns(const World *w, const WorldTimes *a, const WorldTimes *b)
{
    gint64 most_ns = 0;
    for (guint rank = 0; rank < WORLD_RANKS; rank++)
        for (guint i = 0; i < w->n_ops[rank]; i++) {
            most_ns = MAX(most_ns, ABS(a->end_ns[rank][i] - b->end_ns[rank][i]));
            most_ns = MAX(most_ns, ABS(a->start_ns[rank][i] - b->start_ns[rank][i]));
        }
    return most_ns;
}

/* An end that falls on a whole ns but for rounding may be a ns later in one of the two, and what follows with it. */
#define CLOSE_NS 3

static void
check_reference(guint with, guint n_rounds)
{
    for (guint round = 0; round < n_rounds; round++) {
        g_autofree World *w = world_new(with, g_test_rand_int_range(1, 400));
        g_autofree Run *run = g_new(Run, 1);
        g_autofree WorldTimes *slow = g_new(WorldTimes, 1);
        run_world(w, 8, 1, 1, FALSE, run);
        reference_run(w, slow);
        g_assert_cmpint(distance_ns(w, &run->times, slow), <=, CLOSE_NS);
        g_assert_cmpuint(run->times.n_paced, ==, slow->n_paced);
        for (guint i = 0; i < WORLD_LINKS; i++) {
            g_assert_cmpfloat_with_epsilon(run->times.load[i], slow->load[i],
                                           1e-9 * slow->load[i] + 1e-9);
            g_assert_cmpint(ABS(run->times.busy_ns[i] - slow->busy_ns[i]), <=,
                            CLOSE_NS * w->n_ops[0]);
        }
    }
}

static void
test_reference(gconstpointer with)
{
    check_reference(GPOINTER_TO_UINT(with), 60);
}

static void
test_same(void)
{
    /* Two runs, and runs from templates of one op and of up to fifty, are equal to the ns; halves of links
     * that carry half each, and loads and capacities counted in a unit twice as large, to the bit. */
    for (guint round = 0; round < 25; round++) {
        g_autofree World *w = world_new(WITH_ALL, 300);
        g_autofree Run *run = g_new(Run, 1), *other = g_new(Run, 1);
        run_world(w, 8, 1, 1, FALSE, run);
        const struct {
            guint most, cuts;
            double unit;
        } ways[] = {{8, 1, 1}, {1, 1, 1}, {50, 1, 1},  {8, 2, 1},
                    {8, 4, 1}, {8, 1, 2}, {8, 1, 0.25}};
        for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
            run_world(w, ways[i].most, ways[i].cuts, ways[i].unit, FALSE, other);
            g_assert_cmpint(distance_ns(w, &run->times, &other->times), ==, 0);
            g_assert_cmpint(run->now_ns, ==, other->now_ns);
            if (i == 0)
                g_assert_cmpuint(run->n_events, ==, other->n_events);
        }
    }
}

static void
test_alike(void)
{
    /* Links in another order, in three parts, in another unit: the same but for rounding. */
    for (guint round = 0; round < 25; round++) {
        g_autofree World *w = world_new(WITH_ALL, 300);
        g_autofree Run *run = g_new(Run, 1), *other = g_new(Run, 1);
        run_world(w, 8, 1, 1, FALSE, run);
        run_world(w, 8, 1, 1, TRUE, other);
        g_assert_cmpint(distance_ns(w, &run->times, &other->times), <=, CLOSE_NS);
        run_world(w, 8, 3, 1, FALSE, other);
        g_assert_cmpint(distance_ns(w, &run->times, &other->times), <=, CLOSE_NS);
        run_world(w, 8, 1, 1.7, FALSE, other);
        g_assert_cmpint(distance_ns(w, &run->times, &other->times), <=, CLOSE_NS);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    const struct {
        const char *path;
        guint with;
    } cases[] = {
        {"/sim/world/bare-is-the-slow-simulators", 0},
        {"/sim/world/paces-are-the-slow-simulators", WITH_PACE},
        {"/sim/world/interference-is-the-slow-simulators", WITH_KINDS},
        {"/sim/world/changing-capacities-are-the-slow-simulators", WITH_CHANGES},
        {"/sim/world/background-is-the-slow-simulators", WITH_BACKGROUND},
        {"/sim/world/all-together-is-the-slow-simulators", WITH_ALL},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        g_test_add_data_func(cases[i].path, GUINT_TO_POINTER(cases[i].with), test_reference);
    g_test_add_func("/sim/world/what-changes-nothing-to-the-ns", test_same);
    g_test_add_func("/sim/world/what-changes-nothing-but-rounding", test_alike);
    return g_test_run();
}
