/* Sweeps of one node that a system borrows: networks differ, what NVLink does in a node of the same GPUs does not. */
#include "config.h"

#include "net/lent.h"

#include "cluster/tables.h"

static int
compare_sweeps(gconstpointer a, gconstpointer b)
{
    const NetSweep *x = a, *y = b;
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    if (x->group.nodes != y->group.nodes)
        return x->group.nodes < y->group.nodes ? -1 : 1;
    return x->group.ranks < y->group.ranks ? -1 : x->group.ranks > y->group.ranks;
}

static gboolean
has(const GArray *sweeps, const NetSweep *sweep)
{
    for (guint i = 0; i < sweeps->len; i++)
        if (compare_sweeps(&g_array_index(sweeps, NetSweep, i), sweep) == 0)
            return TRUE;
    return FALSE;
}

/* Own and lent sweeps in one array that owns its curves; both others stay as they are. */
static GArray *
merged(const ClusterSystem *system, const GArray *own, const GArray *lent, guint *n_rows)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(NetSweep));
    g_array_append_vals(all, own->data, own->len);
    for (guint i = 0; i < lent->len; i++) {
        const NetSweep *sweep = &g_array_index(lent, NetSweep, i);
        if (sweep->group.nodes != 1 || sweep->group.ranks > system->gpus_per_node ||
            has(own, sweep))
            continue;
        g_array_append_vals(all, sweep, 1);
        *n_rows += net_curve_n_points(sweep->curve);
    }
    g_array_sort(all, compare_sweeps);
    return net_sweeps_copy((const NetSweep *)(void *)all->data, all->len);
}

GArray *
net_lent_add(const ClusterSystem *system, GArray *sweeps, const NetFabric *fabric, guint *n_rows,
             GError **error)
{
    g_autoptr(GArray) own = sweeps;
    GError *local = NULL;
    g_autoptr(ClusterSystem) lender =
        cluster_table_lender(system, CLUSTER_TABLE_COLLECTIVE, &local);
    if (local != NULL) {
        g_propagate_error(error, local);
        return NULL;
    }
    if (lender == NULL)
        return g_steal_pointer(&own);
    g_autofree char *path = cluster_table_path(lender, CLUSTER_TABLE_COLLECTIVE);
    g_autoptr(GArray) lent = net_rows_load(path, fabric, NULL, error);
    return lent != NULL ? merged(system, own, lent, n_rows) : NULL;
}
