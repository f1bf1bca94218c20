/* Global rank <-> place in the grid, and process groups.
 *
 * Order tp-cp-ep-dp-pp, tp fastest: rank = tp + TP (cp + CP (dp + DP pp)), as Megatron deals out
 * ranks; so a tensor parallel group is neighbours in a node and pipeline stages are far apart. */
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
