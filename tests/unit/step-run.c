/* One iteration with real costs: symmetry, determinism, sums, and what an op list must lead to. */
#include "config.h"

#include <string.h>

#include "step/step.h"

typedef struct {
    ClusterSystem *system;
    LlmShape *shape;
    CostBook *cost;
    NetBook *net;
} World;

static World
world_new(const char *model, const char *const *overrides)
{
    GError *error = NULL;
    World w = {0};
    w.system = cluster_system_load("dgx-a100-80g", overrides, &error);
    g_assert_no_error(error);
    w.shape = llm_shape_load(model, NULL, &error);
    g_assert_no_error(error);
    w.cost = cost_book_load(w.system, &error);
    g_assert_no_error(error);
    w.net = net_book_load(w.system, &error);
    g_assert_no_error(error);
    return w;
}

static void
world_clear(World *w)
{
    net_book_free(w->net);
    cost_book_free(w->cost);
    llm_shape_free(w->shape);
    cluster_system_free(w->system);
}

static StepResult *
run(const World *w, PlanSpec spec, gboolean all_ranks)
{
    GError *error = NULL;
    if (!spec.schedule)
        spec.schedule = spec.vpp > 1 ? "interleaved_megatron" : "1f1b";
    g_autoptr(Plan) plan = plan_new(&spec, w->shape, w->system, &error);
    g_assert_no_error(error);
    const ScheduleType *type = schedule_find(spec.schedule, &error);
    g_assert_no_error(error);
    ScheduleParams params = {.pp = (guint)plan->spec.pp,
                             .microbatches = (guint)plan->spec.microbatches,
                             .vpp = (guint)plan->spec.vpp,
                             .group = (guint)plan->spec.group};
    g_autoptr(Schedule) schedule = schedule_new(type, &params, &error);
    g_assert_no_error(error);
    StepOptions options = {.all_ranks = all_ranks};
    StepResult *r = step_run(plan, schedule, w->cost, w->net, &options, &error);
    g_assert_no_error(error);
    return r;
}

static PlanSpec
spec_of(gint64 tp, gint64 pp, gint64 dp, gint64 vpp, gint64 microbatches)
{
    PlanSpec spec = plan_spec_default();
    spec.tp = tp;
    spec.pp = pp;
    spec.dp = dp;
    spec.vpp = vpp;
    spec.sequence_parallel = tp > 1;
    spec.microbatches = microbatches;
    spec.global_batch = 0;
    spec.schedule = NULL;
    return spec;
}

static void
check_sums(const StepResult *r)
{
    gint64 sum = 0;
    for (guint kind = 0; kind < STEP_N_KINDS; kind++) {
        g_assert_cmpint(r->breakdown_ns[kind], >=, 0);
        sum += r->breakdown_ns[kind];
    }
    g_assert_cmpint(sum, ==, r->time_ns);
    g_assert_cmpfloat_with_epsilon(r->time_why->value, 1e-9 * (double)r->time_ns, 1e-9);
    g_assert_cmpfloat_with_epsilon(r->share[0] + r->share[1] + r->share[2], 1.0, 1e-9);
    for (guint i = 0; i < r->stages->len; i++) {
        const StepStage *s = &g_array_index(r->stages, StepStage, i);
        g_assert_cmpint(s->busy_ns + s->idle_ns, ==, r->makespan_ns);
        g_assert_cmpint(s->end_ns - s->start_ns, <=, r->max_span_ns);
        g_assert_cmpint(s->peak_bytes, <=, r->memory_peak_bytes);
    }
}

/* Plans on 8 to 32 GPUs where nodes cut groups in every way. */
static const struct {
    gint64 tp, pp, dp, vpp, microbatches;
} plans[] = {{8, 2, 2, 1, 4}, {4, 2, 2, 1, 4},  {2, 2, 4, 2, 4}, {1, 4, 4, 1, 8}, {8, 1, 2, 1, 2},
             {2, 4, 1, 4, 8}, {1, 1, 16, 1, 2}, {4, 2, 4, 2, 6}, {2, 4, 2, 1, 4}};

static void
check_symmetry(const char *const *overrides)
{
    World w = world_new("gpt3-6.7b", overrides);
    for (guint i = 0; i < G_N_ELEMENTS(plans); i++) {
        PlanSpec spec =
            spec_of(plans[i].tp, plans[i].pp, plans[i].dp, plans[i].vpp, plans[i].microbatches);
        g_autoptr(StepResult) few = run(&w, spec, FALSE);
        g_autoptr(StepResult) all = run(&w, spec, TRUE);
        g_test_message("tp %d pp %d dp %d vpp %d", (int)plans[i].tp, (int)plans[i].pp,
                       (int)plans[i].dp, (int)plans[i].vpp);
        g_assert_cmpint(few->time_ns, ==, all->time_ns);
        g_assert_cmpint(few->makespan_ns, ==, all->makespan_ns);
        g_assert_cmpuint(all->ranks_simulated, ==, all->ranks);
        g_assert_cmpuint(few->ranks_simulated, <=, all->ranks_simulated);
        check_sums(few);
        check_sums(all);
    }
    world_clear(&w);
}

static void
test_symmetry(void)
{
    g_test_summary("simulating one rank of each kind gives the time of simulating every rank");
    check_symmetry(NULL);
}

static void
test_symmetry_one_nic(void)
{
    g_test_summary("... also where ranks of several stages share one NIC");
    check_symmetry((const char *const[]){"nic.count=1", NULL});
}

static void
count_reductions(void *user, guint rank, const char *stream, const char *name, const char *kind,
                 gint64 stage, gint64 microbatch, gint64 start_ns, gint64 end_ns)
{
    (void)rank, (void)stream, (void)kind, (void)stage, (void)microbatch;
    (void)start_ns, (void)end_ns;
    *(guint *)user += g_str_equal(name, "grad_reduce_scatter");
}

static void
test_mixed_backwards(void)
{
    g_test_summary(
        "a stage with a B and an I, W pair reduces its gradients once: after the W, the last of both");
    World w = world_new("gpt3-6.7b", NULL);
    GError *error = NULL;
    PlanSpec spec = spec_of(1, 1, 2, 1, 2);
    spec.schedule = "mixed.csv";
    g_autoptr(Plan) plan = plan_new(&spec, w.shape, w.system, &error);
    g_assert_no_error(error);
    g_autoptr(Schedule) schedule = schedule_parse_csv("mixed.csv", "0F0,0F1,0I0,0B1,0W0", &error);
    g_assert_no_error(error);
    guint reductions = 0;
    StepOptions options = {.trace = count_reductions, .trace_user = &reductions};
    g_autoptr(StepResult) r = step_run(plan, schedule, w.cost, w.net, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(reductions, ==, r->ranks_simulated);
    world_clear(&w);
}

static void
test_determinism(void)
{
    g_test_summary("the same iteration twice is the same to the nanosecond");
    World w = world_new("gpt3-6.7b", NULL);
    PlanSpec spec = spec_of(2, 4, 2, 2, 8);
    g_autoptr(StepResult) x = run(&w, spec, FALSE);
    g_autoptr(StepResult) y = run(&w, spec, FALSE);
    g_assert_cmpint(x->time_ns, ==, y->time_ns);
    g_assert_cmpmem(x->breakdown_ns, sizeof x->breakdown_ns, y->breakdown_ns,
                    sizeof y->breakdown_ns);
    g_assert_cmpuint(x->events, ==, y->events);
    world_clear(&w);
}

static void
test_recompute(void)
{
    g_test_summary(
        "recompute takes time and saves memory: full more of both than selective than none");
    World w = world_new("gpt3-6.7b", NULL);
    gint64 time[3], memory[3];
    for (guint recompute = LLM_RECOMPUTE_NONE; recompute <= LLM_RECOMPUTE_FULL; recompute++) {
        PlanSpec spec = spec_of(4, 2, 1, 1, 8);
        spec.recompute = recompute;
        spec.attention = LLM_ATTENTION_UNFUSED;
        g_autoptr(StepResult) r = run(&w, spec, FALSE);
        time[recompute] = r->time_ns;
        memory[recompute] = r->memory_peak_bytes;
        g_assert_true((r->breakdown_ns[STEP_RECOMPUTE] > 0) == (recompute != LLM_RECOMPUTE_NONE));
    }
    g_assert_cmpint(time[0], <, time[1]);
    g_assert_cmpint(time[1], <, time[2]);
    g_assert_cmpint(memory[0], >, memory[1]);
    g_assert_cmpint(memory[1], >, memory[2]);
    world_clear(&w);
}

static void
test_bubble(void)
{
    g_test_summary("with many equal layers the bubble is near (P-1)/(M+P-1) of the makespan");
    World w = world_new("gpt3-13b", NULL);
    for (guint microbatches = 4; microbatches <= 32; microbatches *= 2) {
        PlanSpec spec = spec_of(4, 4, 1, 1, microbatches);
        spec.p2p = PLAN_P2P_IDEAL;
        g_autoptr(StepResult) r = run(&w, spec, FALSE);
        double closed = 3.0 / (microbatches + 3.0);
        g_assert_cmpfloat(r->bubble_fraction, >, closed * 0.75);
        g_assert_cmpfloat(r->bubble_fraction, <, closed * 1.25);
    }
    world_clear(&w);
}

static void
test_overlap(void)
{
    g_test_summary(
        "reducing gradients beside the backward is not slower than after it, and what is "
        "exposed shrinks");
    World w = world_new("gpt3-6.7b", NULL);
    PlanSpec spec = spec_of(1, 1, 32, 1, 4);
    spec.overlap_grad_reduce = spec.overlap_param_gather = TRUE;
    g_autoptr(StepResult) overlapped = run(&w, spec, FALSE);
    spec.overlap_grad_reduce = spec.overlap_param_gather = FALSE;
    g_autoptr(StepResult) plain = run(&w, spec, FALSE);
    g_assert_cmpint(overlapped->time_ns, <, plain->time_ns);
    g_assert_cmpint(overlapped->breakdown_ns[STEP_DP], <, plain->breakdown_ns[STEP_DP]);
    world_clear(&w);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/step/run/symmetric-ranks-stand-for-all", test_symmetry);
    g_test_add_func("/step/run/symmetric-ranks-share-a-nic", test_symmetry_one_nic);
    g_test_add_func("/step/run/mixed-backwards-reduce-once", test_mixed_backwards);
    g_test_add_func("/step/run/twice-the-same", test_determinism);
    g_test_add_func("/step/run/recompute-trades-time-for-memory", test_recompute);
    g_test_add_func("/step/run/bubble-is-near-the-closed-form", test_bubble);
    g_test_add_func("/step/run/overlap-hides-data-parallel-traffic", test_overlap);
    return g_test_run();
}
