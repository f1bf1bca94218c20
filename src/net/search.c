/* The search of the topology: how many channels, how fast.
 *
 * NCCL tries the speeds of a list from the top and keeps what gives most, channels x speed. A port of B GB/s and s
 * a channel:
 *
 *     a node            channels = floor(B / s)            8 H100: B = 371: 6 x 60; A100: B = 240: 6 x 40
 *     across nodes      channels = q floor(B_nic / s),     8 x 400 Gb/s: 8 x 45 (8 x 48 is beyond B)
 *                       channels s <= B
 *     trees             the same, and then the rate in the node alone is raised while it is below twice the other: on
 *                       two nodes, where NCCL reckons with the node's rate alone, a tree so beats the ring
 *     NVLS              one channel a rank k of the node, each passes each port, its own twice: (k + 1) s <= B;
 *                       then the rate between nodes is raised
 *
 * Channels of at least 25 GB/s (compute capability 9 and later: 50, or at most 4 channels) are split in two.
 * In words of github.com/NVIDIA/nccl src/graph/search.cc. */
#include "config.h"

#include "net/algorithm.h"

#include <math.h>

/* NCCL's speeds are decimals and sums of them: what fits to within this fits. */
#define SLACK 1.0001

typedef struct {
    const double *speeds;
    double port, nic; /* GB/s */
    double nics;
    guint k, most; /* ranks on the fullest node; most channels */
    gboolean across;
} Search;

/* Channels of speed s that fit. */
static guint
fitting(const Search *search, double s)
{
    double n = floor(search->port / s * SLACK);
    if (search->across) {
        double per_nic = floor(search->nic / s * SLACK);
        double all = search->nics * per_nic;
        /* several channels of one card need not all be there */
        n = search->k > 1 ? MIN(n, all) : all;
        if (search->k > 1 && n < all) /* cards are used alike */
            n = floor(n / search->nics) * search->nics;
    }
    return (guint)CLAMP(n, 0.0, search->most);
}

static NetGraph
best_ring(const Search *search)
{
    NetGraph best = {0};
    for (const double *s = search->speeds; *s > 0.0; s++) {
        guint n = fitting(search, *s);
        if (n * *s > best.channels * best.intra * SLACK)
            best = (NetGraph){n, *s, *s};
    }
    if (best.channels == 0) { /* slower than the slowest of the list */
        double rate = search->across ? MIN(search->nic * search->nics, search->port) : search->port;
        best = (NetGraph){1, rate, rate};
    }
    return best;
}

/* The speed in the node of a tree, raised step by step. */
static double
raised_intra(const Search *search, const NetGraph *graph)
{
    double intra = graph->intra;
    const double *at = search->speeds;
    while (*at > graph->intra)
        at++;
    while (at > search->speeds && intra < 2.0 * graph->inter) {
        at--;
        if (search->k > 1 && graph->channels * *at > search->port * SLACK)
            break;
        intra = *at;
    }
    return intra;
}

static NetGraph
best_nvls(const Search *search)
{
    for (const double *s = search->speeds; *s > 0.0; s++) {
        if ((search->k + 1.0) * *s > search->port * SLACK)
            continue;
        double heads_per_nic = search->across ? search->k / search->nics : 1.0;
        if (search->across && heads_per_nic * *s > search->nic * SLACK)
            continue;
        NetGraph graph = {search->k, *s, *s};
        const double *at = s;
        while (search->across && at > search->speeds && graph.inter < 2.0 * graph.intra) {
            at--;
            if (heads_per_nic * *at > search->nic * SLACK)
                break;
            graph.inter = *at;
        }
        return graph;
    }
    return (NetGraph){0};
}

static void
split_channels(const NetFabric *fabric, NetGraph *graph, guint most)
{
    gboolean split = fabric->generation >= NET_HOPPER ? graph->intra >= 50.0 || graph->channels <= 4
                                                      : graph->intra >= 25.0;
    if (!split || 2 * graph->channels > most)
        return;
    graph->channels *= 2;
    graph->intra /= 2.0;
    graph->inter /= 2.0;
}

NetGraph
net_search(const NetFabric *fabric, const NetGroup *group, NetAlgo algo)
{
    gboolean across = group->nodes > 1;
    guint most = fabric->nccl->max_channels / 2;
    Search search = {
        .speeds = net_nccl_speeds(fabric->generation, across),
        .port = net_fabric_planned_GBps(fabric, group->ranks_per_node),
        .nic = fabric->planned_nic_GBps,
        .nics = net_group_least_nics(group),
        .k = group->ranks_per_node,
        .most = most,
        .across = across,
    };
    if (algo == NET_ALGO_NVLS || algo == NET_ALGO_NVLS_TREE)
        return best_nvls(&search);
    NetGraph graph = best_ring(&search);
    if (across && algo != NET_ALGO_RING)
        graph.intra = raised_intra(&search, &graph);
    split_channels(fabric, &graph, most);
    return graph;
}
