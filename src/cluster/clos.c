/* Sizes, links and ways of leaves, spines and cores. */
#include "config.h"

#include "cluster/clos.h"

#include "cluster/error.h"

#define MAX_SPINE_UPLINKS 64 /* half the ports of the largest switches */

static guint
pod_of(const ClusterTopology *t, guint leaf)
{
    return t->pods > 1 ? (guint)(leaf / t->rails / t->system->pod_leaves) : 0;
}

gboolean
cluster_clos_plan(ClusterTopology *t, guint rails, guint cards, GError **error)
{
    const ClusterSystem *s = t->system;
    guint leaf_nodes = (guint)s->leaf_nodes, pod_leaves = (guint)s->pod_leaves;
    t->rails = rails;
    t->sets = (t->n_nodes + leaf_nodes - 1) / leaf_nodes;
    t->pods = s->levels == 3 ? (t->sets + pod_leaves - 1) / pod_leaves : 1;
    t->width = s->hashed ? (guint)s->uplinks : 1;
    double below = (double)leaf_nodes * cards * t->card_Bps;
    t->leaf_Bps = below / s->oversubscription / t->width;
    /* Spine u of a pod has one downlink of each of its leaves. */
    double downlinks = (double)pod_leaves * rails;
    double upward = downlinks / s->spine_oversubscription;
    t->spine_width = s->hashed ? (guint)CLAMP(upward + 0.5, 1, MAX_SPINE_UPLINKS) : 1;
    t->spine_Bps = t->leaf_Bps * upward / t->spine_width;
    guint64 leaves = (guint64)t->sets * rails * t->width;
    guint64 spines = t->pods > 1 ? (guint64)t->pods * t->width * t->spine_width : 0;
    if (leaves + spines > G_MAXINT32 / 2) {
        g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
                    "system '%s': %" G_GUINT64_FORMAT
                    " uplinks are too many; write fewer [fabric] uplinks or spreading = ideal",
                    s->name, leaves + spines);
        return FALSE;
    }
    t->fabric_links = (guint)(2 * (leaves + spines));
    return TRUE;
}

static guint
first_spine_link(const ClusterTopology *t)
{
    return 2 * t->sets * t->rails * t->width;
}

ClusterTopoLink
cluster_clos_link(const ClusterTopology *t, guint link)
{
    if (link < first_spine_link(t))
        return (ClusterTopoLink){CLUSTER_TOPO_LEAF, t->leaf_Bps};
    return (ClusterTopoLink){CLUSTER_TOPO_SPINE, t->spine_Bps};
}

char *
cluster_clos_name(const ClusterTopology *t, guint link, gboolean of_rails)
{
    GString *name = g_string_new(NULL);
    guint first = first_spine_link(t), cable = link / 2;
    if (link < first) {
        guint leaf = cable / t->width;
        g_string_append_printf(name, "leaf %u", leaf / t->rails);
        if (of_rails)
            g_string_append_printf(name, " of rail %u", leaf % t->rails);
        if (t->width > 1)
            g_string_append_printf(name, ", uplink %u", cable % t->width);
    } else {
        cable = (link - first) / 2;
        g_string_append_printf(name, "spine of pod %u", cable / t->spine_width / t->width);
        if (t->system->hashed)
            g_string_append_printf(name, ", switch %u, uplink %u",
                                   cable / t->spine_width % t->width, cable % t->spine_width);
    }
    g_string_append(name, link % 2 == 0 ? ", up" : ", down");
    return g_string_free(name, FALSE);
}

void
cluster_clos_route(const ClusterTopology *t, guint leaf, guint other, const ClusterPair *pair,
                   ClusterWay *way)
{
    if (leaf == other)
        return;
    guint up = cluster_spread(pair, 0, t->width);
    cluster_way_add(way, 2 * (leaf * t->width + up), 1);
    guint pod = pod_of(t, leaf), there = pod_of(t, other);
    if (pod != there) {
        guint spine = cluster_spread(pair, 1, t->spine_width), first = first_spine_link(t);
        cluster_way_add(way, first + 2 * ((pod * t->width + up) * t->spine_width + spine), 1);
        cluster_way_add(way, first + 2 * ((there * t->width + up) * t->spine_width + spine) + 1, 1);
    }
    cluster_way_add(way, 2 * (other * t->width + up) + 1, 1);
}

/* Takes from `crossing` of each leaf what stays in a node, between its cards on other leaves. */
static void
leave_out_node(const ClusterEnd *ends, const guint *leaf, guint n, double *crossing)
{
    double all = 0;
    for (guint i = 0; i < n; i++)
        all += ends[i].weight;
    for (guint i = 0; i < n; i++) {
        double same = 0;
        for (guint j = 0; j < n; j++)
            same += leaf[j] == leaf[i] ? ends[j].weight : 0;
        crossing[leaf[i]] -= ends[i].weight * (all - same);
    }
}

/* What leaves a switch with weight w below it of W in all is w (W - w), and as much comes back. */
void
cluster_clos_spread(const ClusterTopology *t, const ClusterEnd *ends, const guint *leaf, guint n,
                    double *load)
{
    guint leaves = t->sets * t->rails;
    g_autofree double *below = g_new0(double, leaves), *crossing = g_new0(double, leaves);
    g_autofree double *of_pod = g_new0(double, t->pods);
    double all = 0;
    for (guint i = 0, next; i < n; i = next) {
        guint node = cluster_node_of(t->system, ends[i].slot);
        for (next = i; next < n && cluster_node_of(t->system, ends[next].slot) == node; next++) {
            below[leaf[next]] += ends[next].weight;
            of_pod[pod_of(t, leaf[next])] += ends[next].weight;
            all += ends[next].weight;
        }
        if (next - i > 1 && t->rails > 1)
            leave_out_node(ends + i, leaf + i, next - i, crossing);
    }
    for (guint i = 0; i < leaves; i++) {
        double each = (crossing[i] + below[i] * (all - below[i])) / t->width;
        for (guint u = 0; below[i] > 0 && u < 2 * t->width; u++)
            load[2 * i * t->width + u] += each;
    }
    guint of_one = 2 * t->width * t->spine_width, first = first_spine_link(t);
    for (guint pod = 0; t->pods > 1 && pod < t->pods; pod++)
        for (guint u = 0; of_pod[pod] > 0 && u < of_one; u++)
            load[first + pod * of_one + u] += of_pod[pod] * (all - of_pod[pod]) * 2 / of_one;
}

guint
cluster_clos_distance(const ClusterTopology *t, guint leaf, guint other)
{
    return leaf == other ? 0 : pod_of(t, leaf) == pod_of(t, other) ? 1 : 2;
}
