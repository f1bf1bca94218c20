/* NCCL's choice: its search of the topology, its expectations, its rules by version; hand-worked. */
#include "config.h"

#include "net/rows.h"

#include <math.h>
#include <string.h>

static ClusterSystem
machine(const char *gpu, guint version)
{
    gboolean ampere = gpu[0] == 'A', blackwell = gpu[0] == 'B';
    return (ClusterSystem){
        .gpu_name = (char *)gpu,
        .gpus_per_node = 8,
        .link = CLUSTER_LINK_NVSWITCH,
        .nvlink_Bps = ampere      ? 300000000000
                      : blackwell ? 900000000000
                                  : 450000000000,
        .nvlink_efficiency = 0.8,
        .nvlink_latency_ns = 2000,
        .pcie_Bps = ampere ? 26000000000 : 52000000000,
        .nics_per_node = 8,
        .nic_Bps = ampere ? 25000000000 : 50000000000,
        .nic_efficiency = 0.95,
        .nic_latency_ns = 20000,
        .gpudirect = TRUE,
        .rail_optimised = TRUE,
        .oversubscription = 1.0,
        .nccl_version = version,
        .pxn = TRUE,
    };
}

static void
test_search(void)
{
    g_test_summary(
        "8 H100: 371 GB/s a port hold 6 channels of 60, split into 12 of 30; A100: 240 hold 6 of 40, 12 of 20; "
        "B200: 720 hold 8 of 90, 16 of 45. NVLS: 9 passes of 40 on a port of 371. Two nodes of H100: 8 cards of "
        "50 would take 48, but 8 x 48 is more than 371: 45. Of A100: 24, and a tree 30 in the node, 8 x 30 = 240");
    static const struct {
        const char *gpu;
        guint ranks, nodes;
        NetAlgo algo;
        guint channels;
        double intra, inter;
    } cases[] = {
        {"H100", 8, 1, NET_ALGO_RING, 12, 30, 30},      {"H100", 2, 1, NET_ALGO_RING, 12, 30, 30},
        {"A100", 8, 1, NET_ALGO_RING, 12, 20, 20},      {"B200", 8, 1, NET_ALGO_RING, 16, 45, 45},
        {"H100", 8, 1, NET_ALGO_NVLS, 8, 40, 40},       {"H100", 16, 2, NET_ALGO_RING, 8, 45, 45},
        {"H100", 16, 2, NET_ALGO_TREE, 8, 45, 45},      {"A100", 16, 2, NET_ALGO_RING, 8, 24, 24},
        {"H100", 32, 4, NET_ALGO_NVLS_TREE, 8, 40, 48},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        ClusterSystem system = machine(cases[i].gpu, 22700);
        NetFabric fabric = net_fabric_of(&system, NULL);
        NetGroup group = net_even_group(&fabric, cases[i].ranks, cases[i].nodes);
        NetGraph graph = net_search(&fabric, &group, cases[i].algo);
        g_test_message("%s %u ranks %u nodes: %u x %g, %g", cases[i].gpu, cases[i].ranks,
                       cases[i].nodes, graph.channels, graph.intra, graph.inter);
        g_assert_cmpuint(graph.channels, ==, cases[i].channels);
        g_assert_cmpfloat_with_epsilon(graph.intra, cases[i].intra, 1e-9);
        g_assert_cmpfloat_with_epsilon(graph.inter, cases[i].inter, 1e-9);
    }
    ClusterSystem system = machine("A100", 22700);
    NetFabric fabric = net_fabric_of(&system, NULL);
    NetGroup pair = net_even_group(&fabric, 16, 2);
    /* 30 GB/s are split as they are at least 25 */
    NetGraph tree = net_search(&fabric, &pair, NET_ALGO_TREE);
    g_assert_cmpfloat_with_epsilon(tree.channels * tree.intra, 240.0, 1e-9);
    g_assert_cmpfloat_with_epsilon(tree.channels * tree.inter, 192.0, 1e-9);
}

static const NetOption *
option_of(const NetPlan *plan, NetAlgo algo, NetProtocol protocol)
{
    for (guint i = 0; i < plan->n; i++)
        if (plan->options[i].algorithm->algo == algo && plan->options[i].protocol == protocol)
            return &plan->options[i];
    return NULL;
}

static void
test_expectations(void)
{
    g_test_summary(
        "8 H100, 2.27, all_reduce: Ring Simple 12 x 30 x 8/14 = 205.7 GB/s and 8.4 + 14 x 3.4 = 56 us; "
        "Ring LL least(141, 180) x 8/14 and 6.6 + 14 x 0.6 = 15 us; LL128 0.92 x 360 x 8/14; "
        "NVLS 8 x 40 x 5/6 = 266.7 and 25 us; Tree 0.92 x 360 / 2");
    ClusterSystem system = machine("H100", 22700);
    NetFabric fabric = net_fabric_of(&system, NULL);
    NetGroup node = net_even_group(&fabric, 8, 1);
    NetPlan plan;
    g_assert_true(net_plan_make(&plan, &fabric, NET_ALL_REDUCE, &node));
    static const struct {
        NetAlgo algo;
        NetProtocol protocol;
        double GBps, us;
    } cases[] = {
        {NET_ALGO_RING, NET_SIMPLE, 360.0 * 8 / 14, 56.0},
        {NET_ALGO_RING, NET_LL, 141.0 * 8 / 14, 15.0},
        {NET_ALGO_RING, NET_LL128, 0.92 * 360 * 8 / 14, 14 + 14 * 1.9},
        {NET_ALGO_NVLS, NET_SIMPLE, 320.0 * 5 / 6, 25.0},
        {NET_ALGO_TREE, NET_SIMPLE, 0.92 * 360 / 2, 8.4 + 14 * 4},
        {NET_ALGO_TREE, NET_LL, 0.92 * 360 / 3.8 / 2, 6.8 + 14 * 0.6},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const NetOption *o = option_of(&plan, cases[i].algo, cases[i].protocol);
        g_assert_nonnull(o);
        g_assert_cmpfloat_with_epsilon(o->expected_GBps, cases[i].GBps, 1e-9);
        g_assert_cmpfloat_with_epsilon(o->expected_us, cases[i].us, 1e-9);
    }
    g_assert_null(option_of(&plan, NET_ALGO_NVLS, NET_LL));
    /* 4 KiB: index 6; 16 MiB: index 18; beyond the table 1 */
    g_assert_cmpfloat(net_nccl_tree_frac(NET_LL, 4096), ==, 0.7);
    g_assert_cmpfloat(net_nccl_tree_frac(NET_SIMPLE, 1 << 24), ==, 0.7);
    g_assert_cmpfloat(net_nccl_tree_frac(NET_SIMPLE, 1e12), ==, 1.0);
    g_assert_cmpfloat(net_nccl_tree_frac(NET_LL128, 63), ==, 1.0);
}

static const char *
taken(const char *gpu, guint version, NetOp op, guint ranks, guint nodes, double bytes)
{
    ClusterSystem system = machine(gpu, version);
    NetFabric fabric = net_fabric_of(&system, NULL);
    NetGroup group = net_even_group(&fabric, ranks, nodes);
    return net_model_time(&fabric, op, &group, bytes).algorithm->name;
}

/* What is measured: NVLS is faster than the ring from 5 GPUs on of H200 and from 6 of B200; with 4 it does the same. */
static void
test_nvls_from(void)
{
    for (guint n = 3; n <= 8; n++) {
        g_assert_cmpstr(taken("H200", 22700, NET_ALL_REDUCE, n, 1, 4e9), ==,
                        n >= 5 ? "nvls" : "ring");
        g_assert_cmpstr(taken("B200", 22700, NET_ALL_REDUCE, n, 1, 4e9), ==,
                        n >= 6 ? "nvls" : "ring");
    }
}

static void
test_versions(void)
{
    static const struct {
        guint version;
        const char *gpu;
        NetOp op;
        guint ranks, nodes;
        NetAlgo algo;
        gboolean there;
    } cases[] = {
        {21000, "H100", NET_ALL_REDUCE, 8, 1, NET_ALGO_NVLS, FALSE},
        {21800, "H100", NET_ALL_REDUCE, 8, 1, NET_ALGO_NVLS, TRUE},
        {21800, "A100", NET_ALL_REDUCE, 8, 1, NET_ALGO_NVLS, FALSE},
        {21800, "H100", NET_ALL_GATHER, 8, 1, NET_ALGO_NVLS, FALSE},
        {22100, "H100", NET_ALL_GATHER, 8, 1, NET_ALGO_NVLS, TRUE},
        {22100, "H100", NET_REDUCE_SCATTER, 8, 1, NET_ALGO_NVLS, TRUE},
        {22700, "H100", NET_ALL_REDUCE, 8, 1, NET_ALGO_NVLS_TREE, FALSE},
        {22700, "H100", NET_ALL_REDUCE, 16, 2, NET_ALGO_NVLS_TREE, TRUE},
        {22200, "H100", NET_ALL_GATHER, 4, 4, NET_ALGO_PAT, FALSE},
        {22300, "H100", NET_ALL_GATHER, 4, 4, NET_ALGO_PAT, TRUE},
        {22300, "H100", NET_ALL_GATHER, 8, 4, NET_ALGO_PAT, FALSE},
        {22300, "H100", NET_BROADCAST, 4, 4, NET_ALGO_PAT, FALSE},
        {22700, "H100", NET_ALL_REDUCE, 16, 2, NET_ALGO_COLLNET_DIRECT, FALSE},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        ClusterSystem system = machine(cases[i].gpu, cases[i].version);
        NetFabric fabric = net_fabric_of(&system, NULL);
        NetGroup group = net_even_group(&fabric, cases[i].ranks, cases[i].nodes);
        NetPlan plan;
        net_plan_make(&plan, &fabric, cases[i].op, &group);
        g_test_message("%u %s", cases[i].version, cases[i].gpu);
        g_assert_true((option_of(&plan, cases[i].algo, NET_SIMPLE) != NULL) == cases[i].there);
    }
    /* between these a Simple tree's hop was taken for 28 us */
    static const struct {
        guint version;
        double us;
    } trees[] = {{21000, 28 * 14}, {21800, 14 * 4}, {22200, 28 * 14}, {22300, 8.4 + 14 * 4}};
    for (gsize i = 0; i < G_N_ELEMENTS(trees); i++) {
        ClusterSystem system = machine("A100", trees[i].version);
        NetFabric fabric = net_fabric_of(&system, NULL);
        NetGroup node = net_even_group(&fabric, 8, 1);
        NetPlan plan;
        net_plan_make(&plan, &fabric, NET_ALL_REDUCE, &node);
        g_assert_cmpfloat_with_epsilon(option_of(&plan, NET_ALGO_TREE, NET_SIMPLE)->expected_us,
                                       trees[i].us, 1e-9);
    }
    g_assert_true(net_nccl_of(22600) == &net_nccl_2_27);
    g_assert_true(net_nccl_of(22900) == &net_nccl_2_28);
    g_assert_true(net_nccl_of(20400) == &net_nccl_2_10);
    g_assert_true(net_nccl_of(0) == &net_nccl_2_27);
}

/* Small messages over many nodes by tree, large ones by ring; LL before Simple. */
static void
test_sizes(void)
{
    ClusterSystem system = machine("A100", 22700);
    NetFabric fabric = net_fabric_of(&system, NULL);
    NetGroup group = net_even_group(&fabric, 1024, 128);
    NetModelTime small = net_model_time(&fabric, NET_ALL_REDUCE, &group, 1e4);
    NetModelTime large = net_model_time(&fabric, NET_ALL_REDUCE, &group, 32e9);
    g_assert_cmpstr(small.algorithm->name, ==, "tree");
    g_assert_cmpint(small.protocol, ==, NET_LL);
    g_assert_cmpstr(large.algorithm->name, ==, "ring");
    g_assert_cmpint(large.protocol, ==, NET_SIMPLE);
}

static NetBook *
book_of(const ClusterSystem *system)
{
    g_autoptr(GError) error = NULL;
    NetBook *book = net_book_new(system, NULL, 0, &error);
    g_assert_no_error(error);
    return book;
}

static void
test_forced(void)
{
    g_test_summary(
        "nccl algo = tree: an all_reduce goes by tree; an all_gather has none, NCCL stops and the check "
        "says so; LL alone: LL at any size");
    ClusterSystem system = machine("H100", 22700), plain = system;
    system.nccl_algo = (char *)"tree";
    g_autoptr(NetBook) book = book_of(&system), free_choice = book_of(&plain);
    const NetGroup node = {8, 1, 8, 8, 8, {0}, {0}};
    g_autoptr(GError) error = NULL;
    g_assert_true(net_collective_check(book, NET_ALL_REDUCE, node, &error));
    g_assert_no_error(error);
    g_assert_cmpstr(net_collective(book, NET_ALL_REDUCE, node, 1 << 30).algorithm, ==, "tree");
    g_assert_cmpstr(net_collective(free_choice, NET_ALL_REDUCE, node, 1 << 30).algorithm, ==,
                    "nvls");
    g_assert_cmpfloat(net_collective(book, NET_ALL_REDUCE, node, 1 << 30).time.ns, >,
                      net_collective(free_choice, NET_ALL_REDUCE, node, 1 << 30).time.ns);
    g_assert_false(net_collective_check(book, NET_ALL_GATHER, node, &error));
    g_assert_error(error, NET_ERROR, NET_ERROR_CHOICE);
    g_assert_cmpstr(net_collective(book, NET_ALL_GATHER, node, 1 << 30).algorithm, ==, "ring");
    /* the version is the one that was asked for, not the first of those with its tables */
    g_assert_nonnull(strstr(error->message, "NCCL 2.27 stops"));
    static const guint versions[][2] = {{22400, 24}, {22600, 26}, {22900, 29}, {0, 27}};
    for (gsize i = 0; i < G_N_ELEMENTS(versions); i++) {
        ClusterSystem asked = machine("H100", versions[i][0]);
        asked.nccl_algo = (char *)"nvls";
        g_autoptr(NetBook) other = book_of(&asked);
        g_autoptr(GError) why = NULL;
        g_autofree char *says = g_strdup_printf("NCCL 2.%u stops", versions[i][1]);
        g_assert_false(net_collective_check(other, NET_BROADCAST, node, &why));
        g_assert_nonnull(strstr(why->message, says));
    }
    /* sends have no algorithm to force */
    g_assert_true(net_collective_check(book, NET_ALL_TO_ALL, node, NULL));
    /* before 2.24 the ring stays for all but all_reduce */
    ClusterSystem old_system = machine("H100", 22300);
    old_system.nccl_algo = (char *)"tree";
    g_autoptr(NetBook) old = book_of(&old_system);
    g_assert_true(net_collective_check(old, NET_ALL_GATHER, node, NULL));
    g_assert_cmpstr(net_collective(old, NET_ALL_GATHER, node, 1 << 30).algorithm, ==, "ring");
    g_assert_cmpstr(net_collective(old, NET_ALL_REDUCE, node, 1 << 30).algorithm, ==, "tree");
    system.nccl_algo = NULL;
    system.nccl_proto = (char *)"ll";
    g_autoptr(NetBook) slow = book_of(&system);
    g_assert_cmpstr(net_collective(slow, NET_ALL_REDUCE, node, 1 << 30).protocol, ==, "LL");
    /* nor a protocol */
    system.nccl_proto = (char *)"ll128";
    g_autoptr(NetBook) odd = book_of(&system);
    g_assert_true(net_collective_check(odd, NET_SEND_RECV, node, NULL));
    g_assert_cmpstr(net_collective(odd, NET_ALL_TO_ALL, node, 1 << 30).protocol, ==, "Simple");
    system.nccl_proto = (char *)"ll";
    /* NVLS knows Simple only */
    system.nccl_algo = (char *)"nvls";
    g_autoptr(NetBook) none = book_of(&system);
    g_assert_false(net_collective_check(none, NET_ALL_REDUCE, node, NULL));
}

static void
test_channels(void)
{
    static const struct {
        const char *gpu;
        NetOp op;
        guint ranks, nodes;
        gint64 bytes;
        guint channels;
    } cases[] = {
        {"A100", NET_ALL_GATHER, 8, 1, 1 << 30, 24},  {"H100", NET_ALL_GATHER, 8, 1, 1 << 30, 24},
        {"H100", NET_ALL_REDUCE, 8, 1, 1 << 30, 16},  {"B200", NET_ALL_REDUCE, 8, 1, 1 << 30, 24},
        {"B200", NET_ALL_REDUCE, 16, 2, 1 << 30, 32}, {"A100", NET_ALL_GATHER, 16, 2, 1 << 30, 16},
        {"A100", NET_ALL_REDUCE, 8, 1, 64, 1},        {"A100", NET_SEND_RECV, 2, 2, 1 << 30, 2},
        {"A100", NET_SEND_RECV, 2, 2, 1000, 1},       {"A100", NET_ALL_TO_ALL, 8, 1, 1 << 30, 32},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        ClusterSystem system = machine(cases[i].gpu, 22700);
        g_autoptr(NetBook) book = book_of(&system);
        guint k = cases[i].ranks / cases[i].nodes;
        NetGroup group = {cases[i].ranks, cases[i].nodes, k, k, k, {0}, {0}};
        NetTime t = net_collective(book, cases[i].op, group, cases[i].bytes);
        g_test_message("%s %s %u/%u: %s %s %u", cases[i].gpu, net_op_name(cases[i].op),
                       cases[i].ranks, cases[i].nodes, t.algorithm, t.protocol, t.channels);
        g_assert_cmpuint(t.channels, ==, cases[i].channels);
    }
    ClusterSystem system = machine("H100", 22700);
    system.channels = 4;
    g_autoptr(NetBook) book = book_of(&system);
    const NetGroup node = {8, 1, 8, 8, 8, {0}, {0}};
    g_assert_cmpuint(net_collective(book, NET_ALL_GATHER, node, 1 << 30).channels, ==, 4);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/choice/channels-that-the-search-finds", test_search);
    g_test_add_func("/net/choice/expectations-by-hand", test_expectations);
    g_test_add_func("/net/choice/nvls-from-five-or-six-gpus", test_nvls_from);
    g_test_add_func("/net/choice/what-versions-have", test_versions);
    g_test_add_func("/net/choice/tree-then-ring", test_sizes);
    g_test_add_func("/net/choice/forced", test_forced);
    g_test_add_func("/net/choice/thread-blocks", test_channels);
    return g_test_run();
}
