/* Machines for tests of topologies: a DGX H100 with other keys. */
#pragma once

#include "cluster/topology.h"

/* `keys`: "section.key=value" with blanks between. */
static inline ClusterSystem *
machine(const char *keys)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) set = g_strsplit(keys, " ", -1);
    ClusterSystem *s =
        cluster_system_load("dgx-h100", *keys != '\0' ? (const char *const *)set : NULL, &error);
    g_assert_no_error(error);
    return s;
}

static inline ClusterTopology *
topology_of(const ClusterSystem *s, guint n_nodes)
{
    g_autoptr(GError) error = NULL;
    ClusterTopology *t = cluster_topology_new(s, n_nodes, &error);
    g_assert_no_error(error);
    return t;
}
