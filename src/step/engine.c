/* Resources, meetings and ranks of the engine for the ranks that are simulated.
 *
 * Resources: each simulated GPU's NVLink port and each NIC, per direction; what is above them is links.c's.  A
 * simulated group stands for all groups of its kind and stage behind the same NIC: its weight there is (groups in
 * truth) / (groups simulated), which is 1 when every rank is simulated.  Beside them are counters, which never
 * bind, of the bytes that go through beyond what sharing works with (NetTime's rest).
 *
 * Where something is copied from or to the host, a GPU's PCIe port is a resource that its part of the traffic of its
 * NIC goes through as well.
 *
 * Meetings: one for each port of a group, so that two collectives of the same ranks on two streams (gathers
 * beside reductions) do not wait for each other. */
#include "config.h"

#include "step/links.h"

#define USE_WIRE STEP_N_GROUP_PORTS /* messages, counted beside the ports of groups */
#define N_USES (USE_WIRE + 1)
#define UNLIMITED G_MAXDOUBLE

typedef struct {
    StepBuild *b;
    SimEngine *engine;
    StepLinkUses *links;
    GHashTable *nics;   /* (node, nic) + 1 -> index + 1 into nic; look-up only */
    GArray *nic;        /* StepResource [2] each */
    GHashTable *stages; /* (nic index, pipeline rank) + 1 -> row + 1 of behind; look-up only */
    GArray *behind;     /* guint32 [N_USES] each: simulated groups of the stage behind the NIC */
    GHashTable *places; /* (leader, port) + 1 -> index + 1 into groups; look-up only */
    GArray *groups;     /* of Group */
    GHashTable *loaded; /* (group index, NIC) + 1: known already */
    guint32 alone;      /* the meeting of all groups of one rank */
} Wiring;

typedef struct {
    guint32 members, meeting;
    gboolean linked; /* what is above its ports is used already */
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

static guint32
add_resource(Wiring *w, double capacity_per_s, StepLinkKind kind)
{
    guint32 id = sim_engine_add_resource(w->engine, capacity_per_s);
    double share = w->b->background.share[kind];
    if (share > 0)
        sim_engine_add_background(w->engine, id, share * capacity_per_s);
    return id;
}

static guint
slot_of(const StepBuild *b, guint i)
{
    return plan_slot(b->plan, rank_of(b, i));
}

static guint
nic_index(Wiring *w, guint i)
{
    const ClusterSystem *s = w->b->plan->system;
    guint slot = slot_of(w->b, i);
    guint64 key = (guint64)cluster_node_of(s, slot) * (guint64)s->nics_per_node;
    gboolean is_new;
    guint index = index_of(w->nics, key + cluster_nic_of(s, slot), &is_new);
    for (guint direction = STEP_OUT; direction < STEP_N_DIRECTIONS && is_new; direction++) {
        StepResource nic = {
            add_resource(w, net_nic_capacity_Bps(w->b->net), STEP_LINK_NIC),
            sim_engine_add_resource(w->engine, UNLIMITED),
        };
        g_array_append_val(w->nic, nic);
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
    [STEP_PORT_REPLICA] = STEP_GROUP_REPLICA,
};

guint
step_port_group(guint port)
{
    g_assert(port < STEP_N_GROUP_PORTS);
    return port_groups[port];
}

/* Numbers over model or world are so small that they disturb nobody. */
gboolean
step_port_carries_data(guint port)
{
    return port != STEP_PORT_MODEL && port != STEP_PORT_WORLD;
}

static NetGroup
shape_of(const StepClass *class, guint port)
{
    guint kind = port_groups[port];
    return kind == STEP_GROUP_REPLICA ? class->replica : class->group[kind];
}

static guint
group_index(Wiring *w, guint port, guint rank)
{
    guint64 leader = step_group_leader(w->b->plan, port_groups[port], rank);
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
        guint rank = rank_of(w->b, i), nic = nic_index(w, i);
        for (guint port = 0; port < STEP_N_GROUP_PORTS; port++) {
            if (!has_port(w->b, port, class->pp_rank) || shape_of(class, port).ranks == 1)
                continue;
            guint group = group_index(w, port, rank);
            g_array_index(w->groups, Group, group).members++;
            if (step_port_carries_data(port) && first_behind(w, group, nic))
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
    double truth = use == USE_WIRE || port_groups[use] == STEP_GROUP_REPLICA
                       ? class->nic_sharers_p2p
                       : class->nic_sharers[port_groups[use]];
    return truth / *groups_behind(w, i, nic, use);
}

/* Of a NIC in one direction. */
static void
use_nic(Wiring *w, guint32 meeting, guint n, guint nic, guint direction, double weight)
{
    const StepResource *at = &g_array_index(w->nic, StepResource, 2 * nic + direction);
    sim_engine_use(w->engine, meeting, n, at->id, NET_LOAD_NIC, weight);
    sim_engine_use(w->engine, meeting, n, at->rest, NET_LOAD_NIC_REST, weight);
}

/* Of the port of simulated rank i. */
static void
use_nvlink(Wiring *w, guint32 meeting, guint n, guint i, guint direction, double weight)
{
    const StepResource *at = &w->b->links[i].nvlink[direction];
    if (w->b->portless) /* step_count_chains counts */
        return;
    sim_engine_use(w->engine, meeting, n, at->id, NET_LOAD_NVLINK, weight);
    if (at->rest != STEP_NO_RESOURCE)
        sim_engine_use(w->engine, meeting, n, at->rest, NET_LOAD_NVLINK_REST, weight);
}

/* The GPU's part of what goes through its NIC, where its PCIe port is watched: `weight` bytes for each byte of the
 * NIC. A port that is said to be slower than that has been seen to do it: alone it takes what the NIC does. */
static void
use_pcie(Wiring *w, guint32 meeting, guint n, guint i, guint direction, double weight)
{
    guint32 pcie = w->b->links[i].pcie[direction];
    double most = (double)w->b->plan->system->pcie_Bps / net_nic_capacity_Bps(w->b->net);
    if (pcie != STEP_NO_RESOURCE)
        sim_engine_use(w->engine, meeting, n, pcie, NET_LOAD_NIC, MIN(weight, most));
}

/* A group as it is on the node of one member. */
typedef struct {
    guint ranks, nics;
    double port,
        nic; /* of the bytes that NetTime has for each port and each NIC, what these here carry */
} Local;

/* Ranks and NICs of the group on the node of simulated rank i, counted where nodes are not alike. A ring or chain of k
 * ranks on a node has k - 1 of k sends there; what crosses the node's border is the same for all. */
static Local
local_of(const Wiring *w, guint i, guint port, const NetGroup *shape)
{
    const ClusterSystem *s = w->b->plan->system;
    guint node = cluster_node_of(s, slot_of(w->b, i));
    Local local = {shape->ranks_per_node, shape->nics, 1, 1};
    if (shape->nodes * shape->ranks_per_node == shape->ranks)
        return local;
    g_autoptr(GArray) slots = step_group_slots(w->b->plan, port_groups[port], rank_of(w->b, i));
    g_autofree gboolean *used = g_new0(gboolean, s->nics_per_node);
    local.ranks = local.nics = 0;
    for (guint k = 0; k < slots->len; k++) {
        guint slot = g_array_index(slots, guint, k);
        if (cluster_node_of(s, slot) != node)
            continue;
        local.ranks++;
        local.nics += !used[cluster_nic_of(s, slot)];
        used[cluster_nic_of(s, slot)] = TRUE;
    }
    local.nics *= cluster_cards_of_gpu(s);
    double here = local.ranks, most = shape->ranks_per_node;
    local.port = most > 1 ? (here - 1) / here * most / (most - 1) : 0;
    local.nic = MIN(1, (double)shape->nics / local.nics);
    return local;
}

static void
use_ports(Wiring *w, guint i, guint port)
{
    NetGroup shape = shape_of(class_of(w->b, i), port);
    guint nic = nic_index(w, i), index = group_index(w, port, rank_of(w->b, i));
    Group *group = &g_array_index(w->groups, Group, index);
    Local local = local_of(w, i, port, &shape);
    for (guint direction = STEP_OUT; direction <= STEP_IN && local.ranks > 1; direction++)
        use_nvlink(w, group->meeting, 1, i, direction, local.port);
    if (!group->linked)
        step_link_uses_group(w->links, port, port_groups[port], rank_of(w->b, i), group->meeting);
    group->linked = TRUE;
    if (shape.nodes == 1)
        return;
    gboolean first = first_behind(w, index, nic);
    for (guint direction = STEP_OUT; direction <= STEP_IN; direction++) {
        if (first)
            use_nic(w, group->meeting, 1, nic, direction, nic_weight(w, i, nic, port) * local.nic);
        use_pcie(w, group->meeting, 1, i, direction, local.nic * local.nics / local.ranks);
    }
}

static void
use_groups(Wiring *w)
{
    for (guint i = 0; i < w->b->ranks->len; i++) {
        const StepClass *class = class_of(w->b, i);
        for (guint port = 0; port < STEP_N_GROUP_PORTS; port++)
            if (has_port(w->b, port, class->pp_rank) && step_port_carries_data(port) &&
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
use_wire(Wiring *w, guint wire, guint from, guint to, guint32 first)
{
    const ClusterSystem *s = w->b->plan->system;
    guint n = w->b->schedule->params.microbatches;
    step_link_uses_message(w->links, wire, rank_of(w->b, from), class_of(w->b, to)->pp_rank, first,
                           n);
    if (cluster_node_of(s, slot_of(w->b, from)) == cluster_node_of(s, slot_of(w->b, to))) {
        use_nvlink(w, first, n, from, STEP_OUT, 1);
        use_nvlink(w, first, n, to, STEP_IN, 1);
        return;
    }
    guint out = nic_index(w, from), in = nic_index(w, to);
    double nics = cluster_cards_of_gpu(s);
    use_nic(w, first, n, out, STEP_OUT, nic_weight(w, from, out, USE_WIRE));
    use_nic(w, first, n, in, STEP_IN, nic_weight(w, to, in, USE_WIRE));
    use_pcie(w, first, n, from, STEP_OUT, nics);
    use_pcie(w, first, n, to, STEP_IN, nics);
}

/* Two ranges of meetings, one per microbatch, for each boundary between stages on different ranks. */
static guint32 *
add_wires(Wiring *w, guint start)
{
    const Schedule *s = w->b->schedule;
    guint32 *first = g_new0(guint32, step_n_wires(s));
    for (guint i = 0; i + 1 < s->n_replicas * s->n_stages; i++) {
        guint from = start + s->rank_of[i], to = start + s->rank_of[i + 1];
        if (from == to || (i + 1) % s->n_stages == 0)
            continue;
        for (guint back = 0; back < 2; back++) {
            guint wire = 2 * i + back;
            first[wire] = sim_engine_add_meetings(w->engine, 2, s->params.microbatches);
            if (w->b->p2p != PLAN_P2P_IDEAL)
                use_wire(w, wire, back ? to : from, back ? from : to, first[wire]);
        }
    }
    return first;
}

/* Copies from and to the host: a meeting of the rank's own for each direction. Where GPUs have no other port than PCIe,
 * it is that one. */
static void
bind_copies(Wiring *w, guint i, guint32 *ports)
{
    const StepLinks *links = &w->b->links[i];
    double most = net_nvlink_capacity_Bps(w->b->net) / (double)w->b->plan->system->pcie_Bps;
    ports[STEP_PORT_H2D] = ports[STEP_PORT_D2H] = w->alone;
    if (!w->b->copies)
        return;
    guint32 meeting = sim_engine_add_meetings(w->engine, 1, 2);
    ports[STEP_PORT_H2D] = meeting + STEP_IN;
    ports[STEP_PORT_D2H] = meeting + STEP_OUT;
    for (guint direction = STEP_OUT; direction <= STEP_IN; direction++)
        if (links->pcie[direction] != STEP_NO_RESOURCE)
            sim_engine_use(w->engine, meeting + direction, 1, links->pcie[direction],
                           STEP_LOAD_COPY, 1);
        else
            sim_engine_use(w->engine, meeting + direction, 1, links->nvlink[direction].id,
                           STEP_LOAD_COPY, MIN(most, 1));
}

static void
add_rank(Wiring *w, guint i, const guint32 *wires)
{
    const Schedule *s = w->b->schedule;
    guint pp_rank = class_of(w->b, i)->pp_rank;
    g_autofree guint32 *ports = g_new0(guint32, step_n_ports(s));
    for (guint port = 0; port < STEP_N_GROUP_PORTS; port++) {
        gboolean many =
            has_port(w->b, port, pp_rank) && shape_of(class_of(w->b, i), port).ranks > 1;
        ports[port] =
            many ? g_array_index(w->groups, Group, group_index(w, port, rank_of(w->b, i))).meeting
                 : w->alone;
    }
    bind_copies(w, i, ports);
    step_bind_wires(s, pp_rank, wires, ports);
    guint class = g_array_index(w->b->ranks, StepRank, i).class;
    const StepLowered *lowered = g_ptr_array_index(w->b->lowered, class);
    guint32 id = sim_engine_add_rank(w->engine, lowered->program, ports, step_n_ports(s));
    g_assert(id == i);
}

/* The ports of ranks: after NICs, for the sake of nothing but the order of ids. */
static void
add_ports(Wiring *w)
{
    StepBuild *b = w->b;
    g_autofree gboolean *known = g_new0(gboolean, b->classes->len);
    gboolean only = b->plan->system->link == CLUSTER_LINK_PCIE;
    b->links = g_new0(StepLinks, b->ranks->len);
    for (guint i = 0; i < b->ranks->len; i++) {
        guint class = g_array_index(b->ranks, StepRank, i).class, nic = nic_index(w, i);
        gboolean counted = i < (guint)b->plan->spec.pp || !known[class];
        known[class] = TRUE;
        for (guint direction = STEP_OUT; direction <= STEP_IN; direction++) {
            StepLinks *links = &b->links[i];
            links->nvlink[direction] = (StepResource){
                add_resource(w, net_nvlink_capacity_Bps(b->net),
                             only ? STEP_LINK_PCIE : STEP_LINK_NVLINK),
                counted ? sim_engine_add_resource(w->engine, UNLIMITED) : STEP_NO_RESOURCE,
            };
            links->nic[direction] = g_array_index(w->nic, StepResource, 2 * nic + direction);
            links->pcie[direction] =
                b->copies && !only
                    ? add_resource(w, (double)b->plan->system->pcie_Bps, STEP_LINK_PCIE)
                    : STEP_NO_RESOURCE;
        }
    }
}

static Wiring
wiring_new(StepBuild *b)
{
    SimEngine *engine = sim_engine_new();
    return (Wiring){
        .b = b,
        .engine = engine,
        .links = step_link_uses_new(b, engine),
        .nics = g_hash_table_new(NULL, NULL),
        .nic = g_array_new(FALSE, FALSE, sizeof(StepResource)),
        .stages = g_hash_table_new(NULL, NULL),
        .behind = g_array_new(FALSE, TRUE, sizeof(guint32)),
        .places = g_hash_table_new(NULL, NULL),
        .groups = g_array_new(FALSE, TRUE, sizeof(Group)),
        .loaded = g_hash_table_new(NULL, NULL),
    };
}

static void
wiring_clear(Wiring *w)
{
    GHashTable *const tables[] = {w->nics, w->stages, w->places, w->loaded};
    for (guint i = 0; i < G_N_ELEMENTS(tables); i++)
        g_hash_table_unref(tables[i]);
    g_array_unref(w->nic);
    g_array_unref(w->behind);
    g_array_unref(w->groups);
}

SimEngine *
step_engine_new(StepBuild *b)
{
    Wiring w = wiring_new(b);
    count_members(&w);
    add_ports(&w);
    use_groups(&w);
    g_autofree guint32 *wires = NULL;
    for (guint i = 0; i < b->ranks->len; i++) {
        if (i == column_start(b, i)) {
            g_free(wires);
            wires = add_wires(&w, i);
        }
        add_rank(&w, i, wires);
    }
    step_link_uses_end(w.links);
    wiring_clear(&w);
    return w.engine;
}
