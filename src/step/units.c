/* Textbook mode: every token of a kind takes the same time and every message the same latency; the same
 * lowering and the same engine as the real thing. */
#include "config.h"

#include <string.h>

#include "step/lower.h"
#include "step/step.h"

typedef struct {
    const StepUnits *units;
    SimTemplate *kinds[4];
} Unit;

static const SimTemplate *
unit_token(void *user, ScheduleToken token, gboolean first, gboolean last)
{
    (void)first;
    (void)last;
    return ((Unit *)user)->kinds[token.kind];
}

static SimWork
unit_wire(void *user, guint boundary)
{
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
            .token = unit_token,
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
    guint32 *wires = g_new0(guint32, (gsize)schedule->n_stages * 2);
    for (guint boundary = 0; boundary + 1 < schedule->n_stages; boundary++)
        for (guint back = 0; back < 2; back++)
            wires[2 * boundary + back] =
                sim_engine_add_meetings(engine, 2, schedule->params.microbatches);
    return wires;
}

static void
add_unit_rank(SimEngine *engine, const Schedule *schedule, const SimProgram *program, guint rank,
              const guint32 *wires)
{
    guint n = step_wire_port(schedule->n_stages, 0), chunk = 0;
    g_autofree guint32 *ports = g_new0(guint32, n);
    for (guint stage = 0; stage < schedule->n_stages; stage++) {
        if (schedule->rank_of[stage] != rank)
            continue;
        if (stage > 0) {
            ports[step_wire_port(chunk, STEP_WIRE_RECV_F)] = wires[2 * (stage - 1)];
            ports[step_wire_port(chunk, STEP_WIRE_SEND_B)] = wires[2 * (stage - 1) + 1];
        }
        ports[step_wire_port(chunk, STEP_WIRE_SEND_F)] = wires[2 * stage];
        ports[step_wire_port(chunk, STEP_WIRE_RECV_B)] = wires[2 * stage + 1];
        chunk++;
    }
    sim_engine_add_rank(engine, program, ports, n);
}

static StepUnitResult *
measure(const Schedule *schedule, SimEngine *engine, const GPtrArray *lowered,
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
            sim_engine_call_span(engine, rank, l->calls[k], &start, &end);
            first = MIN(first, start);
            last = MAX(last, end);
            busy += end - start;
            if (report)
                report(user, rank, g_array_index(schedule->ranks[rank], ScheduleToken, k), start,
                       end);
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
        sim_template_add(unit.kinds[kind], STEP_SLOT_COMPUTE,
                         (SimWork){.duration_ns = times[kind]}, kind);
    }
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
        result = measure(schedule, engine, lowered, token, user);
    for (guint kind = 0; kind < 4; kind++)
        sim_template_free(unit.kinds[kind]);
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
