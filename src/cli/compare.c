/* Schedules on the layer times of a model on a machine: each is a plan and a simulated iteration. */
#include "config.h"

#include "cli/candidates.h"
#include "cli/case.h"
#include "cli/command.h"
#include "cli/comparison.h"
#include "cli/config_file.h"
#include "cli/progress.h"
#include "report/number.h"
#include "report/run.h"

#include <math.h>

typedef struct {
    const CliComparison *c;
    const CliMachine *machine;
    const LlmShape *shape;
    PlanSpec spec;
    gboolean many;
} Room;

/* Of equal stages with the times of the middle one, transfers free; NAN: no formula. */
static double
closed_form(const CliCase *c, const ScheduleType *type)
{
    if (type == NULL || type->makespan == NULL)
        return NAN;
    gsize n = (gsize)c->plan->n_stages;
    gint64 comm;
    g_autofree gint64 *times = g_new(gint64, 3 * n);
    step_token_times(c->plan, c->machine->cost, c->machine->net, times, times + n, times + 2 * n,
                     &comm);
    double makespan = type->makespan(&c->schedule->params, (double)times[n / 2],
                                     (double)times[n + n / 2], (double)times[2 * n + n / 2]);
    return makespan >= 0 ? makespan * 1e-9 : NAN;
}

static void
fill(ReportSchedule *row, const CliCase *c, const ScheduleType *type, const StepResult *r)
{
    guint n = r->stages->len;
    cli_comparison_fill(row, c->schedule, type);
    row->time_s = (double)r->time_ns * 1e-9;
    row->certainty = report_certainty(r);
    row->doubts = g_array_ref(r->doubts);
    row->makespan = (double)r->makespan_ns * 1e-9;
    row->max_span = (double)r->max_span_ns * 1e-9;
    row->bubble_fraction = r->bubble_fraction;
    row->bubble_over_ideal = r->bubble_over_ideal;
    row->closed_form = closed_form(c, type);
    row->idle = g_new(double, n);
    row->span = g_new(double, n);
    row->peak_memory_bytes = g_new(gint64, n);
    for (guint i = 0; i < n; i++) {
        const StepStage *stage = &g_array_index(r->stages, StepStage, i);
        row->busy_max = MAX(row->busy_max, (double)stage->busy_ns * 1e-9);
        row->idle[i] = (double)stage->idle_ns * 1e-9;
        row->span[i] = (double)(stage->end_ns - stage->start_ns) * 1e-9;
        row->peak_memory_bytes[i] = stage->peak_bytes;
        row->p2p_bytes = MAX(row->p2p_bytes, stage->sent_bytes);
    }
    row->peak_bytes = r->memory_peak_bytes;
    row->peak_rank = r->memory_peak_stage;
    row->fits = report_fits(r);
}

/* What the file says, where the options do not. */
static gboolean
spec_of_file(const Room *room, const char *path, PlanSpec *spec, GError **error)
{
    g_autoptr(Schedule) s = schedule_load_csv_placed(path, room->c->in->placement, error);
    if (s == NULL || !cli_comparison_agrees(room->c, path, s, room->many, error))
        return FALSE;
    spec->pp = s->params.pp;
    spec->vpp = s->params.vpp;
    if (!cli_inputs_is_given(room->c->in, "microbatches") && spec->global_batch == 0)
        spec->microbatches = s->params.microbatches;
    return TRUE;
}

static gboolean
spec_of(const Room *room, const CliCandidate *candidate, PlanSpec *ret_spec, GError **error)
{
    PlanSpec spec = room->spec;
    const ScheduleType *type = candidate->type;
    gboolean given = cli_inputs_is_given(room->c->in, "vpp");
    if (type == NULL && !spec_of_file(room, candidate->name, &spec, error))
        return FALSE;
    spec.schedule = candidate->name;
    if (type != NULL && (room->many || !given))
        spec.vpp = cli_candidate_chunks(type, given ? spec.vpp : 0);
    if (type != NULL && room->many && !type->grouped)
        spec.group = 0;
    *ret_spec = spec;
    return TRUE;
}

static char *
head_of(const CliCase *c)
{
    const Plan *plan = c->plan;
    const PlanSpec *p = &plan->spec;
    return g_strdup_printf(
        "%s on %s: %" G_GINT64_FORMAT " GPUs, tp %" G_GINT64_FORMAT ", pp %" G_GINT64_FORMAT
        ", dp %" G_GINT64_FORMAT "; %" G_GINT64_FORMAT " microbatches of %" G_GINT64_FORMAT
        " x %" G_GINT64_FORMAT " tokens; a GPU has %s to use",
        c->shape->name, c->machine->system->name, plan->gpus, p->tp, p->pp, p->dp, p->microbatches,
        p->micro_batch, p->seq, report_gb((double)plan->system->memory_usable_bytes).text);
}

static gboolean
run_one(const Room *room, const CliCandidate *candidate, ReportSchedule *row, CliCompared *ret,
        GError **error)
{
    PlanSpec spec;
    if (!spec_of(room, candidate, &spec, error))
        return FALSE;
    row->params = (ScheduleParams){.pp = (guint)spec.pp,
                                   .microbatches = (guint)spec.microbatches,
                                   .vpp = (guint)spec.vpp,
                                   .group = (guint)spec.group};
    g_autoptr(CliCase) c =
        cli_case_new(room->machine, room->shape, &spec, room->c->in->placement, error);
    if (c == NULL)
        return FALSE;
    StepOptions options = cli_inputs_step_options(room->c->in);
    if (room->c->plot != NULL) {
        row->gantt = report_gantt_new((guint)spec.pp);
        options.token = cli_gantt_token;
        options.token_user = row->gantt;
    }
    g_autoptr(StepResult) r = cli_case_run(c, &options, error);
    if (r == NULL)
        return FALSE;
    fill(row, c, candidate->type, r);
    if (ret->head == NULL)
        ret->head = head_of(c);
    return cli_comparison_dump(room->c, c->schedule, error);
}

static gboolean
run_all(const Room *room, const GArray *candidates, CliCompared *ret, GError **error)
{
    CliProgress progress = cli_progress_start("schedule", candidates->len);
    for (guint i = 0; i < candidates->len; i++) {
        cli_progress_at(&progress, i);
        const CliCandidate *candidate = &g_array_index(candidates, CliCandidate, i);
        ReportSchedule *row = cli_comparison_add(ret->schedules.rows, candidate->name);
        g_autoptr(GError) refusal = NULL;
        if (run_one(room, candidate, row, ret, &refusal))
            continue;
        if (!room->many || refusal->domain == CLI_ERROR) {
            g_propagate_error(error, g_steal_pointer(&refusal));
            return FALSE;
        }
        row->refused = cli_candidate_reason(refusal);
    }
    cli_progress_end(&progress);
    return cli_comparison_check(ret->schedules.rows, error);
}

gboolean
cli_compare_real(const CliComparison *c, CliCompared *ret, GError **error)
{
    g_autoptr(GArray) candidates = cli_candidates_parse(c->in->schedule, error);
    g_autoptr(CliMachine) machine =
        candidates != NULL ? cli_inputs_load_machine(c->in, error) : NULL;
    g_autoptr(LlmShape) shape = machine != NULL && cli_config_apply(c->in, machine->system, error)
                                    ? cli_inputs_load_shape(c->in, error)
                                    : NULL;
    if (shape == NULL)
        return FALSE;
    ret->schedules.real = TRUE;
    Room room = {.c = c, .machine = machine, .shape = shape, .many = candidates->len > 1};
    if (!cli_inputs_spec(c->in, machine->system, &room.spec, error) ||
        !run_all(&room, candidates, ret, error))
        return FALSE;
    ret->title = g_strdup(ret->head);
    return TRUE;
}
