/* Schedules in units of time: every operation of a kind takes the same, no model and no hardware. */
#include "config.h"

#include "cli/arguments.h"
#include "cli/candidates.h"
#include "cli/command.h"
#include "cli/comparison.h"
#include "cli/units.h"

#include <math.h>
#include <string.h>

#define PICTURE_WIDTH 92
#define PICTURE_RANKS 8

static gint64
common_divisor(gint64 a, gint64 b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* The unit of a text picture: divides what each kind of token in the schedule takes. */
static gint64
cell_of(const Schedule *schedule, const StepUnits *u)
{
    const gint64 times[] = {u->F, u->I + u->W, u->I, u->W};
    gint64 cell = u->comm;
    const GArray *tokens = schedule->ranks[0];
    for (guint i = 0; i < tokens->len; i++) {
        const ScheduleToken *t = &g_array_index(tokens, ScheduleToken, i);
        gint64 pair = u->pair > 0 ? u->pair : u->F + u->I + u->W;
        cell = common_divisor(cell, t->pair != SCHEDULE_SINGLE ? pair : times[t->kind]);
    }
    return MAX(cell, 1);
}

/* As wide as fits, so that a token has room for its microbatch; NULL when it does not fit. */
static char *
picture_of(const ReportGantt *gantt, const Schedule *schedule, const StepUnits *u, gint64 makespan)
{
    gint64 cell = cell_of(schedule, u);
    gint64 cells = makespan / cell;
    if (schedule->params.pp > PICTURE_RANKS || cells > PICTURE_WIDTH || cells == 0)
        return NULL;
    g_autoptr(GString) text = g_string_new(NULL);
    report_gantt_text(gantt, cell, (guint)CLAMP(PICTURE_WIDTH / cells, 1, 3), text);
    return g_strdup(text->str);
}

static double *
scaled(const gint64 *values, guint n, double scale)
{
    double *result = g_new(double, n);
    for (guint i = 0; i < n; i++)
        result[i] = (double)values[i] / scale;
    return result;
}

static void
keep_units(ReportSchedule *row, const CliUnits *u)
{
    const gint64 values[REPORT_N_UNITS] = {u->units.F, u->units.I, u->units.W, u->units.pair,
                                           u->units.comm};
    for (guint i = 0; i < REPORT_N_UNITS; i++)
        row->units[i] = (double)values[i] / (double)u->scale;
    if (u->units.pair == 0)
        row->units[REPORT_UNIT_PAIR] = NAN;
}

static gboolean
simulate(ReportSchedule *row, const Schedule *schedule, const ScheduleType *type, const CliUnits *u,
         GError **error)
{
    guint n = schedule->params.pp;
    const StepUnits *units = &u->units;
    row->gantt = report_gantt_new(n);
    g_autoptr(StepUnitResult) r =
        step_run_units(schedule, units, cli_gantt_token, row->gantt, error);
    if (r == NULL)
        return FALSE;
    double scale = (double)u->scale;
    cli_comparison_fill(row, schedule, type);
    keep_units(row, u);
    row->makespan = (double)r->makespan / scale;
    row->busy_max = (double)r->busy_max / scale;
    row->max_span = (double)r->max_span / scale;
    row->bubble_fraction = r->bubble_fraction;
    row->bubble_over_ideal = r->bubble_over_ideal;
    gboolean plain =
        units->comm == 0 && (units->pair == 0 || units->pair == units->F + units->I + units->W);
    double closed = type != NULL && type->makespan != NULL && plain
                        ? type->makespan(&schedule->params, (double)units->F, (double)units->I,
                                         (double)units->W)
                        : -1;
    row->closed_form = closed >= 0 ? closed / scale : NAN;
    row->idle = scaled(r->idle, n, scale);
    row->span = scaled(r->span, n, scale);
    row->picture = picture_of(row->gantt, schedule, units, r->makespan);
    return TRUE;
}

/* The durations are of one of `vpp` chunks; of one of `chunks` they are vpp/chunks of them. A message stays as
 * long as it is. */
static CliUnits
of_chunks(const CliUnits *u, gint64 vpp, gint64 chunks)
{
    CliUnits r = *u;
    if (vpp == chunks)
        return r;
    r.units.F *= vpp;
    r.units.I *= vpp;
    r.units.W *= vpp;
    r.units.pair *= vpp;
    r.units.comm *= chunks;
    r.scale *= chunks;
    return r;
}

/* One candidate. `many`: it is one of several, so that it is run with the chunks that it can have. */
static gboolean
run_one(const CliComparison *c, const CliCandidate *candidate, const CliUnits *given, gboolean many,
        ReportSchedule *row, GError **error)
{
    const PlanSpec *p = &c->in->spec;
    const ScheduleType *type = candidate->type;
    gint64 vpp = MAX(p->vpp, 1);
    CliUnits u = *given;
    g_autoptr(Schedule) schedule = NULL;
    if (type == NULL) {
        schedule = schedule_load_csv_placed(candidate->name, c->in->placement, error);
        if (schedule == NULL || !cli_comparison_agrees(c, candidate->name, schedule, many, error))
            return FALSE;
        if (many)
            u = of_chunks(given, vpp, schedule->params.vpp);
    } else {
        gint64 wanted = cli_inputs_is_given(c->in, "vpp") ? vpp : 0;
        gint64 chunks = many ? cli_candidate_chunks(type, wanted) : vpp;
        u = of_chunks(given, vpp, chunks);
        row->params = (ScheduleParams){
            .pp = (guint)p->pp,
            .microbatches = (guint)p->microbatches,
            .vpp = (guint)chunks,
            .group = many && !type->grouped ? 0 : (guint)p->group,
            .costs = {.F = u.units.F, .I = u.units.I, .W = u.units.W, .comm = u.units.comm}};
        schedule = schedule_new(type, &row->params, error);
    }
    if (schedule == NULL || !simulate(row, schedule, type, &u, error))
        return FALSE;
    if (c->plot == NULL) /* the text has its picture; a long schedule is not kept for nothing */
        g_clear_pointer(&row->gantt, report_gantt_free);
    return cli_comparison_dump(c, schedule, error);
}

static gboolean
comparison_check(const CliComparison *c, gboolean files, GError **error)
{
    static const char *const ours[] = {"pp",       "microbatches", "vpp", "group",
                                       "schedule", "placement",    "p2p", NULL};
    const CliInputs *in = c->in;
    for (guint i = 0; i < in->given->len; i++) {
        const char *name = g_array_index(in->given, const CliOption *, i)->name;
        if (g_strv_contains(ours, name))
            continue;
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "schedules: --unit runs without a model and a system, and --%s is about these; "
                    "leave out one of the two",
                    name);
        return FALSE;
    }
    if (files || (cli_inputs_is_given(in, "pp") && cli_inputs_is_given(in, "microbatches")))
        return TRUE;
    g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                        "schedules: --pp and --microbatches are needed; write for example --pp 4 "
                        "--microbatches 8");
    return FALSE;
}

static char *
head_of(const CliComparison *c, const GPtrArray *rows)
{
    const ReportSchedule *first = rows->pdata[0];
    const ScheduleParams *p = &first->params;
    if (rows->len == 1)
        return g_strdup_printf("%u pipeline ranks, %u microbatches, %u chunk%s a rank; %s", p->pp,
                               p->microbatches, p->vpp, p->vpp == 1 ? "" : "s", c->unit);
    gint64 vpp = MAX(c->in->spec.vpp, 1);
    g_autofree char *of =
        vpp == 1
            ? g_strdup("a rank's whole stage; with vpp chunks, each 1/vpp of it")
            : g_strdup_printf("one of %" G_GINT64_FORMAT " chunks a rank; with vpp chunks, each "
                              "%" G_GINT64_FORMAT "/vpp of it",
                              vpp, vpp);
    return g_strdup_printf("%u pipeline ranks, %u microbatches; %s of %s", p->pp, p->microbatches,
                           c->unit, of);
}

gboolean
cli_compare_units(const CliComparison *c, CliCompared *ret, GError **error)
{
    g_autoptr(GArray) candidates = cli_candidates_parse(c->in->schedule, error);
    CliUnits u;
    gboolean files = candidates != NULL && candidates->len > 0;
    for (guint i = 0; files && i < candidates->len; i++)
        files = g_array_index(candidates, CliCandidate, i).type == NULL;
    if (candidates == NULL || !comparison_check(c, files, error) ||
        !cli_units_parse(c->unit, &u, error))
        return FALSE;
    u.units.p2p = c->in->spec.p2p == PLAN_P2P_AUTO ? PLAN_P2P_ASYNC : c->in->spec.p2p;
    gboolean many = candidates->len > 1;
    for (guint i = 0; i < candidates->len; i++) {
        const CliCandidate *candidate = &g_array_index(candidates, CliCandidate, i);
        ReportSchedule *row = cli_comparison_add(ret->schedules.rows, candidate->name);
        g_autoptr(GError) refusal = NULL;
        if (run_one(c, candidate, &u, many, row, &refusal))
            continue;
        if (!many || refusal->domain != SCHEDULE_ERROR) {
            g_propagate_error(error, g_steal_pointer(&refusal));
            return FALSE;
        }
        row->refused = cli_candidate_reason(refusal);
    }
    ret->head = head_of(c, ret->schedules.rows);
    ret->title = g_strdup(ret->head);
    return cli_comparison_check(ret->schedules.rows, error);
}
