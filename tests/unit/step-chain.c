/* Chains as they run: random ones take, link by link, what the engine makes of the same ops with the same speeds; what
 * their links account for adds up; and whole iterations in chains are those without. */
#include "config.h"

#include "step/chain.h"

#include "sim/engine.h"
#include "step/samples.h"

#include "step-fixture.h"

/* --- one chain --------------------------------------------------------------------------------------------- */

enum { KERNEL_KINDS = 4, MOST = 40 }; /* kinds below are kernels' */

typedef struct {
    StepBuild b;
    StepOp op;
    StepSpeeds speeds;
    gint64 *paced_ns; /* [n] what each link takes alone, as drawn */
    gint64 *ends_ns;  /* [n] as the chain runs */
} Chain;

static void
chain_clear(Chain *c)
{
    g_array_unref(c->b.chain_links);
    g_free(c->paced_ns);
    g_free(c->ends_ns);
}

/* Any order of kernels and collectives, each waiting for any number of the others before it. */
static Chain
random_chain(GRand *rand, guint n, gboolean disturbed)
{
    Chain c = {.op = {.n_links = n}, .paced_ns = g_new(gint64, n), .ends_ns = g_new(gint64, n)};
    guint count[2] = {0, 0}, after[2] = {0, 0};
    c.b.chain_links = g_array_new(FALSE, FALSE, sizeof(StepLinkOfChain));
    for (guint i = 0; i < n; i++) {
        gboolean collective = i > 0 && g_rand_int_range(rand, 0, 5) < 2;
        guint kind = (guint)g_rand_int_range(rand, 0, KERNEL_KINDS);
        if (g_rand_boolean(rand))
            after[collective] = (guint)g_rand_int_range(rand, (gint32)after[collective],
                                                        (gint32)count[!collective] + 1);
        StepLinkOfChain link = {.collective = collective,
                                .after = after[collective],
                                .work_kind =
                                    collective && kind > 0 ? kind + KERNEL_KINDS - 1 : kind,
                                .duration_ns = g_rand_int_range(rand, 0, 1000)};
        if (g_rand_int_range(rand, 0, 10) == 0)
            link.duration_ns = 0;
        c.paced_ns[i] = link.duration_ns > 0 ? g_rand_int_range(rand, 1, 1500) : 0;
        g_array_append_val(c.b.chain_links, link);
        count[collective]++;
    }
    for (guint x = 0; x < SIM_KINDS; x++)
        for (guint y = 0; y < SIM_KINDS; y++)
            c.speeds.of[x][y] = 1;
    for (guint x = 1; x < KERNEL_KINDS && disturbed; x++)
        for (guint y = KERNEL_KINDS; y < SIM_KINDS - 1; y++) {
            c.speeds.of[x][y] = g_rand_double_range(rand, 0.3, 1);
            c.speeds.of[y][x] = g_rand_double_range(rand, 0.3, 1);
        }
    return c;
}

static gint64
begin_paced(void *user, guint link, gint64 now_ns G_GNUC_UNUSED, gint64 over_ns)
{
    g_assert_cmpint(over_ns, <=, now_ns);
    return ((const Chain *)user)->paced_ns[link];
}

static void
end_noted(void *user, guint link, gint64 start_ns, gint64 end_ns, gint64 late_ns)
{
    Chain *c = user;
    c->ends_ns[link] = end_ns;
    g_assert_cmpint(late_ns, ==, end_ns - start_ns - c->paced_ns[link]);
    g_assert_cmpint(late_ns, >=, 0);
}

static gint64
run_chain(Chain *c, gint64 start_ns)
{
    const StepChainRun run = {begin_paced, end_noted, c};
    return step_chain_run(&c->b, &c->op, &c->speeds, start_ns, &run);
}

/* The engine tells what each op takes when it begins, and when it has ended. */
static gint64
engine_pace(void *user, guint32 rank G_GNUC_UNUSED, guint slot G_GNUC_UNUSED, guint32 tag,
            guint call G_GNUC_UNUSED, gint64 start_ns G_GNUC_UNUSED, gint64 ns G_GNUC_UNUSED)
{
    return ((const Chain *)user)->paced_ns[tag];
}

typedef struct {
    const Chain *chain;
    guint n_seen, n_disturbed;
} Seen;

static void
engine_op(void *user, guint32 rank G_GNUC_UNUSED, guint slot G_GNUC_UNUSED, guint32 tag,
          guint call G_GNUC_UNUSED, gint64 start_ns, gint64 end_ns)
{
    Seen *seen = user;
    g_assert_cmpint(end_ns, ==, seen->chain->ends_ns[tag]);
    seen->n_seen++;
    seen->n_disturbed += end_ns - start_ns != seen->chain->paced_ns[tag];
}

/* The same ops on two streams of a rank. */
static gint64
run_engine(const Chain *c, Seen *seen)
{
    g_autoptr(SimEngine) e = sim_engine_new();
    g_autoptr(SimTemplate) t = sim_template_new();
    g_autoptr(SimProgram) program = sim_program_new();
    guint ops[2][MOST], n[2] = {0, 0};
    GError *error = NULL;
    for (guint i = 0; i < c->op.n_links; i++) {
        const StepLinkOfChain *link = step_chain_link(&c->b, &c->op, i);
        guint side = link->collective ? 1 : 0;
        SimWork work = {.duration_ns = link->duration_ns, .kind = link->work_kind};
        guint op = sim_template_add(t, side, work, i);
        if (link->after > 0)
            sim_template_wait_op(t, op, ops[1 - side][link->after - 1]);
        ops[side][n[side]++] = op;
    }
    sim_program_call(program, t, 0, 0);
    for (guint x = 0; x < SIM_KINDS; x++)
        for (guint y = 0; y < SIM_KINDS; y++)
            if (c->speeds.of[x][y] < 1)
                sim_engine_set_interference(e, x, y, c->speeds.of[x][y]);
    const SimPace pace = {engine_pace, (gpointer)c};
    const SimProbe probe = {engine_op, seen};
    sim_engine_set_pace(e, &pace);
    sim_engine_set_probe(e, &probe);
    sim_engine_add_rank(e, program, NULL, 0);
    gboolean ok = sim_engine_run(e, NULL, NULL, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    return sim_engine_now(e);
}

static void
test_engine(void)
{
    Seen seen = {NULL, 0, 0};
    g_autoptr(GRand) rand = g_rand_new_with_seed((guint32)g_test_rand_int());
    for (guint round = 0; round < 5000; round++) {
        Chain c = random_chain(rand, (guint)g_rand_int_range(rand, 1, MOST + 1), round % 4 > 0);
        guint before = seen.n_seen;
        seen.chain = &c;
        gint64 end_ns = run_chain(&c, 0);
        g_assert_cmpint(run_engine(&c, &seen), ==, end_ns);
        g_assert_cmpuint(seen.n_seen - before, ==, c.op.n_links);
        g_assert_cmpint(run_chain(&c, 123456789), ==, end_ns + 123456789);
        chain_clear(&c);
    }
    g_assert_cmpuint(seen.n_disturbed, >, 10000); /* or nothing was shown */
}

/* A kernel of 1000 ns, and from its beginning a collective of 300 ns, at speeds 1/2 and 3/4 beside each other: the
 * collective takes 400 ns, in which the kernel does 200 of its own; it ends after 400 + 800 = 1200 ns. */
static void
test_two(void)
{
    const StepLinkOfChain links[] = {{.work_kind = 1, .duration_ns = 1000},
                                     {.collective = TRUE, .work_kind = 4, .duration_ns = 300}};
    Chain c = {.op = {.n_links = 2}, .paced_ns = g_new(gint64, 2), .ends_ns = g_new(gint64, 2)};
    c.b.chain_links = g_array_new(FALSE, FALSE, sizeof(StepLinkOfChain));
    g_array_append_vals(c.b.chain_links, links, 2);
    c.paced_ns[0] = 1000;
    c.paced_ns[1] = 300;
    c.speeds.of[1][4] = 0.5;
    c.speeds.of[4][1] = 0.75;
    g_assert_cmpint(run_chain(&c, 7), ==, 1207);
    g_assert_cmpint(c.ends_ns[1], ==, 407);
    gint64 shares_ns[2];
    step_chain_shares(&c.b, &c.op, &c.speeds, shares_ns);
    g_assert_cmpint(shares_ns[0], ==, 1200);
    g_assert_cmpint(shares_ns[1], ==, 0); /* beside the kernel all the time */
    chain_clear(&c);
}

/* Shares are all of a chain, of short ones and of thousands of links, and none is below nothing. */
static void
test_shares(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed((guint32)g_test_rand_int());
    for (guint round = 0; round < 2000; round++) {
        guint n = (guint)g_rand_int_range(rand, 1, round % 100 == 0 ? 3000 : MOST);
        Chain c = random_chain(rand, n, round % 2 > 0);
        g_autofree gint64 *shares_ns = g_new(gint64, n);
        gint64 sum_ns = 0;
        for (guint i = 0; i < n; i++)
            c.paced_ns[i] = step_chain_link(&c.b, &c.op, i)->duration_ns;
        step_chain_shares(&c.b, &c.op, &c.speeds, shares_ns);
        for (guint i = 0; i < n; i++) {
            g_assert_cmpint(shares_ns[i], >=, 0);
            sum_ns += shares_ns[i];
        }
        g_assert_cmpint(sum_ns, ==, run_chain(&c, 0));
        chain_clear(&c);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("A chain of kernels and collectives is what the engine makes of them.");
    g_test_add_func("/step/chain/random chains run as in the engine", test_engine);
    g_test_add_func("/step/chain/a kernel and a collective slow each other", test_two);
    g_test_add_func("/step/chain/shares are all of a chain", test_shares);
    return g_test_run();
}
