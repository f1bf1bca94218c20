/* Double binary tree over nodes, a chain in each node; all_reduce only.
 *
 * Each of two trees carries half of S up (reduce) and down (broadcast). A tree over N nodes has N - 1
 * edges, so all nodes together send 2 trees x (N-1) edges x 2 directions x S/2 = 2(N-1) S:
 *
 *     NIC     2 S (N - 1) / N / q      on average; the same as a ring for large N, and for N = 2
 *                                      S / q against the ring's 2 (n-1)/n S / q
 *     NVLink  2 S (k - 1) / k          the k - 1 links of the fullest node's chain carry S up and S down
 *
 * Latency: 2 (k - 1) hops in the node, 2 log2(N) between nodes. NCCL expects half of 0.92 b for any N (0.85 of that
 * where one GPU has all of the node's traffic), LL 1/3.8 of that, LL128 7/9 in a node and 120/128 across. A tree
 * does send less than that on few nodes, and the time here says so. */
#include "config.h"

#include "net/algorithm.h"

#include <math.h>

#define TREE_FRAC 0.92

static gboolean
tree_runs(const NetFabric *fabric G_GNUC_UNUSED, NetOp op, const NetGroup *group G_GNUC_UNUSED)
{
    return op == NET_ALL_REDUCE;
}

static NetBytes
tree_bytes(const NetFabric *fabric G_GNUC_UNUSED, NetOp op G_GNUC_UNUSED, const NetGroup *group,
           double bytes)
{
    double k = group->ranks_per_node, nodes = group->nodes;
    NetBytes load = {.nvlink = 2.0 * bytes * (k - 1.0) / k};
    if (group->nodes > 1)
        load.nic = 2.0 * bytes * (nodes - 1.0) / nodes / net_group_least_nics(group);
    return load;
}

static NetHops
tree_hops(const NetFabric *fabric G_GNUC_UNUSED, NetOp op G_GNUC_UNUSED, const NetGroup *group)
{
    return (NetHops){.near = 2.0 * (group->ranks_per_node - 1.0), .far = 2.0 * log2(group->nodes)};
}

static double
tree_expected_GBps(const NetFabric *fabric, NetOp op G_GNUC_UNUSED, const NetGroup *group,
                   NetProtocol protocol, const NetGraph *graph)
{
    const NetNccl *nccl = fabric->nccl;
    guint nodes = net_nodes_index(group);
    double bus = graph->channels * (group->nodes <= 2 ? graph->intra : graph->inter);
    if (fabric->generation == NET_AMPERE && nccl->ampere_cap_GBps > 0.0)
        bus = MIN(bus, nccl->ampere_cap_GBps);
    bus = MIN(TREE_FRAC * bus, graph->channels * nccl->tree_GBps[fabric->generation][nodes]);
    if (protocol == NET_LL)
        bus = MIN(bus / 3.8, net_ll_max_GBps(fabric, group));
    if (protocol == NET_LL128) {
        if (!net_ll128_runs(fabric, group))
            return 0.0;
        bus *= group->nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0;
        bus = MIN(bus, graph->channels * nccl->tree_ll128_GBps[fabric->generation][nodes]);
    }
    if (group->nodes > 1 && group->ranks_per_node == 1)
        bus *= nccl->chained_tree_frac;
    return 0.5 * bus;
}

static double
tree_wire_frac(const NetFabric *fabric, NetOp op G_GNUC_UNUSED, const NetGroup *group,
               NetProtocol protocol)
{
    switch (protocol) {
    case NET_LL:
        return 0.5;
    case NET_LL128:
        return net_ll128_runs(fabric, group) ? TREE_FRAC : 0.0;
    default:
        return group->nodes > 1 ? 1.0 : TREE_FRAC;
    }
}

const NetAlgorithm net_tree = {
    .name = "tree",
    .algo = NET_ALGO_TREE,
    .runs = tree_runs,
    .bytes = tree_bytes,
    .hops = tree_hops,
    .expected_GBps = tree_expected_GBps,
    .wire_frac = tree_wire_frac,
};
