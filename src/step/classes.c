/* Classes: which ranks behave alike, and the representatives that are simulated for them.
 *
 * A *column* is all pipeline ranks with the same (tp, cp, dp) coordinates.  Two columns are alike when on
 * every pipeline rank their groups have the same shape and their messages cross the same kinds of
 * links.  One column of each kind is simulated (the first in rank order); with all ranks, every one. */
#include "config.h"

#include <string.h>

#include "step/build.h"

static NetGroup
group_shape(const StepBuild *b, PlanGroup kind, guint rank)
{
    g_autoptr(GArray) members = plan_group(b->plan, kind, rank);
    for (guint i = 0; i < members->len; i++)
        g_array_index(members, guint, i) = plan_slot(b->plan, g_array_index(members, guint, i));
    return net_group_of(b->plan->system, (const guint *)(gpointer)members->data, members->len);
}

/* Shapes by group, each found once: many ranks have the same group. */
typedef struct {
    GHashTable *places; /* group -> index + 1 into shapes; look-up only */
    GArray *shapes;     /* of NetGroup */
} Shapes;

static NetGroup
shape_once(const StepBuild *b, Shapes *known, PlanGroup kind, guint rank)
{
    guint n, leader = plan_group_leader(b->plan, kind, rank, &n);
    if (n == 1)
        return (NetGroup){.ranks = 1, .nodes = 1, .ranks_per_node = 1, .nics = 1};
    gpointer key = GUINT_TO_POINTER(leader * PLAN_N_GROUPS + kind); /* below 2^26 */
    guint found = GPOINTER_TO_UINT(g_hash_table_lookup(known->places, key));
    if (found == 0) {
        NetGroup shape = group_shape(b, kind, rank);
        g_array_append_val(known->shapes, shape);
        found = known->shapes->len;
        g_hash_table_insert(known->places, key, GUINT_TO_POINTER(found));
    }
    return g_array_index(known->shapes, NetGroup, found - 1);
}

static guint
rank_at(const StepBuild *b, PlanPlace place, guint pp)
{
    place.pp = pp;
    return plan_rank(b->plan, place);
}

static GArray *
local_boundaries(const StepBuild *b, PlanPlace place)
{
    const Schedule *s = b->schedule;
    GArray *local = g_array_new(FALSE, TRUE, sizeof(gboolean));
    guint n = s->n_replicas * s->n_stages;
    g_array_set_size(local, n);
    for (guint i = 0; i + 1 < n; i++) {
        if ((i + 1) % s->n_stages == 0)
            continue; /* between replicas */
        guint from = rank_at(b, place, s->rank_of[i]), to = rank_at(b, place, s->rank_of[i + 1]);
        g_array_index(local, gboolean, i) =
            cluster_node_of(b->plan->system, from) == cluster_node_of(b->plan->system, to);
    }
    return local;
}

GArray *
step_stages_on(const Schedule *schedule, guint pp_rank)
{
    GArray *stages = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (guint i = 0; i < schedule->n_replicas * schedule->n_stages; i++) {
        gint64 stage = i % schedule->n_stages;
        if (schedule->rank_of[i] == pp_rank)
            g_array_append_val(stages, stage);
    }
    return stages;
}

/* With two replicas, the rank that holds the same stages as this one. */
static NetGroup
replica_shape(const StepBuild *b, PlanPlace place)
{
    guint pp = (guint)b->plan->spec.pp;
    guint pair[2] = {rank_at(b, place, (guint)place.pp),
                     rank_at(b, place, pp - 1 - (guint)place.pp)};
    return b->schedule->n_replicas > 1
               ? net_group_of(b->plan->system, pair, pair[0] == pair[1] ? 1 : 2)
               : (NetGroup){.ranks = 1, .nodes = 1, .ranks_per_node = 1};
}

/* Ranks of the same stage, and distinct groups of theirs, that share the rank's NIC. */
static void
count_nic_sharers(const StepBuild *b, StepClass *class)
{
    const ClusterSystem *system = b->plan->system;
    guint node = cluster_node_of(system, class->rank), nic = cluster_nic_of(system, class->rank);
    gint64 stage = b->plan->spec.tp * b->plan->spec.cp * b->plan->spec.dp;
    guint from = node * (guint)system->gpus_per_node, n = 0;
    guint end = MIN(from + (guint)system->gpus_per_node, (guint)b->plan->gpus);
    guint ranks[64]; /* a NIC serves a handful of GPUs */
    for (guint r = from; r < end && n < G_N_ELEMENTS(ranks); r++)
        if (r / stage == class->pp_rank && cluster_nic_of(system, r) == nic)
            ranks[n++] = r;
    class->nic_sharers_p2p = n;
    for (guint kind = 0; kind < PLAN_N_GROUPS; kind++) {
        guint leaders[G_N_ELEMENTS(ranks)], groups = 0, size;
        for (guint i = 0; i < n; i++) {
            guint leader = plan_group_leader(b->plan, kind, ranks[i], &size), k = 0;
            while (k < groups && leaders[k] != leader)
                k++;
            if (k == groups)
                leaders[groups++] = leader;
        }
        class->nic_sharers[kind] = groups;
    }
}

static StepClass
class_of_rank(const StepBuild *b, Shapes *shapes, guint rank)
{
    PlanPlace place = plan_place(b->plan, rank);
    StepClass class = {
        .pp_rank = (guint)place.pp,
        .rank = rank,
        .replica = replica_shape(b, place),
        .boundary_local = local_boundaries(b, place),
    };
    for (guint kind = 0; kind < PLAN_N_GROUPS; kind++)
        class.group[kind] = shape_once(b, shapes, kind, rank);
    class.tp = class.group[PLAN_GROUP_TP];
    class.dp = class.group[PLAN_GROUP_DP];
    class.embedding = class.group[PLAN_GROUP_EMBEDDING];
    class.model = class.group[PLAN_GROUP_MODEL];
    count_nic_sharers(b, &class);
    return class;
}

void
step_class_clear(gpointer data)
{
    StepClass *class = data;
    g_clear_pointer(&class->boundary_local, g_array_unref);
    for (guint piece = 0; piece < LLM_N_PIECES; piece++)
        for (guint recompute = 0; recompute < STEP_N_RECOMPUTES; recompute++)
            for (guint pass = 0; pass < LLM_N_PASSES; pass++)
                g_clear_pointer(&class->priced[piece][recompute][pass], g_array_unref);
}

static gboolean
shape_equal(NetGroup x, NetGroup y)
{
    return x.ranks == y.ranks && x.nodes == y.nodes && x.ranks_per_node == y.ranks_per_node &&
           x.nics == y.nics;
}

static gboolean
class_equal(const StepClass *x, const StepClass *y)
{
    for (guint kind = 0; kind < PLAN_N_GROUPS; kind++)
        if (!shape_equal(x->group[kind], y->group[kind]) ||
            x->nic_sharers[kind] != y->nic_sharers[kind])
            return FALSE;
    return x->pp_rank == y->pp_rank && shape_equal(x->replica, y->replica) &&
           x->nic_sharers_p2p == y->nic_sharers_p2p &&
           x->boundary_local->len == y->boundary_local->len &&
           memcmp(x->boundary_local->data, y->boundary_local->data,
                  x->boundary_local->len * sizeof(gboolean)) == 0;
}

/* Index of the class in b->classes; takes `class`. */
static guint
intern_class(StepBuild *b, StepClass class, gboolean *ret_new)
{
    for (guint i = 0; i < b->classes->len; i++)
        if (class_equal(&g_array_index(b->classes, StepClass, i), &class)) {
            step_class_clear(&class);
            return i;
        }
    *ret_new = TRUE;
    g_array_append_val(b->classes, class);
    return b->classes->len - 1;
}

/* Which columns there are and which are simulated; column c holds the ranks c + r * n. */
typedef struct {
    guint n, pp;
    guint *class; /* [n * pp] by global rank */
    gboolean *simulated;
} Columns;

/* Ranks of one stage behind one NIC share it evenly where they are of one class, and one stands for all; where
 * they are not, each has to be there itself. */
static void
add_mixed_neighbours(const StepBuild *b, Columns *columns, guint rank, GArray *queue)
{
    const ClusterSystem *system = b->plan->system;
    guint from = cluster_node_of(system, rank) * (guint)system->gpus_per_node;
    guint end = MIN(from + (guint)system->gpus_per_node, (guint)b->plan->gpus);
    gboolean mixed = FALSE;
    for (guint pass = 0; pass < 2; pass++)
        for (guint r = from; r < end; r++) {
            guint column = r % columns->n;
            if (r / columns->n != rank / columns->n ||
                cluster_nic_of(system, r) != cluster_nic_of(system, rank))
                continue;
            mixed = mixed || columns->class[r] != columns->class[rank];
            if (pass == 0 || !mixed || columns->simulated[column])
                continue;
            columns->simulated[column] = TRUE;
            g_array_append_val(queue, column);
        }
}

static void
close_columns(const StepBuild *b, Columns *columns)
{
    g_autoptr(GArray) queue = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint c = 0; c < columns->n; c++)
        if (columns->simulated[c])
            g_array_append_val(queue, c);
    for (guint i = 0; i < queue->len; i++)
        for (guint r = 0; r < columns->pp; r++)
            add_mixed_neighbours(b, columns, g_array_index(queue, guint, i) + r * columns->n,
                                 queue);
}

/* A column is simulated when it holds a class not met before. Columns are few kinds by construction:
 * membership of nodes repeats with the node's size. */
void
step_build_classes(StepBuild *b, StepRanks ranks, const GArray *special)
{
    gboolean all_ranks = ranks == STEP_RANKS_ALL;
    const PlanSpec *spec = &b->plan->spec;
    guint n = (guint)(spec->tp * spec->cp * spec->dp), pp = (guint)spec->pp;
    g_autofree guint *class_of = g_new(guint, (gsize)n * pp);
    g_autofree gboolean *simulated = g_new0(gboolean, n);
    Columns columns = {n, pp, class_of, simulated};
    Shapes shapes = {g_hash_table_new(NULL, NULL), g_array_new(FALSE, FALSE, sizeof(NetGroup))};
    for (guint c = 0; c < n; c++) {
        gboolean is_new = all_ranks;
        for (guint r = 0; r < pp; r++)
            class_of[c + r * n] = intern_class(b, class_of_rank(b, &shapes, c + r * n), &is_new);
        simulated[c] = is_new;
    }
    if (!all_ranks)
        close_columns(b, &columns);
    for (guint c = 0; c < n; c++)
        for (guint r = 0; r < pp && simulated[c]; r++) {
            StepRank rank = {.rank = c + r * n, .class = class_of[c + r * n]};
            g_array_append_val(b->ranks, rank);
        }
    g_hash_table_unref(shapes.places);
    g_array_unref(shapes.shapes);
}
