/* What people measure and ask about, with no table of measurements: the model must know it. Figures from threads of
 * github.com/NVIDIA/nccl and nccl-tests, named at each. */
#include "config.h"

#include "net/rows.h"

typedef struct {
    const char *gpu;
    ClusterLink link;
    gint64 gpus, nvlink_GBps, nics, nic_Gbps; /* rates nominal */
    gint64 pcie_GBps;
    const char *algo;
    gboolean no_gpudirect;
} Machine;

static ClusterSystem
system_of(const Machine *m)
{
    double nvlink_frac = m->gpu[0] == 'A' ? 0.78 : m->gpu[0] == 'B' ? 0.77 : 0.82;
    return (ClusterSystem){
        .gpu_name = (char *)m->gpu,
        .gpus_per_node = m->gpus,
        .link = m->link,
        .nvlink_Bps = m->nvlink_GBps * 1000000000,
        .nvlink_efficiency = nvlink_frac,
        .nvlink_latency_ns = 2000,
        .pcie_Bps = m->pcie_GBps * 1000000000,
        .nics_per_node = m->nics,
        .nic_Bps = m->nic_Gbps * 125000000,
        .nic_efficiency = 0.97,
        .nic_latency_ns = 17000,
        .gpudirect = !m->no_gpudirect,
        .rail_optimised = TRUE,
        .oversubscription = 1.0,
        .nccl_version = 22700,
        .nccl_algo = (char *)m->algo,
        .pxn = TRUE,
    };
}

/* GB/s as nccl-tests prints it. */
static double
busbw_GBps(const Machine *m, NetOp op, guint ranks, guint nodes, double bytes)
{
    g_autoptr(GError) error = NULL;
    ClusterSystem system = system_of(m);
    g_autoptr(NetBook) book = net_book_new(&system, NULL, 0, &error);
    g_assert_no_error(error);
    NetFabric fabric = net_fabric_of(&system, NULL);
    NetGroup group = net_even_group(&fabric, ranks, nodes);
    NetTime t = net_collective(book, op, group, (gint64)bytes);
    double busbw = net_ring_bytes(op, ranks, bytes) / t.time.ns;
    g_test_message("%u %s on %u nodes, %s: %s %s %.1f GB/s", ranks, m->gpu, nodes, net_op_name(op),
                   t.algorithm, t.protocol, busbw);
    return busbw;
}

static const struct {
    const char *where;
    Machine machine;
    NetOp op;
    guint ranks, nodes;
    double busbw, within; /* GB/s, share */
} figures[] = {
    {"nccl 2140: 8 H100, NVLS off",
     {"H100", CLUSTER_LINK_NVSWITCH, 8, 450, 8, 400, 52, "ring", FALSE},
     NET_ALL_REDUCE,
     8,
     1,
     370,
     0.03},
    {"nccl 2140: 8 H100",
     {"H100", CLUSTER_LINK_NVSWITCH, 8, 450, 8, 400, 52, "", FALSE},
     NET_ALL_REDUCE,
     8,
     1,
     480,
     0.03},
    {"nccl 2140: 8 B300, NVLS off",
     {"B300", CLUSTER_LINK_NVSWITCH, 8, 900, 8, 800, 52, "ring", FALSE},
     NET_ALL_REDUCE,
     8,
     1,
     695,
     0.05},
    {"nccl 2140: 8 B300",
     {"B300", CLUSTER_LINK_NVSWITCH, 8, 900, 8, 800, 52, "", FALSE},
     NET_ALL_REDUCE,
     8,
     1,
     845,
     0.08},
    {"nccl 1374: 8 H800, 200 GB/s of NVLink, more than that",
     {"H800", CLUSTER_LINK_NVSWITCH, 8, 200, 8, 400, 52, "", FALSE},
     NET_ALL_REDUCE,
     8,
     1,
     215,
     0.03},
    {"nccl-tests 196: 2 x 8, one 100 Gb/s card a node: 15/8 of the card",
     {"H100 PCIe", CLUSTER_LINK_PCIE, 8, 50, 1, 100, 50, "", FALSE},
     NET_ALL_REDUCE,
     16,
     2,
     23.4,
     0.05},
    {"nccl 1357: one GPU a node, one of its cards",
     {"H100", CLUSTER_LINK_NVSWITCH, 8, 450, 4, 400, 52, "tree", FALSE},
     NET_ALL_REDUCE,
     2,
     2,
     50,
     0.06},
    {"nccl 1357: a node of one GPU with four cards: its one PCIe link",
     {"H100", CLUSTER_LINK_NVSWITCH, 1, 450, 4, 400, 52, "tree", FALSE},
     NET_ALL_REDUCE,
     2,
     2,
     50,
     0.06},
    {"nccl 1357: 2 x 8, one card",
     {"H100", CLUSTER_LINK_NVSWITCH, 8, 450, 1, 400, 52, "tree", FALSE},
     NET_ALL_REDUCE,
     16,
     2,
     92.6,
     0.05},
    {"nccl 1357: 2 x 8, two cards",
     {"H100", CLUSTER_LINK_NVSWITCH, 8, 450, 2, 400, 52, "tree", FALSE},
     NET_ALL_REDUCE,
     16,
     2,
     184.9,
     0.05},
    {"nccl-tests 267: 6 nodes, all to all at 6/5 of a card",
     {"H100", CLUSTER_LINK_NVSWITCH, 8, 450, 8, 400, 52, "", FALSE},
     NET_ALL_TO_ALL,
     48,
     6,
     58,
     0.08},
    {"nccl-tests 267: 6 nodes, all cards together",
     {"H100", CLUSTER_LINK_NVSWITCH, 8, 450, 8, 400, 52, "", FALSE},
     NET_ALL_REDUCE,
     48,
     6,
     380,
     0.06},
    {"nccl 465: 100 Gb/s without GPUDirect",
     {"A100", CLUSTER_LINK_PCIE, 8, 20, 1, 100, 26, "ring", TRUE},
     NET_ALL_REDUCE,
     16,
     2,
     6,
     0.06},
    {"nccl-tests 152: 2 A100 nodes with 4 HDR: 15/8 of what all four do",
     {"A100", CLUSTER_LINK_NVSWITCH, 8, 300, 4, 200, 26, "ring", FALSE},
     NET_ALL_REDUCE,
     16,
     2,
     93,
     0.06},
};

static void
test_figures(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(figures); i++) {
        double busbw = busbw_GBps(&figures[i].machine, figures[i].op, figures[i].ranks,
                                  figures[i].nodes, 17e9);
        g_test_message("%s: %.0f", figures[i].where, figures[i].busbw);
        g_assert_cmpfloat(busbw, >, figures[i].busbw * (1.0 - figures[i].within));
        g_assert_cmpfloat(busbw, <, figures[i].busbw * (1.0 + figures[i].within));
    }
}

/* On two nodes a tree sends each byte out of the node once, a ring 2 (n-1)/n times; nccl-tests prints the ring's bytes. */
static void
test_tree_above_the_wire(void)
{
    const Machine m = {"A100", CLUSTER_LINK_NVSWITCH, 8, 300, 1, 100, 26, "", FALSE};
    g_assert_cmpfloat(busbw_GBps(&m, NET_ALL_REDUCE, 16, 2, 4e9), >, 1.5 * 12.5);
    Machine ring = m;
    ring.algo = "ring";
    g_assert_cmpfloat(busbw_GBps(&ring, NET_ALL_REDUCE, 16, 2, 4e9), <, 12.5);
}

/* All to all among N nodes: (n - k)/n of each buffer leaves, nccl-tests prints (n - 1)/n: about N/(N-1) of the card. */
static void
test_all_to_all(void)
{
    const Machine m = {"H100", CLUSTER_LINK_NVSWITCH, 8, 450, 8, 400, 52, "", FALSE};
    for (guint nodes = 2; nodes <= 16; nodes *= 2) {
        double n = 8.0 * nodes, card = 50.0;
        double most = card * (n - 1.0) / (n - 8.0);
        double busbw = busbw_GBps(&m, NET_ALL_TO_ALL, 8 * nodes, nodes, 17e9);
        g_assert_cmpfloat(busbw, <, most);
        g_assert_cmpfloat(busbw, >, 0.88 * most);
    }
}

/* Without GPUDirect half of the card (nccl-tests 29: "performance doubled" with it). */
static void
test_gpudirect(void)
{
    const Machine with = {"V100", CLUSTER_LINK_MESH, 8, 150, 4, 100, 24, "ring", FALSE};
    Machine without = with;
    without.no_gpudirect = TRUE;
    double a = busbw_GBps(&with, NET_ALL_REDUCE, 32, 4, 4e9),
           b = busbw_GBps(&without, NET_ALL_REDUCE, 32, 4, 4e9);
    g_assert_cmpfloat(a / b, >, 1.9);
    g_assert_cmpfloat(a / b, <, 2.05);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/facts/figures-of-threads", test_figures);
    g_test_add_func("/net/facts/tree-above-the-wire", test_tree_above_the_wire);
    g_test_add_func("/net/facts/all-to-all-and-the-card", test_all_to_all);
    g_test_add_func("/net/facts/gpudirect-doubles", test_gpudirect);
    return g_test_run();
}
