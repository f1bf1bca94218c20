/* One switch without limits: any card to any other at its rate. */
#include "config.h"

#include "cluster/parts.h"

static gboolean
ideal_plan(ClusterTopology *t, GError **error)
{
    return TRUE;
}

static ClusterTopoLink
ideal_link(const ClusterTopology *t, guint link)
{
    g_assert_not_reached();
}

static char *
ideal_name(const ClusterTopology *t, guint link)
{
    g_assert_not_reached();
}

static void
ideal_route(const ClusterTopology *t, const ClusterPair *pair, ClusterWay *way)
{
}

static void
ideal_spread(const ClusterTopology *t, const ClusterEnd *ends, guint n, double *load)
{
}

static guint
ideal_distance(const ClusterTopology *t, guint node, guint other)
{
    return 0;
}

const ClusterFabricKind cluster_fabric_ideal = {ideal_plan,  ideal_link,   ideal_name,
                                                ideal_route, ideal_spread, ideal_distance};
