/* Sorts a group's members into nodes and finds the cards that they use. */
#include "config.h"

#include "net/members.h"

typedef struct {
    guint slot, rank, node;
    guint first_rank; /* of its node */
} Place;

static int
compare_slots(gconstpointer a, gconstpointer b)
{
    guint x = ((const Place *)a)->slot, y = ((const Place *)b)->slot;
    return x < y ? -1 : x > y;
}

static int
compare_first_ranks(gconstpointer a, gconstpointer b)
{
    const Place *x = a, *y = b;
    if (x->first_rank != y->first_rank)
        return x->first_rank < y->first_rank ? -1 : 1;
    return compare_slots(a, b);
}

/* Members in order: node by node, each node's by slot. */
static Place *
sort_places(const ClusterSystem *system, const guint *slots, guint n)
{
    Place *places = g_new(Place, n);
    gboolean sorted = TRUE;
    for (guint i = 0; i < n; i++) {
        places[i] = (Place){slots[i], i, cluster_node_of(system, slots[i]), 0};
        sorted = sorted && (i == 0 || slots[i] > slots[i - 1]);
    }
    if (sorted)
        return places;
    qsort(places, n, sizeof *places, compare_slots);
    for (guint i = 0, next; i < n; i = next) {
        guint first = places[i].rank;
        for (next = i; next < n && places[next].node == places[i].node; next++)
            first = MIN(first, places[next].rank);
        for (guint j = i; j < next; j++)
            places[j].first_rank = first;
    }
    qsort(places, n, sizeof *places, compare_first_ranks);
    return places;
}

static guint
add_cards(NetMembers *m, const ClusterTopology *t, guint first, guint n)
{
    const ClusterSystem *system = cluster_topology_system(t);
    guint own = cluster_cards_of_gpu(system), before = m->n_cards;
    for (guint i = first; i < first + n; i++) {
        guint card = cluster_nic_of(system, m->slots[i]);
        ClusterEnd *last = m->n_cards > before ? &m->cards[m->n_cards - 1] : NULL;
        if (last != NULL && last->nic == card) {
            if (cluster_topology_n_reach(t, m->slots[i], card) <
                cluster_topology_n_reach(t, last->slot, card))
                last->slot = m->slots[i];
            continue;
        }
        for (guint j = 0; j < own; j++)
            m->cards[m->n_cards++] = (ClusterEnd){m->slots[i], card + j, 1};
    }
    return m->n_cards - before;
}

static gboolean
same_cards(const NetMembers *m, const NetMemberNode *a, const NetMemberNode *b)
{
    if (a->n_cards != b->n_cards)
        return FALSE;
    for (guint i = 0; i < a->n_cards; i++)
        if (m->cards[a->first_card + i].nic != m->cards[b->first_card + i].nic)
            return FALSE;
    return TRUE;
}

NetMembers *
net_members_new(const ClusterTopology *topology, const guint *slots, guint n)
{
    const ClusterSystem *system = cluster_topology_system(topology);
    g_autofree Place *places = sort_places(system, slots, n);
    NetMembers *m = g_new0(NetMembers, 1);
    m->n = n;
    m->slots = g_new(guint, n);
    m->nodes = g_new(NetMemberNode, n);
    m->cards = g_new(ClusterEnd, (gsize)n * cluster_cards_of_gpu(system));
    m->alike = TRUE;
    for (guint i = 0; i < n; i++)
        m->slots[i] = places[i].slot;
    for (guint i = 0, next; i < n; i = next) {
        for (next = i; next < n && places[next].node == places[i].node;)
            next++;
        NetMemberNode *node = &m->nodes[m->n_nodes++];
        *node = (NetMemberNode){places[i].node, i, next - i, m->n_cards, 0};
        node->n_cards = add_cards(m, topology, i, next - i);
        m->alike = m->alike && same_cards(m, node, &m->nodes[0]);
    }
    return m;
}

void
net_members_free(NetMembers *m)
{
    if (m == NULL)
        return;
    g_free(m->nodes);
    g_free(m->slots);
    g_free(m->cards);
    g_free(m);
}
