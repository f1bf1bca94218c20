/* Topologies: the lists of kinds, and one numbering of all links: node after node, then the fabric. */
#include "config.h"

#include "cluster/parts.h"

#include "cluster/error.h"
#include "cluster/mesh.h"

#define MAX_LINKS (1u << 28)

static const ClusterNodeKind *const node_kinds[] = {
    [CLUSTER_LINK_NVSWITCH] = &cluster_node_nvswitch,
    [CLUSTER_LINK_MESH] = &cluster_node_mesh,
    [CLUSTER_LINK_PCIE] = &cluster_node_pcie,
};

static const ClusterFabricKind *const fabric_kinds[CLUSTER_N_FABRICS] = {
    [CLUSTER_FABRIC_IDEAL] = &cluster_fabric_ideal,
    [CLUSTER_FABRIC_RAIL] = &cluster_fabric_rail,
    [CLUSTER_FABRIC_FAT_TREE] = &cluster_fabric_fat_tree,
    [CLUSTER_FABRIC_DRAGONFLY] = &cluster_fabric_dragonfly,
    [CLUSTER_FABRIC_TORUS] = &cluster_fabric_torus,
};

const char *
cluster_topo_kind_name(ClusterTopoKind kind)
{
    static const char *const names[CLUSTER_TOPO_N_KINDS] = {
        [CLUSTER_TOPO_MESH] = "NVLink of a mesh",  [CLUSTER_TOPO_PCIE_SWITCH] = "PCIe switch",
        [CLUSTER_TOPO_SOCKET] = "between sockets", [CLUSTER_TOPO_LEAF] = "leaf uplink",
        [CLUSTER_TOPO_SPINE] = "spine uplink",     [CLUSTER_TOPO_GLOBAL] = "global link",
    };
    g_assert((guint)kind < CLUSTER_TOPO_N_KINDS);
    return names[kind];
}

void
cluster_way_add(ClusterWay *way, guint link, double share)
{
    g_assert(way->n < CLUSTER_MAX_HOPS);
    way->hops[way->n++] = (ClusterHop){way->base + link, share};
}

guint
cluster_spread(const ClusterPair *pair, guint level, guint width)
{
    guint64 x = pair->key + (level + 1) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * G_GUINT64_CONSTANT(0x94d049bb133111eb);
    x ^= x >> 31;
    return width > 1 ? (guint)(x % width) : 0;
}

ClusterTopology *
cluster_topology_new(const ClusterSystem *system, guint n_nodes, GError **error)
{
    g_assert(n_nodes > 0);
    g_autoptr(ClusterTopology) t = g_new0(ClusterTopology, 1);
    t->system = system;
    t->n_nodes = n_nodes;
    t->node = node_kinds[system->link];
    t->fabric = fabric_kinds[system->fabric];
    t->card_Bps = (double)system->nic_Bps * system->nic_efficiency;
    if (system->link == CLUSTER_LINK_MESH) {
        t->mesh = cluster_mesh_parse(system->mesh != NULL ? system->mesh : "",
                                     (guint)system->gpus_per_node, error);
        if (t->mesh == NULL)
            return NULL;
    }
    t->node_links = t->node->n_links != NULL ? t->node->n_links(t) : 0;
    if (t->fabric->plan != NULL && !t->fabric->plan(t, error))
        return NULL;
    if (t->fabric_links > MAX_LINKS || t->node_links > MAX_LINKS / n_nodes) {
        g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
                    "system '%s': the fabric has too many links; write fewer [fabric] uplinks",
                    system->name);
        return NULL;
    }
    return g_steal_pointer(&t);
}

void
cluster_topology_free(ClusterTopology *t)
{
    if (t == NULL)
        return;
    g_free(t->mesh);
    g_free(t->mesh_at);
    g_free(t->mesh_pair);
    g_free(t);
}

const ClusterSystem *
cluster_topology_system(const ClusterTopology *t)
{
    return t->system;
}

guint
cluster_topology_n_nodes(const ClusterTopology *t)
{
    return t->n_nodes;
}

guint
cluster_topology_n_links(const ClusterTopology *t)
{
    return t->n_nodes * t->node_links + t->fabric_links;
}

ClusterTopoLink
cluster_topology_link(const ClusterTopology *t, guint link)
{
    guint in_nodes = t->n_nodes * t->node_links;
    g_assert(link < in_nodes + t->fabric_links);
    return link < in_nodes ? t->node->link(t, link % t->node_links)
                           : t->fabric->link(t, link - in_nodes);
}

char *
cluster_topology_link_name(const ClusterTopology *t, guint link)
{
    guint in_nodes = t->n_nodes * t->node_links;
    g_assert(link < in_nodes + t->fabric_links);
    if (link >= in_nodes)
        return t->fabric->name(t, link - in_nodes);
    g_autofree char *name = t->node->name(t, link % t->node_links);
    return g_strdup_printf("node %u: %s", link / t->node_links, name);
}

void
cluster_way_reach(const ClusterTopology *t, guint local, guint nic, gboolean out, ClusterWay *way)
{
    if (t->node->reach != NULL)
        t->node->reach(t, local, nic, out, way);
}

guint
cluster_topology_route(const ClusterTopology *t, guint from, guint from_nic, guint to, guint to_nic,
                       guint64 flow, ClusterHop hops[CLUSTER_MAX_HOPS])
{
    guint node = cluster_node_of(t->system, from), other = cluster_node_of(t->system, to);
    guint local = cluster_local_of(t->system, from), there = cluster_local_of(t->system, to);
    g_assert(from != to && node < t->n_nodes && other < t->n_nodes);
    ClusterWay way = {.hops = hops, .base = node * t->node_links};
    if (node == other) {
        if (t->node->route != NULL)
            t->node->route(t, local, there, &way);
        return way.n;
    }
    cluster_way_reach(t, local, from_nic, TRUE, &way);
    guint64 slots = (guint64)from << 32 | to;
    ClusterPair pair = {node, from_nic, other, to_nic,
                        slots ^ flow * G_GUINT64_CONSTANT(0xff51afd7ed558ccd)};
    way.base = t->n_nodes * t->node_links;
    if (t->fabric->route != NULL)
        t->fabric->route(t, &pair, &way);
    way.base = other * t->node_links;
    cluster_way_reach(t, there, to_nic, FALSE, &way);
    return way.n;
}

guint
cluster_topology_n_reach(const ClusterTopology *t, guint slot, guint nic)
{
    ClusterHop hops[CLUSTER_MAX_HOPS];
    ClusterWay way = {.hops = hops};
    cluster_way_reach(t, cluster_local_of(t->system, slot), nic, TRUE, &way);
    return way.n;
}

guint
cluster_topology_distance(const ClusterTopology *t, guint node, guint other)
{
    return node == other || t->fabric->distance == NULL ? 0 : t->fabric->distance(t, node, other);
}
