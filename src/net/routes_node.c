/* Patterns inside nodes. Rings and chains go by place, as NCCL finds them on PCIe, or along the rings of a mesh. */
#include "config.h"

#include "net/routes_node.h"

#include "cluster/mesh.h"
#include "net/mesh_rings.h"

#include <string.h>

static void
add_flow(const ClusterTopology *t, guint from, guint to, double bytes, double *load)
{
    ClusterHop hops[CLUSTER_MAX_HOPS];
    guint n = cluster_topology_route(t, from, 0, to, 0, 0, hops);
    for (guint i = 0; i < n; i++)
        load[hops[i].link] += bytes * hops[i].share;
}

/* Each member sends all to the next, the last to the first. Over several nodes a ring leaves one of these edges out,
 * each channel another: edges and ports lose the same share. */
static void
add_ring(const ClusterTopology *t, const guint *slots, guint n, double *load)
{
    for (guint i = 0; i < n; i++)
        add_flow(t, slots[i], slots[(i + 1) % n], 1, load);
}

/* n - 1 edges both ways over n ports. */
static void
add_chain(const ClusterTopology *t, const guint *slots, guint n, double *load)
{
    double bytes = n / (2.0 * (n - 1));
    for (guint i = 0; i + 1 < n; i++) {
        add_flow(t, slots[i], slots[i + 1], bytes, load);
        add_flow(t, slots[i + 1], slots[i], bytes, load);
    }
}

static void
add_each_to_each(const ClusterTopology *t, const guint *slots, guint n, double *load)
{
    for (guint i = 0; i < n; i++)
        for (guint j = 0; j < n; j++)
            if (i != j)
                add_flow(t, slots[i], slots[j], 1.0 / (n - 1), load);
}

/* Rings of the node before: nodes mostly take part with the same GPUs. */
typedef struct {
    guint8 *mesh; /* as cluster_mesh_parse gives it; NULL: no mesh */
    guint8 width[64];
    guint n;
    NetMeshRings rings;
} Mesh;

/* FALSE: the mesh closes no ring over these members. */
static gboolean
add_mesh_rings(const ClusterTopology *t, Mesh *mesh, const guint *slots, guint n, double *load)
{
    const ClusterSystem *system = cluster_topology_system(t);
    if (mesh->mesh == NULL || n < 3 || n > 8)
        return FALSE;
    guint8 width[64] = {0};
    for (guint i = 0; i < n * n; i++)
        width[i] = mesh->mesh[cluster_local_of(system, slots[i / n]) * system->gpus_per_node +
                              cluster_local_of(system, slots[i % n])];
    if (mesh->n != n || memcmp(mesh->width, width, (gsize)n * n) != 0) {
        mesh->rings = net_mesh_rings(width, n);
        mesh->n = n;
        memcpy(mesh->width, width, (gsize)n * n);
    }
    const NetMeshRings *rings = &mesh->rings;
    double each = 1.0 / (2.0 * MAX(rings->n_rings, 1));
    for (guint r = 0; r < rings->n_rings; r++) {
        for (guint i = 0; i < n; i++) {
            guint a = slots[rings->order[r][i]], b = slots[rings->order[r][(i + 1) % n]];
            add_flow(t, a, b, each, load);
            add_flow(t, b, a, each, load);
        }
    }
    return rings->n_rings > 0;
}

void
net_routes_in_node(const ClusterTopology *t, const NetMembers *m, NetPattern pattern, double *load)
{
    const ClusterSystem *system = cluster_topology_system(t);
    g_autofree guint8 *links = NULL;
    if (system->link == CLUSTER_LINK_MESH)
        links = cluster_mesh_parse(system->mesh, (guint)system->gpus_per_node, NULL);
    Mesh mesh = {.mesh = links};
    for (guint i = 0; i < m->n_nodes; i++) {
        const guint *slots = m->slots + m->nodes[i].first;
        guint n = m->nodes[i].n;
        if (n < 2)
            continue;
        if (pattern == NET_PATTERN_PAIRS || pattern == NET_PATTERN_CROSS)
            add_each_to_each(t, slots, n, load);
        else if (add_mesh_rings(t, &mesh, slots, n, load))
            continue; /* a tree's chains are these rings without an edge, and run both ways too */
        else if (pattern == NET_PATTERN_RING)
            add_ring(t, slots, n, load);
        else
            add_chain(t, slots, n, load);
    }
}
