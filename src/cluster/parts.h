/* What kinds of nodes and fabrics are made of: a few functions over numbers, no table of links. Links of a node and of
 * the fabric are counted from 0 each; topologies.c puts them after each other. */
#pragma once

#include "cluster/topology.h"

typedef struct {
    ClusterHop *hops; /* CLUSTER_MAX_HOPS */
    guint n;
    guint base; /* added to links */
} ClusterWay;
void cluster_way_add(ClusterWay *way, guint link, double share);
/* From a GPU to a card of its node (out), or back. */
void cluster_way_reach(const ClusterTopology *t, guint local, guint nic, gboolean out,
                       ClusterWay *way);

/* One const struct for each ClusterLink; all NULL: nothing above the ports. */
typedef struct {
    guint (*n_links)(const ClusterTopology *t); /* of one node */
    ClusterTopoLink (*link)(const ClusterTopology *t, guint link);
    char *(*name)(const ClusterTopology *t, guint link);
    void (*route)(const ClusterTopology *t, guint local, guint other, ClusterWay *way);
    /* From a GPU to a card of its node (out), or back. */
    void (*reach)(const ClusterTopology *t, guint local, guint nic, gboolean out, ClusterWay *way);
} ClusterNodeKind;
extern const ClusterNodeKind cluster_node_nvswitch, cluster_node_mesh, cluster_node_pcie;

/* Two cards of different nodes, and what a hash takes of the flow between them. */
typedef struct {
    guint node, nic, other, other_nic;
    guint64 key; /* of slots and flow */
} ClusterPair;

/* One const struct for each ClusterFabric; all NULL: nothing above the cards. */
typedef struct {
    gboolean (*plan)(ClusterTopology *t, GError **error); /* sets size */
    ClusterTopoLink (*link)(const ClusterTopology *t, guint link);
    char *(*name)(const ClusterTopology *t, guint link);
    void (*route)(const ClusterTopology *t, const ClusterPair *pair, ClusterWay *way);
    /* cluster_topology_spread on the fabric's own links, hashes taken as even. */
    void (*spread)(const ClusterTopology *t, const ClusterEnd *ends, guint n, double *load);
    guint (*distance)(const ClusterTopology *t, guint node, guint other);
} ClusterFabricKind;
extern const ClusterFabricKind cluster_fabric_ideal, cluster_fabric_rail, cluster_fabric_fat_tree,
    cluster_fabric_dragonfly, cluster_fabric_torus;

struct ClusterTopology {
    const ClusterSystem *system; /* borrowed */
    guint n_nodes;
    const ClusterNodeKind *node;
    const ClusterFabricKind *fabric;
    guint node_links, fabric_links;
    double card_Bps; /* achieved */

    /* NVLink mesh; cluster/node_mesh.c */
    guint8 *mesh;       /* links between GPUs, as cluster_mesh_parse gives them */
    guint16 *mesh_at;   /* link of a pair of GPUs + 1; 0: none */
    guint16 *mesh_pair; /* pair of a link: from * gpus + to */
    guint mesh_links;   /* NVLinks of a GPU */

    /* Leaves and spines, or routers and groups; sizes as the fabric's file says */
    guint rails, sets, pods;    /* leaves are sets x rails */
    guint width, spine_width;   /* parallel links that a flow chooses from */
    double leaf_Bps, spine_Bps; /* of one of them */
};

/* Spreads a flow: SplitMix64's finaliser over the pair's key and the level, modulo `width`. */
guint cluster_spread(const ClusterPair *pair, guint level, guint width);
