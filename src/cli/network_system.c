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

/* Rates per GPU and direction: NVIDIA's data sheets. PCIe: what x16 of generation 4 and 5 carry. */
static const Gpu gpus[] = {
    {"GB300", "dgx-h100", FALSE, {"gpu.name=GB300", "node.nvlink-rate=900GBps", NULL}},
    {"GB200", "dgx-h100", FALSE, {"gpu.name=GB200", "node.nvlink-rate=900GBps", NULL}},
    {"B300", "dgx-h100", FALSE, {"gpu.name=B300", "node.nvlink-rate=900GBps", NULL}},
    {"B200", "dgx-h100", FALSE, {"gpu.name=B200", "node.nvlink-rate=900GBps", NULL}},
    {"L40S",
     "dgx-a100-80g",
     FALSE,
     {"gpu.name=L40S", "node.link=pcie", "node.nvlink-rate=26GBps", NULL}},
    {"RTX-PRO-6000",
     "dgx-h100",
     FALSE,
     {"gpu.name=RTX-PRO-6000", "node.link=pcie", "node.nvlink-rate=55GBps", NULL}},
    {"NVLink pairs", NULL, FALSE, {NULL}},
    {"PCIe", NULL, FALSE, {NULL}},
    {"GH200", "dgx-h100", TRUE, {NULL}},
    {"H200", "dgx-h100", TRUE, {NULL}},
    {"H100", "dgx-h100", TRUE, {NULL}},
    {"A100", "dgx-a100-80g", TRUE, {NULL}},
    {"V100", "dgx1-v100-32g", TRUE, {NULL}},
};

typedef struct {
    const char *word; /* of the interconnect; the first that is in it */
    guint per_node;   /* GPUs of a node; 0: as the system */
    const char *overrides[4];
} Network;

/* Slingshot 11 has 200 Gb/s a card: 4 cards in a node of Alps, 2 in one of Polaris (told apart by the GPU's links,
 * NVLink4 and NVLink3; docs.cscs.ch and docs.alcf.anl.gov name them). Snellius: servicedesk.surf.nl. */
static const Network networks[] = {
    {"NVL72", 72, {"nic.rate=800Gbps", "nic.count=72", NULL}},
    {"NVLink4 in node; HPE Slingshot",
     4,
     {"node.link=mesh", "nic.count=4", "nic.rate=200Gbps", NULL}},
    {"NVLink3 in node; HPE Slingshot",
     4,
     {"node.link=mesh", "nic.count=2", "nic.rate=200Gbps", NULL}},
    {"(4 GPUs); InfiniBand", 4, {"node.link=mesh", "nic.count=4", "nic.rate=200Gbps", NULL}},
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
    add(overrides, gpus[g].overrides);
    guint per_node = 8;
    if (n < G_N_ELEMENTS(networks)) {
        per_node = networks[n].per_node;
        add(overrides, networks[n].overrides);
    } else {
        add_cards(group->network, per_node, overrides);
    }
    per_node = MAX(per_node, group->most_per_node);
    if (per_node != 8)
        g_ptr_array_add(overrides, g_strdup_printf("node.gpus=%u", per_node));
    add_version(group->version, overrides);
    g_ptr_array_add(overrides, NULL);
    *ret_shipped = gpus[g].shipped;
    return gpus[g].system;
}
