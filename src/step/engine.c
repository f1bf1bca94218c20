/* Resources, meetings and ranks of the engine for the ranks that are simulated.
 *
 * Resources: each simulated GPU's NVLink port and each NIC, per direction.  A simulated group stands for all
 * groups of its kind and stage behind the same NIC: its weight there is (groups in truth) / (groups
 * simulated), which is 1 when every rank is simulated.  Beside them are counters, which never bind, of the
 * bytes that go out beyond what sharing works with (NetTime's rest).
 *
 * Meetings: one for each port of a group, so that two collectives of the same ranks on two streams (gathers
 * beside reductions) do not wait for each other. */
#include "config.h"

#include "step/build.h"

enum { OUT, IN, REST, N_OF_NIC };
#define GROUP_REPLICA PLAN_N_GROUPS /* the two ranks with the same stages: no group of the plan */
#define USE_WIRE STEP_PORT_WIRES    /* messages, counted beside the ports of groups */
#define N_USES (STEP_PORT_WIRES + 1)
#define UNLIMITED G_MAXDOUBLE

typedef struct {
    StepBuild *b;
    SimEngine *engine;
    GHashTable *nics;     /* (node, nic) + 1 -> index + 1 into nic_resource; look-up only */
    GArray *nic_resource; /* guint32 [3] each: out, in, rest */
    GHashTable *stages;   /* (nic index, pipeline rank) + 1 -> row + 1 of behind; look-up only */
    GArray *behind;       /* guint32 [N_USES] each: simulated groups of the stage behind the NIC */
    GHashTable *places;   /* (leader, port) + 1 -> index + 1 into groups; look-up only */
    GArray *groups;       /* of Group */
    GHashTable *loaded;   /* (group index, NIC) + 1: known already */
    guint32 *nvlink;      /* [ranks * 2] */
    guint32 alone;        /* the meeting of all groups of one rank */
} Wiring;

typedef struct {
    guint32 members, meeting;
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

/* An index by key, from 0 on; *ret_new when the key was not met before. */
static guint
index_of(GHashTable *known, guint64 key, gboolean *ret_new)
{
    gpointer place = GSIZE_TO_POINTER(key + 1);
    guint found = GPOINTER_TO_UINT(g_hash_table_lookup(known, place));
    *ret_new = found == 0;
    if (found == 0) {
        found = g_hash_table_size(known) + 1;
        g_hash_table_insert(known, place, GUINT_TO_POINTER(found));
    }
    return found - 1;
}

static guint
nic_index(Wiring *w, guint rank)
{
    const ClusterSystem *s = w->b->plan->system;
    guint64 key = (guint64)cluster_node_of(s, rank) * (guint64)s->nics_per_node;
    gboolean is_new;
    guint index = index_of(w->nics, key + cluster_nic_of(s, rank), &is_new);
    for (guint direction = OUT; direction < N_OF_NIC && is_new; direction++) {
        double capacity = direction == REST ? UNLIMITED : net_nic_capacity_Bps(w->b->net);
        guint32 id = sim_engine_add_resource(w->engine, capacity);
        g_array_append_val(w->nic_resource, id);
    }
    return index;
}

/* Simulated groups of a port on the stage of simulated rank i that are behind a NIC. */
static guint32 *
groups_behind(Wiring *w, guint i, guint nic, guint use)
{
    guint64 pp = w->b->schedule->params.pp;
    gboolean is_new;
    guint row = index_of(w->stages, nic * pp + class_of(w->b, i)->pp_rank, &is_new);
    if (is_new)
        g_array_set_size(w->behind, (row + 1) * N_USES);
    return &g_array_index(w->behind, guint32, row * N_USES + use);
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

static NetGroup
shape_of(const StepClass *class, guint port)
{
    guint kind = port_groups[port];
    return kind == GROUP_REPLICA ? class->replica : class->group[kind];
}

/* Numbers over model or world are so small that they disturb nobody. */
static gboolean
carries_data(guint port)
{
    return port != STEP_PORT_MODEL && port != STEP_PORT_WORLD;
}

/* The lowest rank of a group names it. */
static guint
leader_of(const StepBuild *b, guint kind, guint rank)
{
    guint n;
    if (kind != GROUP_REPLICA)
        return plan_group_leader(b->plan, kind, rank, &n);
    PlanPlace place = plan_place(b->plan, rank);
    place.pp = MIN(place.pp, b->plan->spec.pp - 1 - place.pp);
    return plan_rank(b->plan, place);
}

static guint
group_index(Wiring *w, guint port, guint rank)
{
    guint64 leader = leader_of(w->b, port_groups[port], rank);
    gboolean is_new;
    guint index = index_of(w->places, leader * STEP_PORT_WIRES + port, &is_new);
    if (is_new)
        g_array_set_size(w->groups, index + 1);
    return index;
}

/* Is it the first time that a group comes to a NIC? */
static gboolean
first_behind(Wiring *w, guint group, guint nic)
{
    gboolean is_new;
    index_of(w->loaded, (guint64)group << 32 | nic, &is_new);
    return is_new;
}

/* First pass: count members, and the simulated groups behind each NIC. */
static void
count_members(Wiring *w)
{
    for (guint i = 0; i < w->b->ranks->len; i++) {
        const StepClass *class = class_of(w->b, i);
        guint rank = rank_of(w->b, i), nic = nic_index(w, rank);
        for (guint port = 0; port < STEP_PORT_WIRES; port++) {
            if (!has_port(w->b, port, class->pp_rank) || shape_of(class, port).ranks == 1)
                continue;
            guint group = group_index(w, port, rank);
            g_array_index(w->groups, Group, group).members++;
            if (carries_data(port) && first_behind(w, group, nic))
                *groups_behind(w, i, nic, port) += 1;
        }
        *groups_behind(w, i, nic, USE_WIRE) += 1;
    }
    for (guint i = 0; i < w->groups->len; i++) {
        Group *group = &g_array_index(w->groups, Group, i);
        group->meeting = sim_engine_add_meetings(w->engine, group->members, 1);
    }
    w->alone = sim_engine_add_meetings(w->engine, 1, 1);
    g_hash_table_remove_all(w->loaded);
}

static double
nic_weight(Wiring *w, guint i, guint nic, guint use)
{
    const StepClass *class = class_of(w->b, i);
    double truth = use == USE_WIRE || port_groups[use] == GROUP_REPLICA
                       ? class->nic_sharers_p2p
                       : class->nic_sharers[port_groups[use]];
    return truth / *groups_behind(w, i, nic, use);
}

static guint32
resource_of(const Wiring *w, guint nic, guint which)
{
    return g_array_index(w->nic_resource, guint32, N_OF_NIC * nic + which);
}

/* Of a NIC in one direction. */
static void
use_nic(Wiring *w, guint32 meeting, guint n, guint nic, guint direction, double weight)
{
    sim_engine_use(w->engine, meeting, n, resource_of(w, nic, direction), NET_LOAD_NIC, weight);
    if (direction == OUT)
        sim_engine_use(w->engine, meeting, n, resource_of(w, nic, REST), NET_LOAD_NIC_REST, weight);
}

/* Of the port of simulated rank i. */
static void
use_nvlink(Wiring *w, guint32 meeting, guint n, guint i, guint direction)
{
    sim_engine_use(w->engine, meeting, n, w->nvlink[2 * i + direction], NET_LOAD_NVLINK, 1.0);
    if (direction == OUT && i < (guint)w->b->plan->spec.pp)
        sim_engine_use(w->engine, meeting, n, w->b->links[i].nvlink_rest, NET_LOAD_NVLINK_REST,
                       1.0);
}

static void
use_ports(Wiring *w, guint i, guint port)
{
    NetGroup shape = shape_of(class_of(w->b, i), port);
    guint nic = nic_index(w, rank_of(w->b, i)), index = group_index(w, port, rank_of(w->b, i));
    guint32 meeting = g_array_index(w->groups, Group, index).meeting;
    for (guint direction = OUT; direction <= IN && shape.ranks_per_node > 1; direction++)
        use_nvlink(w, meeting, 1, i, direction);
    if (shape.nodes == 1 || !first_behind(w, index, nic))
        return;
    for (guint direction = OUT; direction <= IN; direction++)
        use_nic(w, meeting, 1, nic, direction, nic_weight(w, i, nic, port));
}

static void
use_groups(Wiring *w)
{
    for (guint i = 0; i < w->b->ranks->len; i++) {
        const StepClass *class = class_of(w->b, i);
        for (guint port = 0; port < STEP_PORT_WIRES; port++)
            if (has_port(w->b, port, class->pp_rank) && carries_data(port) &&
                shape_of(class, port).ranks > 1)
                use_ports(w, i, port);
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
        use_nvlink(w, first, n, from, OUT);
        use_nvlink(w, first, n, to, IN);
        return;
    }
    guint out = nic_index(w, rank_of(w->b, from)), in = nic_index(w, rank_of(w->b, to));
    use_nic(w, first, n, out, OUT, nic_weight(w, from, out, USE_WIRE));
    use_nic(w, first, n, in, IN, nic_weight(w, to, in, USE_WIRE));
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
    for (guint port = 0; port < STEP_PORT_WIRES; port++) {
        gboolean many =
            has_port(w->b, port, pp_rank) && shape_of(class_of(w->b, i), port).ranks > 1;
        ports[port] =
            many ? g_array_index(w->groups, Group, group_index(w, port, rank_of(w->b, i))).meeting
                 : w->alone;
    }
    step_bind_wires(s, pp_rank, wires, ports);
    guint class = g_array_index(w->b->ranks, StepRank, i).class;
    const StepLowered *lowered = g_ptr_array_index(w->b->lowered, class);
    guint32 id = sim_engine_add_rank(w->engine, lowered->program, ports, step_n_ports(s));
    g_assert(id == i);
}

/* What the result asks for. */
static void
add_links(Wiring *w)
{
    guint pp = (guint)w->b->plan->spec.pp;
    w->b->links = g_new0(StepLinks, pp);
    for (guint i = 0; i < pp; i++) {
        guint nic = nic_index(w, rank_of(w->b, i));
        w->b->links[i] = (StepLinks){
            .nvlink = w->nvlink[2 * i + OUT],
            .nvlink_rest = sim_engine_add_resource(w->engine, UNLIMITED),
            .nic = resource_of(w, nic, OUT),
            .nic_rest = resource_of(w, nic, REST),
        };
    }
}

SimEngine *
step_engine_new(StepBuild *b)
{
    Wiring w = {
        .b = b,
        .engine = sim_engine_new(),
        .nics = g_hash_table_new(NULL, NULL),
        .nic_resource = g_array_new(FALSE, FALSE, sizeof(guint32)),
        .stages = g_hash_table_new(NULL, NULL),
        .behind = g_array_new(FALSE, TRUE, sizeof(guint32)),
        .places = g_hash_table_new(NULL, NULL),
        .groups = g_array_new(FALSE, TRUE, sizeof(Group)),
        .loaded = g_hash_table_new(NULL, NULL),
        .nvlink = g_new(guint32, (gsize)b->ranks->len * 2),
    };
    double capacity = net_nvlink_capacity_Bps(b->net);
    for (guint i = 0; i < b->ranks->len * 2; i++)
        w.nvlink[i] = sim_engine_add_resource(w.engine, capacity);
    count_members(&w);
    add_links(&w);
    use_groups(&w);
    g_autofree guint32 *wires = NULL;
    for (guint i = 0; i < b->ranks->len; i++) {
        if (i == column_start(b, i)) {
            g_free(wires);
            wires = add_wires(&w, i);
        }
        add_rank(&w, i, wires);
    }
    GHashTable *const tables[] = {w.nics, w.stages, w.places, w.loaded};
    for (guint i = 0; i < G_N_ELEMENTS(tables); i++)
        g_hash_table_unref(tables[i]);
    g_array_unref(w.nic_resource);
    g_array_unref(w.behind);
    g_array_unref(w.groups);
    g_free(w.nvlink);
    return w.engine;
}
