/* A group's members by node, and the cards through which a node's traffic goes. */
#pragma once

#include "cluster/topology.h"

typedef struct {
    guint node;
    guint first, n;            /* of slots[] */
    guint first_card, n_cards; /* of cards[] */
} NetMemberNode;

typedef struct {
    NetMemberNode *nodes; /* in order of their first member's rank */
    guint n_nodes;
    guint *slots; /* of a node ascending, as NCCL orders a node's GPUs by place and not by rank */
    guint n;
    ClusterEnd
        *cards; /* of a node ascending by card; slot: the member that is nearest to it; weight 1 */
    guint n_cards;
    gboolean alike; /* all nodes use the same cards */
} NetMembers;

NetMembers *net_members_new(const ClusterTopology *topology, const guint *slots, guint n);
void net_members_free(NetMembers *m);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NetMembers, net_members_free)
