/* Direct messages: all_to_all and send_recv, grouped point-to-point sends without an algorithm.
 *
 * all_to_all of S a rank, one slice of S/n for each rank, the own one stays:
 *
 *     NIC     (k / q) S (n - k) / n
 *     NVLink  S (k - 1) / n              to ranks of the same node
 *           + S (n - k)/n (k - 1)/k      rail-optimised fabrics: slices for another rail go first to
 *                                        the local GPU of that rail (PXN)
 *
 * send_recv: S through NVLink in a node, S through the sender's NICs across (a GPU with several NICs
 * spreads it over them). Latency: base + one hop + a little for every peer: 0.3 us in the node and
 * 3.6 us across (nccl-tests alltoall, 2 x 8 A100: 60 us; 10 x 8 H100: 350 us over the wire time). */
#include "config.h"

#include "net/algorithm.h"

static const double base_us[NET_N_PROTOCOLS] = {6.6, 0.0, 8.4};
static const double nvlink_us[NET_N_PROTOCOLS] = {0.6, 0.0, 3.4};
static const double net_us[NET_N_PROTOCOLS] = {5.0, 0.0, 14.0};
#define PEER_US 0.3
#define NET_PEER_US 3.6

static gboolean
direct_runs(const NetFabric *fabric G_GNUC_UNUSED, NetOp op, const NetGroup *group G_GNUC_UNUSED)
{
    return op == NET_ALL_TO_ALL || op == NET_SEND_RECV;
}

static NetBytes
direct_bytes(const NetFabric *fabric, NetOp op, const NetGroup *group, double bytes)
{
    double n = group->ranks, k = group->ranks_per_node;
    double nics_per_rank = group->nics / k;
    if (op == NET_SEND_RECV) {
        if (group->nodes == 1)
            return (NetBytes){.nvlink = bytes};
        return (NetBytes){.nvlink = k > 1.0 ? bytes : 0.0, .nic = bytes / MAX(nics_per_rank, 1.0)};
    }
    NetBytes load = {.nvlink = bytes * (k - 1.0) / n};
    if (group->nodes > 1) {
        load.nic = bytes * (n - k) / n / nics_per_rank;
        if (fabric->rail_optimised)
            load.nvlink += bytes * (n - k) / n * (k - 1.0) / k;
    }
    return load;
}

static double
direct_latency_us(const NetFabric *fabric, NetOp op, const NetGroup *group, NetProtocol protocol)
{
    gboolean all = op == NET_ALL_TO_ALL;
    double near = all ? group->ranks_per_node - 1.0 : 0.0;
    double far = all ? (double)group->ranks - group->ranks_per_node : 0.0;
    double us = fabric->nvlink_factor * (base_us[protocol] + near * PEER_US);
    if (group->nodes == 1)
        return us + fabric->nvlink_factor * nvlink_us[protocol];
    return us + fabric->nic_factor * (net_us[protocol] + far * NET_PEER_US);
}

static double
direct_wire_frac(const NetFabric *fabric, NetOp op G_GNUC_UNUSED, const NetGroup *group,
                 NetProtocol protocol)
{
    switch (protocol) {
    case NET_LL:
        return net_ll_frac(fabric, group, 0.5);
    case NET_SIMPLE:
        return 1.0;
    default:
        return 0.0;
    }
}

const NetAlgorithm net_direct = {
    .name = "direct",
    .runs = direct_runs,
    .bytes = direct_bytes,
    .latency_us = direct_latency_us,
    .wire_frac = direct_wire_frac,
};
