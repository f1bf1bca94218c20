/* Names, groups and closed forms of collectives. */
#include "config.h"

#include "net/collective.h"

const char *
net_op_name(NetOp op)
{
    static const char *const names[NET_N_OPS] = {"all_reduce", "all_gather", "reduce_scatter",
                                                 "all_to_all", "broadcast",  "send_recv"};
    g_assert((guint)op < NET_N_OPS);
    return names[op];
}

static int
compare_pairs(gconstpointer a, gconstpointer b)
{
    guint64 x = *(const guint64 *)a, y = *(const guint64 *)b;
    return x < y ? -1 : x > y;
}

/* How many different keys there are, and the most and fewest times one occurs; sorts the keys. */
static guint
count_different(guint64 *keys, guint n, guint *ret_most, guint *ret_fewest)
{
    guint different = 0, run = 0;
    *ret_most = 0;
    *ret_fewest = n;
    qsort(keys, n, sizeof *keys, compare_pairs);
    for (guint i = 0; i < n; i++) {
        gboolean new_key = i == 0 || keys[i] != keys[i - 1];
        gboolean last = i + 1 == n || keys[i] != keys[i + 1];
        run = new_key ? 1 : run + 1;
        different += new_key;
        *ret_most = MAX(*ret_most, run);
        if (last)
            *ret_fewest = MIN(*ret_fewest, run);
    }
    return different;
}

NetGroup
net_group_of(const ClusterSystem *system, const guint *ranks, guint n)
{
    g_assert(n > 0);
    g_autofree guint64 *nodes = g_new(guint64, n);
    g_autofree guint64 *nics = g_new(guint64, n);
    for (guint i = 0; i < n; i++) {
        nodes[i] = cluster_node_of(system, ranks[i]);
        nics[i] = nodes[i] << 32 | cluster_nic_of(system, ranks[i]);
    }
    NetGroup group = {.ranks = n, .nics = 1};
    group.nodes = count_different(nodes, n, &group.ranks_per_node, &group.least_per_node);
    guint ranks_per_nic = 0, fewest;
    count_different(nics, n, &ranks_per_nic, &fewest);
    /* the NIC that most ranks share limits the group: as if all its NICs were shared so */
    group.nics = MAX((group.ranks_per_node + ranks_per_nic - 1) / ranks_per_nic, 1);
    group.nics *= cluster_cards_of_gpu(system);
    return group;
}

double
net_ring_bytes(NetOp op, guint n, double bytes)
{
    g_assert(n > 0);
    double others = (n - 1.0) / n;
    switch (op) {
    case NET_ALL_REDUCE:
        return 2.0 * others * bytes;
    case NET_ALL_GATHER:
    case NET_REDUCE_SCATTER:
    case NET_ALL_TO_ALL:
        return others * bytes;
    default:
        return n > 1 ? bytes : 0.0;
    }
}
