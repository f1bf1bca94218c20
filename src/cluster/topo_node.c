/* A node that was read: its devices, how many NVLinks join them, what its GPUs are. */
#include "config.h"

#include "cluster/topo_node.h"

#define MOST_LINKS 18 /* of one GPU: Hopper's and Blackwell's */

/* Product names by PCI device of vendor 10de, from the PCI ID Repository (https://pci-ids.ucw.cz). Rates of one NVLink
 * per direction: 20, 25, 25, 25, 50 GB/s of generations 1 to 5 (NVIDIA's data sheets). */
static const struct {
    guint device;
    const char *product, *word;
    double link_GBps;
} products[] = {
    {0x15f9, "P100-SXM2-16GB", NULL, 20},       {0x1db1, "V100-SXM2-16GB", "v100-16g", 25},
    {0x1db5, "V100-SXM2-32GB", "v100", 25},     {0x1db8, "V100-SXM3-32GB", "v100", 25},
    {0x20b0, "A100-SXM4-40GB", "a100-40g", 25}, {0x20b2, "A100-SXM4-80GB", "a100", 25},
    {0x20f3, "A800-SXM4-80GB", "a800", 25},     {0x2324, "H800-SXM5-80GB", "h800", 25},
    {0x2329, "H20-SXM5-96GB", "h20", 25},       {0x2330, "H100-SXM5-80GB", "h100", 25},
    {0x2335, "H200-SXM5-141GB", "h200", 25},    {0x26b9, "L40S", "l40s", 0},
    {0x2901, "B200-SXM-180GB", "b200", 50},     {0x2941, "GB200", "gb200", 50},
};

/* By compute capability, where the PCI device is not said; the larger memory. */
static const struct {
    guint sm;
    const char *product, *word;
    double link_GBps;
} capabilities[] = {
    {60, "P100-SXM2-16GB", NULL, 20},    {70, "V100-SXM2-32GB", "v100", 25},
    {80, "A100-SXM4-80GB", "a100", 25},  {90, "H100-SXM5-80GB", "h100", 25},
    {100, "B200-SXM-180GB", "b200", 50},
};

/* By NVLinks of a GPU, where nothing else is said: 6 of Volta, 12 of Ampere, 18 of Hopper. */
static const struct {
    guint links;
    const char *product, *word;
} ports[] = {
    {6, "V100-SXM2-32GB", "v100"}, {12, "A100-SXM4-80GB", "a100"}, {18, "H100-SXM5-80GB", "h100"}};

const char *
cluster_near_name(ClusterNear near)
{
    static const char *const names[CLUSTER_NEAR_N] = {"-", "X", "PIX", "PXB", "PHB", "NODE", "SYS"};
    return names[near];
}

void
cluster_topo_device_clear(ClusterTopoDevice *device)
{
    g_clear_pointer(&device->name, g_free);
}

ClusterTopoNode *
cluster_topo_node_new(const char *format, GArray *devices, guint n_gpus)
{
    ClusterTopoNode *node = g_new0(ClusterTopoNode, 1);
    node->format = format;
    node->devices = devices;
    node->n_gpus = n_gpus;
    node->cpu = g_strdup("");
    node->near = g_new0(guint8, MAX(devices->len * devices->len, 1));
    for (guint i = 0; i < devices->len; i++)
        node->near[i * devices->len + i] = CLUSTER_NEAR_SELF;
    node->links = g_new0(guint8, MAX(n_gpus * n_gpus, 1));
    return node;
}

void
cluster_topo_node_free(ClusterTopoNode *node)
{
    if (node == NULL)
        return;
    g_array_unref(node->devices);
    g_free(node->cpu);
    g_free(node->near);
    g_free(node->links);
    g_free(node);
}

ClusterTopoNode *
cluster_topo_parse(const char *name, const char *text, GError **error)
{
    const char *at = text;
    while (g_ascii_isspace(*at))
        at++;
    return *at == '<' ? cluster_topo_xml_parse(name, text, error)
                      : cluster_topo_matrix_parse(name, text, error);
}

guint
cluster_topo_n_cards(const ClusterTopoNode *node)
{
    return node->devices->len - node->n_gpus;
}

const ClusterTopoDevice *
cluster_topo_device(const ClusterTopoNode *node, guint i)
{
    return &g_array_index(node->devices, ClusterTopoDevice, i);
}

ClusterNear
cluster_topo_near(const ClusterTopoNode *node, guint i, guint j)
{
    return node->near[i * node->devices->len + j];
}

static guint
links_of(const ClusterTopoNode *node, guint gpu)
{
    guint links = cluster_topo_device(node, gpu)->switch_links;
    for (guint j = 0; j < node->n_gpus; j++)
        links += node->links[gpu * node->n_gpus + j];
    return links;
}

guint
cluster_topo_links_of_gpu(const ClusterTopoNode *node)
{
    guint most = 0;
    gboolean shared = cluster_topo_has_switch(node);
    for (guint i = 0; i < node->n_gpus; i++) {
        guint links = links_of(node, i);
        /* nvidia-smi shows all links of a GPU at each of the pairs that a switch joins */
        for (guint j = 0; shared && j < node->n_gpus; j++)
            if (node->links[i * node->n_gpus + j] > 0)
                links = node->links[i * node->n_gpus + j];
        most = MAX(most, links);
    }
    return most;
}

char *
cluster_topo_mesh(const ClusterTopoNode *node)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < node->n_gpus; i++)
        for (guint j = i + 1; j < node->n_gpus; j++)
            if (node->links[i * node->n_gpus + j] > 0)
                g_string_append_printf(text, "%s%u-%u:%u", text->len > 0 ? " " : "", i, j,
                                       node->links[i * node->n_gpus + j]);
    return g_string_free(text, FALSE);
}

gboolean
cluster_topo_has_switch(const ClusterTopoNode *node)
{
    for (guint i = 0; i < node->n_gpus; i++)
        if (cluster_topo_device(node, i)->switch_links > 0 || links_of(node, i) > MOST_LINKS)
            return TRUE;
    return FALSE;
}

ClusterTopoGpu
cluster_topo_gpu(const ClusterTopoNode *node)
{
    const ClusterTopoDevice *gpu = cluster_topo_device(node, 0);
    if (gpu->vendor != 0 && gpu->vendor != 0x10de)
        return (ClusterTopoGpu){NULL, NULL, NULL, 0};
    for (guint i = 0; i < G_N_ELEMENTS(products); i++)
        if (products[i].device == gpu->device)
            return (ClusterTopoGpu){products[i].product, products[i].word, "PCI device",
                                    products[i].link_GBps};
    for (guint i = 0; i < G_N_ELEMENTS(capabilities); i++)
        if (capabilities[i].sm == gpu->sm)
            return (ClusterTopoGpu){capabilities[i].product, capabilities[i].word,
                                    "compute capability", capabilities[i].link_GBps};
    guint links = node->xgmi ? 0 : cluster_topo_links_of_gpu(node);
    for (guint i = 0; i < G_N_ELEMENTS(ports) && gpu->sm == 0 && gpu->device == 0; i++)
        if (ports[i].links == links)
            return (ClusterTopoGpu){ports[i].product, ports[i].word, "number of NVLinks", 25};
    return (ClusterTopoGpu){NULL, NULL, NULL, 0};
}
