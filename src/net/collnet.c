/* CollNet: the switches of the network reduce (SHARP), [nccl] sharp = yes; all_reduce between nodes.
 *
 * Each node gives its sum to the switches once and gets the result once, whatever the number of nodes:
 *
 *     NIC     S / q              each direction, against a ring's 2 (N-1)/N S / q
 *     NVLink  direct: each of k heads owns S/k: the others send it theirs and get the result,
 *                                2 S (k - 1) / k; with NVSwitch
 *             chain:             S up and S down the chain, 2 S (k - 1) / k on average
 *
 * Latency: direct 2 (min(1, k-1) hops + 0.4 us (k-1)) and one network hop; chain 2 (k-1) hops and one. NCCL expects half of
 * the channels' rate in the node, direct divided by f = k / channels less half of what f exceeds 1, 0.85 of it on
 * Hopper and later. */
#include "config.h"

#include "net/algorithm.h"

static gboolean
chain_runs(const NetFabric *fabric, NetOp op, const NetGroup *group)
{
    return fabric->sharp && op == NET_ALL_REDUCE && group->nodes > 1 &&
           net_group_least(group) == group->ranks_per_node;
}

static gboolean
direct_runs(const NetFabric *fabric, NetOp op, const NetGroup *group)
{
    return chain_runs(fabric, op, group) && fabric->link == CLUSTER_LINK_NVSWITCH &&
           group->ranks_per_node > 1;
}

static NetBytes
collnet_bytes(const NetFabric *fabric G_GNUC_UNUSED, NetOp op G_GNUC_UNUSED, const NetGroup *group,
              double bytes)
{
    double k = group->ranks_per_node;
    return (NetBytes){2.0 * bytes * (k - 1.0) / k, bytes / net_group_least_nics(group)};
}

static NetHops
direct_hops(const NetFabric *fabric G_GNUC_UNUSED, NetOp op G_GNUC_UNUSED, const NetGroup *group)
{
    double others = group->ranks_per_node - 1.0;
    return (NetHops){.near = 2.0 * MIN(1.0, others), .far = 1.0, .extra_us = 0.8 * others};
}

static NetHops
chain_hops(const NetFabric *fabric G_GNUC_UNUSED, NetOp op G_GNUC_UNUSED, const NetGroup *group)
{
    return (NetHops){.near = 2.0 * (group->ranks_per_node - 1.0), .far = 1.0};
}

static double
direct_expected_GBps(const NetFabric *fabric, NetOp op G_GNUC_UNUSED, const NetGroup *group,
                     NetProtocol protocol, const NetGraph *graph)
{
    if (protocol != NET_SIMPLE)
        return 0.0;
    double f = (double)group->ranks_per_node / graph->channels;
    f -= (f - 1.0) / 2.0;
    double bus = graph->channels * graph->intra / f;
    return 0.5 * bus * (fabric->generation >= NET_HOPPER ? 0.85 : 1.0);
}

static double
chain_expected_GBps(const NetFabric *fabric G_GNUC_UNUSED, NetOp op G_GNUC_UNUSED,
                    const NetGroup *group G_GNUC_UNUSED, NetProtocol protocol,
                    const NetGraph *graph)
{
    return protocol == NET_SIMPLE ? 0.5 * graph->channels * graph->intra : 0.0;
}

static double
collnet_wire_frac(const NetFabric *fabric G_GNUC_UNUSED, NetOp op G_GNUC_UNUSED,
                  const NetGroup *group G_GNUC_UNUSED, NetProtocol protocol)
{
    return protocol == NET_SIMPLE ? 1.0 : 0.0;
}

const NetAlgorithm net_collnet_direct = {
    .name = "collnetdirect",
    .algo = NET_ALGO_COLLNET_DIRECT,
    .runs = direct_runs,
    .bytes = collnet_bytes,
    .hops = direct_hops,
    .expected_GBps = direct_expected_GBps,
    .wire_frac = collnet_wire_frac,
};

const NetAlgorithm net_collnet_chain = {
    .name = "collnetchain",
    .algo = NET_ALGO_COLLNET_CHAIN,
    .runs = chain_runs,
    .bytes = collnet_bytes,
    .hops = chain_hops,
    .expected_GBps = chain_expected_GBps,
    .wire_frac = collnet_wire_frac,
};
