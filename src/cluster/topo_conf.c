/* The lines of a system.conf that say what was read of a node. */
#include "config.h"

#include "cluster/topo_node.h"

#include "cluster/mesh.h"

#include <math.h>

/* Host copies and cards reach some 0.8 of a PCIe link: 26 of 31.5 GB/s on DGX A100, 52 of 63 on DGX H100, 12 of
 * 15.75 on DGX-1 (calib/systems). */
#define PCIE_EFFICIENCY 0.8
/* NCCL takes PCIe 3 where the file has no speed. */
#define DEFAULT_GTPS 8.0
#define DEFAULT_LANES 16

static void note(ClusterTopoConf *conf, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void
note(ClusterTopoConf *conf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_ptr_array_add(conf->notes, g_strdup_vprintf(format, args));
    va_end(args);
}

static void set(ClusterTopoConf *conf, const char *key, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static void
set(ClusterTopoConf *conf, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *value = g_strdup_vprintf(format, args);
    va_end(args);
    g_ptr_array_add(conf->set, g_strdup_printf("%s=%s", key, value));
}

/* Per direction: 8b/10b code up to 5 GT/s, 128b/130b up to 32, FLITs of 242 in 256 bytes beyond. */
static double
pcie_GBps(double GTps, guint lanes)
{
    double code = GTps < 8 ? 0.8 : GTps <= 32 ? 128.0 / 130 : 242.0 / 256;
    return GTps * lanes * code / 8 * PCIE_EFFICIENCY;
}

static void
set_rate(ClusterTopoConf *conf, const char *key, double GBps)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    set(conf, key, "%sGBps", g_ascii_formatd(text, sizeof text, "%.4g", GBps));
}

/* What a GPU's PCIe link achieves, of the slowest whose speed is known. */
static double
say_pcie(ClusterTopoConf *conf, const ClusterTopoNode *node, const ClusterSystem *base)
{
    double slowest = INFINITY;
    for (guint i = 0; i < node->n_gpus; i++) {
        const ClusterTopoDevice *gpu = cluster_topo_device(node, i);
        if (gpu->pcie_GTps > 0 && gpu->pcie_lanes > 0)
            slowest = MIN(slowest, pcie_GBps(gpu->pcie_GTps, gpu->pcie_lanes));
    }
    if (isinf(slowest) && base != NULL) {
        note(conf, "the speed of PCIe is not in the file: pcie-rate is that of %s", base->name);
        return (double)base->pcie_Bps / 1e9;
    }
    if (isinf(slowest)) {
        note(conf, "the speed of PCIe is not in the file: PCIe 3 x16 stands for it, as NCCL does");
        slowest = pcie_GBps(DEFAULT_GTPS, DEFAULT_LANES);
    }
    set_rate(conf, "node.pcie-rate", slowest);
    return slowest;
}

/* GPUs of each NUMA node, "3 1 3 1"; whether they are as many each and stand together. */
static char *
numa_counts(const ClusterTopoNode *node, guint *ret_used, gboolean *ret_even)
{
    g_autofree guint *counts = g_new0(guint, node->n_numa + 1);
    g_autofree guint *last = g_new0(guint, node->n_numa + 1);
    GString *text = g_string_new(NULL);
    guint used = 0;
    *ret_even = TRUE;
    for (guint i = 0; i < node->n_gpus; i++) {
        int numa = cluster_topo_device(node, i)->numa;
        if (numa < 0 || numa >= (int)node->n_numa) {
            *ret_even = FALSE;
            continue;
        }
        *ret_even = *ret_even && (counts[numa] == 0 || last[numa] + 1 == i);
        used += counts[numa]++ == 0;
        last[numa] = i;
    }
    for (guint k = 0; k < node->n_numa; k++) {
        g_string_append_printf(text, "%s%u", k > 0 ? " " : "", counts[k]);
        *ret_even = *ret_even && (counts[k] == 0 || counts[k] * used == node->n_gpus);
    }
    *ret_used = used;
    return g_string_free(text, FALSE);
}

/* GPUs below each PCIe switch, when they are as many each and stand together; 0: not so. */
static guint
gpus_of_switch(const ClusterTopoNode *node)
{
    guint size = 0;
    for (guint first = 0; first < node->n_gpus;) {
        guint next = first + 1;
        while (next < node->n_gpus && (cluster_topo_near(node, first, next) == CLUSTER_NEAR_PIX ||
                                       cluster_topo_near(node, first, next) == CLUSTER_NEAR_PXB))
            next++;
        if (size != 0 && next - first != size)
            return 0;
        size = next - first;
        first = next;
    }
    return size > 1 ? size : 0;
}

static void
say_pcie_node(ClusterTopoConf *conf, const ClusterTopoNode *node, double GBps)
{
    guint used;
    gboolean even;
    g_autofree char *counts = numa_counts(node, &used, &even);
    set(conf, "node.mesh", "%s", "");
    set_rate(conf, "node.nvlink-rate", GBps);
    set(conf, "node.nvlink-efficiency", "1");
    guint sockets = MAX(used, 1), below = gpus_of_switch(node);
    if (node->n_gpus % sockets != 0) {
        note(conf,
             "GPUs are %s of the NUMA nodes, and system.conf deals them out evenly: sockets "
             "= 1 stands for it",
             counts);
        sockets = 1;
    } else if (!even && used > 0) {
        note(conf, "GPUs are %s of the NUMA nodes, and system.conf deals them out evenly", counts);
    }
    set(conf, "node.sockets", "%u", sockets);
    set(conf, "node.pcie-switch-gpus", "%u", node->n_gpus / sockets % MAX(below, 1) ? 0 : below);
}

static void
say_links(ClusterTopoConf *conf, const ClusterTopoNode *node, double GBps)
{
    guint links = cluster_topo_links_of_gpu(node);
    double of_link = cluster_topo_gpu(node).link_GBps;
    const char *kind = links == 0 ? "pcie" : cluster_topo_has_switch(node) ? "nvswitch" : "mesh";
    if (!node->links_said) {
        note(conf, "the file has no NVLinks, as NCCL_TOPO_FILE needs none: link is not said");
        return;
    }
    set(conf, "node.link", "%s", kind);
    if (links == 0) {
        say_pcie_node(conf, node, GBps);
        return;
    }
    g_autofree char *mesh = cluster_topo_has_switch(node) ? g_strdup("") : cluster_topo_mesh(node);
    set(conf, "node.mesh", "%s", mesh);
    if (of_link > 0)
        set_rate(conf, "node.nvlink-rate", links * of_link);
    else
        note(conf, "the rate of one of the %u %s of a GPU is not known: nvlink-rate is not said",
             links, node->xgmi ? "XGMI links" : "NVLinks");
    if (node->foreign_links > 0)
        note(conf, "%u NVLinks lead to what is not in the file, and are left out",
             node->foreign_links);
    g_autoptr(GError) cause = NULL;
    g_autofree guint8 *read G_GNUC_UNUSED =
        g_str_equal(kind, "mesh") ? cluster_mesh_parse(mesh, node->n_gpus, &cause) : NULL;
    if (cause != NULL)
        conf->refusal = g_strdup_printf("no mesh of a system.conf: %s", cause->message);
}

/* Cards of the fastest rate are the network of training; a slower one is for other things. */
static void
say_cards(ClusterTopoConf *conf, const ClusterTopoNode *node)
{
    guint n = cluster_topo_n_cards(node), fastest = 0;
    gint64 rate = 0;
    gboolean near = FALSE, gdr = TRUE;
    if (n == 0) {
        note(conf, "network cards are not in the file: [nic] is not said");
        return;
    }
    for (guint i = node->n_gpus; i < node->devices->len; i++)
        rate = MAX(rate, cluster_topo_device(node, i)->rate_Mbit);
    for (guint i = node->n_gpus; i < node->devices->len; i++) {
        const ClusterTopoDevice *card = cluster_topo_device(node, i);
        if (card->rate_Mbit != rate)
            continue;
        fastest++;
        gdr = gdr && card->gdr;
        for (guint g = 0; g < node->n_gpus; g++)
            near = near || cluster_topo_near(node, g, i) == CLUSTER_NEAR_PIX ||
                   cluster_topo_near(node, g, i) == CLUSTER_NEAR_PXB;
    }
    set(conf, "nic.count", "%u", fastest);
    if (rate > 0)
        set(conf, "nic.rate", "%" G_GINT64_FORMAT "%s", rate % 1000 ? rate : rate / 1000,
            rate % 1000 ? "Mbps" : "Gbps");
    else
        note(conf, "the rate of the cards is not in the file: nic.rate is not said");
    if (fastest < n)
        note(conf, "network cards that are slower are left out: %u", n - fastest);
    set(conf, "nic.gpudirect", gdr && near ? "yes" : "no");
    if (!near)
        note(conf, "no card shares a PCIe switch with a GPU: data cross the host's memory");
    else if (!gdr)
        note(conf, "gdr=0 in the file: data cross the host's memory");
}

ClusterTopoConf *
cluster_topo_conf_new(const ClusterTopoNode *node, const ClusterSystem *base)
{
    ClusterTopoConf *conf = g_new0(ClusterTopoConf, 1);
    conf->set = g_ptr_array_new_with_free_func(g_free);
    conf->notes = g_ptr_array_new_with_free_func(g_free);
    set(conf, "node.gpus", "%u", node->n_gpus);
    say_links(conf, node, say_pcie(conf, node, base));
    say_cards(conf, node);
    return conf;
}

void
cluster_topo_conf_free(ClusterTopoConf *conf)
{
    if (conf == NULL)
        return;
    g_ptr_array_unref(conf->set);
    g_ptr_array_unref(conf->notes);
    g_free(conf->refusal);
    g_free(conf);
}
