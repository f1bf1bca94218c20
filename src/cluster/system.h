/* A system: GPU type, node, NICs, fabric, host; loaded from a system directory's system.conf. */
#pragma once

#include "conf/keyfile.h"

typedef enum { CLUSTER_LINK_NVSWITCH, CLUSTER_LINK_MESH, CLUSTER_LINK_PCIE } ClusterLink;

typedef enum {
    CLUSTER_FP32,
    CLUSTER_TF32,
    CLUSTER_FP16,
    CLUSTER_BF16,
    CLUSTER_FP8,
    CLUSTER_N_DTYPES
} ClusterDtype;
const char *cluster_dtype_name(ClusterDtype dtype); /* "bf16" */
gboolean cluster_dtype_parse(const char *text, ClusterDtype *ret, GError **error);
guint cluster_dtype_bytes(ClusterDtype dtype); /* 4 4 2 2 1 */

typedef struct {
    char *name;      /* "dgx-a100-80g" */
    char *directory; /* where its tables lie; "" when there are none */
    char *summary;   /* one line for people */

    /* [gpu] */
    char *gpu_name;
    gint64 peak_flops[CLUSTER_N_DTYPES]; /* flop/s dense; 0: the GPU has no such unit */
    gint64 memory_bytes;                 /* all of it: the 80 GB of a product name are 80 GiB */
    gint64 memory_usable_bytes;          /* what a process can allocate */
    gint64 memory_Bps;                   /* HBM, nominal */
    double memory_efficiency;            /* achieved by a long copy, 0..1 */
    gint64 l2_bytes;
    gint64 n_sms;
    gint64 clock_Hz;
    gint64 kernel_floor_ns; /* back-to-back launch interval: no kernel is shorter */

    /* [node] */
    gint64 gpus_per_node;
    ClusterLink link;
    gint64 nvlink_Bps;        /* per GPU and direction, nominal */
    double nvlink_efficiency; /* achieved by a large collective or copy */
    gint64 nvlink_latency_ns; /* one hop */
    gint64 pcie_Bps;          /* host link per GPU and direction, achieved */

    /* [nic] */
    gint64 nics_per_node;
    gint64 nic_Bps;        /* line rate per direction */
    double nic_efficiency; /* achieved by a large transfer */
    gint64 nic_latency_ns; /* one message end to end, GPU to GPU over the network */

    /* [fabric] */
    gboolean rail_optimised;
    double oversubscription; /* 1 = full bisection */

    /* [host] */
    gint64 launch_ns; /* CPU time from one kernel of the op list to the next (framework incl.) */
    gboolean launch_blocking;  /* the CPU waits for each kernel before it launches the next */
    gint64 sync_ns;            /* device synchronise seen by the stream: gap until refilled */
    gint64 fixed_memory_bytes; /* CUDA context, kernels, cuBLAS and NCCL buffers per GPU */
    gint64 host_memory_bytes;  /* of one node; 0: not known */
    gint64
        host_memory_Bps; /* of one node: what its CPUs read and write together, an optimizer step there */
    gint64 nvme_read_Bps, nvme_write_Bps; /* of one node; 0: has none */

    ConfKeyfile *conf; /* owned; for --show-config */
} ClusterSystem;

/* `name_or_directory`: a shipped name or a path that has a '/' or holds system.conf. `overrides`:
 * NULL or NULL-terminated "section.key=value". Data are searched in $DTSIM_DATA, the build tree,
 * then the installed place (conf/datadir.h). Unknown name: error with a hint and the list. */
ClusterSystem *cluster_system_load(const char *name_or_directory, const char *const *overrides,
                                   GError **error);
/* The same from the text of a system.conf; `name` serves messages and as the system's name. It has
 * no tables: directory is "". */
ClusterSystem *cluster_system_parse(const char *name, const char *text,
                                    const char *const *overrides, GError **error);
void cluster_system_free(ClusterSystem *s);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClusterSystem, cluster_system_free)
/* Names of the shipped systems in alphabetical order; caller frees (g_strfreev). */
char **cluster_system_names(void);
const ConfKey *cluster_system_keys(void);

/* --- slots: slot s is GPU s mod g of node s div g. Without a placement of its own rank r lives in slot r (plan_slot). */
guint cluster_node_of(const ClusterSystem *s, guint rank);
guint cluster_local_of(const ClusterSystem *s, guint rank);
/* The NIC (0..nics_per_node-1) of a GPU: NICs are dealt out to GPUs in blocks. */
guint cluster_nic_of(const ClusterSystem *s, guint rank);
