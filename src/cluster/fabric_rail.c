/* Rails: card i of each node of a set meets on leaf switch i of that set; all leaves meet on the spines, which carry
 * what goes to another set or changes rail. */
#include "config.h"

#include "cluster/clos.h"

static guint
leaf_of(const ClusterTopology *t, guint node, guint nic)
{
    return (guint)(node / t->system->leaf_nodes) * t->rails + nic;
}

static gboolean
rail_plan(ClusterTopology *t, GError **error)
{
    return cluster_clos_plan(t, (guint)t->system->nics_per_node, 1, error);
}

static char *
rail_name(const ClusterTopology *t, guint link)
{
    return cluster_clos_name(t, link, TRUE);
}

static void
rail_route(const ClusterTopology *t, const ClusterPair *pair, ClusterWay *way)
{
    cluster_clos_route(t, leaf_of(t, pair->node, pair->nic),
                       leaf_of(t, pair->other, pair->other_nic), pair, way);
}

static void
rail_spread(const ClusterTopology *t, const ClusterEnd *ends, guint n, double *load)
{
    g_autofree guint *leaf = g_new(guint, n);
    for (guint i = 0; i < n; i++)
        leaf[i] = leaf_of(t, cluster_node_of(t->system, ends[i].slot), ends[i].nic);
    cluster_clos_spread(t, ends, leaf, n, load);
}

static guint
rail_distance(const ClusterTopology *t, guint node, guint other)
{
    return cluster_clos_distance(t, leaf_of(t, node, 0), leaf_of(t, other, 0));
}

const ClusterFabricKind cluster_fabric_rail = {rail_plan,  cluster_clos_link, rail_name,
                                               rail_route, rail_spread,       rail_distance};
