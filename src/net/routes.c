/* Patterns between nodes, as flows between cards; and the shape of a group with what binds it. */
#include "config.h"

#include "net/routes.h"

#include "net/fabric.h"
#include "net/members.h"
#include "net/routes_node.h"

/* pairs of nodes that use other cards are counted one by one up to this many */
#define MAX_NODE_PAIRS (1u << 18)

typedef struct {
    const ClusterTopology *topology;
    const NetMembers *members;
    double *load; /* of each link */
    double *sent; /* by each of members->cards */
} Flows;

static void
add_flow(Flows *f, const ClusterEnd *from, const ClusterEnd *to, double bytes)
{
    ClusterHop hops[CLUSTER_MAX_HOPS];
    guint n =
        cluster_topology_route(f->topology, from->slot, from->nic, to->slot, to->nic, 0, hops);
    for (guint i = 0; i < n; i++)
        f->load[hops[i].link] += bytes * hops[i].share;
    f->sent[from - f->members->cards] += bytes;
}

static const ClusterEnd *
find_card(const NetMembers *m, const NetMemberNode *node, guint card)
{
    const ClusterEnd *cards = m->cards + node->first_card;
    guint at =
        MIN(card, node->n_cards - 1); /* where a node uses all its cards, the place is the card */
    while (at > 0 && cards[at].nic > card)
        at--;
    while (at + 1 < node->n_cards && cards[at].nic < card)
        at++;
    return cards[at].nic == card ? &cards[at] : NULL;
}

/* From node to node over the cards that both use, evenly; where they use none in common, over all in their order. */
static void
add_node_flow(Flows *f, const NetMemberNode *from, const NetMemberNode *to, double bytes)
{
    const NetMembers *m = f->members;
    guint both = 0;
    for (guint i = 0; i < from->n_cards; i++)
        both += find_card(m, to, m->cards[from->first_card + i].nic) != NULL;
    for (guint i = 0; both > 0 && i < from->n_cards; i++) {
        const ClusterEnd *card = &m->cards[from->first_card + i];
        const ClusterEnd *other = find_card(m, to, card->nic);
        if (other != NULL)
            add_flow(f, card, other, bytes / both);
    }
    guint64 parts = (guint64)from->n_cards * to->n_cards;
    for (guint64 at = 0, next; both == 0 && from->n_cards > 0 && to->n_cards > 0 && at < parts;
         at = next) {
        guint64 i = at / to->n_cards, j = at / from->n_cards;
        next = MIN((i + 1) * to->n_cards, (j + 1) * from->n_cards);
        add_flow(f, &m->cards[from->first_card + i], &m->cards[to->first_card + j],
                 bytes * (double)(next - at) / (double)parts);
    }
}

/* Divides what was added so that the card that sends most sends one byte. */
static void
normalise(Flows *f)
{
    double most = 0;
    for (guint i = 0; i < f->members->n_cards; i++)
        most = MAX(most, f->sent[i]);
    guint n = cluster_topology_n_links(f->topology);
    for (guint i = 0; most > 0 && i < n; i++)
        f->load[i] /= most;
}

static void
add_ring(Flows *f)
{
    const NetMembers *m = f->members;
    for (guint i = 0; i < m->n_nodes; i++)
        add_node_flow(f, &m->nodes[i], &m->nodes[(i + 1) % m->n_nodes], 1);
    normalise(f);
}

/* The parent of a node in NCCL's binary tree over n: in the order of their last set bits nodes alternate between leaves
 * and inner ones. */
static guint
tree_parent(guint node, guint n)
{
    guint bit = node & (~node + 1);
    guint up = (node ^ bit) | bit << 1;
    return up < n ? up : node ^ bit;
}

/* Both trees carry half of S up and down each edge: over N nodes with q cards each, 2 (N - 1) S are 2 (N - 1) S / (N q)
 * for a card on average. The second tree is the first from the other end, or of an odd number shifted by one. */
static void
add_tree(Flows *f)
{
    const NetMembers *m = f->members;
    guint n = m->n_nodes, least = m->nodes[0].n_cards;
    for (guint i = 1; i < n; i++)
        least = MIN(least, m->nodes[i].n_cards);
    double edge = (double)n * least / (4.0 * (n - 1));
    for (guint i = 1; i < n; i++) {
        guint up = tree_parent(i, n);
        const NetMemberNode *a = &m->nodes[i], *b = &m->nodes[up];
        add_node_flow(f, a, b, edge);
        add_node_flow(f, b, a, edge);
        a = n % 2 == 0 ? &m->nodes[n - 1 - i] : &m->nodes[(i + 1) % n];
        b = n % 2 == 0 ? &m->nodes[n - 1 - up] : &m->nodes[(up + 1) % n];
        add_node_flow(f, a, b, edge);
        add_node_flow(f, b, a, edge);
    }
}

/* Each card to the cards of the same index: by index, each node weighs what its ranks put on one card. */
static void
add_rails(Flows *f)
{
    const NetMembers *m = f->members;
    guint nics = (guint)cluster_topology_system(f->topology)->nics_per_node;
    g_autofree ClusterEnd *ends = g_new(ClusterEnd, m->n_nodes);
    for (guint nic = 0; nic < nics; nic++) {
        guint n = 0;
        double all = 0;
        for (guint i = 0; i < m->n_nodes; i++) {
            const ClusterEnd *card = find_card(m, &m->nodes[i], nic);
            if (card == NULL)
                continue;
            double weight = (double)m->nodes[i].n / m->nodes[i].n_cards;
            ends[n++] = (ClusterEnd){card->slot, nic, weight};
            all += weight;
        }
        cluster_topology_spread(f->topology, ends, n, f->load);
        for (guint i = 0; i < m->n_nodes; i++) {
            const ClusterEnd *card = find_card(m, &m->nodes[i], nic);
            double weight = (double)m->nodes[i].n / m->nodes[i].n_cards;
            if (card != NULL)
                f->sent[card - m->cards] += weight * (all - weight);
        }
    }
}

static void
add_pairs(Flows *f)
{
    const NetMembers *m = f->members;
    guint64 pairs = (guint64)m->n_nodes * m->n_nodes;
    if (m->alike || pairs > MAX_NODE_PAIRS)
        add_rails(f);
    for (guint64 at = 0; !m->alike && pairs <= MAX_NODE_PAIRS && at < pairs; at++) {
        const NetMemberNode *a = &m->nodes[at / m->n_nodes], *b = &m->nodes[at % m->n_nodes];
        if (a != b)
            add_node_flow(f, a, b, (double)a->n * b->n);
    }
    normalise(f);
}

/* Each member from its own card to those of all on other nodes; of a GPU with several cards from its first to their
 * first, and so on. */
static void
add_cross(Flows *f)
{
    const ClusterSystem *system = cluster_topology_system(f->topology);
    const NetMembers *m = f->members;
    guint own = cluster_cards_of_gpu(system);
    g_autofree ClusterEnd *ends = g_new(ClusterEnd, m->n);
    for (guint j = 0; j < own; j++) {
        for (guint i = 0; i < m->n; i++)
            ends[i] = (ClusterEnd){m->slots[i], cluster_nic_of(system, m->slots[i]) + j, 1};
        cluster_topology_spread(f->topology, ends, m->n, f->load);
    }
    for (guint i = 0; i < m->n_nodes; i++) {
        const NetMemberNode *node = &m->nodes[i];
        for (guint j = node->first; j < node->first + node->n; j++) {
            const ClusterEnd *card = find_card(m, node, cluster_nic_of(system, m->slots[j]));
            for (guint k = 0; k < own; k++)
                f->sent[card - m->cards + k] += m->n - node->n;
        }
    }
    normalise(f);
}

static void (*const between[NET_N_PATTERNS])(Flows *f) = {
    [NET_PATTERN_RING] = add_ring,
    [NET_PATTERN_TREE] = add_tree,
    [NET_PATTERN_PAIRS] = add_pairs,
    [NET_PATTERN_CROSS] = add_cross,
};

/* Loads of all links; NULL: the pattern uses none. Caller frees. */
static double *
pattern_load(const ClusterTopology *t, const NetMembers *m, NetPattern pattern,
             gboolean between_nodes)
{
    guint n = cluster_topology_n_links(t);
    if (n == 0 || (between_nodes && m->n_nodes < 2))
        return NULL;
    g_autofree double *sent = g_new0(double, m->n_cards);
    Flows flows = {t, m, g_new0(double, n), sent};
    if (between_nodes)
        between[pattern](&flows);
    else
        net_routes_in_node(t, m, pattern, flows.load);
    return flows.load;
}

static GArray *
array_of(const double *load, guint n)
{
    GArray *loads = g_array_new(FALSE, FALSE, sizeof(NetLinkLoad));
    for (guint i = 0; load != NULL && i < n; i++) {
        if (load[i] <= 0)
            continue;
        NetLinkLoad one = {i, load[i]};
        g_array_append_val(loads, one);
    }
    return loads;
}

GArray *
net_routes(const ClusterTopology *topology, const guint *slots, guint n, NetPattern pattern,
           gboolean between_nodes)
{
    g_assert(n > 0 && (guint)pattern < NET_N_PATTERNS);
    g_autoptr(NetMembers) m = net_members_new(topology, slots, n);
    g_autofree double *load = pattern_load(topology, m, pattern, between_nodes);
    return array_of(load, cluster_topology_n_links(topology));
}

/* The card that a message leaves by: with PXN over NVLink that of the receiver's rail. */
static guint
first_card(const ClusterSystem *system, guint from, guint to)
{
    gboolean relayed =
        system->pxn && system->rail_optimised && system->link == CLUSTER_LINK_NVSWITCH;
    return cluster_nic_of(system, relayed ? to : from);
}

static int
compare_links(gconstpointer a, gconstpointer b)
{
    guint32 x = ((const NetLinkLoad *)a)->link, y = ((const NetLinkLoad *)b)->link;
    return x < y ? -1 : x > y;
}

GArray *
net_message_route(const ClusterTopology *topology, guint from, guint to)
{
    const ClusterSystem *system = cluster_topology_system(topology);
    GArray *loads = g_array_new(FALSE, FALSE, sizeof(NetLinkLoad));
    gboolean inside = cluster_node_of(system, from) == cluster_node_of(system, to);
    guint cards = inside ? 1 : cluster_cards_of_gpu(system);
    for (guint card = 0; card < cards; card++) {
        ClusterHop hops[CLUSTER_MAX_HOPS];
        guint n = cluster_topology_route(topology, from, first_card(system, from, to) + card, to,
                                         cluster_nic_of(system, to) + card, 0, hops);
        for (guint i = 0; i < n; i++) {
            NetLinkLoad one = {hops[i].link, hops[i].share};
            g_array_append_val(loads, one);
        }
    }
    g_array_sort(loads, compare_links);
    guint kept = 0;
    NetLinkLoad *all = (NetLinkLoad *)(void *)loads->data;
    for (guint i = 0; i < loads->len; i++) {
        if (kept > 0 && all[kept - 1].link == all[i].link)
            all[kept - 1].weight += all[i].weight;
        else
            all[kept++] = all[i];
    }
    g_array_set_size(loads, kept);
    return loads;
}

/* How many times longer the busiest link needs than what sends into it. */
static double
times_longer(const ClusterTopology *t, const double *load, double sender_Bps)
{
    double longest = 0;
    guint n = load != NULL ? cluster_topology_n_links(t) : 0;
    for (guint i = 0; i < n; i++)
        if (load[i] > 0)
            longest = MAX(longest, load[i] * sender_Bps / cluster_topology_link(t, i).Bps);
    return longest;
}

NetGroup
net_group_on(const ClusterTopology *topology, const guint *slots, guint n)
{
    const ClusterSystem *system = cluster_topology_system(topology);
    NetGroup group = net_group_of(system, slots, n);
    if (n < 2 || cluster_topology_n_links(topology) == 0)
        return group;
    g_autoptr(NetMembers) m = net_members_new(topology, slots, n);
    double card_Bps = net_card_Bps(system);
    double port_Bps = (double)system->nvlink_Bps * system->nvlink_efficiency;
    for (guint p = 0; p < NET_N_PATTERNS; p++) {
        g_autofree double *far = pattern_load(topology, m, (NetPattern)p, TRUE);
        g_autofree double *near = pattern_load(topology, m, (NetPattern)p, FALSE);
        group.fabric[p] = times_longer(topology, far, card_Bps);
        group.node[p] = times_longer(topology, near, port_Bps);
    }
    return group;
}
