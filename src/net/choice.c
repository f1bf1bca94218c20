/* NCCL's choice of algorithm, protocol and channels: what it expects, and the least of that. */
#include "config.h"

#include "net/algorithm.h"

#include <math.h>

/* NCCL_P2P_LL_THRESHOLD: up to this a channel's message goes by LL */
#define P2P_LL_BYTES 16384.0
/* threads of a block: Simple, LL 512; LL128 640; bytes of each below which a block is not worth it */
static const double threads[NET_N_PROTOCOLS] = {512, 640, 512};
static const double thread_bytes[NET_N_PROTOCOLS] = {8, 8, 64};

static void
fill_latency(NetOption *option, const NetFabric *fabric, const NetPlan *plan)
{
    const NetNccl *nccl = fabric->nccl;
    NetAlgo algo = option->algorithm->algo;
    NetProtocol p = option->protocol;
    NetHops hops = option->algorithm->hops(fabric, plan->op, &plan->group);
    gboolean pcie = fabric->link == CLUSTER_LINK_PCIE;
    double near = (pcie ? nccl->pcie_us : nccl->nvlink_us)[algo][p];
    if (pcie && near == 0.0)
        near = nccl->nvlink_us[algo][p];
    if (plan->group.nodes > 1 && algo == NET_ALGO_RING) {
        if (nccl->net_overhead)
            near = MAX(near, p == NET_SIMPLE ? 3.0 : 1.0);
        else if (p == NET_LL)
            near *= 1.8;
    }
    gboolean lone =
        nccl->lone_tree_hops && plan->group.ranks_per_node == 1 && algo != NET_ALGO_DIRECT;
    double far = nccl->net_us[lone ? NET_ALGO_TREE : algo][p];
    option->near_us = nccl->base_us[algo][p] + hops.near * near + hops.extra_us;
    option->far_us = hops.far * far;
    option->expected_us = option->near_us + option->far_us;
    if (algo == NET_ALGO_RING && plan->op == NET_ALL_REDUCE && plan->group.nodes > 1 &&
        nccl->ring_all_nodes)
        option->expected_us += 2.0 * far;
}

static guint
blocks_of(const NetFabric *fabric, const NetPlan *plan, NetAlgo algo, const NetGraph *graph)
{
    if (fabric->channels > 0)
        return fabric->channels;
    if (algo == NET_ALGO_NVLS || algo == NET_ALGO_NVLS_TREE)
        return fabric->nccl->nvls_channels[fabric->generation][plan->group.nodes > 1];
    guint n = 2 * graph->channels;
    /* few cards a node: four blocks for each of the search's channels */
    if (fabric->generation >= NET_HOPPER && plan->group.nodes > 1 && graph->intra > 45.0 && n < 16)
        n *= 2;
    return MIN(n, fabric->nccl->max_channels);
}

static void
add_options(NetPlan *plan, const NetFabric *fabric, const NetAlgorithm *algorithm, guint protocols)
{
    NetAlgo algo = algorithm->algo;
    NetGraph graph = {0};
    if (algo != NET_ALGO_DIRECT)
        graph = net_search(fabric, &plan->group, algo);
    for (int p = 0; p < NET_N_PROTOCOLS; p++) {
        double frac = algorithm->wire_frac(fabric, plan->op, &plan->group, (NetProtocol)p);
        if (frac <= 0.0 || !(protocols & 1u << p))
            continue;
        NetOption option = {.algorithm = algorithm, .protocol = (NetProtocol)p, .frac = frac};
        option.expected_GBps =
            algorithm->expected_GBps(fabric, plan->op, &plan->group, (NetProtocol)p, &graph);
        if (option.expected_GBps <= 0.0)
            continue;
        NetGraph endless = {graph.channels, INFINITY, INFINITY};
        /* of Simple they are a guess for choosing: trees do more (nccl 1357: 49 GB/s of two channels) */
        option.most_GBps = algo == NET_ALGO_DIRECT || p == NET_SIMPLE
                               ? INFINITY
                               : algorithm->expected_GBps(fabric, plan->op, &plan->group,
                                                          (NetProtocol)p, &endless);
        option.unit = algorithm->bytes(fabric, plan->op, &plan->group, 1.0);
        option.channels = blocks_of(fabric, plan, algo, &graph);
        fill_latency(&option, fabric, plan);
        plan->options[plan->n++] = option;
    }
}

static guint
allowed_algorithms(const NetFabric *fabric, NetOp op)
{
    guint ring = fabric->ring_anyway && op != NET_ALL_REDUCE ? 1u << NET_ALGO_RING : 0;
    return fabric->algorithms | 1u << NET_ALGO_DIRECT | ring;
}

/* NCCL_PROTO is for collectives: sends go by their size, LL up to NCCL_P2P_LL_THRESHOLD (src/enqueue.cc). */
static guint
allowed_protocols(const NetFabric *fabric, const NetAlgorithm *algorithm)
{
    return algorithm->algo == NET_ALGO_DIRECT ? ~0u : fabric->protocols;
}

gboolean
net_plan_make(NetPlan *ret, const NetFabric *fabric, NetOp op, const NetGroup *group)
{
    ret->op = op;
    ret->group = *group;
    ret->n = 0;
    for (int any = 0; any < 2; any++) {
        guint algorithms = any ? ~0u : allowed_algorithms(fabric, op);
        for (const NetAlgorithm *const *a = net_algorithms; *a != NULL; a++)
            if (algorithms & 1u << (*a)->algo && (*a)->runs(fabric, op, group))
                add_options(ret, fabric, *a, any ? ~0u : allowed_protocols(fabric, *a));
        if (ret->n > 0)
            return !any;
    }
    g_assert_not_reached();
}

/* What NCCL expects [us]. */
static double
expected_us(const NetPlan *plan, const NetOption *option, const NetFabric *fabric, double bytes)
{
    double us = option->expected_us, GBps = option->expected_GBps;
    NetAlgo algo = option->algorithm->algo;
    if (algo == NET_ALGO_TREE)
        GBps *= net_nccl_tree_frac(option->protocol, bytes);
    /* a ring between nodes whose chunks are full waits longer for each of them */
    if (algo == NET_ALGO_RING && option->protocol == NET_SIMPLE && plan->op == NET_ALL_REDUCE &&
        plan->group.nodes > 1) {
        gboolean old = !fabric->nccl->net_overhead;
        double n = plan->group.ranks;
        double from = old ? n / 16.0 * 65536.0 : 64.0 * option->channels / 2.0 * n;
        if (bytes >= from)
            us *= old || fabric->generation < NET_AMPERE ? 1.9 : 1.4;
    }
    return us + bytes / (1e3 * GBps);
}

static guint
p2p_channels(const NetPlan *plan, const NetFabric *fabric, double bytes)
{
    double peers = plan->op == NET_ALL_TO_ALL ? plan->group.ranks - 1.0 : 1.0;
    double slice = plan->op == NET_ALL_TO_ALL ? bytes / plan->group.ranks : bytes;
    /* two a link, of a node; two between nodes; parts of at least 64 KiB */
    double most = plan->group.nodes > 1 || fabric->link == CLUSTER_LINK_PCIE ? 2.0 : 32.0;
    double each = CLAMP(ceil(slice / 65536.0), 1.0, most);
    return (guint)MIN(each * peers, 32.0);
}

guint
net_option_channels(const NetPlan *plan, const NetOption *option, const NetFabric *fabric,
                    double bytes)
{
    NetAlgo algo = option->algorithm->algo;
    if (algo == NET_ALGO_DIRECT)
        return fabric->channels > 0 ? fabric->channels : p2p_channels(plan, fabric, bytes);
    if (algo == NET_ALGO_NVLS || algo == NET_ALGO_NVLS_TREE || fabric->channels > 0)
        return option->channels;
    double worth = threads[option->protocol] * thread_bytes[option->protocol];
    if (algo == NET_ALGO_RING && option->protocol == NET_LL)
        worth *= plan->group.ranks;
    return (guint)CLAMP(floor(bytes / worth), 1.0, MAX(option->channels, 1));
}

const NetOption *
net_plan_choose(const NetPlan *plan, const NetFabric *fabric, double bytes)
{
    if (plan->options[0].algorithm->algo == NET_ALGO_DIRECT) {
        double slice = plan->op == NET_ALL_TO_ALL ? bytes / plan->group.ranks : bytes;
        gboolean small = slice <= P2P_LL_BYTES;
        return &plan->options[small ? 0 : plan->n - 1];
    }
    const NetOption *best = NULL;
    double best_us = 0.0;
    for (guint i = 0; i < plan->n; i++) {
        double us = expected_us(plan, &plan->options[i], fabric, bytes);
        if (best == NULL || us < best_us) {
            best = &plan->options[i];
            best_us = us;
        }
    }
    return best;
}

double
net_algorithm_ns(const NetAlgorithm *algorithm, const NetFabric *fabric, NetOp op,
                 const NetGroup *group, NetProtocol protocol, double bytes)
{
    if (!algorithm->runs(fabric, op, group))
        return -1.0;
    NetPlan plan = {.op = op, .group = *group};
    add_options(&plan, fabric, algorithm, 1u << protocol);
    return plan.n == 1 ? net_option_ns(&plan, &plan.options[0], fabric, bytes) : -1.0;
}

NetModelTime
net_model_time(const NetFabric *fabric, NetOp op, const NetGroup *group, double bytes)
{
    NetPlan plan;
    net_plan_make(&plan, fabric, op, group);
    const NetOption *option = net_plan_choose(&plan, fabric, bytes);
    return (NetModelTime){
        .ns = net_option_ns(&plan, option, fabric, bytes),
        .algorithm = option->algorithm,
        .protocol = option->protocol,
        .bytes = {option->unit.nvlink * bytes, option->unit.nic * bytes},
    };
}
