/* What a group's algorithm puts on the links above ports and cards: PCIe switches, sockets, leaf and spine switches.
 *
 * A collective counts its bytes once for each NVLink (or PCIe) port and once for each NIC (NetTime). Which links
 * above these see how much of it depends on where the members are and on who sends to whom: a ring whose
 * neighbours sit on one leaf switch never loads the spine. A weight is bytes on the link for each byte that each
 * NIC of the group sends (between nodes), or each port (in a node); exact, from the flows of the pattern:
 *
 *   ring   node i to node i + 1 in rank order, on all its NICs
 *   tree   the edges of both binary trees over nodes, up and down; a node's NICs share them
 *   pairs  each node to each other, evenly, on cards of the same index
 *   cross  each GPU's card to the card of each GPU of other nodes, evenly
 */
#pragma once

#include "cluster/topology.h"
#include "net/collective.h"

typedef struct {
    guint32 link;  /* of the topology */
    double weight; /* > 0 */
} NetLinkLoad;

/* Links used by the group on `slots` (in rank order), ascending by link; GArray of NetLinkLoad, caller frees. */
GArray *net_routes(const ClusterTopology *topology, const guint *slots, guint n, NetPattern pattern,
                   gboolean between_nodes);
/* The same of one message. */
GArray *net_message_route(const ClusterTopology *topology, guint from, guint to);
/* net_group_of with fabric[] and node[]. */
NetGroup net_group_on(const ClusterTopology *topology, const guint *slots, guint n);
