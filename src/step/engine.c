/* Resources, meetings and ranks of the engine for the ranks that are simulated.
 *
 * Resources: each simulated GPU's NVLink port and each NIC, per direction.  A simulated group stands for all
 * groups of its kind and stage behind the same NIC: its weight there is (groups in truth) / (groups
 * simulated), which is 1 when every rank is simulated. */
#include "config.h"

#include "step/build.h"

typedef enum { KIND_TP, KIND_DP, KIND_WIRE, N_KINDS } UseKind;
enum { OUT, IN };
#define GROUP_REPLICA PLAN_N_GROUPS /* the two ranks with the same stages: no group of the plan */

typedef struct {
    StepBuild *b;
    SimEngine *engine;
    GHashTable *nics;     /* (node, nic) -> index into nic_* arrays; look-up only */
    GArray *nic_resource; /* guint32 [2] each: out, in */
    GArray *nic_groups;   /* guint32 [pp * N_KINDS] each: simulated groups of a stage */
    GHashTable *meetings; /* (group kind, leader) -> index + 1 into groups; look-up only */
    GArray *groups;       /* of Group */
    guint32 *nvlink;      /* [ranks * 2] */
} Wiring;

typedef struct {
    guint kind; /* PlanGroup or GROUP_REPLICA */
    guint32 members, meeting;
    GArray *nics_used; /* of guint: NIC indices already loaded by this group */
} Group;

static const StepClass *
class_of(const StepBuild *b, guint i)
{
    return &g_array_index(b->classes, StepClass, g_array_index(b->ranks, StepRank, i).class);
}

static guint
rank_of(const StepBuild *b, guint i)
{
    return g_array_index(b->ranks, StepRank, i).rank;
}

static guint
nic_index(Wiring *w, guint rank)
{
    const ClusterSystem *s = w->b->plan->system;
    gint64 key = (gint64)cluster_node_of(s, rank) * s->nics_per_node + cluster_nic_of(s, rank);
    gpointer found;
    if (g_hash_table_lookup_extended(w->nics, &key, NULL, &found))
        return GPOINTER_TO_UINT(found);
    guint index = w->nic_resource->len / 2;
    double capacity = net_nic_capacity_Bps(w->b->net);
    for (guint direction = OUT; direction <= IN; direction++) {
        guint32 id = sim_engine_add_resource(w->engine, capacity);
        g_array_append_val(w->nic_resource, id);
    }
    g_array_set_size(w->nic_groups, (index + 1) * w->b->schedule->params.pp * N_KINDS);
    g_hash_table_insert(w->nics, g_memdup2(&key, sizeof key), GUINT_TO_POINTER(index));
    return index;
}

/* Simulated groups of a kind on the stage of simulated rank i that are behind a NIC. */
static guint32 *
groups_behind(const Wiring *w, guint i, guint nic, UseKind kind)
{
    guint stage = nic * w->b->schedule->params.pp + class_of(w->b, i)->pp_rank;
    return &g_array_index(w->nic_groups, guint32, stage * N_KINDS + kind);
}

/* The lowest rank of a group names it. */
static guint
leader_of(const StepBuild *b, guint kind, guint rank)
{
    PlanPlace place = plan_place(b->plan, rank);
    switch (kind) {
    case GROUP_REPLICA:
        place.pp = MIN(place.pp, b->plan->spec.pp - 1 - place.pp);
        break;
    case PLAN_GROUP_TP:
        place.tp = 0;
        break;
    case PLAN_GROUP_DP:
        place.dp = place.cp = 0;
        break;
    case PLAN_GROUP_EMBEDDING:
        place.pp = 0;
        break;
    case PLAN_GROUP_MODEL:
        place.tp = place.pp = 0;
        break;
    default:
        return 0;
    }
    return plan_rank(b->plan, place);
}

static Group *
group_of(Wiring *w, guint kind, guint rank)
{
    gint64 key = (gint64)leader_of(w->b, kind, rank) * (GROUP_REPLICA + 1) + kind;
    gpointer found = g_hash_table_lookup(w->meetings, &key);
    if (!found) {
        Group group = {.kind = kind, .nics_used = g_array_new(FALSE, FALSE, sizeof(guint))};
        g_array_append_val(w->groups, group);
        found = GUINT_TO_POINTER(w->groups->len);
        g_hash_table_insert(w->meetings, g_memdup2(&key, sizeof key), found);
    }
    return &g_array_index(w->groups, Group, GPOINTER_TO_UINT(found) - 1);
}

static gboolean
is_end(const StepBuild *b, guint pp_rank)
{
    const Schedule *s = b->schedule;
    return pp_rank == s->rank_of[0] || pp_rank == s->rank_of[s->n_stages - 1];
}

static gboolean
has_port(const StepBuild *b, guint port, guint pp_rank)
{
    if (port == STEP_PORT_EMBEDDING)
        return is_end(b, pp_rank);
    return port != STEP_PORT_REPLICA || b->schedule->n_replicas > 1;
}

static const guint port_groups[] = {
    [STEP_PORT_TP] = PLAN_GROUP_TP,
    [STEP_PORT_CP] = PLAN_GROUP_CP,
    [STEP_PORT_CP_INNER] = PLAN_GROUP_CP_INNER,
    [STEP_PORT_CP_OUTER] = PLAN_GROUP_CP_OUTER,
    [STEP_PORT_EP] = PLAN_GROUP_EP,
    [STEP_PORT_ETP] = PLAN_GROUP_ETP,
    [STEP_PORT_DP] = PLAN_GROUP_DP,
    [STEP_PORT_SHARD] = PLAN_GROUP_SHARD,
    [STEP_PORT_GATHER] = PLAN_GROUP_SHARD,
    [STEP_PORT_REPLICATE] = PLAN_GROUP_REPLICATE,
    [STEP_PORT_EDP] = PLAN_GROUP_EDP,
    [STEP_PORT_EXPERT_SHARD] = PLAN_GROUP_EXPERT_SHARD,
    [STEP_PORT_EXPERT_GATHER] = PLAN_GROUP_EXPERT_SHARD,
    [STEP_PORT_EXPERT_REPLICATE] = PLAN_GROUP_EXPERT_REPLICATE,
    [STEP_PORT_EMBEDDING] = PLAN_GROUP_EMBEDDING,
    [STEP_PORT_MODEL] = PLAN_GROUP_MODEL,
    [STEP_PORT_WORLD] = PLAN_GROUP_WORLD,
    [STEP_PORT_REPLICA] = GROUP_REPLICA,
};

/* First pass: count members, and the simulated groups behind each NIC. */
static void
count_members(Wiring *w)
{
    for (guint i = 0; i < w->b->ranks->len; i++) {
        guint rank = rank_of(w->b, i), nic = nic_index(w, rank);
        for (guint port = 0; port < G_N_ELEMENTS(port_groups); port++) {
            if (!has_port(w->b, port, class_of(w->b, i)->pp_rank))
                continue;
            Group *group = group_of(w, port_groups[port], rank);
            group->members++;
            if (port != STEP_PORT_TP && port != STEP_PORT_DP)
                continue;
            gboolean known = FALSE;
            for (guint k = 0; k < group->nics_used->len; k++)
                known = known || g_array_index(group->nics_used, guint, k) == nic;
            if (!known) {
                g_array_append_val(group->nics_used, nic);
                *groups_behind(w, i, nic, port == STEP_PORT_TP ? KIND_TP : KIND_DP) += 1;
            }
        }
        *groups_behind(w, i, nic, KIND_WIRE) += 1;
    }
    for (guint i = 0; i < w->groups->len; i++) {
        Group *group = &g_array_index(w->groups, Group, i);
        group->meeting = sim_engine_add_meetings(w->engine, group->members, 1);
        g_array_set_size(group->nics_used, 0);
    }
}

static double
nic_weight(const Wiring *w, guint i, guint nic, UseKind kind)
{
    const StepClass *class = class_of(w->b, i);
    double truth = kind == KIND_TP   ? class->nic_sharers[PLAN_GROUP_TP]
                   : kind == KIND_DP ? class->nic_sharers[PLAN_GROUP_DP]
                                     : class->nic_sharers_p2p;
    return truth / *groups_behind(w, i, nic, kind);
}

static void
use_ports(Wiring *w, guint i, Group *group, gboolean nvlink, gboolean network, UseKind kind)
{
    guint nic = nic_index(w, rank_of(w->b, i));
    for (guint direction = OUT; direction <= IN; direction++)
        if (nvlink)
            sim_engine_use(w->engine, group->meeting, 1, w->nvlink[2 * i + direction],
                           NET_LOAD_NVLINK, 1.0);
    for (guint k = 0; k < group->nics_used->len; k++)
        if (g_array_index(group->nics_used, guint, k) == nic)
            return;
    g_array_append_val(group->nics_used, nic);
    for (guint direction = OUT; direction <= IN && network; direction++)
        sim_engine_use(w->engine, group->meeting, 1,
                       g_array_index(w->nic_resource, guint32, 2 * nic + direction), NET_LOAD_NIC,
                       nic_weight(w, i, nic, kind));
}

static void
use_groups(Wiring *w)
{
    for (guint i = 0; i < w->b->ranks->len; i++) {
        const StepClass *class = class_of(w->b, i);
        guint rank = rank_of(w->b, i);
        if (class->tp.ranks > 1)
            use_ports(w, i, group_of(w, PLAN_GROUP_TP, rank), class->tp.ranks_per_node > 1,
                      class->tp.nodes > 1, KIND_TP);
        if (class->dp.ranks > 1)
            use_ports(w, i, group_of(w, PLAN_GROUP_DP, rank), class->dp.ranks_per_node > 1,
                      class->dp.nodes > 1, KIND_DP);
    }
}

/* A column is pp consecutive entries of b->ranks; its ranks by pipeline rank. */
static guint
column_start(const StepBuild *b, guint i)
{
    return i - i % (guint)b->plan->spec.pp;
}

static void
use_wire(Wiring *w, guint from, guint to, guint32 first, gboolean local)
{
    guint n = w->b->schedule->params.microbatches;
    if (local) {
        sim_engine_use(w->engine, first, n, w->nvlink[2 * from + OUT], NET_LOAD_NVLINK, 1.0);
        sim_engine_use(w->engine, first, n, w->nvlink[2 * to + IN], NET_LOAD_NVLINK, 1.0);
        return;
    }
    guint out = nic_index(w, rank_of(w->b, from)), in = nic_index(w, rank_of(w->b, to));
    sim_engine_use(w->engine, first, n, g_array_index(w->nic_resource, guint32, 2 * out + OUT),
                   NET_LOAD_NIC, nic_weight(w, from, out, KIND_WIRE));
    sim_engine_use(w->engine, first, n, g_array_index(w->nic_resource, guint32, 2 * in + IN),
                   NET_LOAD_NIC, nic_weight(w, to, in, KIND_WIRE));
}

/* Two ranges of meetings, one per microbatch, for each boundary between stages on different ranks. */
static guint32 *
add_wires(Wiring *w, guint start)
{
    const Schedule *s = w->b->schedule;
    guint32 *first = g_new0(guint32, step_n_wires(s));
    const StepClass *any = class_of(w->b, start);
    for (guint i = 0; i + 1 < s->n_replicas * s->n_stages; i++) {
        guint from = start + s->rank_of[i], to = start + s->rank_of[i + 1];
        if (from == to || (i + 1) % s->n_stages == 0)
            continue;
        gboolean local = g_array_index(any->boundary_local, gboolean, i);
        for (guint back = 0; back < 2; back++) {
            guint32 id = sim_engine_add_meetings(w->engine, 2, s->params.microbatches);
            first[2 * i + back] = id;
            if (w->b->p2p != PLAN_P2P_IDEAL)
                use_wire(w, back ? to : from, back ? from : to, id, local);
        }
    }
    return first;
}

static void
add_rank(Wiring *w, guint i, const guint32 *wires)
{
    const Schedule *s = w->b->schedule;
    guint pp_rank = class_of(w->b, i)->pp_rank;
    g_autofree guint32 *ports = g_new0(guint32, step_n_ports(s));
    for (guint port = 0; port < G_N_ELEMENTS(port_groups); port++)
        if (has_port(w->b, port, pp_rank))
            ports[port] = group_of(w, port_groups[port], rank_of(w->b, i))->meeting;
    step_bind_wires(s, pp_rank, wires, ports);
    guint class = g_array_index(w->b->ranks, StepRank, i).class;
    const StepLowered *lowered = g_ptr_array_index(w->b->lowered, class);
    guint32 id = sim_engine_add_rank(w->engine, lowered->program, ports, step_n_ports(s));
    g_assert(id == i);
}

static void
clear_group(gpointer data)
{
    g_clear_pointer(&((Group *)data)->nics_used, g_array_unref);
}

SimEngine *
step_engine_new(StepBuild *b)
{
    Wiring w = {
        .b = b,
        .engine = sim_engine_new(),
        .nics = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
        .nic_resource = g_array_new(FALSE, FALSE, sizeof(guint32)),
        .nic_groups = g_array_new(FALSE, TRUE, sizeof(guint32)),
        .meetings = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
        .groups = g_array_new(FALSE, FALSE, sizeof(Group)),
        .nvlink = g_new(guint32, (gsize)b->ranks->len * 2),
    };
    g_array_set_clear_func(w.groups, clear_group);
    double capacity = net_nvlink_capacity_Bps(b->net);
    for (guint i = 0; i < b->ranks->len * 2; i++)
        w.nvlink[i] = sim_engine_add_resource(w.engine, capacity);
    count_members(&w);
    use_groups(&w);
    g_autofree guint32 *wires = NULL;
    for (guint i = 0; i < b->ranks->len; i++) {
        if (i == column_start(b, i)) {
            g_free(wires);
            wires = add_wires(&w, i);
        }
        add_rank(&w, i, wires);
    }
    g_hash_table_unref(w.nics);
    g_hash_table_unref(w.meetings);
    g_array_unref(w.nic_resource);
    g_array_unref(w.nic_groups);
    g_array_unref(w.groups);
    g_free(w.nvlink);
    return w.engine;
}
