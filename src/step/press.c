/* What tells columns of ranks apart by the links above ports and NICs: how hard these are pressed when all that are
 * like the column's own groups, or its messages, are at it at once. */
#include "config.h"

#include "step/build.h"

/* Kinds whose members also exchange each with each. */
static gboolean
exchanges(guint kind)
{
    return kind == PLAN_GROUP_EP || kind == PLAN_GROUP_CP_INNER;
}

static void
press_group(const StepBuild *b, StepClass *class, guint kind)
{
    guint leader = step_group_leader(b->plan, kind, class->rank);
    StepCrowd crowd = {.kind = kind, .pp = (guint)plan_place(b->plan, leader).pp};
    static const NetPattern patterns[] = {NET_PATTERN_RING, NET_PATTERN_PAIRS};
    for (guint p = 0; p < (exchanges(kind) ? 2 : 1); p++)
        for (guint between = 0; between < 2; between++) {
            crowd.pattern = patterns[p];
            crowd.between = between == 1;
            class->press[kind][2 * p + between] = step_fabric_press(b->fabric, &crowd, leader);
        }
}

static guint
rank_at(const StepBuild *b, guint rank, guint pp)
{
    PlanPlace place = plan_place(b->plan, rank);
    place.pp = pp;
    return plan_rank(b->plan, place);
}

GArray *
step_boundary_press(const StepBuild *b, guint rank)
{
    const Schedule *s = b->schedule;
    GArray *press = g_array_new(FALSE, TRUE, sizeof(float));
    g_array_set_size(press, step_n_wires(s));
    if (!step_fabric_has_links(b->fabric))
        return press;
    for (guint i = 0; i + 1 < s->n_replicas * s->n_stages; i++) {
        if ((i + 1) % s->n_stages == 0 || s->rank_of[i] == s->rank_of[i + 1])
            continue;
        for (guint back = 0; back < 2; back++) {
            StepCrowd crowd = {.message = TRUE,
                               .between = TRUE,
                               .pp = s->rank_of[i + back],
                               .to = s->rank_of[i + 1 - back]};
            g_array_index(press, float, 2 * i + back) =
                step_fabric_press(b->fabric, &crowd, rank_at(b, rank, crowd.pp));
        }
    }
    return press;
}

void
step_class_press(const StepBuild *b, StepClass *class)
{
    for (guint port = 0; port < STEP_N_GROUP_PORTS && step_fabric_has_links(b->fabric); port++) {
        guint kind = step_port_group(port);
        NetGroup shape = kind == STEP_GROUP_REPLICA ? class->replica : class->group[kind];
        if (step_port_carries_data(port) && shape.ranks > 1)
            press_group(b, class, kind);
    }
}
