/* The links of a system as the collective model sees them: achieved rates and latencies.
 *
 * Rates are nominal rate x efficiency of system.conf x a scale fitted to collective.tsv; latencies are
 * NCCL's hop and base constants (ring.c, tree.c, ...) x a scale: what system.conf says relative to the
 * reference (2 us NVLink, 20 us network) x a fitted scale, so a latency of 0 gives a machine without. What
 * lies above ports and cards is the group's (NetGroup.fabric, node). */
#pragma once

#include "cluster/system.h"
#include "net/collective.h"
#include "net/nccl.h"

/* What is fitted to measurements; net_tuning_default holds where nothing was measured. */
typedef struct {
    /* in a node */
    double nvlink_scale;         /* of nvlink_Bps x nvlink_efficiency */
    double nvlink_latency_scale; /* of base and hop latencies in a node */
    double nvlink_fill;          /* f_fill of algorithm.h in a node */
    double
        small_group_loss; /* of n ranks in a node: 1 - loss x 2/n, over the same of the whole node */
    double ll128_latency_scale,
        simple_latency_scale;              /* of these protocols' latencies in a node, besides */
    double nvls_scale, nvls_latency_scale; /* of NVLS, besides */
    /* between nodes */
    double nic_scale;            /* of nic_Bps x nic_efficiency */
    double nic_latency_scale;    /* of network hop latencies */
    double nic_fill;             /* f_fill across nodes */
    double ring_latency_scale;   /* of a ring's hops, besides */
    double direct_latency_scale; /* of messages to every peer, besides */
    double ll_scale;             /* of what LL reaches, besides */
    double direct_scale;         /* of the rate that all_to_all reaches, besides */
} NetTuning;

typedef struct {
    NetGeneration generation;
    ClusterLink link;
    gboolean rail_optimised, gpudirect, sharp, pxn;
    gboolean grace;      /* the CPU is NVIDIA's Grace */
    const NetNccl *nccl; /* whose choice is followed */
    guint nccl_version;  /* that was asked for: 22400, where nccl are the tables since 2.23 */
    guint algorithms, protocols; /* those that may be chosen, a bit each */
    gboolean ring_anyway;        /* for all but all_reduce, whatever algorithms allow */
    guint channels;              /* forced; 0: NCCL's */
    guint gpus_per_node, nics_per_node;
    double nvlink_Bps;                            /* achieved per GPU and direction */
    double nic_Bps;                               /* achieved per NIC and direction */
    double pcie_Bps;                              /* of a GPU's link to host and cards */
    double nvlink_factor;                         /* multiplies base and NVLink hop latencies */
    double nic_factor;                            /* multiplies network hop latencies */
    double planned_nvlink_GBps, planned_nic_GBps; /* what NCCL's search takes for the rates */
    NetTuning tuning;
} NetFabric;

NetGeneration net_generation_of(const char *gpu_name);
NetTuning net_tuning_default(NetGeneration generation);
double net_card_Bps(const ClusterSystem *system); /* achieved, as not fitted to measurements */
NetFabric net_fabric_of(const ClusterSystem *system, const NetTuning *tuning);

/* Achieved NVLink rate of each port when the ranks of a node that take part are `k`. */
double net_fabric_nvlink_Bps(const NetFabric *fabric, guint k);
/* The same as NCCL's search takes it [GB/s]. */
double net_fabric_planned_GBps(const NetFabric *fabric, guint k);
/* Messages to another rail go through the GPU of that rail on the sender's node (NCCL 2.12 and later). */
gboolean net_fabric_pxn(const NetFabric *fabric);
/* NICs that k ranks on one node use together: NICs are dealt out to GPUs in blocks. */
guint net_fabric_nics(const NetFabric *fabric, guint k);
