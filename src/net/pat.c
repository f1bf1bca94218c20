/* PAT: parallel aggregated trees; all_gather and reduce_scatter from 2.23 on, with one GPU on each node.
 *
 * Binomial trees whose branches are shifted against each other so that all ranks send all the time. Each rank sends
 * and receives what a ring does, (n - 1)/n S, in log2(n) rounds instead of n - 1 steps:
 *
 *     NIC     S (n - 1) / n / q
 *     NVLink  nothing: one GPU a node
 *
 * NCCL expects 0.75 of the channels' rate, and 8 us + log2(N) network hops / 3.5 + 2.8 us a rank. */
#include "config.h"

#include "net/algorithm.h"

#include <math.h>

static gboolean
pat_runs(const NetFabric *fabric, NetOp op, const NetGroup *group)
{
    return fabric->nccl->pat && (op == NET_ALL_GATHER || op == NET_REDUCE_SCATTER) &&
           group->nodes == group->ranks;
}

static NetBytes
pat_bytes(const NetFabric *fabric G_GNUC_UNUSED, NetOp op, const NetGroup *group, double bytes)
{
    return (NetBytes){.nic = net_ring_bytes(op, group->ranks, bytes) / net_group_least_nics(group)};
}

static NetHops
pat_hops(const NetFabric *fabric G_GNUC_UNUSED, NetOp op G_GNUC_UNUSED, const NetGroup *group)
{
    return (NetHops){.far = log2(group->nodes) / 3.5, .extra_us = 2.8 * group->ranks};
}

static double
pat_expected_GBps(const NetFabric *fabric G_GNUC_UNUSED, NetOp op G_GNUC_UNUSED,
                  const NetGroup *group, NetProtocol protocol, const NetGraph *graph)
{
    if (protocol != NET_SIMPLE)
        return 0.0;
    return 0.75 * graph->channels * (group->nodes <= 2 ? graph->intra : graph->inter);
}

static double
pat_wire_frac(const NetFabric *fabric G_GNUC_UNUSED, NetOp op G_GNUC_UNUSED,
              const NetGroup *group G_GNUC_UNUSED, NetProtocol protocol)
{
    return protocol == NET_SIMPLE ? 1.0 : 0.0;
}

const NetAlgorithm net_pat = {
    .name = "pat",
    .algo = NET_ALGO_PAT,
    .runs = pat_runs,
    .bytes = pat_bytes,
    .hops = pat_hops,
    .expected_GBps = pat_expected_GBps,
    .wire_frac = pat_wire_frac,
};
