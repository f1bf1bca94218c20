/* The times that a schedule which is searched for goes by. */
#include "config.h"

#include "schedule/types.h"

static gint64
pick(gint64 uniform, const gint64 *by_stage, guint stage)
{
    return by_stage != NULL ? by_stage[stage] : uniform;
}

gint64
schedule_cost_of(const ScheduleParams *p, ScheduleKind kind, guint stage)
{
    const ScheduleCosts *c = &p->costs;

    if (c->F == 0 && c->I == 0 && c->W == 0 && !c->stage_F && !c->stage_I && !c->stage_W)
        return kind == SCHEDULE_B ? 2 : 1;
    switch (kind) {
    case SCHEDULE_F:
        return pick(c->F, c->stage_F, stage);
    case SCHEDULE_I:
        return pick(c->I, c->stage_I, stage);
    case SCHEDULE_W:
        return pick(c->W, c->stage_W, stage);
    case SCHEDULE_B:
        return pick(c->I, c->stage_I, stage) + pick(c->W, c->stage_W, stage);
    }
    g_assert_not_reached();
}
