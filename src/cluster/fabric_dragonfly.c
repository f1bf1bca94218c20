/* A dragonfly: routers of a group each with each, groups each with each; the shortest way, at most one router of its
 * own group, one global link and one router of the other group.
 *
 * r routers a group, G groups, C the rate of a router's cards, o and p the two oversubscriptions:
 *
 *     link between two routers     2 C / o / (r - 1)
 *     between two groups           r C / (o p) / (G - 1), on k = max(1, r / (G - 1)) cables (at most 16)
 *
 * so that with o = p = 1 uniform traffic never waits. Cable j from group A to group B hangs on A's router
 * (index of B among A's others x k + j) mod r. */
#include "config.h"

#include "cluster/parts.h"

#include "cluster/error.h"

#define MAX_CABLES 16 /* three hops for each of them must fit into CLUSTER_MAX_HOPS */
#define MAX_ROUTERS 512

/* Routers are t->rails of a group, groups t->sets, cables t->width. */
static gboolean
dragonfly_plan(ClusterTopology *t, GError **error)
{
    const ClusterSystem *s = t->system;
    guint64 routers = (guint64)s->pod_leaves, of_group = routers * (guint64)s->leaf_nodes;
    guint64 needed = (t->n_nodes + of_group - 1) / of_group;
    guint64 groups = s->groups > 0 ? (guint64)s->groups : needed;
    if (routers > MAX_ROUTERS || groups > 4096 || groups < needed) {
        g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
                    "system '%s': a dragonfly of %" G_GUINT64_FORMAT " groups of %" G_GUINT64_FORMAT
                    " routers of %" G_GINT64_FORMAT
                    " nodes does not hold %u nodes; write other [fabric] groups, pod-leaves (up to "
                    "%d) or leaf-nodes",
                    s->name, groups, routers, s->leaf_nodes, t->n_nodes, MAX_ROUTERS);
        return FALSE;
    }
    t->rails = (guint)routers;
    t->sets = (guint)groups;
    t->width = groups > 1 ? CLAMP(t->rails / (t->sets - 1), 1, MAX_CABLES) : 1;
    double cards = (double)s->leaf_nodes * (double)s->nics_per_node * t->card_Bps;
    cards /= s->oversubscription;
    t->leaf_Bps = 2 * cards / MAX(t->rails - 1, 1);
    t->spine_Bps =
        t->rails * cards / s->spine_oversubscription / MAX(t->sets - 1, 1) / (double)t->width;
    guint64 links = groups * routers * (routers - 1) + groups * (groups - 1) * t->width;
    t->fabric_links = (guint)MIN(links, G_MAXUINT32);
    return TRUE;
}

/* Of thing `of`, counted among those that are not `self`. */
static guint
among_others(guint of, guint self)
{
    return of - (of > self);
}

static guint
first_global(const ClusterTopology *t)
{
    return t->sets * t->rails * (t->rails - 1);
}

static ClusterTopoLink
dragonfly_link(const ClusterTopology *t, guint link)
{
    if (link < first_global(t))
        return (ClusterTopoLink){CLUSTER_TOPO_LEAF, t->leaf_Bps};
    return (ClusterTopoLink){CLUSTER_TOPO_GLOBAL, t->spine_Bps};
}

static char *
dragonfly_name(const ClusterTopology *t, guint link)
{
    if (link < first_global(t)) {
        guint others = t->rails - 1, router = link / others, to = link % others;
        guint own = router % t->rails;
        return g_strdup_printf("group %u, router %u to %u", router / t->rails, own,
                               to + (to >= own));
    }
    guint cable = link - first_global(t), others = t->sets - 1;
    guint group = cable / t->width / others, to = cable / t->width % others;
    return g_strdup_printf("group %u to group %u, link %u", group, to + (to >= group),
                           cable % t->width);
}

/* Between routers of a group. */
static void
inside(const ClusterTopology *t, guint group, guint router, guint to, double share, ClusterWay *way)
{
    if (router != to)
        cluster_way_add(
            way, (group * t->rails + router) * (t->rails - 1) + among_others(to, router), share);
}

static void
over_cable(const ClusterTopology *t, guint router, guint other, guint cable, double share,
           ClusterWay *way)
{
    guint group = router / t->rails, there = other / t->rails;
    guint to = among_others(there, group), back = among_others(group, there);
    guint leaves = (to * t->width + cable) % t->rails;
    guint arrives = (back * t->width + cable) % t->rails;
    inside(t, group, router % t->rails, leaves, share, way);
    cluster_way_add(way, first_global(t) + (group * (t->sets - 1) + to) * t->width + cable, share);
    inside(t, there, arrives, other % t->rails, share, way);
}

static void
dragonfly_route(const ClusterTopology *t, const ClusterPair *pair, ClusterWay *way)
{
    guint leaf_nodes = (guint)t->system->leaf_nodes;
    guint router = pair->node / leaf_nodes, other = pair->other / leaf_nodes;
    if (router / t->rails == other / t->rails) {
        inside(t, router / t->rails, router % t->rails, other % t->rails, 1, way);
        return;
    }
    if (t->system->hashed) {
        over_cable(t, router, other, cluster_spread(pair, 0, t->width), 1, way);
        return;
    }
    for (guint cable = 0; cable < t->width; cable++)
        over_cable(t, router, other, cable, 1.0 / t->width, way);
}

/* By routers' and groups' weights: all of a node's cards are on one router, and nothing of a router crosses a link to
 * itself. */
static void
dragonfly_spread(const ClusterTopology *t, const ClusterEnd *ends, guint n, double *load)
{
    guint leaf_nodes = (guint)t->system->leaf_nodes, r = t->rails, width = (guint)t->width;
    g_autofree double *of_router = g_new0(double, t->sets *r), *of_group = g_new0(double, t->sets);
    for (guint i = 0; i < n; i++) {
        guint router = cluster_node_of(t->system, ends[i].slot) / leaf_nodes;
        of_router[router] += ends[i].weight;
        of_group[router / r] += ends[i].weight;
    }
    g_assert(r > 0 && width > 0);
    for (guint g = 0; g < t->sets; g++) {
        const double *own = of_router + g * r;
        for (guint a = 0; of_group[g] > 0 && a < r; a++)
            for (guint b = 0; b < r; b++)
                if (a != b)
                    load[(g * r + a) * (r - 1) + among_others(b, a)] += own[a] * own[b];
        for (guint cable = 0; cable < (t->sets - 1) * width; cable++) {
            guint to = cable / MAX(width, 1u), there = to + (to >= g), gate = cable % MAX(r, 1u);
            double far = of_group[there] / width;
            load[first_global(t) + g * (t->sets - 1) * width + cable] += of_group[g] * far;
            for (guint a = 0; far > 0 && of_group[g] > 0 && a < r; a++) {
                if (a == gate)
                    continue;
                load[(g * r + a) * (r - 1) + among_others(gate, a)] += own[a] * far;
                load[(g * r + gate) * (r - 1) + among_others(a, gate)] += own[a] * far;
            }
        }
    }
}

static guint
dragonfly_distance(const ClusterTopology *t, guint node, guint other)
{
    guint leaf_nodes = (guint)t->system->leaf_nodes;
    guint router = node / leaf_nodes, there = other / leaf_nodes;
    return router == there ? 0 : router / t->rails == there / t->rails ? 1 : 2;
}

const ClusterFabricKind cluster_fabric_dragonfly = {dragonfly_plan,   dragonfly_link,
                                                    dragonfly_name,   dragonfly_route,
                                                    dragonfly_spread, dragonfly_distance};
