/* What went through each link, as it ran: ports, NICs, and what is above them. */
#include "config.h"

#include <string.h>

#include "step/build.h"

/* NICs are dealt out to GPUs in blocks, or GPUs to NICs: an even share of the one. */
double
step_nics_of(const StepBuild *b, guint i)
{
    const ClusterSystem *s = b->plan->system;
    const StepRank *rank = &g_array_index(b->ranks, StepRank, i);
    if (cluster_cards_of_gpu(s) > 1)
        return cluster_cards_of_gpu(s);
    return 1.0 / g_array_index(b->classes, StepClass, rank->class).card_stages->len;
}

static double
load_of(const SimEngine *engine, guint32 resource)
{
    return resource == STEP_NO_RESOURCE ? 0 : sim_engine_resource_load(engine, resource);
}

double
step_resource_bytes(const SimEngine *engine, const StepResource *r)
{
    return load_of(engine, r->id) + load_of(engine, r->rest);
}

#define MOST_OF_KIND 64 /* entries in the result */

typedef enum { LINK_PORT, LINK_PCIE, LINK_NIC, LINK_ABOVE } LinkPlace;

/* Before it has a name. */
typedef struct {
    LinkPlace place;
    const char *kind;
    guint index; /* simulated rank, or entry of b->fabric_links */
    guint direction;
    double alike, bytes, shared_bytes, Bps; /* shared: without NetTime's rest */
    gint64 busy_ns;
} Entry;

static void
add_entry(GArray *entries, const SimEngine *engine, Entry entry, guint32 resource)
{
    entry.busy_ns = sim_engine_resource_busy_ns(engine, resource);
    entry.shared_bytes = sim_engine_resource_load(engine, resource);
    if (entry.busy_ns > 0)
        g_array_append_val(entries, entry);
}

/* Of the first rank of each class. */
static void
add_ports(const StepBuild *b, const SimEngine *engine, GArray *entries)
{
    const ClusterSystem *s = b->plan->system;
    g_autofree gboolean *known = g_new0(gboolean, b->classes->len);
    for (guint i = 0; i < b->ranks->len; i++) {
        guint class = g_array_index(b->ranks, StepRank, i).class;
        const StepLinks *links = &b->links[i];
        Entry entry = {.index = i, .alike = g_array_index(b->classes, StepClass, class).n_ranks};
        for (; !known[class] && entry.direction < STEP_N_DIRECTIONS; entry.direction++) {
            const StepResource *port = &links->nvlink[entry.direction];
            entry.place = LINK_PORT;
            entry.kind = s->link == CLUSTER_LINK_PCIE ? "pcie" : "nvlink";
            entry.bytes = step_resource_bytes(engine, port);
            entry.Bps = net_nvlink_capacity_Bps(b->net);
            add_entry(entries, engine, entry, port->id);
            if (links->pcie[entry.direction] == STEP_NO_RESOURCE)
                continue;
            entry.place = LINK_PCIE;
            entry.kind = "pcie";
            entry.bytes = load_of(engine, links->pcie[entry.direction]);
            entry.Bps = (double)s->pcie_Bps;
            add_entry(entries, engine, entry, links->pcie[entry.direction]);
        }
        known[class] = TRUE;
    }
}

/* Each once, for all NICs of ranks that are like the first of their class behind it. */
static void
add_nics(const StepBuild *b, const SimEngine *engine, GArray *entries)
{
    g_autofree gboolean *known = g_new0(gboolean, b->classes->len);
    GHashTable *places = g_hash_table_new(NULL, NULL); /* resource + 1 -> place + 1; look-up only */
    for (guint i = 0; i < b->ranks->len; i++) {
        const StepRank *rank = &g_array_index(b->ranks, StepRank, i);
        if (known[rank->class])
            continue;
        known[rank->class] = TRUE;
        double alike =
            g_array_index(b->classes, StepClass, rank->class).n_ranks * step_nics_of(b, i);
        for (guint direction = STEP_OUT; direction < STEP_N_DIRECTIONS; direction++) {
            const StepResource *nic = &b->links[i].nic[direction];
            gpointer key = GUINT_TO_POINTER(nic->id + 1);
            guint place = GPOINTER_TO_UINT(g_hash_table_lookup(places, key));
            if (place > 0) {
                g_array_index(entries, Entry, place - 1).alike += alike;
                continue;
            }
            Entry entry = {.place = LINK_NIC,
                           .kind = "nic",
                           .index = i,
                           .direction = direction,
                           .alike = alike,
                           .bytes = step_resource_bytes(engine, nic),
                           .Bps = net_nic_capacity_Bps(b->net)};
            guint before = entries->len;
            add_entry(entries, engine, entry, nic->id);
            if (entries->len > before)
                g_hash_table_insert(places, key, GUINT_TO_POINTER(entries->len));
        }
    }
    g_hash_table_unref(places);
}

/* What no simulated rank goes through: bytes of all that do, and in use as long as one of these at least. */
static void
add_parts(const StepBuild *b, const SimEngine *engine, const StepFabricLink *link, Entry *entry)
{
    for (guint i = 0; i < link->n_parts; i++) {
        const StepLinkPart *part =
            &g_array_index(b->link_parts, StepLinkPart, link->first_part + i);
        entry->bytes += part->weight * sim_engine_resource_load(engine, part->resource);
        entry->busy_ns = MAX(entry->busy_ns, sim_engine_resource_busy_ns(engine, part->resource));
    }
    entry->shared_bytes = entry->bytes;
}

static void
add_above(const StepBuild *b, const SimEngine *engine, GArray *entries)
{
    for (guint i = 0; i < b->fabric_links->len; i++) {
        const StepFabricLink *link = &g_array_index(b->fabric_links, StepFabricLink, i);
        ClusterTopoLink at = cluster_topology_link(b->plan->topology, link->link);
        Entry entry = {.place = LINK_ABOVE,
                       .kind = cluster_topo_kind_name(at.kind),
                       .index = i,
                       .alike = link->alike,
                       .Bps = at.Bps};
        if (link->alike <= 0)
            continue;
        if (link->resource == STEP_NO_RESOURCE) {
            add_parts(b, engine, link, &entry);
            if (entry.busy_ns > 0)
                g_array_append_val(entries, entry);
            continue;
        }
        entry.bytes = sim_engine_resource_load(engine, link->resource);
        add_entry(entries, engine, entry, link->resource);
    }
}

static gboolean
near(double x, double y)
{
    return x - y <= 1e-9 * y && y - x <= 1e-9 * x;
}

/* The most utilised first; those that are alike beside each other. */
static int
by_use(gconstpointer a, gconstpointer b)
{
    const Entry *x = a, *y = b;
    if (!near(x->bytes * y->Bps, y->bytes * x->Bps))
        return x->bytes * y->Bps > y->bytes * x->Bps ? -1 : 1;
    int order = strcmp(x->kind, y->kind);
    if (order != 0)
        return order;
    if (x->Bps != y->Bps)
        return x->Bps > y->Bps ? -1 : 1;
    if (x->busy_ns != y->busy_ns)
        return x->busy_ns > y->busy_ns ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return x->direction < y->direction ? -1 : x->direction > y->direction;
}

static char *
entry_name(const StepBuild *b, const Entry *entry)
{
    static const char *const ways[STEP_N_DIRECTIONS] = {[STEP_OUT] = "out", [STEP_IN] = "in"};
    if (entry->place == LINK_ABOVE)
        return cluster_topology_link_name(
            b->plan->topology, g_array_index(b->fabric_links, StepFabricLink, entry->index).link);
    const ClusterSystem *s = b->plan->system;
    guint slot = plan_slot(b->plan, g_array_index(b->ranks, StepRank, entry->index).rank);
    guint nic = cluster_nic_of(s, slot), node = cluster_node_of(s, slot);
    if (entry->place == LINK_NIC)
        return g_strdup_printf("NIC %u of node %u, %s", nic, node, ways[entry->direction]);
    return g_strdup_printf("port of GPU %u of node %u, %s", cluster_local_of(s, slot), node,
                           ways[entry->direction]);
}

/* So many links of the kind are in the list that no more are of use. */
static gboolean
is_enough(const GArray *links, const char *kind)
{
    guint n = 0;
    for (guint i = 0; i < links->len; i++)
        n += strcmp(g_array_index(links, StepLink, i).kind, kind) == 0;
    return n >= MOST_OF_KIND;
}

static gboolean
alike(const Entry *x, const Entry *y)
{
    return strcmp(x->kind, y->kind) == 0 && near(x->bytes, y->bytes) && x->Bps == y->Bps &&
           x->busy_ns == y->busy_ns;
}

static void
clear_link(gpointer data)
{
    g_free(((StepLink *)data)->name);
}

void
step_report_links(const StepBuild *b, const SimEngine *engine, StepResult *r)
{
    g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(Entry));
    add_ports(b, engine, entries);
    add_nics(b, engine, entries);
    add_above(b, engine, entries);
    g_array_sort(entries, by_use);
    r->links = g_array_new(FALSE, TRUE, sizeof(StepLink));
    g_array_set_clear_func(r->links, clear_link);
    const Entry *all = (const Entry *)(gconstpointer)entries->data;
    for (guint i = 0, end; i < entries->len; i = end) {
        double n = all[i].alike;
        for (end = i + 1; end < entries->len && alike(&all[i], &all[end]); end++)
            n += all[end].alike;
        if (is_enough(r->links, all[i].kind))
            continue;
        double room = all[i].Bps * 1e-9 * (double)MAX(r->time_ns, 1);
        StepLink link = {.name = entry_name(b, &all[i]),
                         .kind = all[i].kind,
                         .alike = (guint64)(n + 0.5),
                         .bytes = all[i].bytes,
                         .capacity_Bps = all[i].Bps,
                         .busy_ns = all[i].busy_ns,
                         .utilisation = MIN(all[i].shared_bytes / room, 1)};
        g_array_append_val(r->links, link);
    }
}
