/* Textbook mode: every token of a kind takes the same time and every message the same latency; the same
 * lowering and the same engine as the real thing. */
#include "config.h"

#include <string.h>

#include "step/lower.h"
#include "step/step.h"

typedef struct {
    const StepUnits *units;
    SimTemplate *kinds[4], *pair;
} Unit;

static void
unit_run(void *user, SimProgram *program, ScheduleToken token, gboolean first, gboolean last,
         guint32 label)
{
    (void)first;
    (void)last;
    sim_program_call(program, ((Unit *)user)->kinds[token.kind], token.microbatch, label);
}

static const SimTemplate *
unit_pair(void *user, ScheduleToken x, ScheduleToken y)
{
    (void)x;
    (void)y;
    return ((Unit *)user)->pair;
}

static SimWork
unit_wire(void *user, guint replica, guint boundary)
{
    (void)replica;
    (void)boundary;
    return (SimWork){.duration_ns = ((Unit *)user)->units->comm};
}

static GPtrArray *
lower_all(const Schedule *schedule, Unit *unit, PlanP2p p2p)
{
    GPtrArray *all = g_ptr_array_new_with_free_func((GDestroyNotify)step_lowered_free);
    for (guint r = 0; r < schedule->params.pp; r++) {
        StepLowering lowering = {
            .schedule = schedule,
            .rank = r,
            .p2p = p2p,
            .run = unit_run,
            .pair = unit_pair,
            .wire = unit_wire,
            .user = unit,
        };
        g_ptr_array_add(all, step_lower(&lowering));
    }
    return all;
}

static guint32 *
add_meetings(SimEngine *engine, const Schedule *schedule)
{
    guint32 *wires = g_new0(guint32, step_n_wires(schedule));
    for (guint i = 0; i < step_n_wires(schedule); i++)
        wires[i] = sim_engine_add_meetings(engine, 2, schedule->params.microbatches);
    return wires;
}

static void
add_unit_rank(SimEngine *engine, const Schedule *schedule, const SimProgram *program, guint rank,
              const guint32 *wires)
{
    g_autofree guint32 *ports = g_new0(guint32, step_n_ports(schedule));
    step_bind_wires(schedule, rank, wires, ports);
    sim_engine_add_rank(engine, program, ports, step_n_ports(schedule));
}

/* The second of a pair that ran as one unit: its time is the first's. */
static gboolean
is_second(PlanP2p p2p, ScheduleToken token)
{
    return token.pair == SCHEDULE_PAIR_SECOND && (p2p == PLAN_P2P_IDEAL || p2p == PLAN_P2P_ASYNC);
}

static StepUnitResult *
measure(const Schedule *schedule, SimEngine *engine, const GPtrArray *lowered, PlanP2p p2p,
        void (*report)(void *user, guint pp_rank, ScheduleToken token, gint64 start, gint64 end),
        void *user)
{
    StepUnitResult *r = g_new0(StepUnitResult, 1);
    r->n = schedule->params.pp;
    r->idle = g_new0(gint64, r->n);
    r->span = g_new0(gint64, r->n);
    for (guint rank = 0; rank < r->n; rank++) {
        const StepLowered *l = g_ptr_array_index(lowered, rank);
        gint64 first = G_MAXINT64, last = 0, busy = 0;
        for (guint k = 0; k < schedule->ranks[rank]->len; k++) {
            gint64 start, end;
            step_token_span(l, engine, rank, k, &start, &end);
            first = MIN(first, start);
            last = MAX(last, end);
            ScheduleToken token = g_array_index(schedule->ranks[rank], ScheduleToken, k);
            busy += is_second(p2p, token) ? 0 : end - start;
            if (report)
                report(user, rank, token, start, end);
        }
        r->makespan = MAX(r->makespan, last);
        r->span[rank] = last - MIN(first, last);
        r->max_span = MAX(r->max_span, r->span[rank]);
        r->busy_max = MAX(r->busy_max, busy);
        r->idle[rank] = -busy;
    }
    for (guint rank = 0; rank < r->n; rank++)
        r->idle[rank] += r->makespan;
    double idle = (double)(r->makespan - r->busy_max);
    r->bubble_fraction = r->makespan > 0 ? idle / (double)r->makespan : 0;
    r->bubble_over_ideal = r->busy_max > 0 ? idle / (double)r->busy_max : 0;
    return r;
}

StepUnitResult *
step_run_units(const Schedule *schedule, const StepUnits *units,
               void (*token)(void *user, guint pp_rank, ScheduleToken token, gint64 start,
                             gint64 end),
               void *user, GError **error)
{
    Unit unit = {.units = units};
    const gint64 times[] = {units->F, units->I + units->W, units->I, units->W};
    for (guint kind = 0; kind < 4; kind++) {
        unit.kinds[kind] = sim_template_new();
        sim_template_add(unit.kinds[kind], STEP_SLOT_COMPUTE, (SimWork){.duration_ns = times[kind]},
                         kind);
    }
    SimWork both = {.duration_ns = units->pair > 0 ? units->pair : units->F + units->I + units->W};
    unit.pair = sim_template_new();
    sim_template_add(unit.pair, STEP_SLOT_COMPUTE, both, 4);
    PlanP2p p2p = units->p2p == PLAN_P2P_AUTO ? PLAN_P2P_ASYNC : units->p2p;
    g_autoptr(GPtrArray) lowered = lower_all(schedule, &unit, p2p);
    g_autoptr(SimEngine) engine = sim_engine_new();
    g_autofree guint32 *wires = add_meetings(engine, schedule);
    for (guint r = 0; r < schedule->params.pp; r++) {
        const StepLowered *l = g_ptr_array_index(lowered, r);
        add_unit_rank(engine, schedule, l->program, r, wires);
    }
    StepUnitResult *result = NULL;
    if (sim_engine_run(engine, NULL, NULL, error))
        result = measure(schedule, engine, lowered, p2p, token, user);
    for (guint kind = 0; kind < 4; kind++)
        sim_template_free(unit.kinds[kind]);
    sim_template_free(unit.pair);
    return result;
}

void
step_unit_result_free(StepUnitResult *r)
{
    if (!r)
        return;
    g_free(r->idle);
    g_free(r->span);
    g_free(r);
}
