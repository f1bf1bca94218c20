/* GPUs on PCIe: below switches, these below sockets, sockets each with each.
 *
 *     GPU GPU  GPU GPU     links of a node: for each switch up, down;
 *      switch   switch     then for each ordered pair of sockets
 *         \      /
 *          socket ---- socket
 *
 * A card sits below the switch of the first GPU that it serves. */
#include "config.h"

#include "cluster/parts.h"

static guint
n_switches(const ClusterTopology *t)
{
    return (guint)(t->system->gpus_per_node / t->system->pcie_switch_gpus);
}

static guint
socket_of(const ClusterTopology *t, guint gpu)
{
    return (guint)(gpu / (t->system->gpus_per_node / t->system->sockets));
}

static guint
pcie_n_links(const ClusterTopology *t)
{
    guint sockets = (guint)t->system->sockets;
    return 2 * n_switches(t) + sockets * (sockets - 1);
}

static ClusterTopoLink
pcie_link(const ClusterTopology *t, guint link)
{
    if (link < 2 * n_switches(t))
        return (ClusterTopoLink){CLUSTER_TOPO_PCIE_SWITCH, (double)t->system->pcie_switch_Bps};
    return (ClusterTopoLink){CLUSTER_TOPO_SOCKET, (double)t->system->socket_Bps};
}

static char *
pcie_name(const ClusterTopology *t, guint link)
{
    guint switches = 2 * n_switches(t);
    if (link < switches)
        return g_strdup_printf("PCIe switch %u, %s", link / 2, link % 2 == 0 ? "up" : "down");
    guint others = (guint)t->system->sockets - 1;
    guint from = (link - switches) / others, to = (link - switches) % others;
    return g_strdup_printf("socket %u to socket %u", from, to + (to >= from));
}

/* Between the places of two GPUs. */
static void
pcie_route(const ClusterTopology *t, guint local, guint other, ClusterWay *way)
{
    guint below = (guint)t->system->pcie_switch_gpus;
    if (local / below == other / below)
        return;
    cluster_way_add(way, 2 * (local / below), 1);
    guint from = socket_of(t, local), to = socket_of(t, other);
    if (from != to)
        cluster_way_add(
            way, 2 * n_switches(t) + from * ((guint)t->system->sockets - 1) + to - (to > from), 1);
    cluster_way_add(way, 2 * (other / below) + 1, 1);
}

static void
pcie_reach(const ClusterTopology *t, guint local, guint nic, gboolean out, ClusterWay *way)
{
    gint64 gpus = t->system->gpus_per_node, nics = t->system->nics_per_node;
    guint home = (guint)((nic * gpus + nics - 1) / nics);
    if (nics > gpus)
        home = (guint)(nic / (nics / gpus));
    pcie_route(t, out ? local : home, out ? home : local, way);
}

const ClusterNodeKind cluster_node_pcie = {pcie_n_links, pcie_link, pcie_name, pcie_route,
                                           pcie_reach};
