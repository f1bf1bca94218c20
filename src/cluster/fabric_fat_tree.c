/* A fat tree: all cards of a node on one leaf switch, all leaves on the spines. */
#include "config.h"

#include "cluster/clos.h"

static guint
leaf_of(const ClusterTopology *t, guint node)
{
    return (guint)(node / t->system->leaf_nodes);
}

static gboolean
fat_tree_plan(ClusterTopology *t, GError **error)
{
    return cluster_clos_plan(t, 1, (guint)t->system->nics_per_node, error);
}

static char *
fat_tree_name(const ClusterTopology *t, guint link)
{
    return cluster_clos_name(t, link, FALSE);
}

static void
fat_tree_route(const ClusterTopology *t, const ClusterPair *pair, ClusterWay *way)
{
    cluster_clos_route(t, leaf_of(t, pair->node), leaf_of(t, pair->other), pair, way);
}

static void
fat_tree_spread(const ClusterTopology *t, const ClusterEnd *ends, guint n, double *load)
{
    g_autofree guint *leaf = g_new(guint, n);
    for (guint i = 0; i < n; i++)
        leaf[i] = leaf_of(t, cluster_node_of(t->system, ends[i].slot));
    cluster_clos_spread(t, ends, leaf, n, load);
}

static guint
fat_tree_distance(const ClusterTopology *t, guint node, guint other)
{
    return cluster_clos_distance(t, leaf_of(t, node), leaf_of(t, other));
}

const ClusterFabricKind cluster_fabric_fat_tree = {fat_tree_plan,   cluster_clos_link,
                                                   fat_tree_name,   fat_tree_route,
                                                   fat_tree_spread, fat_tree_distance};
