/* What of the communication of context and experts is exposed, by hand: from durations of ops as they ran alone.
 * (The gather of token counts is left out: it runs beside the permutation, which is longer.) */
#include "config.h"

#include <string.h>

#include "step-fixture.h"

typedef struct {
    gint64 start_ns, end_ns;
} Ran;

typedef struct {
    GArray *compute, *context, *experts; /* of Ran, in order of ends */
} Ops;

static void
keep(void *user, guint rank, const char *stream, const char *name, const char *kind, gint64 stage,
     gint64 microbatch, gint64 start_ns, gint64 end_ns)
{
    Ops *ops = user;
    Ran ran = {start_ns, end_ns};
    (void)kind, (void)stage, (void)microbatch;
    if (rank != 0 || start_ns == end_ns)
        return;
    if (strcmp(stream, "compute") == 0)
        g_array_append_val(ops->compute, ran);
    else if (strcmp(stream, "context parallel") == 0)
        g_array_append_val(ops->context, ran);
    else if (strcmp(stream, "expert parallel") == 0 && strcmp(name, "expert_counts") != 0)
        g_array_append_val(ops->experts, ran);
}

static gint64
sum(const GArray *list)
{
    gint64 ns = 0;
    for (guint i = 0; i < list->len; i++)
        ns += g_array_index(list, Ran, i).end_ns - g_array_index(list, Ran, i).start_ns;
    return ns;
}

static StepResult *
run(const LlmShape *shape, const PlanSpec *spec, Ops *ops)
{
    g_autoptr(GError) error = NULL;
    /* what runs beside what, each as long as alone */
    Machine m = machine_new("dgx-h100", (const char *const[]){"gpu.overlap=off", NULL});
    ops->compute = g_array_new(FALSE, FALSE, sizeof(Ran));
    ops->context = g_array_new(FALSE, FALSE, sizeof(Ran));
    ops->experts = g_array_new(FALSE, FALSE, sizeof(Ran));
    StepOptions options = {.trace = keep, .trace_user = ops};
    StepResult *r = machine_run(&m, shape, spec, &options, NULL, NULL, &error);
    g_assert_no_error(error);
    machine_clear(&m);
    return r;
}

static void
ops_clear(Ops *ops)
{
    g_array_unref(ops->compute);
    g_array_unref(ops->context);
    g_array_unref(ops->experts);
}

/* Layers that keep a GPU busy for longer than its host takes to launch them. */
static LlmShape
large(LlmShape s, gint64 layers)
{
    s.layers = layers;
    s.hidden = 4096;
    s.heads = s.kv_heads = 32;
    s.head_dim = 128;
    s.ffn = 8192;
    s.expert_ffn = s.experts > 0 ? 8192 : 0;
    s.max_positions = 131072;
    return s;
}

static PlanSpec
plain_spec(gint64 cp, gint64 ep, gint64 dp, gint64 microbatches, gint64 seq)
{
    PlanSpec s = plan_spec_default();
    s.tp = s.pp = s.vpp = s.micro_batch = 1;
    s.cp = cp;
    s.ep = ep;
    s.dp = dp;
    s.seq = seq;
    s.microbatches = microbatches;
    s.global_batch = 0;
    s.recompute = LLM_RECOMPUTE_NONE;
    s.sequence_parallel = FALSE;
    s.overlap_grad_reduce = s.overlap_param_gather = FALSE; /* nothing else on the links */
    s.schedule = NULL;
    return s;
}

/* A step of the ring runs beside the attention that starts with it: the longer of the two counts. */
static gint64
ring_exposed(const Ops *ops)
{
    gint64 exposed = 0;
    for (guint i = 0; i < ops->context->len; i++) {
        Ran ring = g_array_index(ops->context, Ran, i);
        gboolean found = FALSE;
        for (guint k = 0; k < ops->compute->len && !found; k++) {
            Ran attention = g_array_index(ops->compute, Ran, k);
            found = attention.start_ns == ring.start_ns;
            if (found)
                exposed += MAX(0, ring.end_ns - attention.end_ns);
        }
        g_assert_true(found);
    }
    return exposed;
}

static void
test_short_attention(void)
{
    g_test_summary("a ring longer than its attention is exposed by the difference, exactly");
    Ops ops;
    LlmShape shape = large(shape_dense(), 1);
    PlanSpec spec = plain_spec(4, 1, 1, 1, 8192);
    g_autoptr(StepResult) r = run(&shape, &spec, &ops);
    g_assert_cmpuint(ops.context->len, ==, 3 + 4); /* cp-1 of keys forward, cp backward */
    gint64 exposed = ring_exposed(&ops);
    g_assert_cmpint(exposed, >, 0);
    g_assert_cmpint(exposed, <, sum(ops.context));
    g_assert_cmpint(r->breakdown_ns[STEP_CP], ==, exposed);
    ops_clear(&ops);
}

static void
test_long_attention(void)
{
    g_test_summary("a ring shorter than its attention costs nothing");
    Ops ops;
    LlmShape shape = large(shape_dense(), 1);
    PlanSpec spec = plain_spec(4, 1, 1, 1, 131072);
    g_autoptr(StepResult) r = run(&shape, &spec, &ops);
    g_assert_cmpint(sum(ops.context), >, 0);
    g_assert_cmpint(r->breakdown_ns[STEP_CP], ==, 0);
    ops_clear(&ops);
}

static void
test_exchanges_alone(void)
{
    g_test_summary("in plain 1F1B every exchange between experts is exposed in full");
    Ops ops;
    LlmShape shape = large(shape_moe(), 2);
    PlanSpec spec = plain_spec(1, 2, 2, 2, 4096);
    g_autoptr(StepResult) r = run(&shape, &spec, &ops);
    g_assert_cmpint(sum(ops.experts), >, 0);
    g_assert_cmpint(r->breakdown_ns[STEP_EP], ==, sum(ops.experts));
    ops_clear(&ops);
}

/* Two microbatches, no pipeline: F0, (F1; B0), B1. Exchanges take 2 (F + B) in all; those of the pair hide, which
 * leaves F + B, the half; and the pair itself takes the compute of F and B and nothing else, so the iteration
 * is shorter by the other half. */
static void
test_pair(gconstpointer data)
{
    g_test_summary("in a pair nothing of the exchanges is exposed that is shorter than the compute "
                   "beside it");
    Ops plain, paired;
    LlmShape shape = large(shape_moe(), 3);
    PlanSpec spec = plain_spec(1, 2, 2, 2, 4096);
    g_autoptr(StepResult) alone = run(&shape, &spec, &plain);
    spec.schedule = "interleaved_ep_overlap";
    spec.overlap_moe = TRUE;
    spec.delay_wgrad = data != NULL;
    g_autoptr(StepResult) r = run(&shape, &spec, &paired);
    gint64 all = sum(plain.experts);
    g_assert_cmpint(sum(paired.experts), ==, all);
    g_assert_cmpint(sum(paired.compute), ==, sum(plain.compute));
    g_assert_cmpint(alone->breakdown_ns[STEP_EP], ==, all);
    g_assert_cmpint(2 * r->breakdown_ns[STEP_EP], ==, all);
    g_assert_cmpint(2 * (alone->time_ns - r->time_ns), ==, all);
    ops_clear(&plain);
    ops_clear(&paired);
}

static void
test_unequal_pair(void)
{
    g_test_summary("stages of unequal depth and dense layers run all their ops in a pair");
    LlmShape shape = large(shape_moe(), 6);
    shape.dense_layers = 2;
    static const char *const schedules[] = {"dualpipev", "interleaved_ep_overlap"};
    for (guint i = 0; i < G_N_ELEMENTS(schedules); i++) {
        Ops plain, paired;
        PlanSpec spec = plain_spec(1, 2, 2, 8, 4096);
        spec.pp = spec.vpp = 2;
        spec.stage_layers = "1,2,2,1";
        g_autoptr(StepResult) alone = run(&shape, &spec, &plain);
        spec.schedule = schedules[i];
        spec.overlap_moe = i == 1;
        g_autoptr(StepResult) r = run(&shape, &spec, &paired);
        g_assert_cmpfloat_with_epsilon(r->hardware_flops, alone->hardware_flops, 1.0);
        g_assert_cmpint(r->breakdown_ns[STEP_EP], <, alone->breakdown_ns[STEP_EP]);
        ops_clear(&plain);
        ops_clear(&paired);
    }
}

/* --- one rank of each kind ---------------------------------------------------------------------- */

static const struct {
    gint64 tp, pp, dp, cp, ep, etp, shard, vpp;
    LlmDispatch dispatch;
    LlmCpKind context;
    const char *schedule;
} grids[] = {
    {1, 2, 4, 2, 8, 0, 0, 1, LLM_DISPATCH_ALL_TO_ALL, LLM_CP_P2P, NULL},
    {2, 2, 3, 2, 4, 1, 0, 1, LLM_DISPATCH_ALL_TO_ALL, LLM_CP_ALL_GATHER, NULL},
    {1, 1, 6, 4, 8, 0, 0, 1, LLM_DISPATCH_FLEX, LLM_CP_A2A, NULL},
    {2, 1, 4, 4, 4, 2, 0, 1, LLM_DISPATCH_ALL_GATHER, LLM_CP_P2P, NULL},
    {4, 2, 6, 1, 4, 2, 0, 2, LLM_DISPATCH_ALL_TO_ALL, LLM_CP_P2P, NULL},
    {1, 2, 12, 1, 4, 0, 4, 1, LLM_DISPATCH_ALL_TO_ALL, LLM_CP_P2P, NULL},
    {1, 2, 16, 1, 8, 0, 8, 1, LLM_DISPATCH_FLEX, LLM_CP_P2P, "dualpipe"},
    {1, 2, 4, 2, 8, 0, 0, 2, LLM_DISPATCH_ALL_TO_ALL, LLM_CP_P2P, "interleaved_ep_overlap"},
    {1, 3, 4, 2, 4, 0, 0, 1, LLM_DISPATCH_ALL_TO_ALL, LLM_CP_P2P, NULL},
};

static void
same_links(const StepResult *few, const StepResult *all)
{
    for (guint i = 0; i < all->stages->len; i++) {
        const StepStage *a = &g_array_index(few->stages, StepStage, i);
        const StepStage *b = &g_array_index(all->stages, StepStage, i);
        g_assert_cmpfloat_with_epsilon(a->nvlink_bytes, b->nvlink_bytes, 1e-9 * b->nvlink_bytes);
        g_assert_cmpfloat_with_epsilon(a->nic_bytes, b->nic_bytes, 1e-9 * b->nic_bytes);
    }
}

static void
check_grids(const char *const *overrides)
{
    Machine m = machine_new("dgx-a100-80g", overrides);
    LlmShape shape = shape_moe();
    shape.layers = 12;
    for (guint i = 0; i < G_N_ELEMENTS(grids); i++) {
        g_autoptr(GError) error = NULL;
        PlanSpec spec = plain_spec(grids[i].cp, grids[i].ep, grids[i].dp, 8, 512);
        spec.tp = grids[i].tp;
        spec.sequence_parallel = grids[i].tp > 1;
        spec.pp = grids[i].pp;
        spec.vpp = grids[i].vpp;
        spec.etp = grids[i].etp;
        spec.shard_size = grids[i].shard;
        spec.dispatch = grids[i].dispatch;
        spec.cp_kind = grids[i].context;
        spec.schedule = grids[i].schedule;
        StepOptions every = {.all_ranks = TRUE};
        g_autoptr(StepResult) few = machine_run(&m, &shape, &spec, NULL, NULL, NULL, &error);
        g_assert_no_error(error);
        g_autoptr(StepResult) all = machine_run(&m, &shape, &spec, &every, NULL, NULL, &error);
        g_assert_no_error(error);
        g_test_message("grid %u: %u of %u ranks", i, few->ranks_simulated, all->ranks_simulated);
        g_assert_cmpuint(all->ranks_simulated, ==, all->ranks);
        g_assert_cmpuint(few->ranks_simulated, <=, all->ranks_simulated);
        g_test_message("grid %u: %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT, i, few->time_ns,
                       all->time_ns);
        g_assert_cmpint(few->time_ns, ==, all->time_ns);
        g_assert_cmpint(few->makespan_ns, ==, all->makespan_ns);
        g_assert_cmpint(few->memory_peak_bytes, ==, all->memory_peak_bytes);
        same_links(few, all);
    }
    machine_clear(&m);
}

static void
test_symmetry(void)
{
    g_test_summary(
        "one rank of each kind gives the time and the links of every rank, with groups of every kind");
    check_grids(NULL);
}

static void
test_symmetry_one_nic(void)
{
    g_test_summary("... also where groups of several kinds share one NIC");
    check_grids((const char *const[]){"nic.count=1", NULL});
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/step/exposed/ring-longer-than-attention", test_short_attention);
    g_test_add_func("/step/exposed/ring-shorter-than-attention", test_long_attention);
    g_test_add_func("/step/exposed/exchanges-in-1f1b", test_exchanges_alone);
    g_test_add_data_func("/step/exposed/exchanges-in-a-pair", NULL, test_pair);
    g_test_add_data_func("/step/exposed/exchanges-in-a-pair-delayed", "", test_pair);
    g_test_add_func("/step/exposed/unequal-pairs", test_unequal_pair);
    g_test_add_func("/step/exposed/symmetric-grids", test_symmetry);
    g_test_add_func("/step/exposed/symmetric-grids-one-nic", test_symmetry_one_nic);
    return g_test_run();
}
