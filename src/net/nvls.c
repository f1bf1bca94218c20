/* NVLink SHARP: NVSwitch reduces and multicasts, on Hopper and newer; "nvlstree" across nodes.
 *
 * all_reduce: a rank owns S/k of the buffer: it reads the sum of that part from the switch, to which every rank
 * sends its copy (S in all), and multicasts the result (S/k sent, S received):
 *
 *     NVLink  S (k + 1) / k              against the ring's 2 (k - 1) / k S
 *     NIC     2 S (N - 1) / N / q        between nodes a double tree as in tree.c
 *
 * all_gather: a rank multicasts its part once and receives all, its own too; reduce_scatter the other way: S through
 * each port, in the direction that counts; on one node (across nodes they need switches that reduce, collnet.c).
 * Latency 1 hop of 25 us in a node and 2 log2(N) network hops. NCCL expects 5/6 of the channels' rate up to 2.27, then
 * what the switch achieves, 0.85 of it (Hopper) or 0.74 (Blackwell), at the bytes that a rank's channel moves. The
 * same shares reproduce the measured plateaus, 8 GPUs: H100 480, B200 840 GB/s of bus bandwidth. All nodes need the
 * same number of ranks. */
#include "config.h"

#include "net/algorithm.h"

#include <math.h>

static gboolean
nvls_runs_at_all(const NetFabric *fabric, const NetGroup *group)
{
    return fabric->generation >= NET_HOPPER && fabric->nccl->nvls != NET_NVLS_NONE &&
           fabric->link == CLUSTER_LINK_NVSWITCH && group->ranks_per_node > 2 &&
           net_group_least(group) == group->ranks_per_node;
}

static gboolean
nvls_runs(const NetFabric *fabric, NetOp op, const NetGroup *group)
{
    gboolean gathers =
        (op == NET_ALL_GATHER || op == NET_REDUCE_SCATTER) && fabric->nccl->nvls != NET_NVLS_FIRST;
    return (op == NET_ALL_REDUCE || gathers) && nvls_runs_at_all(fabric, group) &&
           group->nodes == 1;
}

static gboolean
nvls_tree_runs(const NetFabric *fabric, NetOp op, const NetGroup *group)
{
    return op == NET_ALL_REDUCE && nvls_runs_at_all(fabric, group) && group->nodes > 1;
}

static NetBytes
nvls_bytes(const NetFabric *fabric G_GNUC_UNUSED, NetOp op, const NetGroup *group, double bytes)
{
    double k = group->ranks_per_node, nodes = group->nodes;
    NetBytes load = {.nvlink = op == NET_ALL_REDUCE ? bytes * (k + 1.0) / k : bytes};
    if (group->nodes > 1)
        load.nic = 2.0 * bytes * (nodes - 1.0) / nodes / net_group_least_nics(group);
    return load;
}

static NetHops
nvls_hops(const NetFabric *fabric, NetOp op G_GNUC_UNUSED, const NetGroup *group)
{
    gboolean linear = fabric->nccl->nvls == NET_NVLS_FIRST;
    double nodes = group->nodes;
    return (NetHops){.near = 1.0, .far = 2.0 * (linear ? nodes - 1.0 : log2(nodes))};
}

/* Of the bus rate of what the switch works at. */
static double
switch_frac(const NetFabric *fabric)
{
    return fabric->generation == NET_HOPPER ? 0.85 : 0.74;
}

/* From 2.28 on; n ranks, m = channels. */
static double
measured_GBps(const NetFabric *fabric, NetOp op, const NetGroup *group, const NetGraph *graph)
{
    double m = graph->channels, k = group->ranks_per_node, n = group->ranks;
    double intra = m * graph->intra * switch_frac(fabric) * (m - 1.0) / m;
    if (op != NET_ALL_REDUCE)
        return intra * (k - 1.0) / k * n / (n - 1.0);
    double bus = 2.0 * intra;
    if (group->nodes > 1) {
        guint blocks = fabric->nccl->nvls_channels[fabric->generation][1];
        double cap = fabric->nccl->nvls_tree_GBps[fabric->generation][net_nodes_index(group)];
        bus = MIN(bus, m * graph->inter * (group->nodes == 2 ? 2.0 : 1.0));
        bus = MIN(bus, blocks * cap);
    }
    return bus * n / (2.0 * (n - 1.0));
}

static double
nvls_expected_GBps(const NetFabric *fabric, NetOp op, const NetGroup *group, NetProtocol protocol,
                   const NetGraph *graph)
{
    if (protocol != NET_SIMPLE || graph->channels == 0)
        return 0.0;
    if (fabric->nccl->nvls == NET_NVLS_SWITCH)
        return measured_GBps(fabric, op, group, graph);
    double m = graph->channels, k = group->ranks_per_node, nodes = group->nodes;
    if (op != NET_ALL_REDUCE)
        return m * MIN(graph->intra * (k - 1.0) / k, 0.9 * graph->inter);
    double inter = nodes > 2.0 ? graph->inter / 2.0 : graph->inter;
    if (group->nodes == 1)
        return m * graph->intra * 5.0 / 6.0;
    if (fabric->nccl->nvls == NET_NVLS_FIRST)
        return m * (nodes > 2.0 ? graph->inter : graph->intra) * 0.7 * nodes /
               (2.0 * (nodes - 1.0));
    return m * MIN(graph->intra, inter) * 5.0 / 6.0;
}

static double
nvls_wire_frac(const NetFabric *fabric, NetOp op G_GNUC_UNUSED, const NetGroup *group G_GNUC_UNUSED,
               NetProtocol protocol)
{
    return protocol == NET_SIMPLE ? switch_frac(fabric) : 0.0;
}

const NetAlgorithm net_nvls = {
    .name = "nvls",
    .algo = NET_ALGO_NVLS,
    .runs = nvls_runs,
    .bytes = nvls_bytes,
    .hops = nvls_hops,
    .expected_GBps = nvls_expected_GBps,
    .wire_frac = nvls_wire_frac,
};

const NetAlgorithm net_nvls_tree = {
    .name = "nvlstree",
    .algo = NET_ALGO_NVLS_TREE,
    .runs = nvls_tree_runs,
    .bytes = nvls_bytes,
    .hops = nvls_hops,
    .expected_GBps = nvls_expected_GBps,
    .wire_frac = nvls_wire_frac,
};
