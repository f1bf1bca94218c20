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

/* --- whole iterations --------------------------------------------------------------------------------------- */

typedef struct {
    const char *what;
    gint64 pp, dp, vpp;
    gboolean sequence_parallel, tp_overlap;
    LlmRecompute recompute;
    const char *schedule;
    gboolean gpt;
} Layout;

/* A tensor-parallel group is a node: nothing else goes through its ports, so its collectives are in chains. */
static const Layout layouts[] = {
    {"one node", 1, 1, 1, FALSE, FALSE, LLM_RECOMPUTE_NONE, NULL, FALSE},
    {"replicas", 1, 2, 1, FALSE, FALSE, LLM_RECOMPUTE_NONE, NULL, FALSE},
    {"sequences cut", 1, 2, 1, TRUE, FALSE, LLM_RECOMPUTE_SELECTIVE, NULL, TRUE},
    {"collectives in pieces", 2, 2, 1, TRUE, TRUE, LLM_RECOMPUTE_NONE, NULL, FALSE},
    {"stages", 4, 2, 1, TRUE, FALSE, LLM_RECOMPUTE_FULL, NULL, TRUE},
    {"stages in turns", 2, 2, 2, TRUE, FALSE, LLM_RECOMPUTE_NONE, NULL, FALSE},
    {"weight gradients apart", 4, 1, 1, TRUE, FALSE, LLM_RECOMPUTE_NONE, "zb_h1", FALSE},
};

/* Kernels are longer than their launches. */
static LlmShape
shape_of(gboolean gpt)
{
    LlmShape s = gpt ? shape_gpt() : shape_dense();
    s.hidden = 8192;
    s.heads = s.kv_heads = 64;
    s.head_dim = 128;
    s.ffn = 4 * s.hidden;
    s.max_positions = s.position_rows = 2048;
    if (!gpt)
        s.position_rows = 0;
    return s;
}

static PlanSpec
spec_of_layout(const Layout *l)
{
    PlanSpec spec = plan_spec_default();
    spec.tp = 8;
    spec.pp = l->pp;
    spec.dp = l->dp;
    spec.vpp = l->vpp;
    spec.sequence_parallel = l->sequence_parallel;
    spec.tp_overlap = l->tp_overlap;
    spec.recompute = l->recompute;
    spec.schedule = l->schedule;
    spec.microbatches = 8;
    spec.seq = 2048;
    return spec;
}

static StepResult *
run_layout(const Machine *m, const Layout *l, const StepOptions *options)
{
    GError *error = NULL;
    LlmShape shape = shape_of(l->gpt);
    PlanSpec spec = spec_of_layout(l);
    StepResult *r = machine_run(m, &shape, &spec, options, NULL, NULL, &error);
    g_assert_no_error(error);
    return r;
}

static double
link_bytes(const StepResult *r, const char *kind)
{
    double bytes = 0;
    for (guint i = 0; i < r->links->len; i++) {
        const StepLink *link = &g_array_index(r->links, StepLink, i);
        if (strcmp(link->kind, kind) == 0)
            bytes += link->bytes * (double)link->alike;
    }
    return bytes;
}

static gint64
sum_parts(const StepResult *r)
{
    gint64 sum_ns = 0;
    for (guint kind = 0; kind < STEP_N_KINDS; kind++) {
        g_assert_cmpint(r->breakdown_ns[kind], >=, 0);
        sum_ns += r->breakdown_ns[kind];
    }
    return sum_ns;
}

static void
check_bytes(double x, double y)
{
    g_assert_cmpfloat(ABS(x - y), <=, 1e-9 * y);
}

static void
check_alike(const StepResult *chained, const StepResult *plain)
{
    g_assert_cmpint(sum_parts(chained), ==, chained->time_ns);
    check_bytes(link_bytes(chained, "nvlink"), link_bytes(plain, "nvlink"));
    g_assert_cmpfloat(link_bytes(plain, "nvlink"), >, 0);
    check_bytes(link_bytes(chained, "nic"), link_bytes(plain, "nic"));
    for (guint i = 0; i < plain->stages->len; i++) {
        const StepStage *x = &g_array_index(chained->stages, StepStage, i);
        const StepStage *y = &g_array_index(plain->stages, StepStage, i);
        check_bytes(x->nvlink_bytes, y->nvlink_bytes);
        g_assert_cmpuint(x->traffic->len, ==, y->traffic->len);
        for (guint k = 0; k < y->traffic->len; k++) {
            const StepTraffic *a = &g_array_index(x->traffic, StepTraffic, k);
            const StepTraffic *b = &g_array_index(y->traffic, StepTraffic, k);
            g_assert_cmpstr(a->name, ==, b->name);
            g_assert_cmpuint(a->count, ==, b->count);
            g_assert_cmpfloat(a->sent_bytes, ==, b->sent_bytes);
        }
    }
}

/* Where the path's time goes is told op by op, and of a chain in proportion to what its links account for. */
static void
check_parts(const StepResult *chained, const StepResult *plain)
{
    for (guint kind = 0; kind < STEP_N_KINDS; kind++)
        g_assert_cmpint(ABS(chained->breakdown_ns[kind] - plain->breakdown_ns[kind]), <=,
                        plain->time_ns / 200);
}

/* Noise that never strikes: chains take what their links take, to the nanosecond where nothing else runs beside them
 * or nothing slows anything. Reductions of gradients slow a chain as they would its longest kernel, not each by its
 * kind, nor its collectives: within a quarter of a percent. What goes through links is the same. */
static void
test_nothing_wrong(void)
{
    static const char *const off[] = {"gpu.overlap=off", NULL};
    g_autoptr(StepNoise) nothing = step_noise_new();
    gboolean ok = step_noise_parse_daemons(nothing, "gpu:1ns/20000h", NULL);
    g_assert_true(ok);
    for (guint overlap = 0; overlap < 2; overlap++) {
        Machine m = machine_new("dgx-a100-80g", overlap == 0 ? off : NULL);
        for (guint i = 0; i < G_N_ELEMENTS(layouts); i++) {
            const StepOptions as_chains = {.noise = nothing, .fused = TRUE};
            const StepOptions as_ops = {.noise = NULL};
            g_autoptr(StepResult) chained = run_layout(&m, &layouts[i], &as_chains);
            g_autoptr(StepResult) plain = run_layout(&m, &layouts[i], &as_ops);
            gint64 late_ns = chained->time_ns - plain->time_ns;
            gint64 most_ns = overlap == 1 && layouts[i].dp > 1 ? plain->time_ns / 400 : 0;
            g_test_message("%s: chains %+" G_GINT64_FORMAT " ns", layouts[i].what, late_ns);
            g_assert_cmpuint(chained->ops / chained->ranks_simulated, <,
                             plain->ops / plain->ranks_simulated);
            g_assert_cmpint(ABS(late_ns), <=, most_ns);
            check_alike(chained, plain);
            check_parts(chained, plain);
        }
        machine_clear(&m);
    }
}

static StepSamples *
draw(const Machine *m, const Plan *plan, const Schedule *schedule, const StepOptions *options,
     guint threads)
{
    GError *error = NULL;
    StepSamples *s =
        step_samples_run(plan, schedule, m->cost, m->net, options, 4, threads, NULL, NULL, &error);
    g_assert_no_error(error);
    return s;
}

/* Samples in chains are the same in one thread, in three and alone; and those of all ranks, in ops where nothing is
 * jittered (runs of kernels draw otherwise), within a share of the time: what lanes differ by (step/pace.c), of which
 * messages that leave when the slowest member is there are the most. */
static void
check_samples(const Machine *m, const Layout *l, StepNoise *noise, double frac)
{
    Plan *plan = NULL;
    Schedule *schedule = NULL;
    LlmShape shape = shape_of(l->gpt);
    PlanSpec spec = spec_of_layout(l);
    GError *error = NULL;
    g_autoptr(StepResult) first = machine_run(m, &shape, &spec, NULL, &plan, &schedule, &error);
    g_assert_no_error(error);
    StepOptions options = {.noise = noise, .fused = TRUE};
    StepOptions every = {.noise = noise, .fused = noise->jitter_frac > 0, .all_ranks = TRUE};
    g_autoptr(StepSamples) one = draw(m, plan, schedule, &options, 1);
    g_autoptr(StepSamples) three = draw(m, plan, schedule, &options, 3);
    g_autoptr(StepSamples) all = draw(m, plan, schedule, &every, 2);
    for (guint i = 0; i < one->n; i++) {
        noise->sample = i + 1;
        g_autoptr(StepResult) alone = step_run(plan, schedule, m->cost, m->net, &options, &error);
        g_assert_no_error(error);
        gint64 time_ns = one->samples[i].time_ns, of_all_ns = all->samples[i].time_ns;
        g_assert_cmpmem(&one->samples[i], sizeof(StepSample), &three->samples[i],
                        sizeof(StepSample));
        g_assert_cmpint(alone->time_ns, ==, time_ns);
        g_assert_cmpint(sum_parts(alone), ==, time_ns);
        g_test_message("%s: %+.5f", l->what, (double)time_ns / (double)of_all_ns - 1);
        g_assert_cmpfloat(ABS((double)time_ns / (double)of_all_ns - 1), <=, frac);
        g_assert_cmpint(time_ns, >, first->time_ns);
    }
    schedule_free(schedule);
    plan_free(plan);
}

static void
test_samples(void)
{
    static const struct {
        double spread_frac, jitter_frac;
        const char *slow;
        double frac; /* of the time that lanes in chains may differ from all ranks by */
    } cases[] = {{0.03, 0, NULL, 0.002}, {0, 0.02, NULL, 0.002}, {0.02, 0.01, "gpu:5=1.4", 0.005}};
    Machine m = machine_new("dgx-a100-80g", NULL);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(StepNoise) noise = step_noise_new();
        noise->gpu_spread_frac = cases[i].spread_frac;
        noise->jitter_frac = cases[i].jitter_frac;
        noise->seed = 5;
        gboolean ok = !cases[i].slow || step_noise_parse_slow(noise, cases[i].slow, NULL);
        g_assert_true(ok);
        check_samples(&m, &layouts[0], noise, cases[i].frac);
        check_samples(&m, &layouts[3], noise, cases[i].frac);
    }
    machine_clear(&m);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("A chain of kernels and collectives is what the engine makes of them.");
    g_test_add_func("/step/chain/random chains run as in the engine", test_engine);
    g_test_add_func("/step/chain/a kernel and a collective slow each other", test_two);
    g_test_add_func("/step/chain/shares are all of a chain", test_shares);
    g_test_add_func("/step/chain/nothing wrong changes nothing", test_nothing_wrong);
    g_test_add_func("/step/chain/samples are those of all ranks", test_samples);
    return g_test_run();
}
