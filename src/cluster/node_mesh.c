/* NVLinks between GPUs without a switch, as in a DGX-1: bundles of links between pairs. A pair without a bundle goes
 * over the GPU between that has the widest of both, the lowest of equal ones. */
#include "config.h"

#include "cluster/parts.h"

static guint
links_of(const ClusterTopology *t, guint from, guint to)
{
    return t->mesh[from * (guint)t->system->gpus_per_node + to];
}

/* Numbers the bundles; the mesh is the one thing that is not arithmetic. */
static guint
mesh_n_links(const ClusterTopology *t)
{
    ClusterTopology *mine = (ClusterTopology *)t;
    guint gpus = (guint)t->system->gpus_per_node, n = 0;
    mine->mesh_at = g_new0(guint16, gpus * gpus);
    mine->mesh_pair = g_new0(guint16, gpus * gpus);
    for (guint i = 0; i < gpus; i++) {
        guint own = 0;
        for (guint j = 0; j < gpus; j++) {
            own += links_of(t, i, j);
            if (links_of(t, i, j) == 0)
                continue;
            mine->mesh_pair[n++] = (guint16)(i * gpus + j);
            mine->mesh_at[i * gpus + j] = (guint16)n;
        }
        mine->mesh_links = MAX(mine->mesh_links, own);
    }
    return n;
}

/* nvlink-rate is of all links of a GPU. */
static ClusterTopoLink
mesh_link(const ClusterTopology *t, guint link)
{
    double one = (double)t->system->nvlink_Bps * t->system->nvlink_efficiency / t->mesh_links;
    return (ClusterTopoLink){CLUSTER_TOPO_MESH, one * t->mesh[t->mesh_pair[link]]};
}

static char *
mesh_name(const ClusterTopology *t, guint link)
{
    guint gpus = (guint)t->system->gpus_per_node, pair = t->mesh_pair[link];
    return g_strdup_printf("NVLink from GPU %u to GPU %u", pair / gpus, pair % gpus);
}

static void
mesh_route(const ClusterTopology *t, guint local, guint other, ClusterWay *way)
{
    guint gpus = (guint)t->system->gpus_per_node;
    if (links_of(t, local, other) > 0) {
        cluster_way_add(way, t->mesh_at[local * gpus + other] - 1u, 1);
        return;
    }
    guint best = 0, width = 0;
    for (guint k = 0; k < gpus; k++) {
        guint narrow = MIN(links_of(t, local, k), links_of(t, k, other));
        if (narrow > width) {
            width = narrow;
            best = k;
        }
    }
    g_assert(width > 0); /* cluster_mesh_parse saw to it */
    cluster_way_add(way, t->mesh_at[local * gpus + best] - 1u, 1);
    cluster_way_add(way, t->mesh_at[best * gpus + other] - 1u, 1);
}

const ClusterNodeKind cluster_node_mesh = {mesh_n_links, mesh_link, mesh_name, mesh_route, NULL};
