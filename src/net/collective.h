/* Time of one collective or point-to-point transfer when it is alone, and what it puts on each link.
 *
 * `bytes` follows nccl-tests' "size": all_reduce, broadcast, send_recv: bytes of the buffer of one rank;
 * all_gather: bytes received in all (n times the input); reduce_scatter: bytes of the whole input;
 * all_to_all: bytes of one rank's whole buffer. Model: see NOTES in ring.c, tree.c, nvls.c. */
#pragma once

#include "cost/kernel.h"

typedef enum {
    NET_ALL_REDUCE,
    NET_ALL_GATHER,
    NET_REDUCE_SCATTER,
    NET_ALL_TO_ALL,
    NET_BROADCAST,
    NET_SEND_RECV,
    NET_N_OPS
} NetOp;
const char *net_op_name(NetOp op); /* as in collective.tsv */

/* Who sends to whom, as far as links above the ports and cards are concerned (net/routes.h). */
typedef enum {
    NET_PATTERN_RING, /* each to the next in rank order; rank order is never changed for the fabric's sake */
    NET_PATTERN_TREE, /* double binary tree over nodes, a chain in each node */
    NET_PATTERN_PAIRS, /* each to each, between nodes always between cards of the same index (PXN, DeepEP) */
    NET_PATTERN_CROSS, /* each to each, between nodes from a GPU's own card to that of the receiver */
    NET_N_PATTERNS
} NetPattern;

/* The shape of a group as far as time is concerned. */
typedef struct {
    guint ranks;          /* n */
    guint nodes;          /* N: nodes it touches */
    guint ranks_per_node; /* most ranks on one node */
    guint nics;           /* NICs its ranks on one node use together (>= 1 when nodes > 1) */
    guint least_per_node; /* fewest ranks on one node; 0: as ranks_per_node */
    /* How many times longer links above the NICs need, alone, than the NICs themselves, by pattern: <= 1 (or 0)
     * where they never bind. And links of the node above the GPUs' ports (PCIe switches, sockets, a mesh). */
    double fabric[NET_N_PATTERNS], node[NET_N_PATTERNS];
} NetGroup;
/* From the members' slots (cluster/system.h), links above ports and NICs left out of account; net/routes.h has
 * the same with them. */
NetGroup net_group_of(const ClusterSystem *system, const guint *slots, guint n);

/* Kinds of load on links, as SimWork.load[] indices; unit: bytes. The rest: NetTime. Links above: bytes through each
 * NIC (each port) of the group once more, by pattern; weights on links are net/routes.h's. */
typedef enum {
    NET_LOAD_NVLINK,
    NET_LOAD_NIC,
    NET_LOAD_NVLINK_REST,
    NET_LOAD_NIC_REST,
    NET_LOAD_FABRIC,                                  /* + NetPattern */
    NET_LOAD_NODE = NET_LOAD_FABRIC + NET_N_PATTERNS, /* + NetPattern */
    NET_N_LOADS = NET_LOAD_NODE + NET_N_PATTERNS
} NetLoad;

typedef struct {
    CostTime time;
    const char *algorithm; /* NCCL's choice, as in NCCL_ALGO, "direct" or "exchange" */
    const char *protocol;  /* "LL", "LL128", "Simple" or "" */
    NetPattern pattern;    /* whose weights on the links above */
    guint channels; /* thread blocks it keeps on each GPU, one SM each; 0: none (copy engines) */
    double nvlink_bytes; /* through each member's NVLink port, each direction */
    double nic_bytes;    /* through each NIC that the group uses on a node, each direction */
    /* The part of them for which the isolated time has no room at the capacity that sharing works with: a link
     * does a little more for some collectives than for those that the capacity is taken from. It counts as
     * sent, and disturbs nobody, so that alone a collective takes its own time. */
    double nvlink_rest_bytes, nic_rest_bytes;
} NetTime;

typedef struct NetBook NetBook; /* collective.tsv and the model's constants fitted to it */

NetBook *net_book_load(const ClusterSystem *system, GError **error);
void net_book_free(NetBook *book);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NetBook, net_book_free)

/* n = 1 or bytes = 0 costs 0. */
NetTime net_collective(const NetBook *book, NetOp op, NetGroup group, gint64 bytes);
/* FALSE and an error where [nccl] algo and proto leave nothing for the op: NCCL stops there ("no algorithm/protocol
 * available"). net_collective takes what runs without them. */
gboolean net_collective_check(const NetBook *book, NetOp op, NetGroup group, GError **error);
/* An all-to-all whose members send other amounts over NVLink and over the network, as DeepEP does: bytes
 * through each member's NVLink port and through each NIC that the group uses, each direction. GPUs start the
 * messages themselves, so latency does not grow with the peers as that of NET_ALL_TO_ALL does. Always
 * modelled. */
NetTime net_exchange(const NetBook *book, NetGroup group, double nvlink_bytes, double nic_bytes);
/* One message between two GPUs, in a node or across. */
NetTime net_point_to_point(const NetBook *book, gboolean same_node, gint64 bytes);
guint net_book_n_rows(const NetBook *book);

/* Bytes that a ring algorithm sends from each rank: all_reduce 2(n-1)/n*S, all_gather, reduce_scatter and
 * all_to_all (n-1)/n*S, broadcast and send_recv S. */
double net_ring_bytes(NetOp op, guint n, double bytes);
/* Capacities that fluid sharing works with, bytes per second and direction: what a large transfer alone
 * achieves. No isolated time implies more, but for the rest of NetTime. */
double net_nvlink_capacity_Bps(const NetBook *book);
double net_nic_capacity_Bps(const NetBook *book);
