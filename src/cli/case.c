/* Loading what the inputs name, and running it. */
#include "config.h"

#include "cli/case.h"

#include "cli/command.h"
#include "cli/noise.h"
#include "llm/read.h"

#include <string.h>

CliMachine *
cli_machine_load(const char *system, const char *const *overrides, GError **error)
{
    g_autoptr(CliMachine) machine = g_new0(CliMachine, 1);
    machine->system = cluster_system_load(system, overrides, error);
    if (machine->system == NULL)
        return NULL;
    machine->cost = cost_book_load(machine->system, error);
    if (machine->cost == NULL)
        return NULL;
    machine->net = net_book_load(machine->system, error);
    if (machine->net == NULL)
        return NULL;
    return g_steal_pointer(&machine);
}

void
cli_machine_free(CliMachine *machine)
{
    if (machine == NULL)
        return;
    net_book_free(machine->net);
    cost_book_free(machine->cost);
    cluster_system_free(machine->system);
    g_free(machine);
}

/* What schedules that are searched for know of the stages: times of each, kept in `c`. */
static ScheduleCosts
costs_of(CliCase *c)
{
    gsize n = (gsize)c->plan->n_stages, middle = n / 2;
    gint64 comm;
    c->costs = g_new(gint64, 3 * n);
    step_token_times(c->plan, c->machine->cost, c->machine->net, c->costs, c->costs + n,
                     c->costs + 2 * n, &comm);
    return (ScheduleCosts){.F = c->costs[middle],
                           .I = c->costs[n + middle],
                           .W = c->costs[2 * n + middle],
                           .comm = comm,
                           .stage_F = c->costs,
                           .stage_I = c->costs + n,
                           .stage_W = c->costs + 2 * n};
}

static Schedule *
schedule_from_type(CliCase *c, const ScheduleType *type, const PlanSpec *spec, GError **error)
{
    const PlanSpec *s = &c->plan->spec;
    ScheduleParams params = {.pp = (guint)s->pp,
                             .microbatches = (guint)s->microbatches,
                             .vpp = (guint)s->vpp,
                             .group = (guint)spec->group};
    if (type->build_all != NULL) /* made as a whole, and so perhaps by a search */
        params.costs = costs_of(c);
    return schedule_new(type, &params, error);
}

static Schedule *
schedule_from_file(const char *path, const char *placement, const Plan *plan, GError **error)
{
    g_autoptr(Schedule) schedule = schedule_load_csv_placed(path, placement, error);
    if (schedule == NULL)
        return NULL;
    const ScheduleParams *p = &schedule->params;
    const PlanSpec *s = &plan->spec;
    if (schedule->n_stages != p->pp * p->vpp) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: its %u stages are not the same number on each of %u ranks, and layers are "
                    "cut evenly over these; add --unit F=1,I=1,W=1 to run it in units of time",
                    path, schedule->n_stages, p->pp);
        return NULL;
    }
    if (p->pp == s->pp && p->vpp == s->vpp && p->microbatches == s->microbatches)
        return g_steal_pointer(&schedule);
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "%s: is for pp %u, vpp %u and %u microbatches, the plan has %" G_GINT64_FORMAT
                ", %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT
                "; write --pp %u --vpp %u --microbatches %u",
                path, p->pp, p->vpp, p->microbatches, s->pp, s->vpp, s->microbatches, p->pp, p->vpp,
                p->microbatches);
    return NULL;
}

CliCase *
cli_case_new(const CliMachine *machine, const LlmShape *shape, const PlanSpec *spec,
             const char *placement, GError **error)
{
    gboolean file = g_str_has_suffix(spec->schedule, ".csv");
    const ScheduleType *type = file ? NULL : schedule_find(spec->schedule, error);
    if (type == NULL && !file)
        return NULL;
    g_autoptr(CliCase) c = g_new0(CliCase, 1);
    c->machine = machine;
    c->shape = shape;
    PlanSpec named = *spec;
    if (type != NULL)
        named.schedule = type->name; /* an alias runs as what it stands for */
    c->plan = plan_new(&named, shape, machine->system, error);
    if (c->plan == NULL)
        return NULL;
    c->schedule = file ? schedule_from_file(spec->schedule, placement, c->plan, error)
                       : schedule_from_type(c, type, spec, error);
    if (c->schedule == NULL)
        return NULL;
    plan_set_placement(c->plan, c->schedule->rank_of);
    return g_steal_pointer(&c);
}

void
cli_case_free(CliCase *c)
{
    if (c == NULL)
        return;
    schedule_free(c->schedule);
    g_free(c->costs);
    plan_free(c->plan);
    g_free(c);
}

/* The overrides of one side: those of section `model`, or all others; NULL-terminated, borrowed. */
static GPtrArray *
sets_of(const CliInputs *in, gboolean model)
{
    GPtrArray *sets = g_ptr_array_new();
    for (guint i = 0; i < in->sets->len; i++)
        if (g_str_has_prefix(in->sets->pdata[i], "model.") == model)
            g_ptr_array_add(sets, in->sets->pdata[i]);
    g_ptr_array_add(sets, NULL);
    return sets;
}

CliMachine *
cli_inputs_load_machine(const CliInputs *in, GError **error)
{
    g_autoptr(GPtrArray) sets = sets_of(in, FALSE);
    return cli_machine_load(in->system != NULL ? in->system : CLI_DEFAULT_SYSTEM,
                            (const char *const *)sets->pdata, error);
}

LlmShape *
cli_inputs_load_shape(const CliInputs *in, GError **error)
{
    g_autoptr(GPtrArray) sets = sets_of(in, TRUE);
    if (in->model == NULL && in->config_model != NULL) {
        g_autoptr(ConfJson) json = conf_json_parse(in->config, in->config_model, error);
        return json == NULL
                   ? NULL
                   : llm_shape_read(json, in->config_name, (const char *const *)sets->pdata, error);
    }
    return llm_shape_load(in->model != NULL ? in->model : CLI_DEFAULT_MODEL,
                          (const char *const *)sets->pdata, error);
}

gboolean
cli_inputs_check_placement(const CliInputs *in, GError **error)
{
    gboolean file = in->schedule != NULL && strstr(in->schedule, ".csv") != NULL;
    if (file && cli_inputs_is_given(in, "group")) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "--group: the order of %s stands in the file; leave it out", in->schedule);
        return FALSE;
    }
    if (in->placement == NULL || file)
        return TRUE;
    g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                        "--placement: says where the stages of a schedule from a file live, and "
                        "--schedule names none; leave it out, or write --schedule FILE.csv");
    return FALSE;
}

gboolean
cli_inputs_spec(const CliInputs *in, const ClusterSystem *system, PlanSpec *ret_spec,
                GError **error)
{
    PlanSpec spec;
    if (!cli_inputs_check_placement(in, error) || !cli_inputs_plan(in, &spec, error))
        return FALSE;
    if (cli_inputs_is_axis(in, "microbatches"))
        spec.global_batch = 0; /* follows from the microbatches of each point */
    if (in->schedule != NULL)
        spec.schedule = in->schedule;
    else if (spec.vpp > 1)
        spec.schedule = plan_runs_pytorch(&spec) ? "interleaved_torch" : "interleaved";
    if (system->described_nodes > 0 && !cli_inputs_is_given(in, "gpus") &&
        !cli_inputs_is_given(in, "nodes") && !cli_inputs_is_given(in, "dp") && in->hostfile == NULL)
        spec.gpus = system->described_nodes * system->gpus_per_node;
    if (in->nodes > 0) {
        gint64 gpus = in->nodes * system->gpus_per_node;
        if (spec.gpus > 0 && spec.gpus != gpus) {
            g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                        "--nodes: %" G_GINT64_FORMAT " nodes of %" G_GINT64_FORMAT
                        " GPUs are not --gpus %" G_GINT64_FORMAT "; write one of the two",
                        in->nodes, system->gpus_per_node, spec.gpus);
            return FALSE;
        }
        spec.gpus = gpus;
    }
    *ret_spec = spec;
    return TRUE;
}

StepOptions
cli_inputs_step_options(const CliInputs *in)
{
    StepOptions options = {0};
    options.all_ranks = in->ranks == 1;
    options.background = in->background;
    options.convention = (LlmFlopsConvention)in->flops;
    cli_noise_apply(in, &options);
    return options;
}

StepResult *
cli_case_run(const CliCase *c, const StepOptions *options, GError **error)
{
    return step_run(c->plan, c->schedule, c->machine->cost, c->machine->net, options, error);
}
