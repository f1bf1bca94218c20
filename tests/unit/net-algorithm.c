/* Algorithms: closed forms of time and of bytes on each link. */
#include "config.h"

#include "net/algorithm.h"
#include "net/rows.h"

#include <string.h>

static ClusterSystem
node_of_8(const char *gpu, gboolean latency)
{
    return (ClusterSystem){
        .gpu_name = (char *)gpu,
        .gpus_per_node = 8,
        .link = CLUSTER_LINK_NVSWITCH,
        .nvlink_Bps = 100000000000,
        .nvlink_efficiency = 1.0,
        .nvlink_latency_ns = latency ? 2000 : 0,
        .pcie_Bps = 20000000000,
        .nics_per_node = 8,
        .nic_Bps = 10000000000,
        .nic_efficiency = 1.0,
        .nic_latency_ns = latency ? 20000 : 0,
        .rail_optimised = FALSE,
        .oversubscription = 1.0,
        .gpudirect = TRUE,
        .pxn = TRUE,
    };
}

/* NCCL's own constants: every scale 1, no loss in small groups. */
static const NetTuning plain = {.nvlink_scale = 1.0,
                                .nvlink_latency_scale = 1.0,
                                .nvlink_fill = 0.15,
                                .ll128_latency_scale = 1.0,
                                .simple_latency_scale = 1.0,
                                .nvls_scale = 1.0,
                                .nvls_latency_scale = 1.0,
                                .nic_scale = 1.0,
                                .nic_latency_scale = 1.0,
                                .nic_fill = 0.15,
                                .ring_latency_scale = 1.0,
                                .direct_latency_scale = 1.0,
                                .ll_scale = 1.0,
                                .direct_scale = 1.0};

/* Without latency a ring takes what its busiest link needs: 2 (n-1)/n S / B in a node; across nodes with
 * 8 NICs of a tenth of NVLink's rate, 2 (n-1)/n S / (8 x 10 GB/s). */
static void
test_uncontended_ring(void)
{
    ClusterSystem system = node_of_8("A100", FALSE);
    NetFabric fabric = net_fabric_of(&system, &plain);
    for (guint n = 2; n <= 8; n++) {
        NetGroup group = net_even_group(&fabric, n, 1);
        double expected_ns = 2.0 * (n - 1.0) / n * 1e9 / 100e9 * 1e9;
        g_assert_cmpfloat_with_epsilon(
            net_algorithm_ns(&net_ring, &fabric, NET_ALL_REDUCE, &group, NET_SIMPLE, 1e9),
            expected_ns, 1e-3);
        g_assert_cmpfloat_with_epsilon(
            net_algorithm_ns(&net_ring, &fabric, NET_ALL_GATHER, &group, NET_SIMPLE, 1e9),
            expected_ns / 2.0, 1e-3);
    }
    NetGroup group = net_even_group(&fabric, 16, 2);
    g_assert_cmpfloat_with_epsilon(
        net_algorithm_ns(&net_ring, &fabric, NET_ALL_REDUCE, &group, NET_SIMPLE, 1e9),
        2.0 * 15.0 / 16.0 * 1e9 / 80e9 * 1e9, 1e-3);
    /* one rank a node: one NIC, nothing on NVLink */
    group = net_even_group(&fabric, 16, 16);
    g_assert_cmpfloat_with_epsilon(
        net_algorithm_ns(&net_ring, &fabric, NET_ALL_REDUCE, &group, NET_SIMPLE, 1e9),
        2.0 * 15.0 / 16.0 * 1e9 / 10e9 * 1e9, 1e-3);
}

static void
test_bytes_on_links(void)
{
    static const struct {
        const NetAlgorithm *algorithm;
        NetOp op;
        guint ranks, nodes;
        double nvlink, nic; /* of S = 1 */
    } cases[] = {
        {&net_ring, NET_ALL_REDUCE, 8, 1, 1.75, 0},
        {&net_ring, NET_ALL_REDUCE, 16, 2, 1.875 * 7 / 8, 1.875 / 8},
        {&net_ring, NET_ALL_REDUCE, 16, 16, 0, 1.875},
        {&net_ring, NET_ALL_GATHER, 16, 2, 0.9375 * 7 / 8, 0.9375 / 8},
        {&net_ring, NET_REDUCE_SCATTER, 4, 4, 0, 0.75},
        {&net_ring, NET_BROADCAST, 8, 1, 1, 0},
        {&net_tree, NET_ALL_REDUCE, 8, 1, 1.75, 0},
        {&net_tree, NET_ALL_REDUCE, 16, 2, 1.75, 1.0 / 8},
        {&net_tree, NET_ALL_REDUCE, 64, 8, 1.75, 1.75 / 8},
        {&net_tree, NET_ALL_REDUCE, 16, 16, 0, 1.875},
        {&net_nvls, NET_ALL_REDUCE, 8, 1, 1.125, 0},
        {&net_nvls_tree, NET_ALL_REDUCE, 16, 2, 1.125, 1.0 / 8},
        {&net_direct, NET_ALL_TO_ALL, 8, 1, 0.875, 0},
        {&net_direct, NET_ALL_TO_ALL, 16, 2, 7.0 / 16, 0.5},
        {&net_direct, NET_ALL_TO_ALL, 4, 4, 0, 0.75},
        {&net_direct, NET_SEND_RECV, 2, 1, 1, 0},
        {&net_direct, NET_SEND_RECV, 2, 2, 0, 1},
    };
    ClusterSystem system = node_of_8("H100", TRUE);
    NetFabric fabric = net_fabric_of(&system, &plain);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        NetGroup group = net_even_group(&fabric, cases[i].ranks, cases[i].nodes);
        g_assert_true(cases[i].algorithm->runs(&fabric, cases[i].op, &group));
        NetBytes load = cases[i].algorithm->bytes(&fabric, cases[i].op, &group, 1.0);
        g_assert_cmpfloat_with_epsilon(load.nvlink, cases[i].nvlink, 1e-12);
        g_assert_cmpfloat_with_epsilon(load.nic, cases[i].nic, 1e-12);
    }
}

/* Groups with other counts on each node: 7 of 8 GPUs; 5 + 3 over two nodes; 8 + 8 + 1. The node with fewest ranks has fewest
 * cards in use, and all of a ring goes through them. */
static void
test_bytes_of_uneven_groups(void)
{
    static const struct {
        const NetAlgorithm *algorithm;
        NetOp op;
        NetGroup group;
        double nvlink, nic; /* of S = 1 */
    } cases[] = {
        {&net_ring, NET_ALL_REDUCE, {7, 1, 7, 1, 7, {0}, {0}}, 12.0 / 7, 0},
        {&net_ring, NET_ALL_REDUCE, {8, 2, 5, 5, 3, {0}, {0}}, 1.75 * 4 / 5, 1.75 / 3},
        {&net_ring, NET_ALL_GATHER, {8, 2, 5, 5, 3, {0}, {0}}, 0.875 * 4 / 5, 0.875 / 3},
        {&net_ring, NET_REDUCE_SCATTER, {17, 3, 8, 8, 1, {0}, {0}}, 16.0 / 17 * 7 / 8, 16.0 / 17},
        {&net_tree, NET_ALL_REDUCE, {8, 2, 5, 5, 3, {0}, {0}}, 2.0 * 4 / 5, 1.0 / 3},
        {&net_tree, NET_ALL_REDUCE, {17, 3, 8, 8, 1, {0}, {0}}, 1.75, 4.0 / 3},
        /* 5 + 3: a rank of the node of three sends 5/8 away, one of the other 3/8, a card each */
        {&net_direct, NET_ALL_TO_ALL, {8, 2, 5, 5, 3, {0}, {0}}, 0.5, 5.0 / 8},
        /* one card for all of a node: 5 ranks send 3/8 each, 3 ranks 5/8 each */
        {&net_direct, NET_ALL_TO_ALL, {8, 2, 5, 1, 3, {0}, {0}}, 0.5, 15.0 / 8},
    };
    ClusterSystem system = node_of_8("H100", TRUE);
    NetFabric fabric = net_fabric_of(&system, &plain);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        NetBytes load = cases[i].algorithm->bytes(&fabric, cases[i].op, &cases[i].group, 1.0);
        g_assert_cmpfloat_with_epsilon(load.nvlink, cases[i].nvlink, 1e-12);
        g_assert_cmpfloat_with_epsilon(load.nic, cases[i].nic, 1e-12);
    }
    /* NVLS and CollNet need as many ranks on each node */
    system.sharp = TRUE;
    fabric = net_fabric_of(&system, &plain);
    g_assert_false(net_nvls_tree.runs(&fabric, NET_ALL_REDUCE, &cases[1].group));
    g_assert_false(net_collnet_chain.runs(&fabric, NET_ALL_REDUCE, &cases[1].group));
}

/* Switches that reduce take each byte of a node once, however many nodes; PAT sends what a ring does; PXN adds the way to
 * the GPU of the other rail; NVLS gathers through each port once. */
static void
test_bytes_of_rare_algorithms(void)
{
    ClusterSystem system = node_of_8("H100", TRUE);
    system.sharp = TRUE;
    system.rail_optimised = TRUE;
    NetFabric fabric = net_fabric_of(&system, &plain);
    for (guint nodes = 2; nodes <= 64; nodes *= 2) {
        NetGroup group = net_even_group(&fabric, 8 * nodes, nodes),
                 lone = net_even_group(&fabric, nodes, nodes);
        g_assert_true(net_collnet_direct.runs(&fabric, NET_ALL_REDUCE, &group));
        NetBytes load = net_collnet_direct.bytes(&fabric, NET_ALL_REDUCE, &group, 1.0);
        g_assert_cmpfloat_with_epsilon(load.nic, 1.0 / 8, 1e-12);
        g_assert_cmpfloat_with_epsilon(load.nvlink, 1.75, 1e-12);
        g_assert_true(net_pat.runs(&fabric, NET_ALL_GATHER, &lone));
        load = net_pat.bytes(&fabric, NET_ALL_GATHER, &lone, 1.0);
        g_assert_cmpfloat_with_epsilon(load.nic, (nodes - 1.0) / nodes, 1e-12);
        double n = 8.0 * nodes;
        load = net_direct.bytes(&fabric, NET_ALL_TO_ALL, &group, 1.0);
        g_assert_cmpfloat_with_epsilon(load.nvlink, 7 / n + (n - 8) / n * 7 / 8, 1e-12);
        g_assert_cmpfloat_with_epsilon(load.nic, (n - 8) / n, 1e-12);
        g_assert_cmpint(net_algorithm_pattern(&net_direct, &fabric), ==, NET_PATTERN_PAIRS);
    }
    NetGroup node = net_even_group(&fabric, 8, 1);
    g_assert_cmpfloat(net_nvls.bytes(&fabric, NET_ALL_GATHER, &node, 1.0).nvlink, ==, 1.0);
    system.pxn = FALSE;
    fabric = net_fabric_of(&system, &plain);
    NetGroup two = net_even_group(&fabric, 16, 2);
    g_assert_cmpfloat_with_epsilon(net_direct.bytes(&fabric, NET_ALL_TO_ALL, &two, 1.0).nvlink,
                                   7.0 / 16, 1e-12);
    g_assert_cmpint(net_algorithm_pattern(&net_direct, &fabric), ==, NET_PATTERN_CROSS);
}

/* Every byte of a node's ring goes either over a NIC or over NVLink: k R in all. */
static void
test_ring_conserves_bytes(void)
{
    ClusterSystem system = node_of_8("A100", TRUE);
    NetFabric fabric = net_fabric_of(&system, &plain);
    for (guint nodes = 2; nodes <= 64; nodes *= 2) {
        for (guint k = 1; k <= 8; k *= 2) {
            NetGroup group = net_even_group(&fabric, nodes * k, nodes);
            NetBytes load = net_ring.bytes(&fabric, NET_ALL_REDUCE, &group, 1e6);
            g_assert_cmpfloat_with_epsilon(load.nvlink * k + load.nic * group.nics,
                                           k * net_ring_bytes(NET_ALL_REDUCE, nodes * k, 1e6),
                                           1e-3);
        }
    }
}

/* NCCL's published example: 8 bytes over 8 ranks by ring and LL take 6.6 + 14 x 0.6 us. */
static void
test_small_message(void)
{
    ClusterSystem system = node_of_8("H100", TRUE);
    NetFabric fabric = net_fabric_of(&system, &plain);
    NetGroup group = net_even_group(&fabric, 8, 1);
    double ns = net_algorithm_ns(&net_ring, &fabric, NET_ALL_REDUCE, &group, NET_LL, 8.0);
    g_assert_cmpfloat(ns, >, 15000.0);
    g_assert_cmpfloat(ns, <, 15200.0);
}

static void
test_which_algorithm(void)
{
    static const struct {
        const char *gpu;
        NetOp op;
        guint ranks, nodes;
        double bytes;
        const char *algorithm;
    } cases[] = {
        {"H100", NET_ALL_REDUCE, 8, 1, 1e9, "nvls"},
        {"H100", NET_ALL_REDUCE, 8, 1, 1e3, "ring"},
        {"H100", NET_ALL_REDUCE, 16, 2, 1e9, "nvlstree"},
        {"H100", NET_ALL_GATHER, 8, 1, 1e9, "ring"},
        {"A100", NET_ALL_REDUCE, 8, 1, 1e9, "ring"},
        {"A100", NET_ALL_REDUCE, 32, 4, 16e9, "ring"},
        {"A100", NET_ALL_REDUCE, 1024, 128, 1e4, "tree"},
        {"A100", NET_ALL_TO_ALL, 1024, 128, 1e9, "direct"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        ClusterSystem system = node_of_8(cases[i].gpu, TRUE);
        system.nvlink_Bps = system.gpu_name[0] == 'H' ? 450000000000 : 300000000000;
        system.nic_Bps = system.nvlink_Bps / (system.gpu_name[0] == 'H' ? 9 : 12);
        NetFabric fabric = net_fabric_of(&system, &plain);
        NetGroup group = net_even_group(&fabric, cases[i].ranks, cases[i].nodes);
        NetModelTime t = net_model_time(&fabric, cases[i].op, &group, cases[i].bytes);
        g_assert_cmpstr(t.algorithm->name, ==, cases[i].algorithm);
    }
    /* an H20 is a Hopper, a GB200 a Blackwell, and an unknown GPU counts as Ampere */
    g_assert_cmpint(net_generation_of("H20-96GB"), ==, NET_HOPPER);
    g_assert_cmpint(net_generation_of("GB200"), ==, NET_BLACKWELL);
    g_assert_cmpint(net_generation_of("abc"), ==, NET_AMPERE);
}

/* More bytes of one algorithm and protocol never take less, and every op has one on every link and generation. Where
 * NCCL goes from one to the next time may fall (book.c makes it monotone). */
static void
check_options(const NetFabric *fabric, NetOp op, const NetGroup *group)
{
    NetPlan plan;
    g_assert_true(net_plan_make(&plan, fabric, op, group));
    g_assert_cmpuint(plan.n, >, 0);
    for (guint i = 0; i < plan.n; i++) {
        double last = 0.0;
        for (double bytes = 1.0; bytes < 1e11; bytes *= 1.7) {
            double ns = net_option_ns(&plan, &plan.options[i], fabric, bytes);
            g_assert_cmpfloat(ns, >=, last);
            last = ns;
        }
    }
}

static void
test_monotone_in_bytes(void)
{
    static const char *const gpus[] = {"V100", "A100", "H100", "B200"};
    for (gsize g = 0; g < G_N_ELEMENTS(gpus); g++) {
        for (int link = CLUSTER_LINK_NVSWITCH; link <= CLUSTER_LINK_PCIE; link++) {
            ClusterSystem system = node_of_8(gpus[g], TRUE);
            system.link = (ClusterLink)link;
            NetFabric fabric = net_fabric_of(&system, NULL);
            for (int op = 0; op < NET_N_OPS; op++) {
                for (guint nodes = 1; nodes <= 32; nodes *= 4) {
                    NetGroup group = net_even_group(&fabric, nodes * 8, nodes);
                    check_options(&fabric, (NetOp)op, &group);
                }
            }
        }
    }
}

/* Doubling all rates halves the wire time: without latency, the time. */
static void
test_doubled_rates(void)
{
    ClusterSystem slow = node_of_8("A100", FALSE), fast = slow;
    fast.nvlink_Bps *= 2;
    fast.nic_Bps *= 2;
    NetFabric a = net_fabric_of(&slow, NULL), b = net_fabric_of(&fast, NULL);
    for (guint nodes = 1; nodes <= 16; nodes *= 2) {
        NetGroup group = net_even_group(&a, 8 * nodes, nodes);
        g_assert_cmpfloat_with_epsilon(net_model_time(&a, NET_ALL_GATHER, &group, 1e9).ns /
                                           net_model_time(&b, NET_ALL_GATHER, &group, 1e9).ns,
                                       2.0, 1e-9);
    }
}

/* Links above the cards that need twice as long as the cards halve what crosses them: all_gather's ring, not the messages
 * that stay on rails; and links above the ports the same in a node. */
static void
test_links_above(void)
{
    ClusterSystem system = node_of_8("A100", FALSE);
    NetFabric f = net_fabric_of(&system, NULL);
    NetGroup free = net_even_group(&f, 16, 2), spine = free, node = net_even_group(&f, 8, 1),
             pcie = node;
    spine.fabric[NET_PATTERN_RING] = 2.0;
    spine.fabric[NET_PATTERN_TREE] = 0.5;
    pcie.node[NET_PATTERN_RING] = 3.0;
    double alone = net_model_time(&f, NET_ALL_GATHER, &free, 1e9).ns;
    g_assert_cmpfloat_with_epsilon(net_model_time(&f, NET_ALL_GATHER, &spine, 1e9).ns / alone, 2.0,
                                   1e-9);
    g_assert_cmpfloat(net_model_time(&f, NET_ALL_TO_ALL, &spine, 1e9).ns, ==,
                      net_model_time(&f, NET_ALL_TO_ALL, &free, 1e9).ns);
    g_assert_cmpfloat(net_algorithm_ns(&net_tree, &f, NET_ALL_REDUCE, &spine, NET_SIMPLE, 1e9), ==,
                      net_algorithm_ns(&net_tree, &f, NET_ALL_REDUCE, &free, NET_SIMPLE, 1e9));
    g_assert_cmpfloat_with_epsilon(net_model_time(&f, NET_ALL_GATHER, &pcie, 1e9).ns /
                                       net_model_time(&f, NET_ALL_GATHER, &node, 1e9).ns,
                                   3.0, 1e-9);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/algorithm/uncontended-ring-is-bytes-over-rate", test_uncontended_ring);
    g_test_add_func("/net/algorithm/bytes-on-each-link", test_bytes_on_links);
    g_test_add_func("/net/algorithm/bytes-of-uneven-groups", test_bytes_of_uneven_groups);
    g_test_add_func("/net/algorithm/bytes-of-rare-algorithms", test_bytes_of_rare_algorithms);
    g_test_add_func("/net/algorithm/ring-conserves-bytes", test_ring_conserves_bytes);
    g_test_add_func("/net/algorithm/small-message-is-base-and-hops", test_small_message);
    g_test_add_func("/net/algorithm/which-one-nccl-takes", test_which_algorithm);
    g_test_add_func("/net/algorithm/monotone-in-bytes", test_monotone_in_bytes);
    g_test_add_func("/net/algorithm/doubled-rates-halve-time", test_doubled_rates);
    g_test_add_func("/net/algorithm/links-above-slow-their-pattern-only", test_links_above);
    return g_test_run();
}
