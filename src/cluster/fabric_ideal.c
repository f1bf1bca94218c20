/* One switch without limits: any card to any other at its rate. */
#include "config.h"

#include "cluster/parts.h"

static gboolean
ideal_plan(ClusterTopology *t G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
    return TRUE;
}

static ClusterTopoLink
ideal_link(const ClusterTopology *t G_GNUC_UNUSED, guint link G_GNUC_UNUSED)
{
    g_assert_not_reached();
}

static char *
ideal_name(const ClusterTopology *t G_GNUC_UNUSED, guint link G_GNUC_UNUSED)
{
    g_assert_not_reached();
}

static void
ideal_route(const ClusterTopology *t G_GNUC_UNUSED, const ClusterPair *pair G_GNUC_UNUSED,
            ClusterWay *way G_GNUC_UNUSED)
{
}

static void
ideal_spread(const ClusterTopology *t G_GNUC_UNUSED, const ClusterEnd *ends G_GNUC_UNUSED,
             guint n G_GNUC_UNUSED, double *load G_GNUC_UNUSED)
{
}

static guint
ideal_distance(const ClusterTopology *t G_GNUC_UNUSED, guint node G_GNUC_UNUSED,
               guint other G_GNUC_UNUSED)
{
    return 0;
}

const ClusterFabricKind cluster_fabric_ideal = {ideal_plan,  ideal_link,   ideal_name,
                                                ideal_route, ideal_spread, ideal_distance};
