/* How long the tokens of a stage take by themselves: what searched schedules plan with. */
#include "config.h"

#include "step/build.h"

/* One rank runs one template alone; its tensor-parallel group is this rank. */
static gint64
run_alone(const SimTemplate *t)
{
    g_autoptr(SimProgram) program = sim_program_new();
    sim_program_call(program, t, 0, 0);
    g_autoptr(SimEngine) engine = sim_engine_new();
    guint32 ports[STEP_PORT_WIRES];
    for (guint port = 0; port < STEP_PORT_WIRES; port++)
        ports[port] = sim_engine_add_meetings(engine, 1, 1);
    sim_engine_add_rank(engine, program, ports, STEP_PORT_WIRES);
    g_autoptr(GError) error = NULL;
    if (!sim_engine_run(engine, NULL, NULL, &error))
        g_error("%s", error->message); /* one rank with nobody to wait for */
    return sim_engine_now(engine);
}

void
step_token_times(const Plan *plan, const CostBook *cost, const NetBook *net, gint64 *ret_F,
                 gint64 *ret_I, gint64 *ret_W, gint64 *ret_comm)
{
    g_autoptr(GError) error = NULL;
    ScheduleParams params = {
        .pp = (guint)plan->spec.pp, .microbatches = 1, .vpp = (guint)plan->spec.vpp};
    const ScheduleType *type = schedule_find("looped_bfs", &error);
    g_autoptr(Schedule) loop = type ? schedule_new(type, &params, &error) : NULL;
    if (!loop)
        g_error("%s", error->message);
    StepBuild b;
    step_build_init(&b, plan, loop, cost, net);
    b.p2p = PLAN_P2P_IDEAL;
    step_build_classes(&b, STEP_RANKS_CLASSES, NULL);
    for (guint stage = 0; stage < loop->n_stages; stage++) {
        guint rank = loop->rank_of[stage];
        StepClass *class =
            &g_array_index(b.classes, StepClass, g_array_index(b.ranks, StepRank, rank).class);
        gint64 *const times[] = {ret_F, NULL, ret_I, ret_W};
        for (guint kind = SCHEDULE_F; kind <= SCHEDULE_W; kind++) {
            ScheduleToken token = {.kind = (guint8)kind, .stage = (guint16)stage};
            if (times[kind])
                times[kind][stage] = run_alone(step_token_template(&b, class, token));
        }
    }
    *ret_comm = loop->n_stages > 1 && plan->spec.pp > 1
                    ? step_wire_work(&b, &g_array_index(b.classes, StepClass, 0), 0, 0).duration_ns
                    : 0;
    step_build_clear(&b);
}
