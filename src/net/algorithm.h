/* A collective algorithm of NCCL: what it sends through each link, its latency, and what NCCL expects of it.
 *
 * NCCL chooses algorithm and protocol by what it expects (nccl.h), and the time alone of what it chose is, n
 * ranks on N nodes (k on a node, q NICs used):
 *
 *     X = max(v F_node / (B_nvlink(k) f), w F_fabric / (B_nic f), S / C)      wire time [s]
 *     t = L + X + 2 sqrt(f_fill L X)
 *
 * v, w: bytes through each NVLink port and each NIC, each direction; B: achieved rates [B/s]; f: the
 * protocol's share of the wire; C: what channels of LL and LL128 carry at most [B/s]; F >= 1: how many times longer links above ports and cards need (NetGroup); L:
 * latency of all steps. The last term is what a pipeline with the best chunk size loses: c chunks over s steps
 * of latency a cost (c + s)(a + V/(B c)), least at c = sqrt(s V / (B a)): V/B + 2 sqrt(s a V / B) + s a, with
 * s a the latency of all steps; f_fill is how much of that NCCL's chunks lose (0 for send_recv, which has one
 * step). Hops are NCCL's; the levels are fitted to measurements (fit.h). */
#pragma once

#include "net/fabric.h"

const char *net_protocol_name(NetProtocol protocol);

typedef struct {
    double nvlink; /* bytes through each member's NVLink port, each direction */
    double nic;    /* bytes through each NIC the group uses, each direction */
} NetBytes;

/* Latency: steps one after the other. */
typedef struct {
    double near, far; /* within a node, between nodes */
    double extra_us;  /* besides, in the node */
} NetHops;

/* What the search of the topology found for an algorithm: each channel's rate [GB/s] (search.c). */
typedef struct {
    guint channels;
    double intra, inter;
} NetGraph;

typedef struct {
    const char *name; /* as in NCCL_ALGO, lower case */
    NetAlgo algo;
    gboolean (*runs)(const NetFabric *fabric, NetOp op, const NetGroup *group);
    NetBytes (*bytes)(const NetFabric *fabric, NetOp op, const NetGroup *group, double bytes);
    NetHops (*hops)(const NetFabric *fabric, NetOp op, const NetGroup *group);
    /* What NCCL expects of a protocol, bytes of the buffer over time, latency apart; 0: not used. */
    double (*expected_GBps)(const NetFabric *fabric, NetOp op, const NetGroup *group,
                            NetProtocol protocol, const NetGraph *graph);
    /* Share of the links' rates that it reaches; 0: the protocol is not used. */
    double (*wire_frac)(const NetFabric *fabric, NetOp op, const NetGroup *group,
                        NetProtocol protocol);
} NetAlgorithm;

extern const NetAlgorithm net_ring, net_tree, net_nvls, net_nvls_tree, net_collnet_direct,
    net_collnet_chain, net_pat, net_direct;
extern const NetAlgorithm *const net_algorithms[]; /* NULL-terminated */

NetPattern net_algorithm_pattern(const NetAlgorithm *algorithm, const NetFabric *fabric);

/* Channels as NCCL's search finds them. */
NetGraph net_search(const NetFabric *fabric, const NetGroup *group, NetAlgo algo);

/* An algorithm and protocol that NCCL has for an op and group, ready for any number of bytes. */
typedef struct {
    const NetAlgorithm *algorithm;
    NetProtocol protocol;
    NetBytes unit;                     /* for each byte of the buffer */
    double expected_us, expected_GBps; /* NCCL's */
    guint channels;
    double near_us,
        far_us; /* latency by NCCL's constants, before what system.conf and the fit say */
    double frac;
    double most_GBps; /* what the channels themselves can carry, of the buffer */
} NetOption;

#define NET_MAX_OPTIONS (NET_N_ALGOS * NET_N_PROTOCOLS)

typedef struct {
    NetOp op;
    NetGroup group;
    guint n;
    NetOption options[NET_MAX_OPTIONS];
} NetPlan;

/* All options of the op that [nccl] algo and proto leave. ranks >= 2. Where they leave none (nccl algo = tree, and an
 * all_gather) all are there and the answer is FALSE: NCCL stops with an error. */
gboolean net_plan_make(NetPlan *ret, const NetFabric *fabric, NetOp op, const NetGroup *group);
/* The one that NCCL takes. */
const NetOption *net_plan_choose(const NetPlan *plan, const NetFabric *fabric, double bytes);
/* Time of one of them. */
double net_option_ns(const NetPlan *plan, const NetOption *option, const NetFabric *fabric,
                     double bytes);
/* Thread blocks that it keeps on each GPU. */
guint net_option_channels(const NetPlan *plan, const NetOption *option, const NetFabric *fabric,
                          double bytes);

typedef struct {
    double ns;
    const NetAlgorithm *algorithm;
    NetProtocol protocol;
    NetBytes bytes;
} NetModelTime;

/* Of one algorithm and protocol; ns < 0: does not run here. */
double net_algorithm_ns(const NetAlgorithm *algorithm, const NetFabric *fabric, NetOp op,
                        const NetGroup *group, NetProtocol protocol, double bytes);
/* Of NCCL's choice. ranks >= 2, bytes > 0. */
NetModelTime net_model_time(const NetFabric *fabric, NetOp op, const NetGroup *group, double bytes);

/* Facts that several algorithms share. */
guint net_group_least(const NetGroup *group);       /* fewest ranks on a node */
double net_group_least_nics(const NetGroup *group); /* of the node with fewest */
/* Most that LL does, GB/s. */
double net_ll_max_GBps(const NetFabric *fabric, const NetGroup *group);
gboolean net_ll128_runs(const NetFabric *fabric, const NetGroup *group);
/* A row of the tables by channel: 0 one node, 1 two, 2 more. */
guint net_nodes_index(const NetGroup *group);
