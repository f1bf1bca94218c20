/* Ring: every rank sends to the next one; all_reduce, all_gather, reduce_scatter, broadcast.
 *
 * n ranks on N nodes, k on a node, q NICs a node; R = bytes a rank sends (net_ring_bytes). Of the k
 * sends of a node in each step one leaves the node and k - 1 stay:
 *
 *     NIC     R / q              (rings start at different GPUs, so all q NICs share the load)
 *     NVLink  R (k - 1) / k      N > 1
 *             R                  N = 1
 *
 * Latency: base + (steps - net steps) hop_nvlink + (net steps) hop_net; steps 2(n-1) for all_reduce,
 * n - 1 for the others; net steps 2(N-1) or N - 1. Across nodes a hop in the node costs at least the
 * proxy's overhead, 1 us (3 us Simple). Constants: NCCL 2.27 tuning.cc. */
#include "config.h"

#include "net/algorithm.h"

static const double base_us[NET_N_PROTOCOLS] = {6.6, 14.0, 8.4};
static const double nvlink_us[NET_N_PROTOCOLS] = {0.6, 1.9, 3.4};
static const double pcie_us[NET_N_PROTOCOLS] = {1.0, 2.5, 5.7};
static const double net_us[NET_N_PROTOCOLS] = {2.7, 4.0, 14.0};
static const double overhead_us[NET_N_PROTOCOLS] = {1.0, 1.0, 3.0};

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
    return (NetBytes){.nvlink = sent * (k - 1.0) / k, .nic = sent / group->nics};
}

static double
ring_latency_us(const NetFabric *fabric, NetOp op, const NetGroup *group, NetProtocol protocol)
{
    double rounds = op == NET_ALL_REDUCE ? 2.0 : 1.0;
    double steps = rounds * (group->ranks - 1.0);
    double net_steps = rounds * (group->nodes - 1.0);
    double hop = fabric->link == CLUSTER_LINK_PCIE ? pcie_us[protocol] : nvlink_us[protocol];
    if (group->nodes > 1)
        hop = MAX(hop, overhead_us[protocol]);
    return fabric->nvlink_factor * (base_us[protocol] + (steps - net_steps) * hop) +
           fabric->nic_factor * net_steps * net_us[protocol];
}

static double
ring_wire_frac(const NetFabric *fabric, NetOp op G_GNUC_UNUSED, const NetGroup *group,
               NetProtocol protocol)
{
    switch (protocol) {
    case NET_LL:
        return net_ll_frac(fabric, group, 0.5);
    case NET_LL128:
        return net_ll128_runs(fabric) ? 0.92 : 0.0;
    default:
        return 1.0;
    }
}

const NetAlgorithm net_ring = {
    .name = "ring",
    .runs = ring_runs,
    .bytes = ring_bytes,
    .latency_us = ring_latency_us,
    .wire_frac = ring_wire_frac,
};
