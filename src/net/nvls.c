/* NVLink SHARP: NVSwitch reduces and multicasts; all_reduce on Hopper and newer.
 *
 * A rank owns S/k of the buffer: it reads the sum of that part from the switch, to which every rank
 * sends its copy (S in all), and multicasts the result (S/k sent, S received):
 *
 *     NVLink  S (k + 1) / k              against the ring's 2 (k - 1) / k S
 *     NIC     2 S (N - 1) / N / q        between nodes a double tree as in tree.c ("nvls_tree")
 *
 * Latency 25 us in a node, and 2 log2(N) network hops of 14 us. The switch reaches 0.85 (Hopper) or
 * 0.74 (Blackwell) of the bus rate. Constants: NCCL 2.27 and 2.28 tuning.cc; they reproduce the
 * measured plateaus, 8 GPUs: H100 480, B200 840 GB/s of bus bandwidth. */
#include "config.h"

#include "net/algorithm.h"

#include <math.h>

#define NVLS_US 25.0
#define NET_US 14.0

static gboolean
nvls_runs_at_all(const NetFabric *fabric, NetOp op, const NetGroup *group)
{
    return op == NET_ALL_REDUCE && fabric->generation >= NET_HOPPER &&
           fabric->link == CLUSTER_LINK_NVSWITCH && group->ranks_per_node > 2;
}

static gboolean
nvls_runs(const NetFabric *fabric, NetOp op, const NetGroup *group)
{
    return nvls_runs_at_all(fabric, op, group) && group->nodes == 1;
}

static gboolean
nvls_tree_runs(const NetFabric *fabric, NetOp op, const NetGroup *group)
{
    return nvls_runs_at_all(fabric, op, group) && group->nodes > 1;
}

static NetBytes
nvls_bytes(const NetFabric *fabric G_GNUC_UNUSED, NetOp op G_GNUC_UNUSED, const NetGroup *group,
           double bytes)
{
    double k = group->ranks_per_node, nodes = group->nodes;
    NetBytes load = {.nvlink = bytes * (k + 1.0) / k};
    if (group->nodes > 1)
        load.nic = 2.0 * bytes * (nodes - 1.0) / nodes / group->nics;
    return load;
}

static double
nvls_latency_us(const NetFabric *fabric, NetOp op G_GNUC_UNUSED, const NetGroup *group,
                NetProtocol protocol G_GNUC_UNUSED)
{
    return fabric->nvlink_factor * NVLS_US + fabric->nic_factor * 2.0 * log2(group->nodes) * NET_US;
}

static double
nvls_wire_frac(const NetFabric *fabric, NetOp op G_GNUC_UNUSED, const NetGroup *group G_GNUC_UNUSED,
               NetProtocol protocol)
{
    if (protocol != NET_SIMPLE)
        return 0.0;
    return fabric->generation == NET_HOPPER ? 0.85 : 0.74;
}

const NetAlgorithm net_nvls = {
    .name = "nvls",
    .runs = nvls_runs,
    .bytes = nvls_bytes,
    .latency_us = nvls_latency_us,
    .wire_frac = nvls_wire_frac,
};

const NetAlgorithm net_nvls_tree = {
    .name = "nvls_tree",
    .runs = nvls_tree_runs,
    .bytes = nvls_bytes,
    .latency_us = nvls_latency_us,
    .wire_frac = nvls_wire_frac,
};
