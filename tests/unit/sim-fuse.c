/* Runs of ops as one: random programs of several ranks take the same time to the nanosecond, and ops that others
 * wait for stay apart. */
#include "config.h"

#include "sim/engine.h"
#include "sim/fuse.h"

enum { SLOTS = 3, MEET = 2 };

static gboolean
always(void *user, guint32 before, guint32 tag)
{
    return *(const gboolean *)user || before == tag;
}

static guint32
first_tag(void *user G_GNUC_UNUSED, const guint32 *tags, const gint64 *durations_ns G_GNUC_UNUSED,
          guint n)
{
    g_assert_cmpuint(n, >, 1);
    return tags[0];
}

static void
fuse(SimTemplate *t, gboolean all)
{
    SimFuse how = {always, first_tag, &all};
    sim_template_fuse(t, 0, &how);
}

/* Ops of a layer-like list on three slots: waits for other slots and for earlier ops, meetings on slot 2. */
static SimTemplate *
random_template(GRand *rand, guint n)
{
    SimTemplate *t = sim_template_new();
    for (guint i = 0; i < n; i++) {
        guint slot = g_rand_boolean(rand) ? 0 : (guint)g_rand_int_range(rand, 0, SLOTS);
        SimWork work = {.duration_ns = g_rand_int_range(rand, 0, 1000)};
        if (slot == MEET)
            work.duration_ns = 100 + i;
        guint op = sim_template_add(t, slot, work, (guint)g_rand_int_range(rand, 0, 3));
        if (slot == MEET)
            sim_template_join(t, op, SIM_JOIN_ALL, 0, FALSE);
        if (i > 0 && g_rand_int_range(rand, 0, 4) == 0)
            sim_template_wait_op(t, op, (guint)g_rand_int_range(rand, 0, (gint32)i));
        if (g_rand_int_range(rand, 0, 6) == 0)
            sim_template_wait_slot(t, op, (guint)g_rand_int_range(rand, 0, SLOTS));
    }
    return t;
}

/* Two ranks of the same templates in the same order, one of them later; returns the end of each. */
static void
run(SimTemplate *const *templates, guint n, const guint *order, guint calls, gint64 *ret_ends)
{
    g_autoptr(SimEngine) e = sim_engine_new();
    guint32 port = sim_engine_add_meetings(e, 2, 1);
    g_autoptr(SimTemplate) late = sim_template_new();
    sim_template_add(late, 0, (SimWork){.duration_ns = 777}, 0);
    g_autoptr(SimProgram) first = sim_program_new();
    g_autoptr(SimProgram) second = sim_program_new();
    SimProgram *const programs[] = {first, second};
    sim_program_call(second, late, 0, 0);
    for (guint p = 0; p < 2; p++)
        for (guint i = 0; i < calls; i++) {
            sim_program_call(programs[p], templates[order[i] % n], 0, 0);
            if (i % 3 == 1) /* slot 1 keeps behind slot 0 from call to call */
                sim_program_wait(programs[p], 1, 0, sim_program_launched(programs[p], 0));
        }
    for (guint p = 0; p < 2; p++)
        sim_engine_add_rank(e, programs[p], &port, 1);
    GError *error = NULL;
    gboolean ok = sim_engine_run(e, NULL, NULL, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    for (guint p = 0; p < 2; p++)
        ret_ends[p] = sim_engine_rank_end(e, p);
}

static gboolean
is_link(G_GNUC_UNUSED void *user, guint32 tag)
{
    return tag != 2;
}

static gboolean
is_serial(void *user, const SimLink *link)
{
    g_assert_true(link->other);
    return is_link(user, link->tag);
}

/* What chains were made: of how many links, where a link runs beside an op, two wait for the same op (fork) and an op
 * waits for two at once (join), and where the chain waits for a link at its end. */
typedef struct {
    guint others, beside, forks, joins, last;
} Made;

/* Each waits for what comes before it only; an op, for no fewer links than the op before it. */
static void
check_order(const SimLink *links, guint n)
{
    guint count[2] = {0, 0}, waited = 0;
    for (guint i = 0; i < n; i++) {
        guint side = links[i].other ? 1 : 0;
        g_assert_cmpuint(links[i].after, <=, count[1 - side]);
        count[side]++;
        if (side == 1)
            continue;
        g_assert_cmpuint(links[i].after, >=, waited);
        waited = links[i].after;
    }
}

static guint32
chain_tag(void *user, const SimLink *links, guint n)
{
    Made *made = user;
    guint begun = 0, over = 0; /* links so far; those that an op has waited for */
    guint fork = G_MAXUINT;
    gboolean beside = FALSE, forks = FALSE, joins = FALSE;
    g_assert_cmpuint(n, >, 1);
    g_assert_false(links[0].other);
    check_order(links, n);
    for (guint i = 0; i < n; i++) {
        if (links[i].other) {
            forks = forks || links[i].after == fork;
            fork = links[i].after;
            begun++;
            continue;
        }
        beside = beside || links[i].after < begun;
        joins = joins || links[i].after > over + 1;
        over = links[i].after;
    }
    made->others += begun;
    made->beside += beside;
    made->forks += forks;
    made->joins += joins;
    made->last += over < begun;
    return 1;
}

static void
chain(SimTemplate *t, Made *made)
{
    const SimChain how = {1, is_serial, is_link, chain_tag, made};
    sim_template_chain(t, 0, &how);
}

/* Ops of one slot, and of another in whose meetings nobody else is, which wait for what was launched before on the
 * slot, often for all of it, and are waited for, often at once; a third slot waits for either. */
static SimTemplate *
random_layers(GRand *rand, guint n)
{
    SimTemplate *t = sim_template_new();
    guint last = G_MAXUINT;
    for (guint i = 0; i < n; i++) {
        guint slot = (guint)g_rand_int_range(rand, 0, 10);
        slot = slot < 6 ? 0 : slot < 9 ? 1 : 2;
        SimWork work = {.duration_ns = g_rand_int_range(rand, 0, 1000)};
        guint op = sim_template_add(t, slot, work, (guint)g_rand_int_range(rand, 0, 3));
        if (slot == 1) {
            sim_template_join(t, op, SIM_JOIN_ALL, 0, FALSE);
            if (last == G_MAXUINT || g_rand_int_range(rand, 0, 4) > 0)
                sim_template_wait_slot(t, op, 0);
            last = op;
        } else if (last != G_MAXUINT && g_rand_int_range(rand, 0, 3) > 0) {
            sim_template_wait_op(t, op, last);
        }
        if (i > 0 && g_rand_int_range(rand, 0, 8) == 0)
            sim_template_wait_op(t, op, (guint)g_rand_int_range(rand, 0, (gint32)i));
    }
    return t;
}

/* When ops of slots that are in no chain ended. */
static void
note_end(void *user, guint32 rank G_GNUC_UNUSED, guint slot, guint32 tag G_GNUC_UNUSED,
         guint call G_GNUC_UNUSED, gint64 start_ns, gint64 end_ns)
{
    if (slot != 2)
        return;
    g_array_append_val((GArray *)user, start_ns);
    g_array_append_val((GArray *)user, end_ns);
}

/* One rank, calls of random templates, as they are and in chains; returns the end and appends what is outside. */
static gint64
run_layers(guint32 seed, gboolean chained, Made *made, GArray *outside)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    g_autoptr(SimEngine) e = sim_engine_new();
    g_autoptr(SimProgram) program = sim_program_new();
    guint32 port = sim_engine_add_meetings(e, 1, 1);
    SimTemplate *templates[3];
    for (guint i = 0; i < G_N_ELEMENTS(templates); i++) {
        templates[i] = random_layers(rand, (guint)g_rand_int_range(rand, 1, 40));
        if (chained)
            chain(templates[i], made);
    }
    for (guint i = 0; i < 10; i++) {
        sim_program_call(program, templates[g_rand_int_range(rand, 0, 3)], 0, 0);
        if (i % 4 == 1)
            sim_program_wait(program, 2, 0, sim_program_launched(program, 0));
    }
    const SimProbe probe = {note_end, outside};
    sim_engine_set_probe(e, &probe);
    sim_engine_add_rank(e, program, &port, 1);
    GError *error = NULL;
    gboolean ok = sim_engine_run(e, NULL, NULL, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    gint64 end = sim_engine_rank_end(e, 0);
    for (guint i = 0; i < G_N_ELEMENTS(templates); i++)
        sim_template_free(templates[i]);
    return end;
}

static void
test_chains(void)
{
    Made made = {0};
    for (guint round = 0; round < 10000; round++) {
        guint32 seed = (guint32)g_test_rand_int();
        g_autoptr(GArray) x = g_array_new(FALSE, FALSE, sizeof(gint64));
        g_autoptr(GArray) y = g_array_new(FALSE, FALSE, sizeof(gint64));
        g_assert_cmpint(run_layers(seed, TRUE, &made, x), ==, run_layers(seed, FALSE, NULL, y));
        g_assert_cmpmem(x->data, x->len * sizeof(gint64), y->data, y->len * sizeof(gint64));
    }
    g_test_message("links %u; chains with links beside ops %u, forks %u, joins %u, links last %u",
                   made.others, made.beside, made.forks, made.joins, made.last);
    g_assert_cmpuint(made.others, >, 1000); /* or nothing was shown */
    g_assert_cmpuint(made.beside, >, 1000);
    g_assert_cmpuint(made.forks, >, 1000);
    g_assert_cmpuint(made.joins, >, 1000);
    g_assert_cmpuint(made.last, >, 1000);
}

/* Kernels of 10, 20, 30 and 40 ns, a collective of 5 ns behind the first and one of 7 ns behind the third, each waited
 * for by the next: one op of 112 ns. */
static void
test_one_chain(void)
{
    g_autoptr(SimTemplate) t = sim_template_new();
    Made made = {0};
    guint collective = G_MAXUINT;
    for (guint i = 1; i <= 4; i++) {
        guint kernel = sim_template_add(t, 0, (SimWork){.duration_ns = 10 * i}, 0);
        if (i == 1) /* what was before on the other slot is over */
            sim_template_wait_slot(t, kernel, 1);
        if (collective != G_MAXUINT)
            sim_template_wait_op(t, kernel, collective);
        if (i == 2)
            continue;
        collective = sim_template_add(t, 1, (SimWork){.duration_ns = 4 + i}, 1);
        sim_template_join(t, collective, SIM_JOIN_ALL, 0, FALSE);
        sim_template_wait_slot(t, collective, 0);
    }
    chain(t, &made);
    g_assert_cmpuint(made.others, ==, 2);
    g_assert_cmpuint(sim_template_n_ops(t), ==,
                     2); /* and the last collective, which nothing waits for */
    g_assert_cmpint(sim_template_work(t, 0).duration_ns, ==, 112);
    g_assert_cmpint(sim_template_work(t, 1).duration_ns, ==, 8);
}

static void
test_same_time(void)
{
    guint saved = 0;
    for (guint round = 0; round < 500; round++) {
        guint32 seed = (guint32)g_test_rand_int();
        gint64 ends[2][2];
        for (guint fused = 0; fused < 2; fused++) {
            g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
            SimTemplate *templates[3];
            guint order[12], before = 0, after = 0;
            for (guint i = 0; i < G_N_ELEMENTS(templates); i++) {
                templates[i] = random_template(rand, (guint)g_rand_int_range(rand, 1, 40));
                before += sim_template_n_ops(templates[i]);
                if (fused)
                    fuse(templates[i], seed % 2 == 0);
                after += sim_template_n_ops(templates[i]);
            }
            for (guint i = 0; i < G_N_ELEMENTS(order); i++)
                order[i] = (guint)g_rand_int_range(rand, 0, 3);
            run(templates, G_N_ELEMENTS(templates), order, G_N_ELEMENTS(order), ends[fused]);
            for (guint i = 0; i < G_N_ELEMENTS(templates); i++)
                sim_template_free(templates[i]);
            saved += before - after;
        }
        g_assert_cmpint(ends[0][0], ==, ends[1][0]);
        g_assert_cmpint(ends[0][1], ==, ends[1][1]);
    }
    g_assert_cmpuint(saved, >, 1000); /* or nothing was shown */
}

/* Five ops of 10, 20, 30, 40, 50 ns, the third waited for by another slot: 60 ns and 90 ns. */
static void
test_waited_for(void)
{
    g_autoptr(SimTemplate) t = sim_template_new();
    guint other = 0;
    for (guint i = 1; i <= 5; i++) {
        sim_template_add(t, 0, (SimWork){.duration_ns = 10 * i}, i);
        if (i != 3)
            continue;
        other = sim_template_add(t, 1, (SimWork){.duration_ns = 1}, 9);
        sim_template_wait_slot(t, other, 0);
    }
    fuse(t, TRUE);
    g_assert_cmpuint(sim_template_n_ops(t), ==, 3);
    g_assert_cmpint(sim_template_work(t, 0).duration_ns, ==, 60);
    g_assert_cmpint(sim_template_work(t, 1).duration_ns, ==, 1);
    g_assert_cmpint(sim_template_work(t, 2).duration_ns, ==, 90);
    g_assert_cmpuint(sim_template_slot(t, 1), ==, 1);
    g_assert_cmpuint(sim_template_tag(t, 1), ==, 9);
    g_assert_cmpuint(sim_template_tag(t, 2), ==, 4);
}

/* Unlike tags stay apart when they have to. */
static void
test_tags(void)
{
    g_autoptr(SimTemplate) t = sim_template_new();
    static const guint tags[] = {1, 1, 2, 2, 2, 1};
    for (guint i = 0; i < G_N_ELEMENTS(tags); i++)
        sim_template_add(t, 0, (SimWork){.duration_ns = 1}, tags[i]);
    fuse(t, FALSE);
    g_assert_cmpuint(sim_template_n_ops(t), ==, 3);
    g_assert_cmpint(sim_template_work(t, 1).duration_ns, ==, 3);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("A run of ops as one op changes no time.");
    g_test_add_func("/sim/fuse/random programs take the same time", test_same_time);
    g_test_add_func("/sim/fuse/what is waited for ends a run", test_waited_for);
    g_test_add_func("/sim/fuse/unlike tags", test_tags);
    g_test_add_func("/sim/fuse/random chains take the same time", test_chains);
    g_test_add_func("/sim/fuse/kernels and collectives in one chain", test_one_chain);
    return g_test_run();
}
