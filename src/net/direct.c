/* Direct messages: all_to_all and send_recv, grouped point-to-point sends without an algorithm.
 *
 * all_to_all of S a rank, one slice of S/n for each rank, the own one stays; k ranks on a node, q NICs:
 *
 *     NIC     (k / q) S (n - k) / n                of the node for which it is most
 *     NVLink  S (k - 1) / n                        to ranks of the same node
 *           + S (n - k)/n (k - 1)/k                with PXN ([nccl] pxn, rail-optimised fabrics): slices for another
 *                                                  rail go first to the local GPU of that rail
 *
 * PXN keeps all on rails, NET_PATTERN_PAIRS; without, a slice goes from the sender's card to the receiver's,
 * NET_PATTERN_CROSS.
 *
 * send_recv: S through NVLink in a node, S through the sender's NICs across (a GPU with several NICs
 * spreads it over them). Latency: one hop and a little for every peer: 0.3 us in the node and
 * 3.6 us across (nccl-tests alltoall, 2 x 8 A100: 60 us; 10 x 8 H100: 350 us over the wire time). */
#include "config.h"

#include "net/algorithm.h"

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
        double least = net_group_least(group);
        double away =
            MAX(k / group->nics * (n - k), least / net_group_least_nics(group) * (n - least));
        load.nic = bytes * away / n;
        if (net_fabric_pxn(fabric))
            load.nvlink += bytes * (n - k) / n * (k - 1.0) / k;
    }
    return load;
}

static NetHops
direct_hops(const NetFabric *fabric, NetOp op, const NetGroup *group)
{
    gboolean all = op == NET_ALL_TO_ALL;
    double near = all ? group->ranks_per_node - 1.0 : 0.0;
    double far = all ? (double)group->ranks - net_group_least(group) : 0.0;
    NetHops hops = {.extra_us = near * PEER_US};
    if (group->nodes == 1)
        hops.near = 1.0;
    else
        hops.far = 1.0 + far * NET_PEER_US / fabric->nccl->net_us[NET_ALGO_DIRECT][NET_LL];
    return hops;
}

/* Nothing is expected: the size decides between the protocols (choice.c). */
static double
direct_expected_GBps(const NetFabric *fabric, NetOp op G_GNUC_UNUSED, const NetGroup *group,
                     NetProtocol protocol, const NetGraph *graph G_GNUC_UNUSED)
{
    double share = protocol == NET_LL ? 0.5 : protocol == NET_SIMPLE ? 1.0 : 0.0;
    return share * (group->nodes > 1 ? fabric->planned_nic_GBps
                                     : net_fabric_planned_GBps(fabric, group->ranks_per_node));
}

static double
direct_wire_frac(const NetFabric *fabric G_GNUC_UNUSED, NetOp op G_GNUC_UNUSED,
                 const NetGroup *group G_GNUC_UNUSED, NetProtocol protocol)
{
    switch (protocol) {
    case NET_LL:
        return 0.5;
    case NET_SIMPLE:
        return 1.0;
    default:
        return 0.0;
    }
}

const NetAlgorithm net_direct = {
    .name = "direct",
    .algo = NET_ALGO_DIRECT,
    .runs = direct_runs,
    .bytes = direct_bytes,
    .hops = direct_hops,
    .expected_GBps = direct_expected_GBps,
    .wire_frac = direct_wire_frac,
};
