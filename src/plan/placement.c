/* Where ranks live: which slot of the machine each has, and how many nodes that takes. */
#include "config.h"

#include "plan/resolve.h"

guint
plan_slot(const Plan *plan, guint rank)
{
    g_assert(rank < plan->gpus);
    return plan->slot_of != NULL ? plan->slot_of[rank] : rank;
}

guint
plan_nodes_of(const Plan *plan, const GArray *ranks)
{
    g_autofree guint8 *is_used = g_new0(guint8, plan->n_nodes);
    guint n = 0;

    for (guint i = 0; i < ranks->len; i++) {
        guint node = cluster_node_of(plan->system, plan_slot(plan, g_array_index(ranks, guint, i)));
        n += !is_used[node];
        is_used[node] = 1;
    }
    return n;
}

gboolean
plan_place_ranks(Plan *plan, GError **error)
{
    gint64 per_node = plan->system->gpus_per_node;

    plan->nodes = (plan->gpus + per_node - 1) / per_node;
    plan->n_nodes = (guint)plan->nodes;
    return TRUE;
}
