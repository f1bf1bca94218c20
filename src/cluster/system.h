/* A system: GPU type, node, NICs, fabric, host; loaded from a system directory's system.conf. */
#pragma once

#include "conf/keyfile.h"

typedef enum { CLUSTER_LINK_NVSWITCH, CLUSTER_LINK_MESH, CLUSTER_LINK_PCIE } ClusterLink;
const char *cluster_link_name(ClusterLink link); /* "nvswitch" */

typedef enum {
    CLUSTER_FABRIC_IDEAL, /* any card to any other, nothing shared */
    CLUSTER_FABRIC_RAIL,  /* card i of every node meets on leaf switch i; leaves meet on spines */
    CLUSTER_FABRIC_FAT_TREE,  /* all cards of a node on one leaf switch; leaves meet on spines */
    CLUSTER_FABRIC_DRAGONFLY, /* routers of a group each with each, groups each with each */
    CLUSTER_FABRIC_TORUS,     /* each node with its neighbours */
    CLUSTER_N_FABRICS
} ClusterFabric;
const char *cluster_fabric_name(ClusterFabric fabric); /* "fat-tree" */
#define CLUSTER_MAX_DIMENSIONS 6

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

typedef enum {
    CLUSTER_TABLE_GEMM,
    CLUSTER_TABLE_ATTENTION,
    CLUSTER_TABLE_MEMORY,
    CLUSTER_TABLE_OVERLAP,
    CLUSTER_TABLE_COLLECTIVE,
    CLUSTER_N_TABLES
} ClusterTable; /* cluster/tables.h finds them */

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
    gboolean overlap_off;   /* kernels and collectives do not slow each other */
    gint64 kernel_floor_ns; /* back-to-back launch interval: no kernel is shorter */

    /* [node] */
    gint64 gpus_per_node;
    ClusterLink link;
    gint64 nvlink_Bps;        /* per GPU and direction, nominal */
    double nvlink_efficiency; /* achieved by a large collective or copy */
    gint64 nvlink_latency_ns; /* one hop */
    gint64 pcie_Bps;          /* host link per GPU and direction, achieved */
    gint64 hosts;             /* computers that the node consists of: an NVL72 rack has 18 */
    char *mesh; /* link mesh: "0-1:1 0-2:1 0-3:2": links between pairs; cluster/mesh.h reads it */
    gint64 sockets, socket_Bps;               /* link pcie; achieved */
    gint64 pcie_switch_gpus, pcie_switch_Bps; /* link pcie: below a switch; to its CPU, achieved */

    /* [nic] */
    gint64 nics_per_node;
    gint64 nic_Bps;        /* line rate per direction */
    double nic_efficiency; /* achieved by a large transfer */
    gint64 nic_latency_ns; /* one message end to end, GPU to GPU over the network */
    gboolean gpudirect;    /* cards reach GPU memory; else data cross the host's memory */

    /* [fabric] */
    ClusterFabric fabric;
    gboolean rail_optimised; /* fabric is CLUSTER_FABRIC_RAIL */
    guint levels;            /* of switches: 2 or 3 */
    gint64 leaf_nodes;       /* nodes below a leaf switch (a set of rails, a router); > 0 */
    gint64 pod_leaves;       /* leaves (of a rail) below one second level; routers of a group */
    double oversubscription; /* 1 = full bisection above the leaf switch */
    double spine_oversubscription; /* the same above the second level */
    gboolean hashed;               /* a flow takes one of parallel uplinks */
    gint64 uplinks;                /* of a leaf; > 0 */
    gint64 groups;                 /* of a dragonfly; 0: as many as it takes */
    guint n_dimensions;            /* of a torus */
    guint dimensions[CLUSTER_MAX_DIMENSIONS];

    /* [nccl] */
    guint nccl_version;           /* 2.27 is 22700, as NCCL's own number without the patch */
    char *nccl_algo, *nccl_proto; /* lower case words with commas between; "": NCCL's choice */
    gboolean sharp, pxn;
    gint64 channels; /* 0: NCCL's choice */

    /* [host] */
    gint64 launch_ns; /* CPU time from one kernel of the op list to the next (framework incl.) */
    gboolean launch_blocking;  /* the CPU waits for each kernel before it launches the next */
    gint64 sync_ns;            /* device synchronise seen by the stream: gap until refilled */
    gint64 fixed_memory_bytes; /* CUDA context, kernels, cuBLAS and NCCL buffers per GPU */
    /* of one node: all its hosts together, where system.conf has those of each */
    gint64 host_memory_bytes; /* 0: not known */
    gint64 host_memory_Bps;   /* what the CPUs read and write, an optimizer step there */
    gint64 nvme_read_Bps, nvme_write_Bps; /* 0: has none */

    guint described_nodes; /* nodes that a one-line description names; 0: loaded from a directory */

    ConfKeyfile *conf; /* owned; for --show-config */
} ClusterSystem;

/* `name_or_directory`: a shipped name or a path that has a '/' or holds system.conf. `overrides`:
 * NULL or NULL-terminated "section.key=value". Data are searched in $DTSIM_DATA, the build tree,
 * then the installed place (conf/datadir.h). Or a machine in one line (cluster/description.h). Unknown name: error with a hint and the list. */
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
/* Whether a list such as nccl_algo has the word, or is empty and so allows all. */
gboolean cluster_list_allows(const char *list, const char *word);

/* --- slots: slot s is GPU s mod g of node s div g. Without a placement of its own rank r lives in slot r (plan_slot). */
guint cluster_node_of(const ClusterSystem *s, guint rank);
guint cluster_local_of(const ClusterSystem *s, guint rank);
/* A GPU's own; 1 where GPUs share cards. */
guint cluster_cards_of_gpu(const ClusterSystem *s);
/* The NIC (0..nics_per_node-1) of a GPU: NICs are dealt out to GPUs in blocks. */
guint cluster_nic_of(const ClusterSystem *s, guint rank);
