/* The links of a machine by kind and rate. */
#include "config.h"

#include "report/topology.h"

#include "report/json_number.h"
#include "report/number.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

/* Links alike; each carries one direction. */
typedef struct {
    const char *name;
    int kind; /* of ClusterTopoKind; -1: ports and cards */
    guint64 n;
    double Bps;
    double over; /* rate below over rate here; NAN: says nothing */
} Row;

static void
add_ports(const ClusterSystem *s, guint nodes, GArray *rows)
{
    Row port = {s->link == CLUSTER_LINK_PCIE ? "PCIe port of a GPU" : "NVLink port of a GPU", -1,
                2 * (guint64)s->gpus_per_node * nodes, (double)s->nvlink_Bps * s->nvlink_efficiency,
                NAN};
    Row card = {"network card", -1, 2 * (guint64)s->nics_per_node * nodes,
                (double)s->nic_Bps * s->nic_efficiency, NAN};
    g_array_append_val(rows, port);
    g_array_append_val(rows, card);
}

static void
add_link(GArray *rows, ClusterTopoLink link)
{
    for (guint i = 0; i < rows->len; i++) {
        Row *row = &g_array_index(rows, Row, i);
        if (row->kind == (int)link.kind && row->Bps == link.Bps) {
            row->n++;
            return;
        }
    }
    Row row = {cluster_topo_kind_name(link.kind), (int)link.kind, 1, link.Bps, NAN};
    g_array_append_val(rows, row);
}

static int
compare_rows(gconstpointer a, gconstpointer b)
{
    const Row *x = a, *y = b;
    return x->kind != y->kind ? (x->kind < y->kind ? -1 : 1)
                              : (x->Bps > y->Bps) - (x->Bps < y->Bps);
}

/* Oversubscription as the machine is built, were it full: rate below a level of switches over that of its uplinks. */
static double
over_of(const ClusterSystem *s, int kind)
{
    if (kind == CLUSTER_TOPO_LEAF)
        return s->oversubscription;
    if (kind == CLUSTER_TOPO_SPINE ||
        (kind == CLUSTER_TOPO_GLOBAL && s->fabric == CLUSTER_FABRIC_DRAGONFLY))
        return s->spine_oversubscription;
    return NAN;
}

static GArray *
rows_of(const ClusterTopology *t)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(Row));
    const ClusterSystem *s = cluster_topology_system(t);
    add_ports(s, cluster_topology_n_nodes(t), rows);
    const Row card = g_array_index(rows, Row, 1);
    guint n = cluster_topology_n_links(t);
    for (guint i = 0; i < n; i++)
        add_link(rows, cluster_topology_link(t, i));
    g_array_sort(rows, compare_rows);
    /* both have kind -1 and stand by rate: the port first */
    if (strcmp(g_array_index(rows, Row, 0).name, card.name) == 0) {
        g_array_index(rows, Row, 0) = g_array_index(rows, Row, 1);
        g_array_index(rows, Row, 1) = card;
    }
    for (guint i = 0; i < rows->len; i++)
        g_array_index(rows, Row, i).over = over_of(s, g_array_index(rows, Row, i).kind);
    return rows;
}

static void
print_json(const ClusterTopology *t, const GArray *rows, GString *out)
{
    const ClusterSystem *s = cluster_topology_system(t);
    g_autoptr(JsonBuilder) b = json_builder_new();
    report_json_object(b, NULL);
    report_json_text(b, "system", s->name);
    report_json_int(b, "nodes", cluster_topology_n_nodes(t));
    report_json_int(b, "gpus_per_node", s->gpus_per_node);
    report_json_text(b, "node", cluster_link_name(s->link));
    report_json_text(b, "fabric", cluster_fabric_name(s->fabric));
    report_json_array(b, "links");
    for (guint i = 0; i < rows->len; i++) {
        const Row *row = &g_array_index(rows, Row, i);
        report_json_object(b, NULL);
        report_json_text(b, "kind", row->name);
        report_json_int(b, "links", (gint64)row->n);
        report_json_double(b, "Bps", row->Bps);
        report_json_double(b, "oversubscription", row->over);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    json_builder_end_object(b);
    report_json_print(b, out);
}

static void
print_text(const ClusterTopology *t, const GArray *rows, GString *out)
{
    static const char *const heads[] = {"kind", "links", "GB/s", "GB/s all", "oversubscription",
                                        NULL};
    const ClusterSystem *s = cluster_topology_system(t);
    g_string_append_printf(out, "%s\n%u nodes x %" G_GINT64_FORMAT " GPUs, %s; %s\n\n", s->name,
                           cluster_topology_n_nodes(t), s->gpus_per_node,
                           cluster_link_name(s->link), cluster_fabric_name(s->fabric));
    g_autoptr(ReportTable) table = report_table_new("lrrrr", heads);
    for (guint i = 0; i < rows->len; i++) {
        const Row *row = &g_array_index(rows, Row, i);
        report_table_cell(table, "%s", row->name);
        report_table_cell(table, "%" G_GUINT64_FORMAT, row->n);
        report_table_cell(table, "%s", report_plain(row->Bps / 1e9, 4).text);
        report_table_cell(table, "%s", report_grouped((double)row->n * row->Bps / 1e9).text);
        report_table_cell(table, "%s%s", report_plain(row->over, 3).text,
                          isnan(row->over) ? "" : ":1");
    }
    report_table_print(table, 2, out);
    g_string_append(out, "\nLinks carry one direction; rates are what large transfers achieve.\n");
}

void
report_topology(const ClusterTopology *t, const char *format, GString *out)
{
    g_autoptr(GArray) rows = rows_of(t);
    if (strcmp(format, "json") == 0) {
        print_json(t, rows, out);
    } else if (strcmp(format, "text") == 0) {
        print_text(t, rows, out);
    } else {
        g_string_append(out, "kind\tlinks\tBps\toversubscription\n");
        for (guint i = 0; i < rows->len; i++) {
            const Row *row = &g_array_index(rows, Row, i);
            g_string_append_printf(out, "%s\t%" G_GUINT64_FORMAT "\t%s\t%s\n", row->name, row->n,
                                   report_plain(row->Bps, 12).text,
                                   report_plain(row->over, 6).text);
        }
    }
}
