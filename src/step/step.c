/* One training iteration: classes, programs, engine, result. */
#include "config.h"

#include "step/chain.h"
#include "step/disturb.h"

const char *
step_kind_name(StepKind kind)
{
    static const char *const names[STEP_N_KINDS] = {
        "compute",    "recompute", "tp_exposed", "cp_exposed", "ep_exposed", "pp_exposed",
        "dp_exposed", "optimizer", "bubble",     "host",       "other"};
    g_assert(kind < STEP_N_KINDS);
    return names[kind];
}

typedef struct {
    const StepBuild *b;
    const StepOptions *options;
} Tracing;

static void
trace_op(void *user, guint32 rank, guint slot, guint32 tag, guint call, gint64 start_ns,
         gint64 end_ns)
{
    const Tracing *t = user;
    const StepRank *simulated = &g_array_index(t->b->ranks, StepRank, rank);
    const StepOp *op = &g_array_index(t->b->ops, StepOp, tag);
    const StepLowered *lowered = g_ptr_array_index(t->b->lowered, simulated->class);
    guint pp_rank = g_array_index(t->b->classes, StepClass, simulated->class).pp_rank;
    guint32 label = sim_program_label(lowered->program, call);
    gint64 stage = -1, microbatch = -1;
    if (label > 0) {
        ScheduleToken token =
            g_array_index(t->b->schedule->ranks[pp_rank], ScheduleToken, label - 1);
        stage = token.stage;
        microbatch = token.microbatch;
    }
    t->options->trace(t->options->trace_user, simulated->rank, step_slot_name(slot), op->name,
                      step_kind_name(op->kind), stage, microbatch, start_ns, end_ns);
}

static void
probe_op(void *user, guint32 rank, guint slot, guint32 tag, guint call, gint64 start_ns,
         gint64 end_ns)
{
    const Tracing *t = user;
    step_memory_log_op(t->b->memory, rank, slot, tag, start_ns, end_ns);
    step_busy_log_op(t->b->busy, rank, slot, tag, start_ns, end_ns);
    if (t->options->trace)
        trace_op(user, rank, slot, tag, call, start_ns, end_ns);
}

char *
step_name_call(void *user, guint32 rank, guint call, guint32 label)
{
    const StepBuild *b = user;
    guint class = g_array_index(b->ranks, StepRank, rank).class;
    guint pp_rank = g_array_index(b->classes, StepClass, class).pp_rank;
    if (label == 0)
        return g_strdup_printf("message or reduction %u of pipeline rank %u", call, pp_rank);
    ScheduleToken token = g_array_index(b->schedule->ranks[pp_rank], ScheduleToken, label - 1);
    return g_strdup_printf("%u%c%u on pipeline rank %u", token.stage, "FBIW"[token.kind],
                           token.microbatch, pp_rank);
}

void
step_build_init(StepBuild *b, const Plan *plan, const Schedule *schedule, const CostBook *cost,
                const NetBook *net)
{
    *b = (StepBuild){
        .plan = plan,
        .schedule = schedule,
        .cost = cost,
        .net = net,
        .p2p = plan->spec.p2p,
        .ops = g_array_new(FALSE, TRUE, sizeof(StepOp)),
        .effects = g_array_new(FALSE, TRUE, sizeof(StepEffect)),
        .transfers = g_array_new(FALSE, TRUE, sizeof(StepTransfer)),
        .shapes = g_array_new(FALSE, TRUE, sizeof(StepShape)),
        .run_parts = g_array_new(FALSE, FALSE, sizeof(StepPartOfRun)),
        .fabric = step_fabric_new(plan),
        .fabric_links = g_array_new(FALSE, FALSE, sizeof(StepFabricLink)),
        .chain_links = g_array_new(FALSE, FALSE, sizeof(StepLinkOfChain)),
        .chain_loads = g_array_new(FALSE, FALSE, sizeof(StepLoads)),
        .link_parts = g_array_new(FALSE, FALSE, sizeof(StepLinkPart)),
        .classes = g_array_new(FALSE, TRUE, sizeof(StepClass)),
        .ranks = g_array_new(FALSE, TRUE, sizeof(StepRank)),
        .templates = g_ptr_array_new_with_free_func((GDestroyNotify)sim_template_free),
        .lowered = g_ptr_array_new_with_free_func((GDestroyNotify)step_lowered_free),
    };
    step_interference_init(b);
    g_array_set_clear_func(b->classes, step_class_clear);
    g_array_set_size(b->effects, 1);
    g_array_set_size(b->transfers, 1);
    g_array_set_size(b->shapes, 1);
}

void
step_build_clear(StepBuild *b)
{
    g_array_unref(b->ops);
    g_array_unref(b->effects);
    g_array_unref(b->transfers);
    g_array_unref(b->shapes);
    g_clear_error(&b->refused);
    g_array_unref(b->run_parts);
    g_free(b->in_flight);
    step_interference_clear(b);
    step_memory_log_free(b->memory);
    step_busy_log_free(b->busy);
    g_free(b->links);
    g_array_unref(b->fabric_links);
    g_array_unref(b->link_parts);
    g_array_unref(b->chain_links);
    g_array_unref(b->chain_loads);
    step_fabric_free(b->fabric);
    g_array_unref(b->classes);
    g_array_unref(b->ranks);
    g_ptr_array_unref(b->lowered);
    g_ptr_array_unref(b->templates);
}

/* What only the schedule decides. */
static gboolean
check_pairs(const StepBuild *b, GError **error)
{
    const PlanSpec *spec = &b->plan->spec;
    const char *option = spec->offload_activations > 0      ? "offload-activations"
                         : spec->recompute_microbatches > 0 ? "recompute-microbatches"
                                                            : NULL;
    if (!b->has_pairs || option == NULL)
        return TRUE;
    g_set_error(error, PLAN_ERROR, PLAN_ERROR_ILLEGAL,
                "--%s: schedule %s runs a forward and a backward as one, for which frameworks do "
                "not know it; leave it out, or write another --schedule",
                option, b->schedule->name);
    return FALSE;
}

/* A collective that the choice of algorithm and protocol leaves nothing to. */
static gboolean
check_collectives(StepBuild *b, GError **error)
{
    if (b->refused == NULL)
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&b->refused));
    return FALSE;
}

static StepResult *
run_engine(StepBuild *b, SimEngine *engine, const StepOptions *options, GError **error)
{
    GError *local = NULL;
    if (sim_engine_run(engine, step_name_call, b, &local)) {
        step_count_chains(b, engine);
        return step_collect(b, engine, options);
    }
    if (g_error_matches(local, SIM_ERROR, SIM_ERROR_DEADLOCK))
        g_prefix_error(&local, "schedule %s: its messages need another order, or --p2p async: ",
                       b->schedule->name);
    g_propagate_error(error, local);
    return NULL;
}

StepResult *
step_run(const Plan *plan, const Schedule *schedule, const CostBook *cost, const NetBook *net,
         const StepOptions *options, GError **error)
{
    g_assert(schedule->params.pp == (guint)plan->spec.pp);
    g_assert(schedule->n_stages == (guint)plan->n_stages);
    g_assert(schedule->params.microbatches == (guint)plan->spec.microbatches);
    for (guint s = 0; s < schedule->n_stages; s++)
        g_assert(schedule->rank_of[s] == plan->rank_of[s]);
    StepBackground background;
    if (!step_background_parse(options->background, &background, error))
        return NULL;
    StepBuild b;
    step_build_init(&b, plan, schedule, cost, net);
    step_build_as(&b, options);
    g_autoptr(SimEngine) engine = step_engine_new(&b);
    step_set_interference(&b, engine);
    Tracing tracing = {&b, options};
    SimProbe probe = {probe_op, &tracing};
    b.memory = step_memory_log_new(&b);
    b.busy = step_busy_log_new(&b);
    sim_engine_set_probe(engine, &probe);
    StepResult *result = NULL;
    StepDisturbance disturbance = {NULL, NULL, NULL};
    if (check_pairs(&b, error) && check_collectives(&b, error) &&
        step_disturb(&disturbance, &b, options, engine, error))
        result = run_engine(&b, engine, options, error);
    step_disturbance_clear(&disturbance);
    step_build_clear(&b);
    return result;
}
