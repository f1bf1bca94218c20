/* Links of a system: achieved rates and latencies for the collective model. */
#include "config.h"

#include "net/fabric.h"

#include <string.h>

/* NCCL's constants describe a machine whose system.conf has these latencies. */
#define NVLINK_REFERENCE_NS 2000.0
#define NIC_REFERENCE_NS 20000.0
#define NO_GPUDIRECT_FRAC 0.5 /* of a card's rate */

static const struct {
    const char *part; /* of the GPU's name */
    NetGeneration generation;
} generations[] = {
    {"V100", NET_VOLTA},     {"P100", NET_VOLTA},      {"A100", NET_AMPERE},
    {"A800", NET_AMPERE},    {"GB200", NET_BLACKWELL}, {"GB300", NET_BLACKWELL},
    {"B200", NET_BLACKWELL}, {"B300", NET_BLACKWELL},  {"H100", NET_HOPPER},
    {"H200", NET_HOPPER},    {"H800", NET_HOPPER},     {"H20", NET_HOPPER},
};

/* Levels over NCCL's own constants: medians of fits to nccl-tests sweeps of single nodes (8 A100; H100, H200; B200, GB200,
 * B300) and of InfiniBand clusters without a tuner of their own (2 x 8 A100; H100 on 2 and 10 nodes; B200 on
 * 2). Volta is taken as Ampere. */
#define LEVELS(nvlink_latency, fill_in_node, loss, ll128, simple, nvls, nic_latency, fill_across,  \
               ring, direct)                                                                       \
    {                                                                                              \
        .nvlink_scale = 1.0, .nvlink_latency_scale = nvlink_latency, .nvlink_fill = fill_in_node,  \
        .small_group_loss = loss, .ll128_latency_scale = ll128, .simple_latency_scale = simple,    \
        .nvls_scale = nvls, .nvls_latency_scale = 1.0, .nic_scale = 1.0,                           \
        .nic_latency_scale = nic_latency, .nic_fill = fill_across, .ring_latency_scale = ring,     \
        .direct_latency_scale = direct, .ll_scale = 1.0, .direct_scale = 0.95                      \
    }
static const NetTuning defaults[NET_N_GENERATIONS] = {
    [NET_VOLTA] = LEVELS(1.4, 0.1, 0.0, 0.75, 1.0, 1.0, 1.5, 0.13, 1.3, 1.0),
    [NET_AMPERE] = LEVELS(1.4, 0.1, 0.2, 0.75, 1.0, 1.0, 1.5, 0.13, 1.3, 1.0),
    [NET_HOPPER] = LEVELS(1.0, 0.08, 0.17, 0.7, 0.9, 1.0, 1.4, 0.15, 0.7, 0.8),
    [NET_BLACKWELL] = LEVELS(1.35, 0.08, 0.2, 1.1, 0.9, 1.09, 1.9, 0.12, 1.0, 0.8),
};

/* DGX-1's hybrid cube mesh: of the 6 links of a GPU, the rings of k ranks use as many as this
 * (measured bus bandwidth over 21 GB/s a link: 22, 85, 37, 46, 87 GB/s for 2, 4, 5, 6, 7 ranks). */
static const double mesh_links[] = {6, 6, 1, 2, 4, 1.75, 2.2, 4.1, 6};
#define MESH_LINKS 6.0

NetGeneration
net_generation_of(const char *gpu_name)
{
    if (gpu_name == NULL)
        return NET_AMPERE;
    for (gsize i = 0; i < G_N_ELEMENTS(generations); i++)
        if (strstr(gpu_name, generations[i].part) != NULL)
            return generations[i].generation;
    return NET_AMPERE;
}

NetTuning
net_tuning_default(NetGeneration generation)
{
    return defaults[generation];
}

/* NCCL_ALGO for each op since 2.24. Before, one for all of them left the ring to all but all_reduce, "to run real apps
 * with NCCL_ALGO=TREE" (src/graph/tuning.cc at v2.18.3-1; no more at v2.24.3-1). */
#define PER_OP_SINCE 22400

/* The bits of those among `names` that a list such as "ring,tree" allows. */
static guint
allowed(const char *list, const char *const *names, guint n)
{
    guint bits = 0;
    for (guint i = 0; i < n; i++)
        if (names[i] != NULL && cluster_list_allows(list, names[i]))
            bits |= 1u << i;
    return bits;
}

static guint
allowed_algorithms(const char *list)
{
    static const char *const names[NET_N_ALGOS] = {
        "tree", "ring", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat", NULL};
    return allowed(list, names, NET_N_ALGOS);
}

static guint
allowed_protocols(const char *list)
{
    static const char *const names[NET_N_PROTOCOLS] = {"ll", "ll128", "simple"};
    return allowed(list, names, NET_N_PROTOCOLS);
}

/* Achieved by a card. Without GPUDirect data cross the link between card and CPU or its switch twice, once for the
 * host's memory, which halves it (6 of 12.5 GB/s, https://github.com/NVIDIA/nccl/issues/465). */
double
net_card_Bps(const ClusterSystem *system)
{
    double rate = (double)system->nic_Bps * system->nic_efficiency;
    return system->gpudirect ? rate : rate * NO_GPUDIRECT_FRAC;
}

NetFabric
net_fabric_of(const ClusterSystem *system, const NetTuning *tuning)
{
    NetGeneration generation = net_generation_of(system->gpu_name);
    NetTuning t = tuning != NULL ? *tuning : net_tuning_default(generation);
    gboolean pcie = system->link == CLUSTER_LINK_PCIE;
    double link_Bps = pcie && system->nvlink_Bps == 0
                          ? (double)system->pcie_Bps
                          : (double)system->nvlink_Bps * system->nvlink_efficiency;
    const NetNccl *nccl = net_nccl_of(system->nccl_version);
    return (NetFabric){
        .generation = generation,
        .link = system->link,
        .rail_optimised = system->rail_optimised,
        .gpudirect = system->gpudirect,
        .sharp = system->sharp,
        .pxn = system->pxn,
        .grace = system->gpu_name != NULL && strncmp(system->gpu_name, "G", 1) == 0,
        .nccl = nccl,
        .nccl_version = net_nccl_version(system->nccl_version),
        .algorithms = allowed_algorithms(system->nccl_algo),
        .protocols = allowed_protocols(system->nccl_proto),
        .ring_anyway = system->nccl_version > 0 && system->nccl_version < PER_OP_SINCE,
        .channels = (guint)MAX(system->channels, 0),
        .gpus_per_node = (guint)MAX(system->gpus_per_node, 1),
        .nics_per_node = (guint)MAX(system->nics_per_node, 0),
        .nvlink_Bps = link_Bps * t.nvlink_scale,
        .nic_Bps = net_card_Bps(system) * t.nic_scale,
        .pcie_Bps = (double)system->pcie_Bps,
        .nvlink_factor =
            (double)system->nvlink_latency_ns / NVLINK_REFERENCE_NS * t.nvlink_latency_scale,
        .nic_factor = (double)system->nic_latency_ns / NIC_REFERENCE_NS * t.nic_latency_scale,
        .planned_nvlink_GBps =
            pcie ? link_Bps / 1e9
                 : (double)system->nvlink_Bps * nccl->nvlink_frac[generation] / 1e9,
        .planned_nic_GBps = (double)system->nic_Bps / 1e9,
        .tuning = t,
    };
}

/* Of a GPU's links those that rings of k ranks use. */
static double
mesh_frac(const NetFabric *fabric, guint k)
{
    if (fabric->gpus_per_node == 8 && k < G_N_ELEMENTS(mesh_links))
        return mesh_links[k] / MESH_LINKS;
    /* each GPU linked to each other alike */
    return MIN(k - 1.0, fabric->gpus_per_node - 1.0) / MAX(fabric->gpus_per_node - 1.0, 1.0);
}

double
net_fabric_nvlink_Bps(const NetFabric *fabric, guint k)
{
    if (fabric->link == CLUSTER_LINK_MESH)
        return fabric->nvlink_Bps * mesh_frac(fabric, MAX(k, 2));
    double loss = 2.0 * fabric->tuning.small_group_loss;
    double whole = 1.0 - loss / MAX(fabric->gpus_per_node, 2);
    return fabric->nvlink_Bps * (1.0 - loss / MAX(k, 2)) / whole;
}

double
net_fabric_planned_GBps(const NetFabric *fabric, guint k)
{
    double mesh = fabric->link == CLUSTER_LINK_MESH ? mesh_frac(fabric, MAX(k, 2)) : 1.0;
    return fabric->planned_nvlink_GBps * mesh;
}

gboolean
net_fabric_pxn(const NetFabric *fabric)
{
    return fabric->pxn && fabric->rail_optimised && fabric->link == CLUSTER_LINK_NVSWITCH;
}

guint
net_fabric_nics(const NetFabric *fabric, guint k)
{
    guint gpus = fabric->gpus_per_node;
    guint nics = fabric->nics_per_node;
    guint used = nics >= gpus ? k * (nics / gpus) : (guint)(((guint64)k * nics + gpus - 1) / gpus);
    return CLAMP(used, 1, MAX(nics, 1));
}
