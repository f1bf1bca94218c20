/* A collective algorithm of NCCL: what it sends through each link, and its latency.
 *
 * Time alone of one algorithm under one protocol, n ranks on N nodes (k on a node, q NICs used):
 *
 *     X = max(v / (B_nvlink(k) f), w / (B_nic f))                  wire time [s]
 *     t = L + X + 2 sqrt(f_fill L X)
 *
 * v, w: bytes through each NVLink port and each NIC, each direction; B: achieved rates [B/s]; f: the
 * protocol's share of the wire; L: latency of all steps. The last term is what a pipeline with the best
 * chunk size loses: c chunks over s steps of latency a cost (c + s)(a + V/(B c)), least at
 * c = sqrt(s V / (B a)): V/B + 2 sqrt(s a V / B) + s a, with s a the latency of all steps; f_fill is how
 * much of that NCCL's chunks lose (0 for send_recv, which has one step). Hop and base latencies and shares
 * follow NCCL 2.27's src/graph/tuning.cc; the levels are fitted to measurements (fit.h). */
#pragma once

#include "net/fabric.h"

typedef enum { NET_LL, NET_LL128, NET_SIMPLE, NET_N_PROTOCOLS } NetProtocol;
const char *net_protocol_name(NetProtocol protocol);

typedef struct {
    double nvlink; /* bytes through each member's NVLink port, each direction */
    double nic;    /* bytes through each NIC the group uses, each direction */
} NetBytes;

typedef struct {
    const char *name;
    gboolean (*runs)(const NetFabric *fabric, NetOp op, const NetGroup *group);
    NetBytes (*bytes)(const NetFabric *fabric, NetOp op, const NetGroup *group, double bytes);
    double (*latency_us)(const NetFabric *fabric, NetOp op, const NetGroup *group,
                         NetProtocol protocol);
    /* 0: the protocol is not used by this algorithm. */
    double (*wire_frac)(const NetFabric *fabric, NetOp op, const NetGroup *group,
                        NetProtocol protocol);
} NetAlgorithm;

extern const NetAlgorithm net_ring, net_tree, net_nvls, net_nvls_tree, net_direct;
extern const NetAlgorithm *const net_algorithms[]; /* NULL-terminated */

typedef struct {
    double ns;
    const NetAlgorithm *algorithm;
    NetProtocol protocol;
    NetBytes bytes;
} NetModelTime;

/* Of one algorithm and protocol; ns < 0: does not run here. */
double net_algorithm_ns(const NetAlgorithm *algorithm, const NetFabric *fabric, NetOp op,
                        const NetGroup *group, NetProtocol protocol, double bytes);
/* The least over all that run. ranks >= 2, bytes > 0. */
NetModelTime net_model_time(const NetFabric *fabric, NetOp op, const NetGroup *group, double bytes);

/* Protocol facts that several algorithms share. */
double net_ll_frac(const NetFabric *fabric, const NetGroup *group, double share);
gboolean net_ll128_runs(const NetFabric *fabric);
