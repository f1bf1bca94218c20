/* The list of algorithms, and the time of the best one. */
#include "config.h"

#include "net/algorithm.h"

#include <math.h>

const NetAlgorithm *const net_algorithms[] = {&net_ring,      &net_tree,   &net_nvls,
                                              &net_nvls_tree, &net_direct, NULL};

/* Highest bus rate of LL in a node by GPU, and across nodes by CPU [B/s] (NCCL tuning.cc llMaxBws). */
static const double ll_node_Bps[NET_N_GENERATIONS] = {39.0e9, 87.7e9, 141.0e9, 282.0e9};
#define LL_NET_BPS 20.4e9

const char *
net_protocol_name(NetProtocol protocol)
{
    static const char *const names[] = {"LL", "LL128", "Simple"};
    return names[protocol];
}

double
net_ll_frac(const NetFabric *fabric, const NetGroup *group, double share)
{
    double nvlink_Bps = net_fabric_nvlink_Bps(fabric, group->ranks_per_node);
    if (group->nodes == 1)
        return MIN(share, ll_node_Bps[fabric->generation] / nvlink_Bps);
    return MIN(share, LL_NET_BPS / MIN(nvlink_Bps, fabric->nic_Bps * group->nics));
}

gboolean
net_ll128_runs(const NetFabric *fabric)
{
    return fabric->link != CLUSTER_LINK_PCIE;
}

double
net_algorithm_ns(const NetAlgorithm *algorithm, const NetFabric *fabric, NetOp op,
                 const NetGroup *group, NetProtocol protocol, double bytes)
{
    if (!algorithm->runs(fabric, op, group))
        return -1.0;
    double frac = algorithm->wire_frac(fabric, op, group, protocol);
    if (frac <= 0.0)
        return -1.0;
    NetBytes load = algorithm->bytes(fabric, op, group, bytes);
    double wire_s = 0.0;
    if (load.nvlink > 0.0)
        wire_s = load.nvlink / (net_fabric_nvlink_Bps(fabric, group->ranks_per_node) * frac);
    if (load.nic > 0.0)
        wire_s = MAX(wire_s, load.nic / (fabric->nic_Bps * frac));
    /* without latency there is nothing to fill a pipeline for */
    double fill_us = group->nodes == 1
                         ? fabric->tuning.nvlink_fill_us * (fabric->nvlink_factor > 0.0)
                         : fabric->tuning.nic_fill_us * (fabric->nic_factor > 0.0);
    fill_us *= op == NET_ALL_REDUCE ? 2.0 : 1.0;
    double latency_ns = 1e3 * algorithm->latency_us(fabric, op, group, protocol);
    return latency_ns + 1e9 * wire_s + 2.0 * sqrt(1e3 * fill_us * 1e9 * wire_s);
}

NetModelTime
net_model_time(const NetFabric *fabric, NetOp op, const NetGroup *group, double bytes)
{
    NetModelTime best = {.ns = -1.0};
    for (const NetAlgorithm *const *a = net_algorithms; *a != NULL; a++) {
        for (int p = 0; p < NET_N_PROTOCOLS; p++) {
            double ns = net_algorithm_ns(*a, fabric, op, group, (NetProtocol)p, bytes);
            if (ns < 0.0 || (best.algorithm != NULL && ns >= best.ns))
                continue;
            best = (NetModelTime){.ns = ns, .algorithm = *a, .protocol = (NetProtocol)p};
        }
    }
    g_assert(best.algorithm != NULL);
    best.bytes = best.algorithm->bytes(fabric, op, group, bytes);
    return best;
}
