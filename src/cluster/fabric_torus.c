/* A torus: each node's router has a link each way to its neighbours in every dimension. Messages go one dimension
 * after the other, the shorter way round; where both are as long, up from even places and down from odd ones, so
 * that even traffic loads all links alike. Node = x + y X + z X Y ... of the dimensions X x Y x Z. */
#include "config.h"

#include "cluster/parts.h"

#include "cluster/error.h"

#include <string.h>

/* Links: for each node and dimension up, down. */
static gboolean
torus_plan(ClusterTopology *t, GError **error)
{
    const ClusterSystem *s = t->system;
    guint nodes = 1, longest = 0;
    for (guint d = 0; d < s->n_dimensions; d++) {
        nodes *= s->dimensions[d];
        longest += s->dimensions[d] / 2;
    }
    if (nodes < t->n_nodes || longest > CLUSTER_MAX_HOPS - 8) {
        g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
                    "system '%s': [fabric] dimensions: a torus %s %u nodes %s; write larger or "
                    "more of them",
                    s->name, nodes < t->n_nodes ? "of" : "whose longest way is over",
                    nodes < t->n_nodes ? nodes : longest,
                    nodes < t->n_nodes ? "is too small for the GPUs" : "is too long");
        return FALSE;
    }
    t->leaf_Bps = (double)s->nics_per_node * t->card_Bps / s->oversubscription;
    t->fabric_links = nodes * s->n_dimensions * 2;
    return TRUE;
}

static ClusterTopoLink
torus_link(const ClusterTopology *t, guint link G_GNUC_UNUSED)
{
    return (ClusterTopoLink){CLUSTER_TOPO_GLOBAL, t->leaf_Bps};
}

static char *
torus_name(const ClusterTopology *t, guint link)
{
    guint dimensions = t->system->n_dimensions;
    return g_strdup_printf("router of node %u, dimension %u, %s", link / 2 / dimensions,
                           link / 2 % dimensions, link % 2 == 0 ? "up" : "down");
}

/* Steps of the shorter way from place to place round a ring; `ret_up` which way. */
static guint
steps_round(guint place, guint to, guint size, gboolean *ret_up)
{
    guint up = (to + size - place) % size, down = size - up;
    *ret_up = up < down || (up == down && place % 2 == 0);
    return up == 0 ? 0 : MIN(up, down);
}

static void
torus_route(const ClusterTopology *t, const ClusterPair *pair, ClusterWay *way)
{
    const ClusterSystem *s = t->system;
    guint at = pair->node, stride = 1;
    for (guint d = 0; d < s->n_dimensions; d++) {
        guint size = s->dimensions[d], place = at / stride % size;
        gboolean up;
        guint steps = steps_round(place, pair->other / stride % size, size, &up);
        for (guint i = 0; i < steps; i++) {
            cluster_way_add(way, 2 * (at * s->n_dimensions + d) + !up, 1);
            guint next = (place + (up ? 1 : size - 1)) % size;
            at = at - place * stride + next * stride;
            place = next;
        }
        stride *= size;
    }
}

/* Along one line of dimension d, whose places are `stride` apart: messages there come from nodes that differ from the
 * line in the dimensions before d, and go to nodes that differ in those behind. from[], to[]: their weights by place. */
static void
spread_line(const ClusterTopology *t, guint d, guint first, guint stride, const double *from,
            const double *to, double *load)
{
    guint size = t->system->dimensions[d], dimensions = t->system->n_dimensions;
    for (guint a = 0; a < size; a++) {
        for (guint b = 0; from[a] > 0 && b < size; b++) {
            gboolean up;
            guint steps = steps_round(a, b, size, &up), place = a;
            for (guint i = 0; to[b] > 0 && i < steps; i++) {
                load[2 * ((first + place * stride) * dimensions + d) + !up] += from[a] * to[b];
                place = (place + (up ? 1 : size - 1)) % size;
            }
        }
    }
}

/* After dimension d a message has the receiver's places up to d and the sender's behind. So the line through node
 * x in dimension d carries what all senders with x's places behind d send to all receivers with x's before d. */
static void
torus_spread(const ClusterTopology *t, const ClusterEnd *ends, guint n, double *load)
{
    const ClusterSystem *s = t->system;
    guint nodes = t->fabric_links / 2 / s->n_dimensions, stride = 1;
    g_autofree double *from = g_new(double, nodes), *to = g_new(double, nodes);
    for (guint d = 0; d < s->n_dimensions; stride *= s->dimensions[d++]) {
        /* from: at [place and those behind]; to: at [those before and place] */
        guint size = s->dimensions[d], below = stride * size, behind = nodes / below;
        memset(from, 0, nodes * sizeof *from);
        memset(to, 0, nodes * sizeof *to);
        for (guint i = 0; i < n; i++) {
            guint node = cluster_node_of(s, ends[i].slot);
            from[node / stride] += ends[i].weight;
            to[node % below] += ends[i].weight;
        }
        g_autofree double *to_place = g_new(double, size);
        for (guint b = 0; b < behind; b++) {
            for (guint a = 0; a < stride; a++) {
                for (guint place = 0; place < size; place++)
                    to_place[place] = to[a + place * stride];
                spread_line(t, d, a + b * below, stride, from + b * size, to_place, load);
            }
        }
    }
}

static guint
torus_distance(const ClusterTopology *t, guint node, guint other)
{
    const ClusterSystem *s = t->system;
    guint steps = 0;
    for (guint d = 0; d < s->n_dimensions; d++) {
        gboolean up;
        steps +=
            steps_round(node % s->dimensions[d], other % s->dimensions[d], s->dimensions[d], &up);
        node /= s->dimensions[d];
        other /= s->dimensions[d];
    }
    return steps > 1 ? 2 : 1;
}

const ClusterFabricKind cluster_fabric_torus = {torus_plan,  torus_link,   torus_name,
                                                torus_route, torus_spread, torus_distance};
