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

/* Seconds that the busiest link needs for these bytes at the achieved rates. */
static double
link_seconds(const NetFabric *fabric, NetOp op, const NetGroup *group, const NetBytes *load)
{
    /* what rings of few ranks lose, a plain copy does not: 235 GB/s between two A100s */
    gboolean copy = op == NET_SEND_RECV && fabric->link != CLUSTER_LINK_MESH;
    guint k = copy ? fabric->gpus_per_node : group->ranks_per_node;
    double seconds = load->nvlink > 0.0 ? load->nvlink / net_fabric_nvlink_Bps(fabric, k) : 0.0;
    return load->nic > 0.0 ? MAX(seconds, load->nic / fabric->nic_Bps) : seconds;
}

/* One protocol of an algorithm that runs here; < 0: the algorithm does not use it. */
static double
protocol_ns(const NetAlgorithm *algorithm, const NetFabric *fabric, NetOp op, const NetGroup *group,
            NetProtocol protocol, double link_s)
{
    double frac = algorithm->wire_frac(fabric, op, group, protocol);
    if (frac <= 0.0)
        return -1.0;
    double wire_ns = 1e9 * link_s / frac;
    double latency_ns = 1e3 * algorithm->latency_us(fabric, op, group, protocol);
    double fill = group->nodes > 1 ? fabric->tuning.nic_fill : fabric->tuning.nvlink_fill;
    if (op == NET_SEND_RECV) /* one step: nothing to fill */
        fill = 0.0;
    return latency_ns + wire_ns + 2.0 * sqrt(fill * latency_ns * wire_ns);
}

double
net_algorithm_ns(const NetAlgorithm *algorithm, const NetFabric *fabric, NetOp op,
                 const NetGroup *group, NetProtocol protocol, double bytes)
{
    if (!algorithm->runs(fabric, op, group))
        return -1.0;
    NetBytes load = algorithm->bytes(fabric, op, group, bytes);
    return protocol_ns(algorithm, fabric, op, group, protocol,
                       link_seconds(fabric, op, group, &load));
}

NetModelTime
net_model_time(const NetFabric *fabric, NetOp op, const NetGroup *group, double bytes)
{
    NetModelTime best = {.ns = -1.0};
    for (const NetAlgorithm *const *a = net_algorithms; *a != NULL; a++) {
        if (!(*a)->runs(fabric, op, group))
            continue;
        NetBytes load = (*a)->bytes(fabric, op, group, bytes);
        double link_s = link_seconds(fabric, op, group, &load);
        for (int p = 0; p < NET_N_PROTOCOLS; p++) {
            double ns = protocol_ns(*a, fabric, op, group, (NetProtocol)p, link_s);
            if (ns >= 0.0 && (best.algorithm == NULL || ns < best.ns))
                best = (NetModelTime){ns, *a, (NetProtocol)p, load};
        }
    }
    g_assert(best.algorithm != NULL);
    return best;
}
