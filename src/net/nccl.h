/* A version of NCCL as far as its choice of algorithm, protocol and channels goes.
 *
 * NCCL expects of each algorithm and protocol
 *
 *     t = latency + S / bw
 *
 * with latencies from tables of hops and bw from the channels that its search of the topology found, and takes
 * the least. The tables differ by version, one file each (src/graph/tuning.cc of github.com/NVIDIA/nccl at the tag
 * named there); choice.c is the rule, search.c the search. Rates are NCCL's GB/s, 1e9 bytes. These are constants
 * for choosing, not for times: those are fitted to measurements (fit.h). */
#pragma once

#include <glib.h>

typedef enum { NET_LL, NET_LL128, NET_SIMPLE, NET_N_PROTOCOLS } NetProtocol;

typedef enum {
    NET_ALGO_TREE,
    NET_ALGO_RING,
    NET_ALGO_COLLNET_DIRECT,
    NET_ALGO_COLLNET_CHAIN,
    NET_ALGO_NVLS,
    NET_ALGO_NVLS_TREE,
    NET_ALGO_PAT,
    NET_ALGO_DIRECT, /* point-to-point sends: nothing to choose but the protocol */
    NET_N_ALGOS
} NetAlgo;

typedef enum { NET_VOLTA, NET_AMPERE, NET_HOPPER, NET_BLACKWELL, NET_N_GENERATIONS } NetGeneration;

/* us by protocol: LL, LL128, Simple */
typedef double NetHopTable[NET_N_ALGOS][NET_N_PROTOCOLS];
/* GB/s of a channel: on one node, two, more */
typedef double NetChannelTable[NET_N_GENERATIONS][3];

/* How NVLS and NVLSTree are expected to do. */
typedef enum {
    NET_NVLS_NONE,
    NET_NVLS_FIRST,   /* 2.18: 5/6; trees 0.70 N/(2(N-1)), 2(N-1) hops */
    NET_NVLS_GATHERS, /* 2.21: also all_gather and reduce_scatter */
    NET_NVLS_SWITCH   /* 2.28: what the switch achieves, 0.85 or 0.74 */
} NetNvlsRule;

typedef struct {
    guint since; /* 22500: first version it holds for */
    NetHopTable base_us, nvlink_us, pcie_us, net_us;
    double nvlink_frac[NET_N_GENERATIONS]; /* of the nominal rate, that the search plans with */
    double ll_GBps[NET_N_GENERATIONS];     /* most that LL does in a node */
    NetChannelTable ring_ll128_GBps, tree_ll128_GBps, tree_GBps, nvls_tree_GBps;
    double ampere_cap_GBps;   /* bus rate is cut at this on compute capability 8.0; 0: not */
    double ring_ll_frac;      /* of the bus rate; 0: a quarter, or a third for gathers in a node */
    double lone_ll128_frac;   /* of ring LL128 with one rank a node; else 0.92 */
    double chained_tree_frac; /* of a tree all of whose node's traffic is one GPU's */
    guint max_channels;
    NetNvlsRule nvls;
    guint nvls_channels[NET_N_GENERATIONS][2]; /* on one node, more */
    gboolean pat;
    gboolean ring_all_nodes; /* an all_reduce ring is charged 2N network hops, not 2(N-1) */
    gboolean
        net_overhead; /* hops in a node cost at least the proxy's 1 us (Simple 3) across nodes */
    gboolean lone_tree_hops; /* one GPU a node: tree's network hop for all algorithms */
} NetNccl;

extern const NetNccl net_nccl_2_10, net_nccl_2_18, net_nccl_2_21, net_nccl_2_23, net_nccl_2_27,
    net_nccl_2_28, net_nccl_2_30;

/* 22700 for 2.27; 0, none was asked for: the one that is followed then. */
guint net_nccl_version(guint version);
/* The tables that hold for a version; 0: for the one above. */
const NetNccl *net_nccl_of(guint version);
/* Share of the rate that NCCL reckons with for an all-reduce tree of so many bytes. */
double net_nccl_tree_frac(NetProtocol protocol, double bytes);
/* Speeds a channel may have, descending, 0 at the end: in a node, across nodes. */
const double *net_nccl_speeds(NetGeneration generation, gboolean across_nodes);
