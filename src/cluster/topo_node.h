/* One node as a file tells it: GPUs, network cards, NVLinks, how near they are to each other, and the lines of a
 * system.conf that say so. */
#pragma once

#include "cluster/system.h"

/* How far apart two devices are over PCIe, as nvidia-smi names it. */
typedef enum {
    CLUSTER_NEAR_UNKNOWN, /* not said: NVLink joins them */
    CLUSTER_NEAR_SELF,
    CLUSTER_NEAR_PIX,  /* one PCIe switch */
    CLUSTER_NEAR_PXB,  /* several, without a CPU between */
    CLUSTER_NEAR_PHB,  /* over the CPU */
    CLUSTER_NEAR_NODE, /* over several host bridges of a NUMA node */
    CLUSTER_NEAR_SYS,  /* between NUMA nodes */
    CLUSTER_NEAR_N
} ClusterNear;
const char *cluster_near_name(ClusterNear near); /* "PIX" */

#define CLUSTER_TOPO_MAX_DEVICES 128 /* GPUs and cards of a node */

typedef struct {
    char *name; /* "GPU0", "mlx5_0" */
    int numa;   /* index in what is counted by n_numa; -1: not known */
    /* of a GPU */
    guint sm, gfx;        /* compute capability 70, 80 ...; AMD's gfx number; 0: not known */
    guint vendor, device; /* of PCI; 0: not known */
    guint switch_links;   /* NVLinks to an NVSwitch */
    double pcie_GTps;     /* of a lane; 0: not known */
    guint pcie_lanes;     /* 0: not known */
    /* of a card */
    gint64 rate_Mbit; /* per second; 0: not known */
    gboolean gdr;     /* the file says that it reaches GPU memory, or nothing */
} ClusterTopoDevice;

typedef struct {
    const char *format; /* "NCCL topology" */
    GArray *devices;    /* of ClusterTopoDevice: GPUs, then cards */
    guint n_gpus, n_numa;
    char *cpu;           /* "x86_64 GenuineIntel"; "": not known */
    guint8 *near;        /* ClusterNear at [i * n_devices + j] */
    guint8 *links;       /* NVLinks (XGMI) between GPUs at [i * n_gpus + j] */
    gboolean links_said; /* else the file has no place for NVLinks */
    gboolean xgmi;
    guint foreign_links; /* to what does not stand in the file */
} ClusterTopoNode;

/* XML of NCCL_TOPO_DUMP_FILE and NCCL_TOPO_FILE, RCCL's too, or what nvidia-smi topo -m prints; which of them shows in the
 * first character. Messages: "FILE:LINE: what is wrong; what to write". */
ClusterTopoNode *cluster_topo_parse(const char *name, const char *text, GError **error);
ClusterTopoNode *cluster_topo_xml_parse(const char *name, const char *text, GError **error);
ClusterTopoNode *cluster_topo_matrix_parse(const char *name, const char *text, GError **error);
void cluster_topo_node_free(ClusterTopoNode *node);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClusterTopoNode, cluster_topo_node_free)

/* For parsers: a node without links, all of whose distances are unknown. Takes `devices`. */
ClusterTopoNode *cluster_topo_node_new(const char *format, GArray *devices, guint n_gpus);
void cluster_topo_device_clear(ClusterTopoDevice *device);

guint cluster_topo_n_cards(const ClusterTopoNode *node);
const ClusterTopoDevice *cluster_topo_device(const ClusterTopoNode *node, guint i);
ClusterNear cluster_topo_near(const ClusterTopoNode *node, guint i, guint j);
/* NVLinks of the GPU that has most of them, those to a switch included. */
guint cluster_topo_links_of_gpu(const ClusterTopoNode *node);
/* "0-1:1 0-3:2" as [node] mesh; "": none. Caller frees. */
char *cluster_topo_mesh(const ClusterTopoNode *node);
/* Whether pairs are joined by a switch: it is named, or each pair has more links than GPUs have ports for. */
gboolean cluster_topo_has_switch(const ClusterTopoNode *node);

/* What a node's GPU is taken to be. */
typedef struct {
    const char *product; /* "A100-SXM4-80GB"; NULL: not known */
    const char *word;    /* of cluster_described_gpu_find; NULL: no shipped system fits */
    const char
        *reason;      /* "PCI device", "compute capability", "number of NVLinks"; NULL: not known */
    double link_GBps; /* of one NVLink and direction; 0: not known */
} ClusterTopoGpu;
ClusterTopoGpu cluster_topo_gpu(const ClusterTopoNode *node);

typedef struct {
    GPtrArray *set;   /* of char*: "node.gpus=8" */
    GPtrArray *notes; /* of char*: what the file does not say, and what stands for it */
    char *refusal;    /* why no system.conf can say it; NULL: one can */
} ClusterTopoConf;
/* `base`: the system that the rest is taken from; NULL: there is none. */
ClusterTopoConf *cluster_topo_conf_new(const ClusterTopoNode *node, const ClusterSystem *base);
void cluster_topo_conf_free(ClusterTopoConf *conf);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClusterTopoConf, cluster_topo_conf_free)
