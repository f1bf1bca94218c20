/* Where ranks live: orders, hostfiles, nodes of a job. One rank of each kind gives what all ranks give. */
#include "config.h"

#include "step-fixture.h"
#include "step/noise.h"

static PlanSpec
spec_of(gint64 tp, gint64 cp, gint64 dp, gint64 pp)
{
    PlanSpec spec = plan_spec_default();
    spec.tp = tp;
    spec.cp = cp;
    spec.dp = dp;
    spec.pp = pp;
    spec.sequence_parallel = tp > 1;
    spec.micro_batch = 1;
    spec.microbatches = 4;
    spec.global_batch = 0;
    spec.seq = 512;
    return spec;
}

/* Returns the ranks that were simulated. */
static guint
assert_close(const Machine *m, const LlmShape *shape, const PlanSpec *spec, StepOptions options,
             double off, const char *what)
{
    g_autoptr(GError) error = NULL;
    StepOptions every = options;
    every.all_ranks = TRUE;
    g_autoptr(StepResult) few = machine_run(m, shape, spec, &options, NULL, NULL, &error);
    g_assert_no_error(error);
    g_autoptr(StepResult) all = machine_run(m, shape, spec, &every, NULL, NULL, &error);
    g_assert_no_error(error);
    g_test_message("%s: %u of %u ranks, %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT " ns", what,
                   few->ranks_simulated, all->ranks, few->time_ns, all->time_ns);
    g_assert_cmpuint(all->ranks_simulated, ==, all->ranks);
    gint64 most = (gint64)(off * (double)all->time_ns);
    g_assert_cmpint(ABS(few->time_ns - all->time_ns), <=, most);
    g_assert_cmpint(ABS(few->makespan_ns - all->makespan_ns), <=, most);
    g_assert_cmpint(few->memory_peak_bytes, ==, all->memory_peak_bytes);
    g_assert_cmpint(few->host_bytes, ==, all->host_bytes);
    return few->ranks_simulated;
}

static guint
assert_same(const Machine *m, const LlmShape *shape, const PlanSpec *spec, StepOptions options,
            const char *what)
{
    return assert_close(m, shape, spec, options, 0, what);
}

static guint
assert_symmetric(const Machine *m, const LlmShape *shape, const PlanSpec *spec, const char *what)
{
    return assert_same(m, shape, spec, (StepOptions){0}, what);
}

static const char *const cards[][2] = {
    {"nic.count=8", NULL}, {"nic.count=4", NULL}, {"nic.count=1", NULL}};

/* --- orders --------------------------------------------------------------------------------------- */

static void
test_orders(void)
{
    static const struct {
        gint64 tp, cp, dp, pp, ep;
        const char *order;
    } grids[] = {
        {4, 1, 4, 2, 1, "tp-pp-dp"},       {2, 1, 4, 4, 1, "pp-tp-dp"},
        {2, 1, 8, 2, 1, "dp-tp-pp"},       {2, 2, 4, 2, 1, "dp-cp-tp-pp"},
        {2, 2, 2, 4, 1, "cp-pp-tp-dp"},    {16, 1, 1, 2, 1, "tp-dp-pp"},
        {16, 1, 1, 2, 1, "pp-tp-dp"},      {2, 1, 8, 2, 4, "tp-cp-ep-dp-pp"},
        {2, 1, 8, 2, 4, "ep-dp-tp-cp-pp"}, {2, 1, 8, 2, 2, "dp-ep-cp-tp-pp"},
    };
    g_test_summary("with any order of ranks one of each kind gives the time of all");
    for (guint c = 0; c < G_N_ELEMENTS(cards); c++) {
        Machine m = machine_new("dgx-a100-80g", cards[c]);
        for (guint i = 0; i < G_N_ELEMENTS(grids); i++) {
            LlmShape shape = grids[i].ep > 1 ? shape_moe() : shape_dense();
            shape.heads = shape.kv_heads = 16;
            PlanSpec spec = spec_of(grids[i].tp, grids[i].cp, grids[i].dp, grids[i].pp);
            spec.ep = grids[i].ep;
            spec.order = grids[i].order;
            assert_symmetric(&m, &shape, &spec, grids[i].order);
        }
        machine_clear(&m);
    }
}

/* --- hostfiles ------------------------------------------------------------------------------------ */

static void
test_hostfiles(void)
{
    static const struct {
        gint64 tp, cp, dp, pp;
        const char *what, *hosts;
    } grids[] = {
        {7, 1, 2, 1, "7 of 8 GPUs", "a slots=7\nb slots=7\n"},
        {7, 1, 2, 2, "7 of 8 GPUs", "a slots=7\nb slots=7\nc slots=7\nd slots=7\n"},
        {2, 1, 7, 2, "7 of 8 GPUs", "a slots=7\nb slots=7\nc slots=7\nd slots=7\n"},
        {2, 1, 4, 2, "uneven nodes", "a slots=6\nb slots=2\nc slots=5\nd slots=3\n"},
        {4, 1, 2, 2, "tp over two nodes", "a:2\nb:2\na:2\nb:2\nc:2\nd:2\nc:2\nd:2\n"},
        {2, 1, 2, 4, "round robin", "a\nb\nc\nd\na\nb\nc\nd\na\nb\nc\nd\na\nb\nc\nd\n"},
        {2, 2, 2, 2, "backwards",
         "rank 0=b slot=7\nrank 1=b slot=6\nrank 2=b slot=5\nrank 3=b slot=4\n"
         "rank 4=b slot=3\nrank 5=b slot=2\nrank 6=b slot=1\nrank 7=b slot=0\n"
         "rank 8=a slot=7\nrank 9=a slot=6\nrank 10=a slot=5\nrank 11=a slot=4\n"
         "rank 12=a slot=3\nrank 13=a slot=2\nrank 14=a slot=1\nrank 15=a slot=0\n"},
    };
    g_test_summary("wherever a hostfile puts them one rank of each kind gives the time of all");
    for (guint c = 0; c < G_N_ELEMENTS(cards); c++) {
        Machine m = machine_new("dgx-a100-80g", cards[c]);
        for (guint i = 0; i < G_N_ELEMENTS(grids); i++) {
            LlmShape shape = shape_dense();
            if (grids[i].tp == 7) {
                shape.heads = shape.kv_heads = 7;
                shape.head_dim = 32;
                shape.ffn = 7 * 64;
                shape.hidden = 7 * 32;
            }
            PlanSpec spec = spec_of(grids[i].tp, grids[i].cp, grids[i].dp, grids[i].pp);
            spec.seq = 504; /* a multiple of 7 and 8 */
            spec.hostfile = grids[i].hosts;
            assert_symmetric(&m, &shape, &spec, grids[i].what);
        }
        machine_clear(&m);
    }
}

/* Ranks in any slots: nothing is like anything else, and still the same. */
static void
test_shuffled(void)
{
    g_test_summary("also where ranks are dealt out at random");
    for (guint trial = 0; trial < 24; trial++) {
        Machine m = machine_new("dgx-a100-80g", cards[trial % G_N_ELEMENTS(cards)]);
        LlmShape shape = trial % 4 == 3 ? shape_moe() : shape_dense();
        PlanSpec spec = spec_of(trial % 3 == 0 ? 4 : 2, trial % 5 == 0 ? 2 : 1, 4, 2);
        guint n = (guint)(spec.tp * spec.cp * spec.dp * spec.pp), slots[64];
        spec.ep = trial % 4 == 3 ? 4 : 1;
        for (guint i = 0; i < G_N_ELEMENTS(slots); i++)
            slots[i] = i;
        g_autoptr(GString) hosts = g_string_new(NULL);
        for (guint i = 0; i < n; i++) {
            guint k = (guint)g_test_rand_int_range((int)i, (int)MIN(n + 4, 64));
            guint slot = slots[k];
            slots[k] = slots[i];
            g_string_append_printf(hosts, "rank %u=node%u slot=%u\n", i, slot / 8, slot % 8);
        }
        spec.hostfile = hosts->str;
        assert_symmetric(&m, &shape, &spec, "shuffled");
        machine_clear(&m);
    }
}

/* --- nodes of a job ------------------------------------------------------------------------------- */

static void
test_allocations(void)
{
    static const char *const how[] = {"contiguous", "random", "fragmented:1", "fragmented:2"};
    g_test_summary("on whichever nodes the job is, one rank of each kind gives the time of all");
    for (guint c = 0; c < G_N_ELEMENTS(cards); c++) {
        Machine m = machine_new("dgx-a100-80g", cards[c]);
        for (guint i = 0; i < G_N_ELEMENTS(how); i++) {
            LlmShape shape = shape_dense();
            PlanSpec spec = spec_of(4, 1, 4, 4);
            spec.allocation = how[i];
            guint n = assert_symmetric(&m, &shape, &spec, how[i]);
            g_assert_cmpuint(n, ==, 4); /* a fabric without bottlenecks: all columns are alike */
        }
        machine_clear(&m);
    }
}

/* Leaf switches of two nodes with a quarter of the way up: scattered jobs press them unevenly. */
static void
test_narrow_fabric(void)
{
    static const char *const narrow[] = {"fabric.kind=fat-tree", "fabric.leaf-nodes=2",
                                         "fabric.oversubscription=4", NULL};
    static const char *const how[] = {"contiguous", "random", "fragmented:3"};
    g_test_summary(
        "where links of the fabric bind, columns are told apart, and give what all give");
    Machine m = machine_new("dgx-a100-80g", narrow);
    for (guint i = 0; i < 3 * G_N_ELEMENTS(how); i++) {
        LlmShape shape = i % 3 == 2 ? shape_moe() : shape_dense();
        PlanSpec spec = i % 3 == 2 ? spec_of(2, 1, 8, 4) : spec_of(4, 1, 4, 4);
        spec.allocation = how[i / 3];
        spec.order = i % 3 == 1 ? "tp-pp-dp" : NULL;
        if (i % 3 == 2) { /* replicas in a node, tensor parallel groups and messages over several */
            spec.ep = 8;
            spec.etp = 1;
            spec.order = "ep-dp-tp-cp-pp";
        }
        assert_close(&m, &shape, &spec, (StepOptions){0}, i / 3 == 0 ? 0 : 1e-4, how[i / 3]);
    }
    machine_clear(&m);
}

/* --- ranks that are not like the others ----------------------------------------------------------- */

static void
test_slow(void)
{
    static const char *const slow[] = {"gpu:13=1.5", "gpu:0=2", "gpu:3=1.2,gpu:30=1.4",
                                       "node:1=1.3"};
    g_test_summary("the columns of slow ranks and those they meet are enough: as all ranks");
    for (guint c = 0; c < G_N_ELEMENTS(cards); c++) {
        Machine m = machine_new("dgx-a100-80g", cards[c]);
        for (guint i = 0; i < 2 * G_N_ELEMENTS(slow); i++) {
            g_autoptr(GError) error = NULL;
            g_autoptr(StepNoise) noise = step_noise_new();
            g_assert_true(step_noise_parse_slow(noise, slow[i / 2], &error));
            LlmShape shape = i % 2 ? shape_moe() : shape_dense();
            PlanSpec spec = spec_of(2, i % 2 ? 1 : 2, i % 2 ? 8 : 4, 2);
            spec.ep = i % 2 ? 4 : 1;
            const StepOptions options = {.noise = noise};
            /* GPUs that share a card: what stands for a slow one's neighbours sends when it does */
            assert_close(&m, &shape, &spec, options, c < 2 ? 0 : 1e-4, slow[i / 2]);
        }
        machine_clear(&m);
    }
}

static void
test_lanes(void)
{
    g_test_summary("the first rank of each tensor parallel group stands for its lock step");
    Machine m = machine_new("dgx-a100-80g", NULL);
    LlmShape shape = shape_dense();
    PlanSpec spec = spec_of(4, 2, 2, 2);
    const StepOptions lanes = {.ranks = STEP_RANKS_TP_LANES};
    g_assert_cmpuint(assert_same(&m, &shape, &spec, lanes, "lanes"), ==, 8);
    spec.order = "pp-tp-cp-ep-dp";
    g_assert_cmpuint(assert_same(&m, &shape, &spec, lanes, "lanes"), ==, 8);
    machine_clear(&m);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/step/placement/orders", test_orders);
    g_test_add_func("/step/placement/hostfiles", test_hostfiles);
    g_test_add_func("/step/placement/shuffled", test_shuffled);
    g_test_add_func("/step/placement/allocations", test_allocations);
    g_test_add_func("/step/placement/narrow-fabric", test_narrow_fabric);
    g_test_add_func("/step/placement/slow-ranks", test_slow);
    g_test_add_func("/step/placement/lanes", test_lanes);
    return g_test_run();
}
