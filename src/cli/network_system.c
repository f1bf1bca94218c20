/* The machine that a collective was measured on, in people's words, as a shipped system with overrides. */
#include "config.h"

#include "cli/measured.h"
#include "cli/network_rows.h"

#include <string.h>

typedef struct {
    const char *word;   /* of the GPU's name; the first that is in it */
    const char *system; /* shipped */
    gboolean shipped;   /* that system has this GPU, or its links */
    const char *overrides[5];
} Gpu;

/* Rates per GPU and direction: NVIDIA's data sheets. PCIe: what x16 of generation 5 carries. */
static const Gpu gpus[] = {
    {"GB300", "gb200-nvl72", TRUE, {"gpu.name=GB300", NULL}},
    {"GB200", "gb200-nvl72", TRUE, {NULL}},
    {"B300", "dgx-b200", TRUE, {"gpu.name=B300", NULL}},
    {"B200", "dgx-b200", TRUE, {NULL}},
    {"L40S", "l40s-pcie", TRUE, {NULL}},
    {"RTX-PRO-6000",
     "dgx-h100",
     FALSE,
     {"gpu.name=RTX-PRO-6000", "node.link=pcie", "node.nvlink-rate=55GBps", NULL}},
    {"NVLink pairs", NULL, FALSE, {NULL}},
    {"PCIe", NULL, FALSE, {NULL}},
    {"GH200", "alps-gh200", TRUE, {NULL}},
    {"H200", "dgx-h200", TRUE, {NULL}},
    {"H100", "dgx-h100", TRUE, {NULL}},
    {"A100", "dgx-a100-80g", TRUE, {NULL}},
    {"V100", "dgx1-v100-32g", TRUE, {NULL}},
};

typedef struct {
    const char *word;   /* of the interconnect; the first that is in it */
    const char *system; /* shipped, with just this network; NULL: that of the GPU */
    guint per_node;     /* GPUs of a node; 0: as the system */
    const char *overrides[4];
} Network;

/* Racks of NVL72 were measured on Quantum-X800. Snellius: servicedesk.surf.nl. */
static const Network networks[] = {
    {"NVL72", NULL, 0, {"nic.rate=800Gbps", NULL}},
    {"NVLink4 in node; HPE Slingshot", "alps-gh200", 0, {NULL}},
    {"NVLink3 in node; HPE Slingshot", "polaris", 0, {NULL}},
    {"(p4d)", "aws-p4d", 0, {NULL}},
    {"(p5)", "aws-p5", 0, {NULL}},
    {"Azure ND_A100_v4", "azure-nd-a100-v4", 0, {NULL}},
    {"(4 GPUs); InfiniBand", NULL, 4, {"node.link=mesh", "nic.count=4", "nic.rate=200Gbps", NULL}},
};

static void
add(GPtrArray *overrides, const char *const *texts)
{
    for (guint i = 0; texts[i] != NULL; i++)
        g_ptr_array_add(overrides, g_strdup(texts[i]));
}

/* "AWS EFA 4x100 Gb": where the words say it, and GPUs and cards can be dealt out. */
static void
add_cards(const char *words, gint64 per_node, GPtrArray *overrides)
{
    gint64 cards = 0, total = cli_measured_network(words, per_node, &cards);
    if (cards == 0 || (cards % per_node != 0 && per_node % cards != 0))
        return;
    g_ptr_array_add(overrides, g_strdup_printf("nic.count=%" G_GINT64_FORMAT, cards));
    g_ptr_array_add(overrides, g_strdup_printf("nic.rate=%" G_GINT64_FORMAT "Bps", total / cards));
}

/* "2.23.4" -> 2.23: what versions differ in. */
static void
add_version(const char *version, GPtrArray *overrides)
{
    const char *dot = strchr(version, '.');
    if (dot == NULL || !g_ascii_isdigit(version[0]))
        return;
    gsize n = (gsize)(dot - version) + 1 + strspn(dot + 1, "0123456789");
    g_ptr_array_add(overrides, g_strdup_printf("nccl.version=%.*s", (int)n, version));
}

guint
cli_network_nodes(const CliNetworkGroup *group, guint ranks, guint nodes)
{
    return strstr(group->network, "NVL72") != NULL ? (ranks + 71) / 72 : nodes;
}

/* GPUs of a node of the shipped system. */
static guint
usual_per_node(const char *name)
{
    g_autoptr(ClusterSystem) system = cluster_system_load(name, NULL, NULL);
    return system != NULL ? (guint)system->gpus_per_node : 8;
}

const char *
cli_network_system(const CliNetworkGroup *group, GPtrArray *overrides, gboolean *ret_shipped,
                   const char **ret_why)
{
    guint g = 0, n = 0;
    while (g < G_N_ELEMENTS(gpus) && strstr(group->gpu, gpus[g].word) == NULL)
        g++;
    if (g == G_N_ELEMENTS(gpus) || gpus[g].system == NULL) {
        *ret_why = "the links of the GPU are not known";
        return NULL;
    }
    while (n < G_N_ELEMENTS(networks) && strstr(group->network, networks[n].word) == NULL)
        n++;
    const Network *network = n < G_N_ELEMENTS(networks) ? &networks[n] : NULL;
    const char *name =
        network != NULL && network->system != NULL ? network->system : gpus[g].system;
    guint usual = usual_per_node(name);
    guint per_node = network != NULL && network->per_node > 0 ? network->per_node : usual;
    add(overrides, gpus[g].overrides);
    if (network != NULL)
        add(overrides, network->overrides);
    else
        add_cards(group->network, per_node, overrides);
    per_node = MAX(per_node, group->most_per_node);
    if (per_node != usual)
        g_ptr_array_add(overrides, g_strdup_printf("node.gpus=%u", per_node));
    add_version(group->version, overrides);
    g_ptr_array_add(overrides, NULL);
    *ret_shipped = gpus[g].shipped;
    return name;
}
