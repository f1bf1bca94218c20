/* What everyone to everyone puts on links: in closed form by the fabric's kind, or pair by pair. */
#include "config.h"

#include "cluster/parts.h"

#define FEW_PAIRS 64

static void
add_way(const ClusterHop *hops, guint n, double bytes, double *load)
{
    for (guint i = 0; i < n; i++)
        load[hops[i].link] += bytes * hops[i].share;
}

static void
spread_pairs(const ClusterTopology *t, const ClusterEnd *ends, guint n, double *load)
{
    ClusterHop hops[CLUSTER_MAX_HOPS];
    for (guint i = 0; i < n; i++) {
        guint node = cluster_node_of(t->system, ends[i].slot);
        for (guint j = 0; j < n; j++) {
            if (cluster_node_of(t->system, ends[j].slot) == node)
                continue;
            guint n_hops = cluster_topology_route(t, ends[i].slot, ends[i].nic, ends[j].slot,
                                                  ends[j].nic, 0, hops);
            add_way(hops, n_hops, ends[i].weight * ends[j].weight, load);
        }
    }
}

/* Between GPUs and their cards: all that an end sends, and as much that it receives. */
static void
spread_reach(const ClusterTopology *t, const ClusterEnd *ends, guint n, double *load)
{
    ClusterHop hops[CLUSTER_MAX_HOPS];
    double all = 0, of_node = 0;
    for (guint i = 0; i < n; i++)
        all += ends[i].weight;
    for (guint i = 0, next; i < n; i = next, of_node = 0) {
        guint node = cluster_node_of(t->system, ends[i].slot);
        for (next = i; next < n && cluster_node_of(t->system, ends[next].slot) == node; next++)
            of_node += ends[next].weight;
        for (guint j = i; j < next; j++) {
            ClusterWay way = {.hops = hops, .base = node * t->node_links};
            guint local = cluster_local_of(t->system, ends[j].slot);
            cluster_way_reach(t, local, ends[j].nic, TRUE, &way);
            cluster_way_reach(t, local, ends[j].nic, FALSE, &way);
            add_way(hops, way.n, ends[j].weight * (all - of_node), load);
        }
    }
}

void
cluster_topology_spread(const ClusterTopology *t, const ClusterEnd *ends, guint n, double *load)
{
    guint64 pairs = (guint64)n * n;
    if (pairs <= FEW_PAIRS || (t->system->hashed && pairs <= CLUSTER_HASHED_PAIRS)) {
        spread_pairs(t, ends, n, load);
        return;
    }
    if (t->fabric->spread != NULL)
        t->fabric->spread(t, ends, n, load + t->n_nodes * t->node_links);
    if (t->node_links > 0)
        spread_reach(t, ends, n, load);
}
