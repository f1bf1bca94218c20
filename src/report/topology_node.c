/* A node that was read from a file: its devices, how near they are, and the lines of a system.conf. */
#include "config.h"

#include "report/topology.h"

#include "report/json_number.h"
#include "report/number.h"
#include "report/section.h"
#include "report/table.h"

#include <string.h>

static char *
gpus_in_words(const ClusterTopoNode *node)
{
    const ClusterTopoDevice *gpu = cluster_topo_device(node, 0);
    ClusterTopoGpu known = cluster_topo_gpu(node);
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "%u", node->n_gpus);
    if (known.product != NULL)
        g_string_append_printf(text, " x %s (by %s)", known.product, known.reason);
    if (gpu->gfx != 0)
        g_string_append_printf(text, ", AMD gfx%x", gpu->gfx);
    else if (gpu->sm != 0)
        g_string_append_printf(text, ", sm %u", gpu->sm);
    else if (known.product == NULL)
        g_string_append(text, ", of which kind the file does not say");
    return g_string_free(text, FALSE);
}

/* NCCL has GPUs reach each other directly where no CPU is between. */
static char *
peers_in_words(const ClusterTopoNode *node)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < node->n_gpus; i++)
        for (guint j = i + 1; j < node->n_gpus; j++)
            if (cluster_topo_near(node, i, j) == CLUSTER_NEAR_PIX ||
                cluster_topo_near(node, i, j) == CLUSTER_NEAR_PXB)
                g_string_append_printf(text, " %u-%u", i, j);
    if (text->len > 0)
        g_string_prepend(text, "none: GPUs meet over PCIe, peer to peer below a switch:");
    else
        g_string_assign(text, "none, and no peer to peer: data cross the host's memory");
    return g_string_free(text, FALSE);
}

static char *
links_in_words(const ClusterTopoNode *node)
{
    guint links = cluster_topo_links_of_gpu(node);
    const char *kind = node->xgmi ? "XGMI links" : "NVLinks";
    g_autofree char *mesh = cluster_topo_mesh(node);
    if (!node->links_said)
        return g_strdup("not said");
    if (links == 0)
        return peers_in_words(node);
    if (cluster_topo_has_switch(node))
        return g_strdup_printf("%u %s a GPU, to a switch", links, kind);
    return g_strdup_printf("%u %s a GPU, mesh %s", links, kind, mesh);
}

/* The slowest link of a GPU of those that are known. */
static char *
pcie_in_words(const ClusterTopoNode *node)
{
    const ClusterTopoDevice *slowest = NULL;
    gboolean differ = FALSE;
    for (guint i = 0; i < node->n_gpus; i++) {
        const ClusterTopoDevice *gpu = cluster_topo_device(node, i);
        if (gpu->pcie_GTps <= 0 || gpu->pcie_lanes == 0)
            continue;
        double rate = gpu->pcie_GTps * gpu->pcie_lanes;
        double least = slowest ? slowest->pcie_GTps * slowest->pcie_lanes : rate;
        differ = differ || rate < least || rate > least;
        if (slowest == NULL || rate < least)
            slowest = gpu;
    }
    if (slowest == NULL)
        return g_strdup("speed not said");
    return g_strdup_printf("%s GT/s x%u%s", report_plain(slowest->pcie_GTps, 4).text,
                           slowest->pcie_lanes, differ ? ", the slowest" : "");
}

/* "8 4 4": GPUs of each NUMA node. */
static char *
numa_in_words(const ClusterTopoNode *node)
{
    GString *text = g_string_new(NULL);
    if (node->n_numa == 0)
        g_string_append(text, "not said");
    else
        g_string_append_printf(text, "%u%s%s; GPUs of each:", node->n_numa,
                               *node->cpu != '\0' ? " of " : "", node->cpu);
    for (guint k = 0; k < node->n_numa; k++) {
        guint n = 0;
        for (guint i = 0; i < node->n_gpus; i++)
            n += cluster_topo_device(node, i)->numa == (int)k;
        g_string_append_printf(text, " %u", n);
    }
    return g_string_free(text, FALSE);
}

/* "PIX: 2 3  SYS: 4 5": others of `first` .. `end` by distance, nearest first. */
static char *
near_in_words(const ClusterTopoNode *node, guint device, guint end)
{
    GString *text = g_string_new(NULL);
    for (ClusterNear near = CLUSTER_NEAR_PIX; near < CLUSTER_NEAR_N; near++) {
        gboolean any = FALSE;
        for (guint i = 0; i < end; i++) {
            if (i == device || cluster_topo_near(node, i, device) != near)
                continue;
            if (!any)
                g_string_append_printf(text, "%s%s:", text->len > 0 ? "  " : "",
                                       cluster_near_name(near));
            g_string_append_printf(text, " %u", i);
            any = TRUE;
        }
    }
    return g_string_free(text, FALSE);
}

static void
append_devices(const ClusterTopoNode *node, GString *out)
{
    g_autoptr(ReportTable) table = report_table_new("lll", NULL);
    guint n = 0;
    for (guint i = 0; i < node->devices->len; i++) {
        const ClusterTopoDevice *device = cluster_topo_device(node, i);
        g_autofree char *near = near_in_words(node, i, node->n_gpus);
        if (*near == '\0')
            continue;
        n++;
        report_table_cell(table, "%s", device->name);
        if (i < node->n_gpus)
            report_table_cell(table, "%s", "");
        else if (device->rate_Mbit > 0)
            report_table_cell(table, "%" G_GINT64_FORMAT " Mb/s", device->rate_Mbit);
        else
            report_table_cell(table, "rate not said");
        report_table_cell(table, "%s", near);
    }
    if (n > 0)
        g_string_append(out, "\nGPUs by distance over PCIe\n");
    report_table_print(table, 2, out);
}

/* "node.gpus=8" as lines of sections. */
static void
append_conf(const ClusterTopoConf *conf, GString *out)
{
    const char *section = "";
    gsize length = 0;
    for (guint i = 0; i < conf->set->len; i++) {
        const char *line = conf->set->pdata[i], *dot = strchr(line, '.'), *is = strchr(line, '=');
        if (length != (gsize)(dot - line) || strncmp(section, line, length) != 0) {
            section = line;
            length = (gsize)(dot - line);
            g_string_append_printf(out, "\n[%.*s]\n", (int)length, line);
        }
        g_string_append_printf(out, "%.*s =%s%s\n", (int)(is - dot - 1), dot + 1,
                               is[1] != '\0' ? " " : "", is + 1);
    }
}

static void
print_text(const ReportTopoNode *r, GString *out)
{
    g_autofree char *gpus = gpus_in_words(r->node), *links = links_in_words(r->node);
    g_autofree char *pcie = pcie_in_words(r->node), *numa = numa_in_words(r->node);
    guint cards = cluster_topo_n_cards(r->node);
    g_string_append_printf(out,
                           "%s (%s)\n\n  GPUs        %s\n  NVLink      %s\n  PCIe        %s\n"
                           "  NUMA nodes  %s\n  cards       ",
                           r->file, r->node->format, gpus, links, pcie, numa);
    if (cards > 0)
        g_string_append_printf(out, "%u\n", cards);
    else
        g_string_append(out, "not said\n");
    append_devices(r->node, out);
    append_conf(r->conf, out);
    g_string_append_c(out, '\n');
    if (r->base != NULL)
        g_string_append_printf(out, "All else is of %s.\n", r->base);
    else
        g_string_append(out,
                        "No shipped system has such GPUs; --system names one to begin from.\n");
    for (guint i = 0; i < r->conf->notes->len; i++)
        report_paragraph(out, "note: ", r->conf->notes->pdata[i]);
    if (r->conf->refusal != NULL)
        report_paragraph(out, "note: ", r->conf->refusal);
}

static void
json_device(JsonBuilder *b, const ClusterTopoNode *node, guint i)
{
    const ClusterTopoDevice *device = cluster_topo_device(node, i);
    report_json_object(b, NULL);
    report_json_text(b, "name", device->name);
    report_json_int(b, "numa", device->numa);
    if (i < node->n_gpus) {
        report_json_int(b, "sm", device->sm);
        report_json_int(b, "switch_links", device->switch_links);
        report_json_double(b, "pcie_GTps", device->pcie_GTps);
        report_json_int(b, "pcie_lanes", device->pcie_lanes);
    } else {
        report_json_int(b, "rate_Mbit", device->rate_Mbit);
    }
    report_json_array(b, i < node->n_gpus ? "links" : "near");
    for (guint j = 0; j < node->n_gpus; j++) {
        if (i < node->n_gpus)
            json_builder_add_int_value(b, node->links[i * node->n_gpus + j]);
        else
            json_builder_add_string_value(b, cluster_near_name(cluster_topo_near(node, i, j)));
    }
    json_builder_end_array(b);
    json_builder_end_object(b);
}

static void
json_texts(JsonBuilder *b, const char *name, const GPtrArray *texts)
{
    report_json_array(b, name);
    for (guint i = 0; i < texts->len; i++)
        json_builder_add_string_value(b, texts->pdata[i]);
    json_builder_end_array(b);
}

static void
print_json(const ReportTopoNode *r, GString *out)
{
    g_autoptr(JsonBuilder) b = json_builder_new();
    report_json_object(b, NULL);
    report_json_text(b, "file", r->file);
    report_json_text(b, "gpu", cluster_topo_gpu(r->node).product);
    report_json_text(b, "base", r->base);
    report_json_text(b, "cpu", r->node->cpu);
    report_json_int(b, "numa_nodes", r->node->n_numa);
    report_json_bool(b, "links_said", r->node->links_said);
    report_json_bool(b, "link_switch", cluster_topo_has_switch(r->node));
    report_json_array(b, "gpus");
    for (guint i = 0; i < r->node->n_gpus; i++)
        json_device(b, r->node, i);
    json_builder_end_array(b);
    report_json_array(b, "cards");
    for (guint i = r->node->n_gpus; i < r->node->devices->len; i++)
        json_device(b, r->node, i);
    json_builder_end_array(b);
    json_texts(b, "set", r->conf->set);
    json_texts(b, "notes", r->conf->notes);
    report_json_text(b, "refusal", r->conf->refusal);
    json_builder_end_object(b);
    report_json_print(b, out);
}

void
report_topology_node(const ReportTopoNode *r, const char *format, GString *out)
{
    guint gpus = r->node->n_gpus, n = r->node->devices->len;
    if (strcmp(format, "json") == 0) {
        print_json(r, out);
    } else if (strcmp(format, "text") == 0) {
        print_text(r, out);
    } else {
        g_string_append(out, "from\tto\tlinks\tpcie\n");
        for (guint i = 0; i < n; i++)
            for (guint j = i + 1; j < n; j++)
                g_string_append_printf(out, "%s\t%s\t%u\t%s\n",
                                       cluster_topo_device(r->node, i)->name,
                                       cluster_topo_device(r->node, j)->name,
                                       j < gpus ? (guint)r->node->links[i * gpus + j] : 0u,
                                       cluster_near_name(cluster_topo_near(r->node, i, j)));
    }
}
