/* GPUs behind NVSwitches, a rack of several hosts too: each port has its full rate to any other. */
#include "config.h"

#include "cluster/parts.h"

static guint
nvswitch_n_links(const ClusterTopology *t G_GNUC_UNUSED)
{
    return 0;
}

static ClusterTopoLink
nvswitch_link(const ClusterTopology *t G_GNUC_UNUSED, guint link G_GNUC_UNUSED)
{
    g_assert_not_reached();
}

static char *
nvswitch_name(const ClusterTopology *t G_GNUC_UNUSED, guint link G_GNUC_UNUSED)
{
    g_assert_not_reached();
}

static void
nvswitch_route(const ClusterTopology *t G_GNUC_UNUSED, guint local G_GNUC_UNUSED,
               guint other G_GNUC_UNUSED, ClusterWay *way G_GNUC_UNUSED)
{
}

static void
nvswitch_reach(const ClusterTopology *t G_GNUC_UNUSED, guint local G_GNUC_UNUSED,
               guint nic G_GNUC_UNUSED, gboolean out G_GNUC_UNUSED, ClusterWay *way G_GNUC_UNUSED)
{
}

const ClusterNodeKind cluster_node_nvswitch = {nvswitch_n_links, nvswitch_link, nvswitch_name,
                                               nvswitch_route, nvswitch_reach};
