/* The links of a machine above GPU ports and network cards, and the way of a message through them.
 *
 * A *slot* is a place for a rank: slot s is GPU s mod g of node s div g (cluster/system.h). Links are directed. Ports
 * of GPUs and cards themselves are not among them: they belong to one slot or card, and whoever simulates
 * knows them from cluster_nic_of. Built by one const struct for each kind of node and of fabric (topologies.c has
 * the lists), from system.conf's [node], [nic] and [fabric]. */
#pragma once

#include "cluster/system.h"

typedef enum {
    CLUSTER_TOPO_MESH,        /* NVLink between two GPUs of a node without a switch */
    CLUSTER_TOPO_PCIE_SWITCH, /* between a PCIe switch of a node and its CPU */
    CLUSTER_TOPO_SOCKET,      /* between CPUs of a node */
    CLUSTER_TOPO_LEAF,        /* between the switch of the cards and the next level */
    CLUSTER_TOPO_SPINE,       /* between second and third level */
    CLUSTER_TOPO_GLOBAL,      /* between groups of a dragonfly; between neighbours of a torus */
    CLUSTER_TOPO_N_KINDS
} ClusterTopoKind;
const char *cluster_topo_kind_name(ClusterTopoKind kind); /* "leaf uplink" ... */

typedef struct ClusterTopology ClusterTopology;

/* The first n_nodes nodes of the system. `system` is borrowed. Errors: a fabric too small, keys that contradict. */
ClusterTopology *cluster_topology_new(const ClusterSystem *system, guint n_nodes, GError **error);
void cluster_topology_free(ClusterTopology *t);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClusterTopology, cluster_topology_free)
const ClusterSystem *cluster_topology_system(const ClusterTopology *t);
guint cluster_topology_n_nodes(const ClusterTopology *t);

guint cluster_topology_n_links(const ClusterTopology *t);
typedef struct {
    ClusterTopoKind kind;
    double Bps; /* achieved: nominal x the efficiency of its kind in system.conf */
} ClusterTopoLink;
ClusterTopoLink cluster_topology_link(const ClusterTopology *t, guint link);
/* "leaf 3 of rail 0, up"; caller frees. */
char *cluster_topology_link_name(const ClusterTopology *t, guint link);

typedef struct {
    guint32 link;
    double share; /* of the message, 0..1: spread over parallel paths */
} ClusterHop;
#define CLUSTER_MAX_HOPS 64
/* Links from one slot to another (from != to), `nic` of each: cluster_nic_of, or for a relayed message (PXN) the card
 * that the caller says. `flow` chooses the path where spreading is hashed. Returns how many hops were written. */
guint cluster_topology_route(const ClusterTopology *t, guint from, guint from_nic, guint to,
                             guint to_nic, guint64 flow, ClusterHop hops[CLUSTER_MAX_HOPS]);
/* Links between a GPU and a card of its node. */
guint cluster_topology_n_reach(const ClusterTopology *t, guint slot, guint nic);
/* A rank at a card. */
typedef struct {
    guint slot, nic;
    double weight;
} ClusterEnd;
/* Everyone to everyone: each end sends weight x weight' to each end of other nodes, spread as routes are. Adds to
 * `load`, which has an element for each link. Ends of a node stand together. Not pair by pair, but by how many
 * are on which side of a link; of hashed spreading the hashes of all pairs count up to CLUSTER_HASHED_PAIRS of them, and
 * beyond they are taken as even. */
#define CLUSTER_HASHED_PAIRS (1u << 18)
void cluster_topology_spread(const ClusterTopology *t, const ClusterEnd *ends, guint n,
                             double *load);
/* How far apart the switches of two nodes' first cards are: 0 the same leaf, 1 the same second level, 2 farther. For
 * reports. */
guint cluster_topology_distance(const ClusterTopology *t, guint node, guint other);
