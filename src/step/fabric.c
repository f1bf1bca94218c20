/* Routes of groups and messages, and their sums over all that are alike in kind. */
#include "config.h"

#include "step/fabric.h"

struct StepFabric {
    const Plan *plan;
    guint n_links;
    guint *ranks;             /* [gpus]: of pipeline rank 0, of 1, ... */
    gboolean between, within; /* there are links between nodes, and in them */
    GHashTable *load_places;  /* key -> index + 1 into loads; look-up only */
    GPtrArray *loads;         /* of GArray of NetLinkLoad */
    GHashTable *truth_places; /* key -> index + 1 into truths; look-up only */
    GPtrArray *truths;        /* of double [n_links], or NULL */
};

static gboolean
is_within(ClusterTopoKind kind)
{
    return kind == CLUSTER_TOPO_MESH || kind == CLUSTER_TOPO_PCIE_SWITCH ||
           kind == CLUSTER_TOPO_SOCKET;
}

guint
step_group_leader(const Plan *plan, guint kind, guint rank)
{
    guint n;
    if (kind != STEP_GROUP_REPLICA)
        return plan_group_leader(plan, kind, rank, &n);
    PlanPlace place = plan_place(plan, rank);
    place.pp = MIN(place.pp, plan->spec.pp - 1 - place.pp);
    return plan_rank(plan, place);
}

static GArray *
replica_pair(const Plan *plan, guint rank)
{
    GArray *pair = g_array_new(FALSE, FALSE, sizeof(guint));
    PlanPlace place = plan_place(plan, rank);
    gint64 other = plan->spec.pp - 1 - place.pp;
    gint64 ends[2] = {MIN(place.pp, other), MAX(place.pp, other)};
    for (guint i = 0; i < (ends[0] == ends[1] ? 1 : 2); i++) {
        place.pp = ends[i];
        guint member = plan_rank(plan, place);
        g_array_append_val(pair, member);
    }
    return pair;
}

GArray *
step_group_slots(const Plan *plan, guint kind, guint rank)
{
    GArray *members =
        kind == STEP_GROUP_REPLICA ? replica_pair(plan, rank) : plan_group(plan, kind, rank);
    for (guint i = 0; i < members->len; i++)
        g_array_index(members, guint, i) = plan_slot(plan, g_array_index(members, guint, i));
    return members;
}

static guint *
by_stage(const Plan *plan)
{
    const PlanSpec *spec = &plan->spec;
    gint64 n = spec->tp * spec->cp * spec->dp;
    guint *ranks = g_new(guint, n * spec->pp);
    g_autofree gint64 *next = g_new(gint64, spec->pp);
    for (gint64 pp = 0; pp < spec->pp; pp++)
        next[pp] = pp * n;
    for (guint rank = 0; rank < (guint)(n * spec->pp); rank++)
        ranks[next[plan_place(plan, rank).pp]++] = rank;
    return ranks;
}

StepFabric *
step_fabric_new(const Plan *plan)
{
    StepFabric *f = g_new0(StepFabric, 1);
    f->plan = plan;
    f->ranks = by_stage(plan);
    f->n_links = cluster_topology_n_links(plan->topology);
    for (guint i = 0; i < f->n_links && !(f->between && f->within); i++)
        if (is_within(cluster_topology_link(plan->topology, i).kind))
            f->within = TRUE;
        else
            f->between = TRUE;
    f->load_places = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    f->loads = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    f->truth_places = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    f->truths = g_ptr_array_new_with_free_func(g_free);
    return f;
}

void
step_fabric_free(StepFabric *f)
{
    if (f == NULL)
        return;
    g_hash_table_unref(f->load_places);
    g_hash_table_unref(f->truth_places);
    g_ptr_array_unref(f->loads);
    g_ptr_array_unref(f->truths);
    g_free(f->ranks);
    g_free(f);
}

gboolean
step_fabric_has_links(const StepFabric *f)
{
    return f->n_links > 0;
}

/* One of the crowd by a rank of it; degrees are below 2^20, so that it fits. */
static guint64
key_of(const StepCrowd *crowd, guint64 member)
{
    guint64 what = crowd->message ? STEP_N_GROUPS + crowd->to
                                  : crowd->kind * 2u * NET_N_PATTERNS + crowd->pattern * 2u +
                                        (crowd->between ? 1u : 0u);
    return member << 24 | what << 1 | (crowd->message ? 1 : 0);
}

/* Index of what the key stands for, from 0 on; -1: not met before. */
static int
place_of(GHashTable *places, guint64 key)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(places, &key)) - 1;
}

static void
remember(GHashTable *places, guint64 key, guint n)
{
    guint64 *owned = g_new(guint64, 1);
    *owned = key;
    g_hash_table_insert(places, owned, GUINT_TO_POINTER(n));
}

static GArray *
message_loads(const StepFabric *f, const StepCrowd *crowd, guint rank)
{
    PlanPlace place = plan_place(f->plan, rank);
    place.pp = crowd->to;
    guint from = plan_slot(f->plan, rank), to = plan_slot(f->plan, plan_rank(f->plan, place));
    const ClusterSystem *system = f->plan->system;
    gboolean between = cluster_node_of(system, from) != cluster_node_of(system, to);
    if (from == to || (between ? !f->between && !f->within : !f->within))
        return g_array_new(FALSE, FALSE, sizeof(NetLinkLoad));
    return net_message_route(f->plan->topology, from, to);
}

static gboolean
spans_nodes(const StepFabric *f, const GArray *slots)
{
    guint first = cluster_node_of(f->plan->system, g_array_index(slots, guint, 0));
    for (guint i = 1; i < slots->len; i++)
        if (cluster_node_of(f->plan->system, g_array_index(slots, guint, i)) != first)
            return TRUE;
    return FALSE;
}

static GArray *
group_loads(const StepFabric *f, const StepCrowd *crowd, guint leader)
{
    g_autoptr(GArray) slots = step_group_slots(f->plan, crowd->kind, leader);
    gboolean any = crowd->between ? (f->between || f->within) && spans_nodes(f, slots)
                                  : f->within && slots->len > 1;
    if (!any)
        return g_array_new(FALSE, FALSE, sizeof(NetLinkLoad));
    return net_routes(f->plan->topology, (const guint *)(gpointer)slots->data, slots->len,
                      crowd->pattern, crowd->between);
}

const GArray *
step_fabric_loads(StepFabric *f, const StepCrowd *crowd, guint rank)
{
    guint member = crowd->message ? rank : step_group_leader(f->plan, crowd->kind, rank);
    guint64 key = key_of(crowd, member);
    int place = place_of(f->load_places, key);
    if (place >= 0)
        return f->loads->pdata[place];
    GArray *loads =
        crowd->message ? message_loads(f, crowd, member) : group_loads(f, crowd, member);
    g_ptr_array_add(f->loads, loads);
    remember(f->load_places, key, f->loads->len);
    return loads;
}

static double *
sum_crowd(StepFabric *f, const StepCrowd *crowd)
{
    const PlanSpec *spec = &f->plan->spec;
    guint n = (guint)(spec->tp * spec->cp * spec->dp);
    double *sum = NULL;
    for (guint k = crowd->pp * n; k < (crowd->pp + 1) * n; k++) {
        guint rank = f->ranks[k];
        if (!crowd->message && step_group_leader(f->plan, crowd->kind, rank) != rank)
            continue;
        const GArray *loads = step_fabric_loads(f, crowd, rank);
        if (sum == NULL && loads->len > 0)
            sum = g_new0(double, f->n_links);
        for (guint i = 0; i < loads->len; i++) {
            const NetLinkLoad *load = &g_array_index(loads, NetLinkLoad, i);
            sum[load->link] += load->weight;
        }
    }
    return sum;
}

const double *
step_fabric_truth(StepFabric *f, const StepCrowd *crowd)
{
    guint64 key = key_of(crowd, crowd->pp);
    int place = place_of(f->truth_places, key);
    if (place >= 0)
        return f->truths->pdata[place];
    double *sum = sum_crowd(f, crowd);
    g_ptr_array_add(f->truths, sum);
    remember(f->truth_places, key, f->truths->len);
    return sum;
}

float
step_fabric_press(StepFabric *f, const StepCrowd *crowd, guint rank)
{
    const double *truth = step_fabric_truth(f, crowd);
    if (truth == NULL)
        return 0;
    const ClusterSystem *system = f->plan->system;
    double Bps = crowd->between ? (double)system->nic_Bps : (double)system->nvlink_Bps, most = 0;
    const GArray *loads = step_fabric_loads(f, crowd, rank);
    for (guint i = 0; i < loads->len; i++) {
        guint link = g_array_index(loads, NetLinkLoad, i).link;
        most = MAX(most, truth[link] * Bps / cluster_topology_link(f->plan->topology, link).Bps);
    }
    return (float)most;
}
