/* Global rank <-> place in the grid, and process groups.
 *
 * Ranks are dealt out in the order of PlanSpec.order, the first axis fastest; by default tp-cp-ep-dp-pp: rank =
 * tp + TP (cp + CP (dp + DP pp)), so that a tensor parallel group is neighbours in a node and pipeline stages are
 * far apart. Experts cut the same TP CP DP ranks of a stage another way, in the same order with ep and without cp:
 * etp + ETP (ep + EP edp). So Megatron's two rank generators have it, wherever it takes both (order.c).
 *
 * The *index* of a rank in its stage is its number with pp left out of the order. Both grids are grids of it:
 * groups within a stage are found there, and pp is put back in its place. */
#include "config.h"

#include "plan/resolve.h"

typedef struct {
    gint64 size[PLAN_N_AXES], stride[PLAN_N_AXES]; /* of the index; pp has none */
    guint order[PLAN_N_AXES];
    gint64 pp, below; /* stages; ranks of one of them that come before the pp axis */
} Grid;

static Grid
grid_of(const Plan *plan, gboolean expert)
{
    const PlanSpec *s = &plan->spec;
    gint64 cut = s->etp * s->ep;
    Grid grid = {.size = {s->tp, s->cp, 1, s->dp, s->pp}, .pp = s->pp};
    gint64 stride = 1, decoder = 1;

    plan_order_axes(s->order, grid.order);
    for (guint i = 0; i < PLAN_N_AXES && grid.order[i] != PLAN_AXIS_PP; i++)
        decoder *= grid.size[grid.order[i]];
    grid.below = decoder;
    if (expert) {
        grid.size[PLAN_AXIS_TP] = s->etp;
        grid.size[PLAN_AXIS_CP] = 1;
        grid.size[PLAN_AXIS_EP] = s->ep;
        grid.size[PLAN_AXIS_DP] = s->tp * s->cp * s->dp / cut;
    }
    for (guint i = 0; i < PLAN_N_AXES; i++) {
        guint axis = grid.order[i];
        grid.stride[axis] = stride;
        stride *= axis == PLAN_AXIS_PP ? 1 : grid.size[axis];
    }
    return grid;
}

static gint64
digit_of(const Grid *grid, PlanAxis axis, gint64 index)
{
    return index / grid->stride[axis] % grid->size[axis];
}

static gint64
index_of(const Grid *grid, guint rank)
{
    return rank % grid->below + rank / (grid->below * grid->pp) * grid->below;
}

static gint64
stage_of(const Grid *grid, guint rank)
{
    return rank / grid->below % grid->pp;
}

static guint
rank_of(const Grid *grid, gint64 index, gint64 pp)
{
    return (guint)(index % grid->below + grid->below * (pp + grid->pp * (index / grid->below)));
}

guint
plan_rank(const Plan *plan, PlanPlace place)
{
    const PlanSpec *s = &plan->spec;
    Grid grid = grid_of(plan, FALSE);

    g_assert(place.tp >= 0 && place.tp < s->tp && place.cp >= 0 && place.cp < s->cp);
    g_assert(place.dp >= 0 && place.dp < s->dp && place.pp >= 0 && place.pp < s->pp);
    gint64 index = place.tp * grid.stride[PLAN_AXIS_TP] + place.cp * grid.stride[PLAN_AXIS_CP] +
                   place.dp * grid.stride[PLAN_AXIS_DP];
    return rank_of(&grid, index, place.pp);
}

PlanPlace
plan_place(const Plan *plan, guint rank)
{
    Grid grid = grid_of(plan, FALSE);
    gint64 index = index_of(&grid, rank);

    g_assert(rank < plan->gpus);
    return (PlanPlace){
        .tp = digit_of(&grid, PLAN_AXIS_TP, index),
        .cp = digit_of(&grid, PLAN_AXIS_CP, index),
        .dp = digit_of(&grid, PLAN_AXIS_DP, index),
        .pp = stage_of(&grid, rank),
    };
}

gint64
plan_shard_ranks(const Plan *plan, gboolean expert)
{
    const PlanSpec *s = &plan->spec;
    gint64 all = s->dp * s->cp, shard = s->shard_size > 0 ? s->shard_size : all;

    if (s->zero == 0)
        return 1;
    if (!expert)
        return shard;
    gint64 copies = s->tp * all / (s->ep * s->etp); /* ranks with the same experts */
    gint64 cut = shard * s->tp / (s->ep * s->etp);
    gboolean divides = shard * s->tp % (s->ep * s->etp) == 0;
    return shard == all ? copies : divides ? cut : 1;
}

/* --- groups ----------------------------------------------------------------------------------------- */

/* Which ranks a group is: those along some axes of a grid, numbered in its order; of them a block of consecutive
 * numbers, or those that are so many apart, or all. */
typedef enum { ALL, BLOCK, APART } Part;
typedef struct {
    gboolean expert;
    guint axes; /* bits of PlanAxis */
    Part part;
    gint64 by;
} Extent;

#define TP (1u << PLAN_AXIS_TP)
#define CP (1u << PLAN_AXIS_CP)
#define EP (1u << PLAN_AXIS_EP)
#define DP (1u << PLAN_AXIS_DP)
#define PP (1u << PLAN_AXIS_PP)

static Extent
extent_of(const Plan *plan, PlanGroup group)
{
    const PlanSpec *s = &plan->spec;
    gint64 inner = s->cp_inner > 0 ? s->cp_inner : s->cp;
    const Extent all[PLAN_N_GROUPS] = {
        [PLAN_GROUP_TP] = {FALSE, TP, ALL, 0},
        [PLAN_GROUP_CP] = {FALSE, CP, ALL, 0},
        [PLAN_GROUP_CP_INNER] = {FALSE, CP, BLOCK, inner},
        [PLAN_GROUP_CP_OUTER] = {FALSE, CP, APART, inner},
        [PLAN_GROUP_EP] = {TRUE, EP, ALL, 0},
        [PLAN_GROUP_ETP] = {TRUE, TP, ALL, 0},
        [PLAN_GROUP_DP] = {FALSE, DP | CP, ALL, 0},
        [PLAN_GROUP_SHARD] = {FALSE, DP | CP, BLOCK, plan_shard_ranks(plan, FALSE)},
        [PLAN_GROUP_REPLICATE] = {FALSE, DP | CP, APART, plan_shard_ranks(plan, FALSE)},
        [PLAN_GROUP_EDP] = {TRUE, DP, ALL, 0},
        [PLAN_GROUP_EXPERT_SHARD] = {TRUE, DP, BLOCK, plan_shard_ranks(plan, TRUE)},
        [PLAN_GROUP_EXPERT_REPLICATE] = {TRUE, DP, APART, plan_shard_ranks(plan, TRUE)},
        [PLAN_GROUP_PP] = {FALSE, PP, ALL, 0},
        [PLAN_GROUP_EMBEDDING] = {FALSE, 0, ALL, 0}, /* and two stages */
        [PLAN_GROUP_MODEL] = {FALSE, TP | PP, ALL, 0},
        [PLAN_GROUP_WORLD] = {FALSE, TP | CP | DP | PP, ALL, 0},
    };

    g_assert(group < PLAN_N_GROUPS);
    return all[group];
}

/* The members of one stage: numbers first, first + step, ... along the axes, from the index `base`. */
typedef struct {
    Grid grid;
    guint axes;
    gint64 base, first, step, n;
} Members;

static Members
members_of(const Plan *plan, Extent extent, guint rank)
{
    Members m = {.grid = grid_of(plan, extent.expert), .axes = extent.axes, .step = 1, .n = 1};
    gint64 index = index_of(&m.grid, rank), number = 0;

    m.base = index;
    for (guint i = 0; i < PLAN_N_AXES; i++) {
        guint axis = m.grid.order[i];
        if (axis == PLAN_AXIS_PP || (extent.axes & 1u << axis) == 0)
            continue;
        gint64 digit = digit_of(&m.grid, axis, index);
        m.base -= digit * m.grid.stride[axis];
        number += digit * m.n;
        m.n *= m.grid.size[axis];
    }
    if (extent.part == BLOCK) {
        m.first = number / extent.by * extent.by;
        m.n = extent.by;
    } else if (extent.part == APART) {
        m.first = number % extent.by;
        m.step = extent.by;
        m.n /= extent.by;
    }
    return m;
}

static gint64
member_index(const Members *m, gint64 i)
{
    gint64 number = m->first + i * m->step, index = m->base;

    for (guint k = 0; k < PLAN_N_AXES; k++) {
        guint axis = m->grid.order[k];
        if (axis == PLAN_AXIS_PP || (m->axes & 1u << axis) == 0)
            continue;
        index += number % m->grid.size[axis] * m->grid.stride[axis];
        number /= m->grid.size[axis];
    }
    return index;
}

/* Pipeline ranks from the lowest on that a group is on: all, the two with the embeddings, or the rank's own. */
static guint
stages_of(const Plan *plan, PlanGroup group, guint axes, gint64 own, gint64 ret[2])
{
    if (group == PLAN_GROUP_EMBEDDING) {
        guint first = plan->rank_of[0], last = plan->rank_of[plan->n_stages - 1];
        ret[0] = MIN(first, last);
        ret[1] = MAX(first, last);
        return first == last ? 1 : 2;
    }
    ret[0] = (axes & PP) != 0 ? 0 : own;
    return (axes & PP) != 0 ? (guint)plan->spec.pp : 1;
}

static int
compare_ranks(gconstpointer a, gconstpointer b)
{
    guint x = *(const guint *)a, y = *(const guint *)b;
    return x < y ? -1 : x > y;
}

GArray *
plan_group(const Plan *plan, PlanGroup group, guint rank)
{
    Extent extent = extent_of(plan, group);
    Members m = members_of(plan, extent, rank);
    gint64 at[2];
    guint stages = stages_of(plan, group, extent.axes, stage_of(&m.grid, rank), at);
    GArray *members = g_array_sized_new(FALSE, FALSE, sizeof(guint), (guint)m.n * stages);

    for (guint k = 0; k < stages; k++)
        for (gint64 i = 0; i < m.n; i++) {
            gint64 pp = group == PLAN_GROUP_EMBEDDING ? at[k] : at[0] + k;
            guint member = rank_of(&m.grid, member_index(&m, i), pp);
            g_array_append_val(members, member);
        }
    if (stages > 1) /* pp need not be the slowest axis */
        g_array_sort(members, compare_ranks);
    return members;
}

guint
plan_group_leader(const Plan *plan, PlanGroup group, guint rank, guint *ret_n)
{
    Extent extent = extent_of(plan, group);
    Members m = members_of(plan, extent, rank);
    gint64 at[2];

    *ret_n = (guint)m.n * stages_of(plan, group, extent.axes, stage_of(&m.grid, rank), at);
    return rank_of(&m.grid, member_index(&m, 0), at[0]);
}
