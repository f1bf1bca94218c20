/* Double binary tree over nodes, a chain in each node; all_reduce only.
 *
 * Each of two trees carries half of S up (reduce) and down (broadcast). A tree over N nodes has N - 1
 * edges, so all nodes together send 2 trees x (N-1) edges x 2 directions x S/2 = 2(N-1) S:
 *
 *     NIC     2 S (N - 1) / N / q      on average; the same as a ring for large N, and for N = 2
 *                                      S / q against the ring's 2 (n-1)/n S / q
 *     NVLink  2 S (k - 1) / k          the k - 1 links of the chain carry S up and S down
 *
 * Latency: base + 2 ((k - 1) hop_nvlink + log2(N) hop_net). Constants: NCCL 2.27 tuning.cc; a tree
 * reaches 0.92 of the bus rate, LL 1/3.8 of that, LL128 7/9 in a node and 120/128 across. NCCL plans with
 * 2 S on the wire for any N and so takes the ring for large buffers also on few nodes, where a tree would
 * send less; the share (N-1)/N says the same here. */
#include "config.h"

#include "net/algorithm.h"

#include <math.h>

static const double base_us[NET_N_PROTOCOLS] = {6.8, 14.0, 8.4};
static const double nvlink_us[NET_N_PROTOCOLS] = {0.6, 1.25, 4.0};
static const double pcie_us[NET_N_PROTOCOLS] = {1.0, 1.9, 4.0};
static const double net_us[NET_N_PROTOCOLS] = {5.0, 8.5, 14.0};
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
        load.nic = 2.0 * bytes * (nodes - 1.0) / nodes / group->nics;
    return load;
}

static double
tree_latency_us(const NetFabric *fabric, NetOp op G_GNUC_UNUSED, const NetGroup *group,
                NetProtocol protocol)
{
    double hop = fabric->link == CLUSTER_LINK_PCIE ? pcie_us[protocol] : nvlink_us[protocol];
    return fabric->nvlink_factor * (base_us[protocol] + 2.0 * (group->ranks_per_node - 1.0) * hop) +
           fabric->nic_factor * 2.0 * log2(group->nodes) * net_us[protocol];
}

static double
tree_wire_frac(const NetFabric *fabric, NetOp op G_GNUC_UNUSED, const NetGroup *group,
               NetProtocol protocol)
{
    double planned = group->nodes > 1 ? TREE_FRAC * (group->nodes - 1.0) / group->nodes : TREE_FRAC;
    switch (protocol) {
    case NET_LL:
        return net_ll_frac(fabric, group, planned / 3.8);
    case NET_LL128:
        if (!net_ll128_runs(fabric))
            return 0.0;
        return planned * (group->nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0);
    default:
        return planned;
    }
}

const NetAlgorithm net_tree = {
    .name = "tree",
    .runs = tree_runs,
    .bytes = tree_bytes,
    .latency_us = tree_latency_us,
    .wire_frac = tree_wire_frac,
};
