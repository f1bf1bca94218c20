/* Classes: which ranks behave alike, and the representatives that are simulated for them.
 *
 * Two ranks are alike when they are of the same pipeline rank, their groups have the same shape, so many ranks and
 * groups of each stage share their cards, and the messages of their columns (columns.h) cross the same kinds of
 * links.  Of each class the column in which it comes first is simulated; with all ranks, every column is. */
#include "config.h"

#include <string.h>

#include "net/routes.h"
#include "step/columns.h"

static NetGroup
shape_of_ranks(const StepBuild *b, guint *ranks, guint n)
{
    for (guint i = 0; i < n; i++)
        ranks[i] = plan_slot(b->plan, ranks[i]);
    return net_group_on(b->plan->topology, ranks, n);
}

/* What many ranks have in common, each found once. */
typedef struct {
    GHashTable *places;          /* group -> index + 1 into shapes; look-up only */
    GArray *shapes;              /* of NetGroup */
    GArray *local, *far, *press; /* of the column that is looked at: StepClass.boundary_... */
} Known;

static NetGroup
shape_once(const StepBuild *b, Known *known, PlanGroup kind, guint rank)
{
    guint n, leader = plan_group_leader(b->plan, kind, rank, &n);
    if (n == 1)
        return (NetGroup){.ranks = 1, .nodes = 1, .ranks_per_node = 1, .nics = 1};
    gpointer key = GUINT_TO_POINTER(leader * PLAN_N_GROUPS + kind + 1); /* below 2^27 */
    guint found = GPOINTER_TO_UINT(g_hash_table_lookup(known->places, key));
    if (found == 0) {
        g_autoptr(GArray) members = plan_group(b->plan, kind, rank);
        NetGroup shape = shape_of_ranks(b, (guint *)(gpointer)members->data, members->len);
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

/* How far a message goes: 0 within the node, else 1 + the distance of the nodes. */
static guint8
distance(const StepBuild *b, guint from, guint to)
{
    guint node = plan_node(b->plan, from), other = plan_node(b->plan, to);
    return node == other ? 0
                         : (guint8)(1 + cluster_topology_distance(b->plan->topology, node, other));
}

static void
look_at_column(const StepBuild *b, Known *known, PlanPlace place)
{
    const Schedule *s = b->schedule;
    guint n = s->n_replicas * s->n_stages;
    g_clear_pointer(&known->local, g_array_unref);
    g_clear_pointer(&known->far, g_array_unref);
    g_clear_pointer(&known->press, g_array_unref);
    known->press = step_boundary_press(b, rank_at(b, place, 0));
    known->local = g_array_new(FALSE, TRUE, sizeof(gboolean));
    known->far = g_array_new(FALSE, TRUE, sizeof(guint8));
    g_array_set_size(known->local, n);
    g_array_set_size(known->far, n);
    for (guint i = 0; i + 1 < n; i++) {
        if ((i + 1) % s->n_stages == 0)
            continue; /* between replicas */
        guint from = rank_at(b, place, s->rank_of[i]), to = rank_at(b, place, s->rank_of[i + 1]);
        guint8 far = distance(b, from, to);
        g_array_index(known->far, guint8, i) = far;
        g_array_index(known->local, gboolean, i) = far == 0;
    }
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
    if (b->schedule->n_replicas < 2)
        return (NetGroup){.ranks = 1, .nodes = 1, .ranks_per_node = 1};
    return shape_of_ranks(b, pair, pair[0] == pair[1] ? 1 : 2);
}

static int
compare_counts(gconstpointer a, gconstpointer b)
{
    guint x = *(const guint *)a, y = *(const guint *)b;
    return x < y ? -1 : x > y;
}

/* Ranks behind the rank's card: those of the same stage, their groups, and the stages of all. */
static void
count_card_sharers(const StepBuild *b, StepClass *class)
{
    const ClusterSystem *system = b->plan->system;
    guint slot = plan_slot(b->plan, class->rank), nic = cluster_nic_of(system, slot);
    guint from = cluster_node_of(system, slot) * (guint)system->gpus_per_node;
    g_autoptr(GArray) ranks = g_array_new(FALSE, FALSE, sizeof(guint));
    class->card_stages = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint s = from; s < from + (guint)system->gpus_per_node; s++) {
        guint rank;
        if (cluster_nic_of(system, s) != nic || !plan_find_rank(b->plan, s, &rank))
            continue;
        guint pp_rank = (guint)plan_place(b->plan, rank).pp;
        g_array_append_val(class->card_stages, pp_rank);
        if (pp_rank == class->pp_rank)
            g_array_append_val(ranks, rank);
    }
    g_array_sort(class->card_stages, compare_counts);
    class->nic_sharers_p2p = ranks->len;
    g_autofree guint *leaders = g_new(guint, ranks->len);
    for (guint kind = 0; kind < PLAN_N_GROUPS; kind++) {
        guint groups = 0, size;
        for (guint i = 0; i < ranks->len; i++) {
            guint k = 0, rank = g_array_index(ranks, guint, i);
            guint leader = ranks->len > 1 ? plan_group_leader(b->plan, kind, rank, &size) : 0;
            while (k < groups && leaders[k] != leader)
                k++;
            if (k == groups)
                leaders[groups++] = leader;
        }
        class->nic_sharers[kind] = groups;
    }
}

static StepClass
class_of_rank(const StepBuild *b, Known *known, guint rank)
{
    PlanPlace place = plan_place(b->plan, rank);
    StepClass class = {
        .pp_rank = (guint)place.pp,
        .rank = rank,
        .replica = replica_shape(b, place),
        .boundary_local = g_array_ref(known->local),
        .boundary_far = g_array_ref(known->far),
        .boundary_press = g_array_ref(known->press),
    };
    for (guint kind = 0; kind < PLAN_N_GROUPS; kind++)
        class.group[kind] = shape_once(b, known, kind, rank);
    class.tp = class.group[PLAN_GROUP_TP];
    class.dp = class.group[PLAN_GROUP_DP];
    class.embedding = class.group[PLAN_GROUP_EMBEDDING];
    class.model = class.group[PLAN_GROUP_MODEL];
    count_card_sharers(b, &class);
    step_class_press(b, &class);
    return class;
}

void
step_class_clear(gpointer data)
{
    StepClass *class = data;
    g_clear_pointer(&class->boundary_local, g_array_unref);
    g_clear_pointer(&class->boundary_far, g_array_unref);
    g_clear_pointer(&class->boundary_press, g_array_unref);
    g_clear_pointer(&class->card_stages, g_array_unref);
    for (guint piece = 0; piece < LLM_N_PIECES; piece++)
        for (guint recompute = 0; recompute < STEP_N_RECOMPUTES; recompute++)
            for (guint pass = 0; pass < LLM_N_PASSES; pass++)
                g_clear_pointer(&class->priced[piece][recompute][pass], g_array_unref);
}

/* How much longer links above cards and ports need is a result of the same arithmetic for like groups, bit for bit;
 * where they need less they decide nothing. */
static gboolean
binds_equal(const double *x, const double *y)
{
    for (guint p = 0; p < NET_N_PATTERNS; p++)
        if (MAX(x[p], 1) != MAX(y[p], 1))
            return FALSE;
    return TRUE;
}

static gboolean
shape_equal(const NetGroup *x, const NetGroup *y)
{
    return x->ranks == y->ranks && x->nodes == y->nodes && x->ranks_per_node == y->ranks_per_node &&
           x->nics == y->nics && x->least_per_node == y->least_per_node &&
           binds_equal(x->fabric, y->fabric) && binds_equal(x->node, y->node);
}

static gboolean
bytes_equal(const GArray *x, const GArray *y)
{
    return x == y ||
           (x->len == y->len &&
            memcmp(x->data, y->data, x->len * g_array_get_element_size((GArray *)x)) == 0);
}

gboolean
step_class_equal(const StepClass *x, const StepClass *y)
{
    if (x == y)
        return TRUE;
    if (x->pp_rank != y->pp_rank || x->nic_sharers_p2p != y->nic_sharers_p2p)
        return FALSE;
    for (guint kind = 0; kind < PLAN_N_GROUPS; kind++)
        if (!shape_equal(&x->group[kind], &y->group[kind]) ||
            x->nic_sharers[kind] != y->nic_sharers[kind])
            return FALSE;
    return shape_equal(&x->replica, &y->replica) && bytes_equal(x->boundary_far, y->boundary_far) &&
           bytes_equal(x->card_stages, y->card_stages) &&
           memcmp(x->press, y->press, sizeof x->press) == 0 &&
           bytes_equal(x->boundary_press, y->boundary_press);
}

/* Index of the class in b->classes; takes `class`. */
static guint
intern_class(StepBuild *b, StepClass class, gboolean special, gboolean *ret_new)
{
    for (guint i = 0; i < b->classes->len && !special; i++) {
        const StepClass *known = &g_array_index(b->classes, StepClass, i);
        if (!known->special && step_class_equal(known, &class)) {
            step_class_clear(&class);
            return i;
        }
    }
    *ret_new = TRUE;
    class.special = special;
    g_array_append_val(b->classes, class);
    return b->classes->len - 1;
}

static gboolean
is_special(const GArray *special, guint rank)
{
    for (guint i = 0; special != NULL && i < special->len; i++)
        if (g_array_index(special, guint, i) == rank)
            return TRUE;
    return FALSE;
}

/* A column is simulated when it holds a class not met before. Columns are few kinds by construction:
 * membership of nodes repeats with the node's size. */
static void
find_classes(StepBuild *b, StepColumns *columns, StepRanks ranks, const GArray *special)
{
    Known known = {.places = g_hash_table_new(NULL, NULL),
                   .shapes = g_array_new(FALSE, FALSE, sizeof(NetGroup))};
    for (guint c = 0; c < columns->n; c++) {
        gboolean is_new = FALSE, has_special = FALSE;
        look_at_column(b, &known, plan_place(b->plan, step_column_rank(b, columns, c, 0)));
        for (guint r = 0; r < columns->pp; r++) {
            guint rank = step_column_rank(b, columns, c, r);
            gboolean own = is_special(special, rank);
            has_special = has_special || own;
            guint class = intern_class(b, class_of_rank(b, &known, rank), own, &is_new);
            g_array_index(b->classes, StepClass, class).n_ranks++;
            columns->class[c * columns->pp + r] = class;
        }
        columns->is_simulated[c] = ranks == STEP_RANKS_ALL || has_special ||
                                   (ranks == STEP_RANKS_TP_LANES ? c % columns->tp == 0 : is_new);
    }
    g_hash_table_unref(known.places);
    g_array_unref(known.shapes);
    g_array_unref(known.local);
    g_array_unref(known.far);
    g_array_unref(known.press);
}

void
step_build_classes(StepBuild *b, StepRanks ranks, const GArray *special)
{
    const PlanSpec *spec = &b->plan->spec;
    StepColumns columns = {.tp = (guint)spec->tp,
                           .cp = (guint)spec->cp,
                           .dp = (guint)spec->dp,
                           .pp = (guint)spec->pp,
                           .n = (guint)(spec->tp * spec->cp * spec->dp)};
    columns.class = g_new(guint, (gsize)columns.n * columns.pp);
    columns.is_simulated = g_new0(gboolean, columns.n);
    find_classes(b, &columns, ranks, special);
    if (ranks != STEP_RANKS_ALL)
        step_columns_close(b, &columns, ranks);
    for (guint c = 0; c < columns.n; c++)
        for (guint r = 0; r < columns.pp && columns.is_simulated[c]; r++) {
            StepRank rank = {.rank = step_column_rank(b, &columns, c, r),
                             .class = columns.class[c * columns.pp + r]};
            g_array_append_val(b->ranks, rank);
        }
    g_free(columns.class);
    g_free(columns.is_simulated);
}
