/* Where ranks live: the slot of each, by a hostfile or by the nodes that the job gets, which it fills one after the
 * other. */
#include "config.h"

#include <string.h>

#include "cluster/hostfile.h"
#include "plan/resolve.h"

guint
plan_slot(const Plan *plan, guint rank)
{
    g_assert(rank < plan->gpus);
    return plan->slot_of != NULL ? plan->slot_of[rank] : rank;
}

guint
plan_node(const Plan *plan, guint rank)
{
    return cluster_node_of(plan->system, plan_slot(plan, rank));
}

gboolean
plan_find_rank(const Plan *plan, guint slot, guint *ret_rank)
{
    guint rank = slot;

    if (plan->rank_in != NULL && slot < plan->n_nodes * plan->system->gpus_per_node)
        rank = plan->rank_in[slot];
    if (rank >= plan->gpus)
        return FALSE;
    *ret_rank = rank;
    return TRUE;
}

/* --- slots ------------------------------------------------------------------------------------------ */

static GArray *
slots_of_nodes(Plan *plan, GError **error)
{
    gint64 per_node = plan->system->gpus_per_node;
    gint64 n = (plan->gpus + per_node - 1) / per_node;
    g_autoptr(GArray) nodes = plan_allocate_nodes(&plan->spec, n, error);

    if (nodes == NULL)
        return NULL;
    GArray *slots = g_array_sized_new(FALSE, FALSE, sizeof(guint), (guint)plan->gpus);
    for (gint64 rank = 0; rank < plan->gpus; rank++) {
        guint node = g_array_index(nodes, guint, rank / per_node);
        guint slot = (guint)(node * per_node + rank % per_node);
        g_array_append_val(slots, slot);
    }
    return slots;
}

static GArray *
slots_of_hosts(Plan *plan, GError **error)
{
    const PlanSpec *s = &plan->spec;
    const char *name = s->hostfile_name != NULL ? s->hostfile_name : "hostfile";

    if (s->allocation != NULL) {
        plan_refuse(error, "--allocation: %s says already which nodes the job gets; leave out one",
                    name);
        return NULL;
    }
    g_autoptr(GArray) slots = cluster_hostfile_parse(name, s->hostfile, plan->system->gpus_per_node,
                                                     s->fabric_nodes, error);
    if (slots != NULL && slots->len < plan->gpus) {
        plan_refuse(error,
                    "%s: has %u ranks, and the plan " PLAN_D "; write --gpus %u, or more hosts",
                    name, slots->len, plan->gpus, slots->len);
        return NULL;
    }
    return g_steal_pointer(&slots);
}

/* Keeps the slots, where they are not 0, 1, 2, ... */
static void
set_slots(Plan *plan, const GArray *slots)
{
    const guint *slot_of = (const guint *)(gpointer)slots->data;
    guint per_node = (guint)plan->system->gpus_per_node, last = 0;
    gboolean plain = TRUE;

    for (guint rank = 0; rank < plan->gpus; rank++) {
        last = MAX(last, slot_of[rank]);
        plain = plain && slot_of[rank] == rank;
    }
    plan->n_nodes = last / per_node + 1;
    g_autofree guint *ranks_on = g_new0(guint, plan->n_nodes);
    for (guint rank = 0; rank < plan->gpus; rank++) {
        guint n = ++ranks_on[slot_of[rank] / per_node];
        plan->nodes += n == 1;
        plan->ranks_per_node = MAX(plan->ranks_per_node, n);
    }
    if (plain)
        return;
    plan->slot_of = g_memdup2(slot_of, (gsize)plan->gpus * sizeof *slot_of);
    plan->rank_in = g_new(guint, (gsize)plan->n_nodes * per_node);
    memset(plan->rank_in, 0xff, (gsize)plan->n_nodes * per_node * sizeof *plan->rank_in);
    for (guint rank = 0; rank < plan->gpus; rank++)
        plan->rank_in[slot_of[rank]] = rank;
}

/* --- groups ----------------------------------------------------------------------------------------- */

PlanSpread
plan_group_spread(const Plan *plan, PlanGroup group)
{
    PlanSpread spread = {0};
    g_autofree guint *seen = g_new0(guint, plan->n_nodes); /* number of the last group there + 1 */
    g_autofree guint *ranks_on = g_new0(guint, plan->n_nodes);

    for (guint rank = 0; rank < plan->gpus; rank++) {
        guint n, nodes = 0;
        if (plan_group_leader(plan, group, rank, &n) != rank)
            continue;
        g_autoptr(GArray) members = plan_group(plan, group, rank);
        spread.groups++;
        for (guint i = 0; i < members->len; i++) {
            guint node = plan_node(plan, g_array_index(members, guint, i));
            gboolean is_new = seen[node] != rank + 1;
            seen[node] = rank + 1;
            nodes += is_new;
            ranks_on[node] = is_new ? 1 : ranks_on[node] + 1;
            spread.ranks_per_node = MAX(spread.ranks_per_node, ranks_on[node]);
        }
        spread.nodes = MAX(spread.nodes, nodes);
        spread.torn += nodes > 1;
    }
    return spread;
}

static void
remark_on_nodes(const Plan *plan, GPtrArray *remarks)
{
    gint64 per_node = plan->system->gpus_per_node, whole = plan->gpus / per_node;

    if (plan->spec.hostfile != NULL) {
        if (plan->ranks_per_node < per_node && plan->nodes > 1)
            plan_remark(remarks, "at most %u of the " PLAN_D " GPUs of a node have a rank",
                        plan->ranks_per_node, per_node);
    } else if (whole > 0 && plan->gpus % per_node != 0) {
        plan_remark(remarks,
                    PLAN_D " GPUs fill " PLAN_D " nodes of " PLAN_D " and leave " PLAN_D
                           " on the last",
                    plan->gpus, whole, per_node, plan->gpus % per_node);
    }
}

/* Whole nodes, one after the other, with tp fastest: whether groups fit is plain. */
static void
remark_on_groups(const Plan *plan, GPtrArray *remarks)
{
    const PlanSpec *s = &plan->spec;
    gint64 per_node = plan->system->gpus_per_node;

    if (s->tp == 1)
        return;
    if (s->hostfile == NULL && g_str_has_prefix(s->order, "tp")) {
        if (per_node % s->tp != 0)
            plan_remark(remarks,
                        "tensor parallel groups of " PLAN_D " do not fit evenly in nodes of " PLAN_D
                        ": some of their collectives cross the network",
                        s->tp, per_node);
        return;
    }
    PlanSpread spread = plan_group_spread(plan, PLAN_GROUP_TP);
    if (spread.torn > 0)
        plan_remark(remarks,
                    PLAN_D " of " PLAN_D " tensor parallel groups are on several nodes: their "
                           "collectives cross the network",
                    spread.torn, spread.groups);
}

gboolean
plan_place_ranks(Plan *plan, GError **error)
{
    gint64 per_node = plan->system->gpus_per_node, most = PLAN_MAX_GPUS / per_node;
    g_autoptr(GPtrArray) remarks = g_ptr_array_new();

    if (plan->spec.fabric_nodes == 0 && plan->spec.allocation != NULL)
        plan->spec.fabric_nodes = plan->system->described_nodes;
    if (plan->spec.fabric_nodes > most)
        return plan_refuse(error, "--fabric-nodes: " PLAN_D " is out of range; write 1 to " PLAN_D,
                           plan->spec.fabric_nodes, most);
    g_autoptr(GArray) slots =
        plan->spec.hostfile != NULL ? slots_of_hosts(plan, error) : slots_of_nodes(plan, error);
    if (slots == NULL)
        return FALSE;
    set_slots(plan, slots);
    remark_on_nodes(plan, remarks);
    remark_on_groups(plan, remarks);
    for (guint i = 0; i < remarks->len; i++) /* they come before those on values */
        g_ptr_array_insert(plan->remarks, (int)i, remarks->pdata[i]);
    gint64 described = plan->system->described_nodes;
    gint64 of_fabric = MAX(plan->spec.fabric_nodes, described);
    if (described > 0 && plan->n_nodes > of_fabric)
        return plan_refuse(error,
                           "system '%s': " PLAN_D
                           " nodes, and the job takes %u; write that many or "
                           "more in --system, or fewer GPUs",
                           plan->system->name, described, plan->n_nodes);
    plan->topology =
        cluster_topology_new(plan->system, (guint)MAX(plan->n_nodes, of_fabric), error);
    return plan->topology != NULL;
}
