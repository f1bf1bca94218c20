/* Global rank <-> place in the grid, and process groups.
 *
 * Order tp-cp-ep-dp-pp, tp fastest: rank = tp + TP (cp + CP (dp + DP pp)), as Megatron deals out
 * ranks; so a tensor parallel group is neighbours in a node and pipeline stages are far apart.  Experts cut
 * the same TP CP DP ranks of a stage another way: etp + ETP (ep + EP edp). */
#include "config.h"

#include "plan/plan.h"

guint
plan_rank(const Plan *plan, PlanPlace place)
{
    const PlanSpec *s = &plan->spec;

    g_assert(place.tp >= 0 && place.tp < s->tp && place.cp >= 0 && place.cp < s->cp);
    g_assert(place.dp >= 0 && place.dp < s->dp && place.pp >= 0 && place.pp < s->pp);
    return (guint)(place.tp + s->tp * (place.cp + s->cp * (place.dp + s->dp * place.pp)));
}

PlanPlace
plan_place(const Plan *plan, guint rank)
{
    const PlanSpec *s = &plan->spec;

    g_assert(rank < plan->gpus);
    return (PlanPlace){
        .tp = rank % s->tp,
        .cp = rank / s->tp % s->cp,
        .dp = rank / (s->tp * s->cp) % s->dp,
        .pp = rank / (s->tp * s->cp * s->dp),
    };
}

/* Which axes a group runs over. */
static void
axes_of(PlanGroup group, gboolean *tp, gboolean *cp, gboolean *dp, gboolean *pp)
{
    *tp = group == PLAN_GROUP_TP || group == PLAN_GROUP_MODEL || group == PLAN_GROUP_WORLD;
    *cp = group == PLAN_GROUP_CP || group == PLAN_GROUP_DP || group == PLAN_GROUP_WORLD;
    *dp = group == PLAN_GROUP_DP || group == PLAN_GROUP_WORLD;
    *pp = group == PLAN_GROUP_PP || group == PLAN_GROUP_MODEL || group == PLAN_GROUP_WORLD;
}

static void
add_embedding_group(const Plan *plan, PlanPlace place, GArray *members)
{
    guint first = plan->rank_of[0], last = plan->rank_of[plan->n_stages - 1];
    guint ends[] = {MIN(first, last), MAX(first, last)};

    for (guint i = 0; i < (first == last ? 1 : 2); i++) {
        place.pp = ends[i];
        guint rank = plan_rank(plan, place);
        g_array_append_val(members, rank);
    }
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

/* A group whose members are evenly spaced within the stage: so many of them, so far apart, where the first is
 * `home` less its own index. */
typedef struct {
    gint64 stride, n;
} Progression;

static gboolean
progression_of(const Plan *plan, PlanGroup group, Progression *ret)
{
    const PlanSpec *s = &plan->spec;
    gint64 experts = s->etp * s->ep, copies = s->tp * s->cp * s->dp / experts;
    gint64 shard = plan_shard_ranks(plan, FALSE), expert_shard = plan_shard_ranks(plan, TRUE);
    gint64 inner = s->cp_inner > 0 ? s->cp_inner : s->cp;

    switch (group) {
    case PLAN_GROUP_CP_INNER:
        *ret = (Progression){s->tp, inner};
        return TRUE;
    case PLAN_GROUP_CP_OUTER:
        *ret = (Progression){s->tp * inner, s->cp / inner};
        return TRUE;
    case PLAN_GROUP_ETP:
        *ret = (Progression){1, s->etp};
        return TRUE;
    case PLAN_GROUP_EP:
        *ret = (Progression){s->etp, s->ep};
        return TRUE;
    case PLAN_GROUP_EDP:
        *ret = (Progression){experts, copies};
        return TRUE;
    case PLAN_GROUP_EXPERT_SHARD:
        *ret = (Progression){experts, expert_shard};
        return TRUE;
    case PLAN_GROUP_EXPERT_REPLICATE:
        *ret = (Progression){experts * expert_shard, copies / expert_shard};
        return TRUE;
    case PLAN_GROUP_SHARD:
        *ret = (Progression){s->tp, shard};
        return TRUE;
    case PLAN_GROUP_REPLICATE:
        *ret = (Progression){s->tp * shard, s->dp * s->cp / shard};
        return TRUE;
    default:
        return FALSE;
    }
}

GArray *
plan_group(const Plan *plan, PlanGroup group, guint rank)
{
    const PlanSpec *s = &plan->spec;
    PlanPlace home = plan_place(plan, rank), at;
    GArray *members = g_array_new(FALSE, FALSE, sizeof(guint));
    gboolean tp, cp, dp, pp;

    g_assert(group < PLAN_N_GROUPS);
    if (group == PLAN_GROUP_EMBEDDING) {
        add_embedding_group(plan, home, members);
        return members;
    }
    Progression even;
    if (progression_of(plan, group, &even)) {
        gint64 stage = s->tp * s->cp * s->dp, within = rank % stage;
        guint first = (guint)(rank - within / even.stride % even.n * even.stride);
        for (gint64 i = 0; i < even.n; i++) {
            guint member = first + (guint)(i * even.stride);
            g_array_append_val(members, member);
        }
        return members;
    }
    axes_of(group, &tp, &cp, &dp, &pp);
    for (at.pp = pp ? 0 : home.pp; at.pp <= (pp ? s->pp - 1 : home.pp); at.pp++)
        for (at.dp = dp ? 0 : home.dp; at.dp <= (dp ? s->dp - 1 : home.dp); at.dp++)
            for (at.cp = cp ? 0 : home.cp; at.cp <= (cp ? s->cp - 1 : home.cp); at.cp++)
                for (at.tp = tp ? 0 : home.tp; at.tp <= (tp ? s->tp - 1 : home.tp); at.tp++) {
                    guint member = plan_rank(plan, at);
                    g_array_append_val(members, member);
                }
    return members;
}

guint
plan_group_leader(const Plan *plan, PlanGroup group, guint rank, guint *ret_n)
{
    const PlanSpec *s = &plan->spec;
    PlanPlace place = plan_place(plan, rank);
    gboolean tp, cp, dp, pp;
    Progression even;

    g_assert(group < PLAN_N_GROUPS);
    if (group == PLAN_GROUP_EMBEDDING) {
        guint first = plan->rank_of[0], last = plan->rank_of[plan->n_stages - 1];
        place.pp = MIN(first, last);
        *ret_n = first == last ? 1 : 2;
        return plan_rank(plan, place);
    }
    if (progression_of(plan, group, &even)) {
        gint64 within = rank % (s->tp * s->cp * s->dp);
        *ret_n = (guint)even.n;
        return (guint)(rank - within / even.stride % even.n * even.stride);
    }
    axes_of(group, &tp, &cp, &dp, &pp);
    place = (PlanPlace){tp ? 0 : place.tp, cp ? 0 : place.cp, dp ? 0 : place.dp, pp ? 0 : place.pp};
    *ret_n = (guint)((tp ? s->tp : 1) * (cp ? s->cp : 1) * (dp ? s->dp : 1) * (pp ? s->pp : 1));
    return plan_rank(plan, place);
}
