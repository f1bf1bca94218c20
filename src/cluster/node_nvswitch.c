/* GPUs behind NVSwitches, a rack of several hosts too: each port has its full rate to any other. */
#include "config.h"

#include "cluster/parts.h"

static guint
nvswitch_n_links(const ClusterTopology *t)
{
    return 0;
}

static ClusterTopoLink
nvswitch_link(const ClusterTopology *t, guint link)
{
    g_assert_not_reached();
}

static char *
nvswitch_name(const ClusterTopology *t, guint link)
{
    g_assert_not_reached();
}

static void
nvswitch_route(const ClusterTopology *t, guint local, guint other, ClusterWay *way)
{
}

static void
nvswitch_reach(const ClusterTopology *t, guint local, guint nic, gboolean out, ClusterWay *way)
{
}

const ClusterNodeKind cluster_node_nvswitch = {nvswitch_n_links, nvswitch_link, nvswitch_name,
                                               nvswitch_route, nvswitch_reach};
