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

/* Lines of 128 bytes must arrive whole: over NVLink, and over PCIe switches to the cards. On boards of four A100s without
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
    gboolean at_cpu = fabric->link == CLUSTER_LINK_MESH && fabric->gpus_per_node <= 4 &&
                      fabric->generation < NET_HOPPER;
    return fabric->gpudirect && !at_cpu;
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
    /* cards of its own that a GPU has share its one link to them: 50 GB/s of four with 400 Gb/s each,
     * https://github.com/NVIDIA/nccl/issues/1357 */
    double cards = net_group_least_nics(group) / net_group_least(group);
    if (cards > 1.0 && fabric->pcie_Bps > 0.0)
        nic = MAX(nic, bytes * option->unit.nic * cards / fabric->pcie_Bps);
    return MAX(seconds, nic);
}

/* The fit's levels of an algorithm and protocol, besides those of all. */
typedef struct {
    double rate, near, far;
} Levels;

static Levels
levels_of(const NetPlan *plan, const NetOption *option, const NetTuning *t)
{
    double near[NET_N_PROTOCOLS] = {1.0, t->ll128_latency_scale, t->simple_latency_scale};
    switch (option->algorithm->algo) {
    case NET_ALGO_NVLS:
    case NET_ALGO_NVLS_TREE:
        return (Levels){t->nvls_scale, t->nvls_latency_scale, 1.0};
    case NET_ALGO_RING:
        return (Levels){1.0, near[option->protocol], t->ring_latency_scale};
    case NET_ALGO_DIRECT:
        if (plan->op == NET_SEND_RECV || plan->group.nodes == 1)
            return (Levels){1.0, 1.0, 1.0};
        return (Levels){t->direct_scale, 1.0, t->direct_latency_scale};
    default:
        return (Levels){1.0, near[option->protocol], 1.0};
    }
}

double
net_option_ns(const NetPlan *plan, const NetOption *option, const NetFabric *fabric, double bytes)
{
    const NetTuning *t = &fabric->tuning;
    Levels levels = levels_of(plan, option, t);
    double wire_ns = 1e9 * link_seconds(fabric, plan, option, bytes) / (option->frac * levels.rate);
    wire_ns = MAX(wire_ns, bytes / option->most_GBps);
    if (plan->group.nodes > 1 && option->protocol == NET_LL)
        wire_ns /= t->ll_scale;
    double latency_ns = 1e3 * (fabric->nvlink_factor * levels.near * option->near_us +
                               fabric->nic_factor * levels.far * option->far_us);
    /* messages to all peers are under way at once: nothing to fill */
    gboolean direct = option->algorithm->algo == NET_ALGO_DIRECT;
    double fill = direct ? 0.0 : plan->group.nodes > 1 ? t->nic_fill : t->nvlink_fill;
    return latency_ns + wire_ns + 2.0 * sqrt(fill * latency_ns * wire_ns);
}
