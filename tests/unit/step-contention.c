/* Iterations on fabrics that are too small for all that use them at once: simulating one rank of each kind says the same
 * as all ranks do, links carry what arithmetic says, and what is alone takes its own time. */
#include "config.h"

#include "step-record.h"

#include "net/routes.h"

#include <string.h>

typedef struct {
    const char *name;
    const char *overrides[7];
} Fabric;

static const Fabric fabrics[] = {
    {"ideal", {"fabric.kind=ideal"}},
    {"fat tree", {"fabric.kind=fat-tree", "fabric.leaf-nodes=2"}},
    {"fat tree 4:1",
     {"fabric.kind=fat-tree", "fabric.leaf-nodes=2", "fabric.oversubscription=4:1"}},
    {"rails 3:1", {"fabric.kind=rail", "fabric.leaf-nodes=2", "fabric.oversubscription=3:1"}},
    {"three levels",
     {"fabric.kind=fat-tree", "fabric.levels=3", "fabric.leaf-nodes=1", "fabric.pod-leaves=2",
      "fabric.oversubscription=2:1", "fabric.spine-oversubscription=2:1"}},
    {"dragonfly",
     {"fabric.kind=dragonfly", "fabric.leaf-nodes=1", "fabric.pod-leaves=2",
      "fabric.oversubscription=2:1", "fabric.spine-oversubscription=2:1"}},
    {"torus", {"fabric.kind=torus", "fabric.dimensions=2x2x4"}},
    {"one card a node",
     {"fabric.kind=fat-tree", "fabric.leaf-nodes=2", "fabric.oversubscription=2:1", "nic.count=1"}},
    {"PCIe",
     {"fabric.kind=fat-tree", "fabric.leaf-nodes=2", "node.link=pcie", "node.sockets=2",
      "node.pcie-switch-gpus=2"}},
};

typedef struct {
    const char *name;
    gint64 tp, pp, dp, cp, ep, vpp, zero;
    gboolean experts;
    const char *order, *allocation, *hostfile;
} Job;

static const Job jobs[] = {
    {.name = "data", .tp = 1, .pp = 1, .dp = 64, .cp = 1, .ep = 1, .vpp = 1},
    {.name = "data and tensor", .tp = 4, .pp = 1, .dp = 16, .cp = 1, .ep = 1, .vpp = 1, .zero = 1},
    {.name = "pipeline", .tp = 4, .pp = 4, .dp = 4, .cp = 1, .ep = 1, .vpp = 1, .zero = 1},
    {.name = "interleaved", .tp = 2, .pp = 4, .dp = 8, .cp = 1, .ep = 1, .vpp = 2, .zero = 1},
    {.name = "context", .tp = 2, .pp = 2, .dp = 4, .cp = 4, .ep = 1, .vpp = 1, .zero = 1},
    {.name = "experts",
     .tp = 1,
     .pp = 2,
     .dp = 32,
     .cp = 1,
     .ep = 8,
     .vpp = 1,
     .zero = 1,
     .experts = TRUE},
    {.name = "pipeline in nodes",
     .tp = 2,
     .pp = 4,
     .dp = 8,
     .cp = 1,
     .ep = 1,
     .vpp = 1,
     .zero = 1,
     .order = "tp-pp-dp"},
    {.name = "on nodes here and there",
     .tp = 4,
     .pp = 2,
     .dp = 4,
     .cp = 1,
     .ep = 1,
     .vpp = 1,
     .zero = 1,
     .allocation = "fragmented:1"},
    {.name = "6 of 8 GPUs",
     .tp = 2,
     .pp = 2,
     .dp = 6,
     .cp = 1,
     .ep = 1,
     .vpp = 1,
     .zero = 1,
     .hostfile = "a slots=6\nb slots=6\nc slots=6\nd slots=6\n"},
};

static PlanSpec
job_spec(const Job *job)
{
    PlanSpec spec = plan_spec_default();
    spec.tp = job->tp;
    spec.pp = job->pp;
    spec.dp = job->dp;
    spec.cp = job->cp;
    spec.ep = job->ep;
    spec.vpp = job->vpp;
    spec.zero = job->zero;
    spec.microbatches = job->pp > 1 ? 4 : 1;
    spec.global_batch = 0;
    spec.sequence_parallel = job->tp > 1;
    spec.order = job->order;
    spec.allocation = job->allocation;
    spec.fabric_nodes = job->allocation != NULL ? 8 : 0;
    spec.hostfile = job->hostfile;
    spec.schedule = NULL;
    return spec;
}

static StepResult *
run_job(const Machine *m, const Job *job, const StepOptions *options)
{
    GError *error = NULL;
    LlmShape shape = job->experts ? shape_moe() : shape_dense();
    PlanSpec spec = job_spec(job);
    StepResult *r = machine_run(m, &shape, &spec, options, NULL, NULL, &error);
    g_assert_no_error(error);
    return r;
}

/* Bytes over all links of a kind. */
static double
sum_of(const StepResult *r, const char *kind)
{
    double sum = 0;
    for (guint i = 0; i < r->links->len; i++) {
        const StepLink *link = &g_array_index(r->links, StepLink, i);
        if (kind == NULL || strcmp(link->kind, kind) == 0)
            sum += (double)link->alike * link->bytes;
    }
    return sum;
}

static void
test_representatives(void)
{
    for (guint f = 0; f < G_N_ELEMENTS(fabrics); f++)
        for (guint j = 0; j < G_N_ELEMENTS(jobs); j++) {
            Machine m = tiny_new(fabrics[f].overrides);
            const StepOptions every = {.all_ranks = TRUE, .ranks = STEP_RANKS_ALL};
            g_autoptr(StepResult) some = run_job(&m, &jobs[j], NULL);
            g_autoptr(StepResult) all = run_job(&m, &jobs[j], &every);
            g_test_message("%s on %s: %u of %u ranks, %" G_GINT64_FORMAT " ns", jobs[j].name,
                           fabrics[f].name, some->ranks_simulated, some->ranks, all->time_ns);
            g_assert_cmpuint(all->ranks_simulated, ==, all->ranks);
            g_assert_cmpint(some->time_ns, ==, all->time_ns);
            for (guint kind = 0; kind < STEP_N_KINDS; kind++)
                g_assert_cmpint(some->breakdown_ns[kind], ==, all->breakdown_ns[kind]);
            for (guint i = 0; i < all->links->len; i++) {
                const char *kind = g_array_index(all->links, StepLink, i).kind;
                double x = sum_of(some, kind), y = sum_of(all, kind);
                g_assert_cmpfloat(x, <=, y * (1 + 1e-6));
                g_assert_cmpfloat(x, >=, y * (1 - 1e-6));
            }
            machine_clear(&m);
        }
}

/* A ring over 8 nodes, two below each leaf: every second of its hops goes over two leaf links, up and down. Four stages
 * of a node each, two below each leaf: of three boundaries the middle one does. */
static void
test_bytes(void)
{
    static const struct {
        Job job;
        const char *overrides[5];
        double part; /* of all bytes of cards, out and in, that leaf links carry, up and down */
    } cases[] = {
        {{.tp = 1, .pp = 1, .dp = 64, .cp = 1, .ep = 1, .vpp = 1, .zero = 1},
         {"fabric.kind=fat-tree", "fabric.leaf-nodes=2", "fabric.oversubscription=2:1",
          "nccl.algo=ring"},
         1.0 / 2},
        {{.tp = 1, .pp = 1, .dp = 64, .cp = 1, .ep = 1, .vpp = 1, .zero = 1},
         {"fabric.kind=rail", "fabric.leaf-nodes=4", "nccl.algo=ring"},
         1.0 / 4},
        {{.tp = 4, .pp = 4, .dp = 2, .cp = 1, .ep = 1, .vpp = 1, .zero = 1},
         {"fabric.kind=fat-tree", "fabric.leaf-nodes=2", "fabric.oversubscription=2:1",
          "nccl.algo=ring"},
         1.0 / 3},
        {{.tp = 4, .pp = 4, .dp = 2, .cp = 1, .ep = 1, .vpp = 1, .zero = 1},
         {"fabric.kind=fat-tree", "fabric.leaf-nodes=1", "nccl.algo=ring"},
         1},
        {{.tp = 4, .pp = 4, .dp = 2, .cp = 1, .ep = 1, .vpp = 1, .zero = 1},
         {"fabric.kind=rail", "fabric.leaf-nodes=4", "nccl.algo=ring"},
         0},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        Machine m = tiny_new(cases[i].overrides);
        g_autoptr(StepResult) r = run_job(&m, &cases[i].job, NULL);
        double cards = sum_of(r, "nic");
        g_assert_cmpfloat(cards, >, 0);
        double leaves = sum_of(r, cluster_topo_kind_name(CLUSTER_TOPO_LEAF));
        g_assert_cmpfloat_with_epsilon(leaves / cards, cases[i].part, 1e-6);
        machine_clear(&m);
    }
}

typedef struct {
    const char *name;
    gint64 ns;
    guint n;
} Watched;

static void
watch(void *user, guint rank, const char *stream, const char *name, const char *kind, gint64 stage,
      gint64 microbatch, gint64 start_ns, gint64 end_ns)
{
    Watched *w = user;
    (void)stream, (void)kind, (void)stage, (void)microbatch;
    if (rank != 0 || strcmp(name, w->name) != 0)
        return;
    w->ns = end_ns - start_ns;
    w->n++;
}

/* The one collective of a data-parallel job over 64 ranks that reduces all gradients, and how long it takes. */
static gint64
reduction_ns(const Machine *m, const char *background, NetTime *ret_alone)
{
    GError *error = NULL;
    LlmShape shape = shape_dense();
    shape.vocab = 1 << 18; /* many bytes, so that latencies hardly count */
    PlanSpec spec = job_spec(&jobs[0]);
    spec.overlap_grad_reduce = FALSE;
    Watched reduction = {"grad_all_reduce", 0, 0};
    StepOptions options = {.background = background, .trace = watch, .trace_user = &reduction};
    g_autoptr(Plan) plan = NULL;
    g_autoptr(Schedule) schedule = NULL;
    g_autoptr(StepResult) r = machine_run(m, &shape, &spec, &options, &plan, &schedule, &error);
    g_assert_no_error(error);
    const GArray *traffic = g_array_index(r->stages, StepStage, 0).traffic;
    for (guint i = 0; i < traffic->len; i++) {
        const StepTraffic *t = &g_array_index(traffic, StepTraffic, i);
        if (strcmp(t->name, reduction.name) != 0)
            continue;
        guint slots[64];
        for (guint s = 0; s < G_N_ELEMENTS(slots); s++)
            slots[s] = s;
        g_assert_cmpuint(t->count, ==, 1);
        *ret_alone =
            net_collective(m->net, t->op, net_group_on(plan->topology, slots, G_N_ELEMENTS(slots)),
                           (gint64)t->bytes);
    }
    g_assert_cmpuint(reduction.n, ==, 1);
    return reduction.ns;
}

static void
test_alone(void)
{
    for (guint f = 0; f < G_N_ELEMENTS(fabrics); f++) {
        Machine m = tiny_new(fabrics[f].overrides);
        NetTime alone = {0};
        gint64 ns = reduction_ns(&m, NULL, &alone);
        g_test_message("%s: %" G_GINT64_FORMAT " ns", fabrics[f].name, ns);
        g_assert_cmpint(ns, ==, units_round_up_ns(alone.time.ns));
        machine_clear(&m);
    }
}

/* Others want half of each card. The reduction wants r of its rate c, and both get the same part x of what they want:
 * x (r + c / 2) = c. */
static void
test_background(void)
{
    static const char *const wide[] = {"fabric.kind=ideal", "node.nvlink-rate=4000GBps", NULL};
    Machine m = tiny_new(wide);
    NetTime alone = {0};
    gint64 ns = reduction_ns(&m, "nic=50%", &alone);
    double c = net_nic_capacity_Bps(m.net);
    double r = (alone.nic_bytes - alone.nic_rest_bytes) / (1e-9 * alone.time.ns);
    g_assert_cmpfloat(r, >, 0.6 * c);
    g_assert_cmpfloat_with_epsilon((double)ns, alone.time.ns * (r / c + 0.5), 3);
    g_assert_cmpint(reduction_ns(&m, "leaf=50%,nic=0%", &alone), ==,
                    units_round_up_ns(alone.time.ns));
    machine_clear(&m);
}

static void
test_background_text(void)
{
    static const struct {
        const char *text, *complaint;
    } bad[] = {
        {"nic", "--background: 'nic' has no share; write for example nic=30%"},
        {"nic=0.3", "--background: 'nic=0.3' is no share of a link; write 0% to 100%, as nic=30%"},
        {"nic=130%",
         "--background: 'nic=130%' is no share of a link; write 0% to 100%, as nic=30%"},
        {"leaf=3%,leaf=4%", "--background: 'leaf=4%' is there twice; write each kind of link once"},
        {"link=3%",
         "--background: 'link=3%' is no kind of link; write nvlink, nic, pcie, mesh, pcie-switch, "
         "socket, leaf, spine or global and a share, as spine=50%"},
    };
    Machine m = tiny_new(fabrics[0].overrides);
    LlmShape shape = shape_dense();
    PlanSpec spec = job_spec(&jobs[0]);
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        StepOptions options = {.background = bad[i].text};
        g_assert_null(machine_run(&m, &shape, &spec, &options, NULL, NULL, &error));
        g_assert_nonnull(error);
        g_assert_cmpstr(error->message, ==, bad[i].complaint);
    }
    machine_clear(&m);
}

/* Eight tensor-parallel ranks of a node reduce their gradients at the same time: over a card each, or over one. Latencies,
 * which are shorter than the transfers, are the same. */
static void
test_shared_card(void)
{
    static const char *const eight[] = {"nic.count=8", "fabric.kind=ideal", NULL};
    static const char *const one[] = {"nic.count=1", "fabric.kind=ideal", NULL};
    const Job job = {.tp = 8, .pp = 1, .dp = 4, .cp = 1, .ep = 1, .vpp = 1, .zero = 1};
    LlmShape shape = shape_dense();
    shape.kv_heads = 8;
    shape.vocab = 1 << 20;
    gint64 ns[2] = {0};
    for (guint i = 0; i < 2; i++) {
        Machine m = tiny_new(i == 0 ? eight : one);
        GError *error = NULL;
        PlanSpec spec = job_spec(&job);
        spec.overlap_grad_reduce = FALSE;
        Watched w = {"grad_reduce_scatter", 0, 0};
        StepOptions options = {.trace = watch, .trace_user = &w};
        g_autoptr(StepResult) r = machine_run(&m, &shape, &spec, &options, NULL, NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(w.n, >, 0);
        ns[i] = w.ns;
        machine_clear(&m);
    }
    g_assert_cmpint(10 * ns[1], >, 75 * ns[0]);
    g_assert_cmpint(ns[1], <=, 8 * ns[0]);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("Shared links slow what shares them, and nothing else.");
    g_test_add_func("/step/contention/representatives-say-what-all-ranks-do", test_representatives);
    g_test_add_func("/step/contention/links-carry-what-arithmetic-says", test_bytes);
    g_test_add_func("/step/contention/alone-a-collective-takes-its-own-time", test_alone);
    g_test_add_func("/step/contention/background-takes-its-share", test_background);
    g_test_add_func("/step/contention/background-is-read", test_background_text);
    g_test_add_func("/step/contention/eight-reductions-on-one-card", test_shared_card);
    return g_test_run();
}
