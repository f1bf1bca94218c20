/* What a pattern puts on the links inside nodes: PCIe switches, sockets, a mesh. */
#pragma once

#include "net/members.h"
#include "net/routes.h"

/* Adds bytes for each byte that each port sends to `load`, which has an element for each link. */
void net_routes_in_node(const ClusterTopology *t, const NetMembers *m, NetPattern pattern,
                        double *load);
