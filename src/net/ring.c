/* Ring: every rank sends to the next one; all_reduce, all_gather, reduce_scatter, broadcast.
 *
 * n ranks on N nodes, k on the fullest, q NICs of the node with fewest; R = bytes a rank sends (net_ring_bytes).
 * Of the k sends of a node in each step one leaves the node and k - 1 stay:
 *
 *     NIC     R / q              (rings start at different GPUs, so all q NICs share the load)
 *     NVLink  R (k - 1) / k      N > 1
 *             R                  N = 1
 *
 * Latency: (steps - net steps) hops in the node, net steps between nodes; steps 2(n-1) for all_reduce, n - 1
 * for the others; net steps 2(N-1) or N - 1. NCCL expects of b = channels x speed: n / steps b; LL128 0.92 of it, LL a
 * half (before 2.21 a quarter, of gathers in a node a third). */
#include "config.h"

#include "net/algorithm.h"

static gboolean
ring_runs(const NetFabric *fabric G_GNUC_UNUSED, NetOp op, const NetGroup *group G_GNUC_UNUSED)
{
    return op == NET_ALL_REDUCE || op == NET_ALL_GATHER || op == NET_REDUCE_SCATTER ||
           op == NET_BROADCAST;
}

static NetBytes
ring_bytes(const NetFabric *fabric G_GNUC_UNUSED, NetOp op, const NetGroup *group, double bytes)
{
    double sent = net_ring_bytes(op, group->ranks, bytes);
    if (group->nodes == 1)
        return (NetBytes){.nvlink = sent};
    double k = group->ranks_per_node;
    return (NetBytes){.nvlink = sent * (k - 1.0) / k, .nic = sent / net_group_least_nics(group)};
}

static NetHops
ring_hops(const NetFabric *fabric G_GNUC_UNUSED, NetOp op, const NetGroup *group)
{
    double rounds = op == NET_ALL_REDUCE ? 2.0 : 1.0;
    double far = rounds * (group->nodes - 1.0);
    return (NetHops){.near = rounds * (group->ranks - 1.0) - far, .far = far};
}

static double
ring_expected_GBps(const NetFabric *fabric, NetOp op, const NetGroup *group, NetProtocol protocol,
                   const NetGraph *graph)
{
    const NetNccl *nccl = fabric->nccl;
    double bus = graph->channels * (group->nodes <= 2 ? graph->intra : graph->inter);
    if (fabric->generation == NET_AMPERE && nccl->ampere_cap_GBps > 0.0)
        bus = MIN(bus, nccl->ampere_cap_GBps);
    if (protocol == NET_LL) {
        double share = nccl->ring_ll_frac;
        if (share == 0.0)
            share = group->nodes > 1 || op == NET_ALL_REDUCE ? 1.0 / 4.0 : 1.0 / 3.0;
        bus = MIN(net_ll_max_GBps(fabric, group), bus * share);
    } else if (protocol == NET_LL128) {
        if (!net_ll128_runs(fabric, group))
            return 0.0;
        bus *= group->ranks_per_node < 2 ? nccl->lone_ll128_frac : 0.92;
        double channel = nccl->ring_ll128_GBps[fabric->generation][net_nodes_index(group)];
        bus = MIN(bus, graph->channels * channel);
    }
    double n = group->ranks;
    double steps = op == NET_ALL_REDUCE ? 2.0 * (n - 1.0) : op == NET_BROADCAST ? n : n - 1.0;
    return bus * n / steps;
}

static double
ring_wire_frac(const NetFabric *fabric, NetOp op G_GNUC_UNUSED, const NetGroup *group,
               NetProtocol protocol)
{
    switch (protocol) {
    case NET_LL:
        return 0.5;
    case NET_LL128:
        return net_ll128_runs(fabric, group) ? 0.92 : 0.0;
    default:
        return 1.0;
    }
}

const NetAlgorithm net_ring = {
    .name = "ring",
    .algo = NET_ALGO_RING,
    .runs = ring_runs,
    .bytes = ring_bytes,
    .hops = ring_hops,
    .expected_GBps = ring_expected_GBps,
    .wire_frac = ring_wire_frac,
};
