/* The table of a system.conf's keys: it drives parsing, hints, --set, --show-config. */
#include "config.h"

#include "cluster/system.h"

/* in the order of ClusterLink and ClusterFabric */
static const char *const link_choices[] = {"nvswitch", "mesh", "pcie", NULL};
static const char *const fabric_choices[] = {"ideal",     "rail",  "fat-tree",
                                             "dragonfly", "torus", NULL};
static const char *const spreading_choices[] = {"ideal", "hashed", NULL};
static const char *const overlap_choices[] = {"measured", "off", NULL};

#define QUANTITY(section, key, kind, fallback, what)                                               \
    {                                                                                              \
        section, key, CONF_KEY_QUANTITY, kind, fallback, NULL, what                                \
    }
#define TEXT(section, key, fallback, what)                                                         \
    {                                                                                              \
        section, key, CONF_KEY_TEXT, UNITS_COUNT, fallback, NULL, what                             \
    }
#define BOOL(section, key, fallback, what)                                                         \
    {                                                                                              \
        section, key, CONF_KEY_BOOL, UNITS_COUNT, fallback, NULL, what                             \
    }
#define CHOICE(section, key, fallback, choices, what)                                              \
    {                                                                                              \
        section, key, CONF_KEY_CHOICE, UNITS_COUNT, fallback, choices, what                        \
    }
#define FRACTION(section, key, what)                                                               \
    {                                                                                              \
        section, key, CONF_KEY_FRACTION, UNITS_COUNT, NULL, NULL, what                             \
    }

static const ConfKey keys[] = {
    TEXT("gpu", "name", NULL, "product name of the GPU"),
    QUANTITY("gpu", "peak-fp32", UNITS_FLOPS, NULL, "dense peak, fp32 vector units"),
    QUANTITY("gpu", "peak-tf32", UNITS_FLOPS, "0FLOPS", "dense peak, tf32; 0FLOPS: has none"),
    QUANTITY("gpu", "peak-fp16", UNITS_FLOPS, "0FLOPS", "dense peak, fp16; 0FLOPS: has none"),
    QUANTITY("gpu", "peak-bf16", UNITS_FLOPS, "0FLOPS", "dense peak, bf16; 0FLOPS: has none"),
    QUANTITY("gpu", "peak-fp8", UNITS_FLOPS, "0FLOPS", "dense peak, fp8; 0FLOPS: has none"),
    QUANTITY("gpu", "memory", UNITS_BYTES, NULL, "HBM, all of it"),
    QUANTITY("gpu", "memory-usable", UNITS_BYTES, NULL, "HBM that a process can allocate"),
    QUANTITY("gpu", "memory-rate", UNITS_RATE, NULL, "HBM, nominal"),
    FRACTION("gpu", "memory-efficiency", "share of memory-rate that a long copy achieves"),
    QUANTITY("gpu", "l2", UNITS_BYTES, NULL, "last-level cache"),
    QUANTITY("gpu", "sms", UNITS_COUNT, NULL, "streaming multiprocessors"),
    QUANTITY("gpu", "clock", UNITS_FREQUENCY, NULL, "SM clock behind the peaks"),
    QUANTITY("gpu", "kernel-floor", UNITS_TIME, NULL, "interval of back-to-back small kernels"),
    CHOICE("gpu", "overlap", "measured", overlap_choices,
           "whether kernels and collectives that run at once slow each other"),
    QUANTITY("node", "gpus", UNITS_COUNT, NULL, "GPUs in a node: those that NVLink or PCIe joins"),
    QUANTITY("node", "hosts", UNITS_COUNT, "1",
             "computers of a node; [host] is of each; an NVL72 rack has 18"),
    CHOICE("node", "link", NULL, link_choices, "how the GPUs of a node meet"),
    TEXT("node", "mesh", "",
         "NVLinks of link = mesh: pairs of GPUs and how many links join them, as 0-1:1 0-3:2; "
         "empty: DGX-1's hybrid cube of 8, else each with each"),
    QUANTITY("node", "sockets", UNITS_COUNT, "1", "CPUs of a node with link = pcie"),
    QUANTITY("node", "socket-rate", UNITS_RATE, "16GBps",
             "between two sockets per direction, achieved"),
    QUANTITY("node", "pcie-switch-gpus", UNITS_COUNT, "0",
             "GPUs below one PCIe switch with link = pcie; 0: all of a socket"),
    QUANTITY("node", "pcie-switch-rate", UNITS_RATE, "0GBps",
             "from a PCIe switch to its CPU per direction, achieved; 0GBps: as pcie-rate"),
    QUANTITY("node", "nvlink-rate", UNITS_RATE, NULL,
             "GPU to GPU in a node, per GPU and direction, nominal (link = pcie: over PCIe)"),
    FRACTION("node", "nvlink-efficiency", "share of nvlink-rate that a large collective achieves"),
    QUANTITY("node", "nvlink-latency", UNITS_TIME, NULL, "one hop in a node"),
    QUANTITY("node", "pcie-rate", UNITS_RATE, NULL, "host link per GPU and direction, achieved"),
    QUANTITY("nic", "count", UNITS_COUNT, NULL, "network cards of a node"),
    QUANTITY("nic", "rate", UNITS_RATE, NULL, "line rate of a card per direction"),
    FRACTION("nic", "efficiency", "share of the line rate that a large transfer achieves"),
    QUANTITY("nic", "latency", UNITS_TIME, NULL, "one message, GPU to GPU over the network"),
    BOOL("nic", "gpudirect", "yes",
         "cards read and write GPU memory; else data go through the host's memory"),
    CHOICE("fabric", "kind", NULL, fabric_choices, "how the cards of all nodes meet"),
    QUANTITY("fabric", "levels", UNITS_COUNT, "2",
             "of switches in a rail or fat tree fabric: 2 or 3"),
    QUANTITY(
        "fabric", "leaf-nodes", UNITS_COUNT, "0",
        "nodes below one leaf switch, one set of rails, one dragonfly router; 0: 32 cards' worth"),
    QUANTITY("fabric", "pod-leaves", UNITS_COUNT, "32",
             "leaf switches (of a rail) below one second level; routers of a dragonfly group"),
    TEXT("fabric", "oversubscription", "1",
         "cards' rate below a leaf switch over the rate of its uplinks: 1 = full bisection"),
    TEXT("fabric", "spine-oversubscription", "1",
         "the same of the second level to the third, or of a dragonfly's global links"),
    CHOICE("fabric", "spreading", "ideal", spreading_choices,
           "parallel uplinks: as one, or one chosen by hash for each pair of ranks"),
    QUANTITY(
        "fabric", "uplinks", UNITS_COUNT, "0",
        "of a leaf switch, for spreading = hashed; 0: as many of a card's rate as make up their rate"),
    QUANTITY("fabric", "groups", UNITS_COUNT, "0", "of a dragonfly; 0: as many as the nodes fill"),
    TEXT("fabric", "dimensions", "", "of a torus, in nodes, as 4x4x8"),
    TEXT("nccl", "version", "2.27", "whose choice of algorithm and protocol is followed"),
    TEXT("nccl", "algo", "",
         "allowed ones, with commas: ring, tree, nvls, nvlstree, collnetdirect, collnetchain, pat; "
         "empty: NCCL's choice"),
    TEXT("nccl", "proto", "", "allowed ones, with commas: LL, LL128, Simple; empty: NCCL's choice"),
    BOOL("nccl", "sharp", "no", "switches of the fabric reduce (CollNet)"),
    BOOL("nccl", "pxn", "yes", "messages go out on the card of the receiver's rail"),
    QUANTITY("nccl", "channels", UNITS_COUNT, "0", "of each collective; 0: NCCL's choice"),
    QUANTITY("host", "launch", UNITS_TIME, NULL,
             "CPU time of the framework from one kernel to the next"),
    BOOL("host", "launch-blocking", "no", "the CPU waits for each kernel (CUDA_LAUNCH_BLOCKING=1)"),
    QUANTITY("host", "sync", UNITS_TIME, NULL, "gap in a stream after a device synchronise"),
    QUANTITY("host", "fixed-memory", UNITS_BYTES, NULL,
             "CUDA context, kernels, cuBLAS and NCCL buffers per GPU"),
    QUANTITY("host", "memory", UNITS_BYTES, "0B", "memory of a node's CPUs; 0B: not known"),
    QUANTITY("host", "memory-rate", UNITS_RATE, "200GBps",
             "what a node's CPUs read and write together in an optimizer step"),
    QUANTITY("host", "nvme-read", UNITS_RATE, "0GBps",
             "reading from all drives of a node; 0GBps: has none"),
    QUANTITY("host", "nvme-write", UNITS_RATE, "0GBps",
             "writing to all drives of a node; 0GBps: has none"),
    TEXT("tables", "gemm", "",
         "system whose gemm.tsv counts here, scaled by the model to this GPU; empty: its own"),
    TEXT("tables", "attention", "", "the same of attention.tsv"),
    TEXT("tables", "memory", "", "the same of memory.tsv"),
    TEXT("tables", "overlap", "", "the same of overlap.tsv"),
    TEXT("tables", "collective", "",
         "system whose rows of one node in collective.tsv count here beside its own"),
    {NULL, NULL, CONF_KEY_TEXT, UNITS_COUNT, NULL, NULL, NULL},
};

const ConfKey *
cluster_system_keys(void)
{
    return keys;
}

const char *
cluster_link_name(ClusterLink link)
{
    return link_choices[link];
}

const char *
cluster_fabric_name(ClusterFabric fabric)
{
    return fabric_choices[fabric];
}
