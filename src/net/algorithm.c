/* The list of algorithms, what they share, and the time of one. */
#include "config.h"

#include "net/algorithm.h"

#include <math.h>

const NetAlgorithm *const net_algorithms[] = {&net_tree,          &net_ring,   &net_collnet_direct,
                                              &net_collnet_chain, &net_nvls,   &net_nvls_tree,
                                              &net_pat,           &net_direct, NULL};

const char *
net_protocol_name(NetProtocol protocol)
{
    static const char *const names[] = {"LL", "LL128", "Simple"};
    return names[protocol];
}

NetPattern
net_algorithm_pattern(const NetAlgorithm *algorithm, const NetFabric *fabric)
{
    switch (algorithm->algo) {
    case NET_ALGO_RING:
        return NET_PATTERN_RING;
    case NET_ALGO_PAT:
        return NET_PATTERN_PAIRS;
    case NET_ALGO_DIRECT:
        return net_fabric_pxn(fabric) ? NET_PATTERN_PAIRS : NET_PATTERN_CROSS;
    default:
        return NET_PATTERN_TREE;
    }
}

guint
net_group_least(const NetGroup *group)
{
    return group->least_per_node > 0 ? group->least_per_node : group->ranks_per_node;
}

double
net_group_least_nics(const NetGroup *group)
{
    double share = (double)net_group_least(group) / group->ranks_per_node;
    return MAX(1.0, floor(group->nics * share + 1e-9));
}

guint
net_nodes_index(const NetGroup *group)
{
    return MIN(group->nodes, 3u) - 1;
}

double
net_ll_max_GBps(const NetFabric *fabric, const NetGroup *group)
{
    if (group->nodes == 1)
        return fabric->nccl->ll_GBps[fabric->generation];
    /* by CPU: AMD's of a DGX A100, else Intel's */
    static const double amd[] = {22.5, 19.0}, intel[] = {39.0, 20.4};
    return (fabric->generation == NET_AMPERE ? amd : intel)[group->nodes > 2];
}

double
net_ll_frac(const NetFabric *fabric, const NetGroup *group, double share)
{
    double most_Bps = 1e9 * net_ll_max_GBps(fabric, group);
    double nvlink_Bps = net_fabric_nvlink_Bps(fabric, group->ranks_per_node);
    if (group->nodes == 1)
        return MIN(share, most_Bps / nvlink_Bps);
    return MIN(share, most_Bps / MIN(nvlink_Bps, fabric->nic_Bps * net_group_least_nics(group)));
}

/* Lines of 128 bytes must arrive whole: over NVLink, and over PCIe switches to the cards. On boards of four without
 * NVSwitch and on Grace the cards hang on the CPU, which NCCL trusts for Grace since 2.25. */
gboolean
net_ll128_runs(const NetFabric *fabric, const NetGroup *group)
{
    if (fabric->link == CLUSTER_LINK_PCIE)
        return FALSE;
    if (group->nodes == 1)
        return TRUE;
    if (fabric->grace)
        return fabric->nccl->since >= 22500;
    return fabric->gpudirect && (fabric->link != CLUSTER_LINK_MESH || fabric->gpus_per_node > 4);
}

/* How many times longer links above need in a pattern. */
static double
times_longer(const double *factors, NetPattern pattern)
{
    return MAX(factors[pattern], 1.0);
}

/* Seconds that the busiest link needs for these bytes at the achieved rates. */
static double
link_seconds(const NetFabric *fabric, const NetPlan *plan, const NetOption *option, double bytes)
{
    const NetGroup *group = &plan->group;
    NetPattern pattern = net_algorithm_pattern(option->algorithm, fabric);
    /* what rings of few ranks lose, a plain copy does not: 235 GB/s between two A100s */
    gboolean copy = plan->op == NET_SEND_RECV && fabric->link != CLUSTER_LINK_MESH;
    guint k = copy ? fabric->gpus_per_node : group->ranks_per_node;
    double seconds = 0.0;
    if (option->unit.nvlink > 0.0)
        seconds = bytes * option->unit.nvlink / net_fabric_nvlink_Bps(fabric, k);
    /* NCCL lays rings and trees along a mesh; only messages to all must cross it as it is */
    gboolean laid = fabric->link == CLUSTER_LINK_MESH &&
                    (pattern == NET_PATTERN_RING || pattern == NET_PATTERN_TREE);
    if (!laid)
        seconds *= times_longer(group->node, pattern);
    if (option->unit.nic <= 0.0)
        return seconds;
    double nic = bytes * option->unit.nic / fabric->nic_Bps * times_longer(group->fabric, pattern);
    return MAX(seconds, nic);
}

double
net_option_ns(const NetPlan *plan, const NetOption *option, const NetFabric *fabric, double bytes)
{
    double wire_ns = 1e9 * link_seconds(fabric, plan, option, bytes) / option->frac;
    double latency_ns =
        1e3 * (fabric->nvlink_factor * option->near_us + fabric->nic_factor * option->far_us);
    double fill = plan->group.nodes > 1 ? fabric->tuning.nic_fill : fabric->tuning.nvlink_fill;
    if (option->algorithm->algo ==
        NET_ALGO_DIRECT) /* messages of all peers at once: nothing to fill */
        fill = 0.0;
    return latency_ns + wire_ns + 2.0 * sqrt(fill * latency_ns * wire_ns);
}
