/* How a kernel and a collective slow each other when they run on one GPU at the same time: measured rows of
 * overlap.tsv, else a model (overlap.c). */
#pragma once

#include "cost/kernel.h"

typedef enum {
    COST_WORK_GEMM,
    COST_WORK_ATTENTION,
    COST_WORK_MEMORY, /* bound by memory: norms, activations, optimizer */
    COST_N_WORKS
} CostWork;
const char *cost_work_name(CostWork work); /* as in overlap.tsv */

typedef enum {
    COST_TRAFFIC_NVLINK,    /* a collective whose ranks are all on one node */
    COST_TRAFFIC_NETWORK,   /* one that touches several nodes */
    COST_TRAFFIC_SEND_RECV, /* messages between two GPUs */
    COST_TRAFFIC_COPY,      /* by copy engines: user buffers, transfers to the host */
    COST_N_TRAFFICS
} CostTraffic;
const char *cost_traffic_name(CostTraffic traffic);

/* A kernel (or the mean of many), and what goes on beside it, each as it is alone. */
typedef struct {
    CostWork kind;
    double sm_slowdown; /* on the SMs that the traffic leaves, over all of them; >= 1 */
    double hbm_frac;    /* of the rate that a long copy achieves, 0..1 */
} CostBusy;
typedef struct {
    CostTraffic kind;
    double channels; /* SMs that it takes; 0: none */
    double hbm_frac;
} CostBeside;

/* Time beside the other over time alone, both >= 1. */
typedef struct {
    double work, traffic;
    CostBasis basis; /* of `work`: measured rows or the model */
} CostSlowdown;

CostSlowdown cost_slowdown(const CostBook *book, CostBusy work, CostBeside traffic);
/* CostBusy.sm_slowdown of a shape beside so many channels. */
double cost_gemm_sm_slowdown(const ClusterSystem *system, const CostGemm *gemm, double channels);
double cost_attention_sm_slowdown(const ClusterSystem *system, const CostAttention *attention,
                                  double channels);
double cost_memory_sm_slowdown(const ClusterSystem *system, double channels);
/* hbm_frac of a kernel that moves so many bytes in a time; at most 1. */
double cost_hbm_frac(const ClusterSystem *system, double bytes, double ns);
/* Of traffic that sends so many bytes from a GPU, and receives as many. */
double cost_traffic_hbm_frac(const ClusterSystem *system, CostTraffic kind, double sent_bytes,
                             double ns);
/* Rows of overlap.tsv. */
guint cost_book_overlap_rows(const CostBook *book);
