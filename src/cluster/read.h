/* Parts of a system.conf that are read with checks of their own. `where` is the place in messages. */
#pragma once

#include "cluster/system.h"

gboolean cluster_read_node(ClusterSystem *s, const char *where, GError **error);
gboolean cluster_read_fabric(ClusterSystem *s, const char *where, GError **error);
gboolean cluster_read_nccl(ClusterSystem *s, const char *where, GError **error);
