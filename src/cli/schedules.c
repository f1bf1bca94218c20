/* dtsim schedules: what schedules there are; with --pp and --microbatches, how they do in units of time. */
#include "config.h"

#include "cli/arguments.h"
#include "cli/case.h"
#include "cli/command.h"
#include "cli/format.h"
#include "cli/output.h"
#include "cli/units.h"
#include "conf/complaint.h"
#include "report/gantt.h"
#include "report/textbook.h"

#include <math.h>
#include <string.h>

#define PICTURE_WIDTH 92
#define PICTURE_RANKS 8

typedef struct {
    CliFormat format;
    gint64 pp, microbatches, vpp, group; /* 0: not given */
    char *schedule, *unit, *dump;
    guint p2p;
    gboolean p2p_given;
} Wish;

static const char *const p2ps[] = {"ideal", "async", "blocking", "overlapped", "fused", NULL};
static const PlanP2p p2p_values[] = {PLAN_P2P_IDEAL, PLAN_P2P_ASYNC, PLAN_P2P_BLOCKING,
                                     PLAN_P2P_OVERLAPPED, PLAN_P2P_FUSED};

static gboolean
count_set(const char *name, const char *text, gpointer user, GError **error)
{
    Wish *w = user;
    gint64 *field = strcmp(name, "--pp") == 0             ? &w->pp
                    : strcmp(name, "--microbatches") == 0 ? &w->microbatches
                    : strcmp(name, "--vpp") == 0          ? &w->vpp
                                                          : &w->group;
    return cli_parse_count(name, text, 1, 1000000, field, error);
}

static gboolean
p2p_set(const char *name, const char *text, gpointer user, GError **error)
{
    Wish *w = user;
    w->p2p_given = TRUE;
    return cli_parse_choice(name, text, p2ps, &w->p2p, error);
}

static GOptionGroup *
textbook_group(Wish *w)
{
    const int flags = G_OPTION_FLAG_NOALIAS;
    gpointer count = (gpointer)(GOptionArgFunc)count_set;
    const GOptionEntry entries[] = {
        {"pp", 0, flags, G_OPTION_ARG_CALLBACK, count, "Pipeline ranks", "N"},
        {"microbatches", 0, flags, G_OPTION_ARG_CALLBACK, count, "Microbatches", "N"},
        {"vpp", 0, flags, G_OPTION_ARG_CALLBACK, count, "Chunks a rank (default: 1)", "N"},
        {"group", 0, flags, G_OPTION_ARG_CALLBACK, count, "Microbatch group (default: pp)", "N"},
        {"schedule", 0, flags, G_OPTION_ARG_FILENAME, &w->schedule,
         "Only this one: a name, or a file ending in .csv", "NAME|FILE"},
        {"unit", 0, flags, G_OPTION_ARG_FILENAME, &w->unit,
         "Durations of one chunk: F, I, W (B = I + W), comm (default: F=1,I=1,W=1)", "F=1,..."},
        {"p2p", 0, flags, G_OPTION_ARG_CALLBACK, (gpointer)(GOptionArgFunc)p2p_set,
         "ideal async blocking overlapped fused (default: async)", "MODEL"},
        {"dump-schedule", 0, flags, G_OPTION_ARG_FILENAME, &w->dump,
         "Write the order of operations, one line a rank (CSV)", "FILE"},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    GOptionGroup *group =
        g_option_group_new("textbook", "Units of time:", "Show the options of textbook mode", w, NULL);
    g_option_group_add_entries(group, entries);
    return group;
}

static void
gantt_token(void *user, guint pp_rank, ScheduleToken token, gint64 start, gint64 end)
{
    report_gantt_add(user, pp_rank, token, start, end);
}

static gint64
common_divisor(gint64 a, gint64 b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* Whether backwards are split into I and W. */
static gboolean
is_split(const Schedule *schedule)
{
    const GArray *tokens = schedule->ranks[0];
    for (guint i = 0; i < tokens->len; i++)
        if (g_array_index(tokens, ScheduleToken, i).kind >= SCHEDULE_I)
            return TRUE;
    return FALSE;
}

/* As wide as fits, so that a token has room for its microbatch; NULL when it does not fit. */
static char *
picture_of(const ReportGantt *gantt, const Schedule *schedule, const CliUnits *u, gint64 makespan)
{
    const StepUnits *s = &u->units;
    gint64 backward = is_split(schedule) ? common_divisor(s->I, s->W) : s->I + s->W;
    gint64 cell = common_divisor(common_divisor(s->F, backward), s->comm);
    gint64 cells = makespan / cell;
    if (schedule->params.pp > PICTURE_RANKS || cells > PICTURE_WIDTH)
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

static gboolean
simulate(ReportTextbook *t, const Schedule *schedule, const ScheduleType *type, const CliUnits *u,
         GError **error)
{
    guint n = schedule->params.pp;
    g_autoptr(ReportGantt) gantt = report_gantt_new(n);
    g_autoptr(StepUnitResult) r = step_run_units(schedule, &u->units, gantt_token, gantt, error);
    if (r == NULL)
        return FALSE;
    double scale = (double)u->scale;
    t->name = schedule->name;
    t->params = schedule->params;
    t->makespan = (double)r->makespan / scale;
    t->busy_max = (double)r->busy_max / scale;
    t->max_span = (double)r->max_span / scale;
    t->bubble_fraction = r->bubble_fraction;
    t->bubble_over_ideal = r->bubble_over_ideal;
    double closed = type != NULL && type->makespan != NULL && u->units.comm == 0
                        ? type->makespan(&schedule->params, (double)u->units.F,
                                         (double)u->units.I, (double)u->units.W)
                        : -1;
    t->closed_form = closed >= 0 ? closed / scale : NAN;
    t->idle = scaled(r->idle, n, scale);
    t->span = scaled(r->span, n, scale);
    t->peak_input_grad = g_new(guint, n);
    t->peak_weight_grad = g_new(guint, n);
    schedule_peaks(schedule, t->peak_input_grad, t->peak_weight_grad);
    t->picture = picture_of(gantt, schedule, u, r->makespan);
    return TRUE;
}

/* What a file says stands; a count beside it that differs is an error. */
static gboolean
counts_agree(const Wish *w, const Schedule *schedule, GError **error)
{
    const struct {
        const char *name;
        gint64 asked, there;
    } counts[] = {{"pp", w->pp, schedule->params.pp},
                  {"microbatches", w->microbatches, schedule->params.microbatches},
                  {"vpp", w->vpp, schedule->params.vpp}};
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
        if (counts[i].asked == 0 || counts[i].asked == counts[i].there)
            continue;
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "--%s: %" G_GINT64_FORMAT " and %s is for %" G_GINT64_FORMAT
                    "; leave --%s out",
                    counts[i].name, counts[i].asked, w->schedule, counts[i].there, counts[i].name);
        return FALSE;
    }
    return TRUE;
}

/* One schedule that was asked for by name: refusal is an error. */
static gboolean
run_one(const Wish *w, const CliUnits *u, const ScheduleParams *params, GPtrArray *rows,
        GError **error)
{
    const ScheduleType *type = NULL;
    g_autoptr(Schedule) schedule = NULL;
    if (g_str_has_suffix(w->schedule, ".csv")) {
        schedule = schedule_load_csv(w->schedule, error);
        if (schedule != NULL && !counts_agree(w, schedule, error))
            return FALSE;
    } else {
        type = schedule_find(w->schedule, error);
        schedule = type != NULL ? schedule_new(type, params, error) : NULL;
    }
    if (schedule == NULL)
        return FALSE;
    ReportTextbook *t = g_new0(ReportTextbook, 1);
    g_ptr_array_add(rows, t);
    if (!simulate(t, schedule, type, u, error))
        return FALSE;
    const char *slash = strrchr(w->schedule, '/');
    t->name = type != NULL ? type->name : slash != NULL ? slash + 1 : w->schedule;
    if (w->dump == NULL)
        return TRUE;
    g_autofree char *csv = schedule_format_csv(schedule);
    return conf_write_text(w->dump, csv, -1, error);
}

/* All of them: refusal is a line of the report. */
static gboolean
run_all(const CliUnits *u, const ScheduleParams *params, GPtrArray *rows, GError **error)
{
    guint n_ran = 0;
    for (guint i = 0; schedule_types[i] != NULL; i++) {
        const ScheduleType *type = schedule_types[i];
        g_autoptr(GError) refusal = NULL;
        g_autoptr(Schedule) schedule = schedule_new(type, params, &refusal);
        ReportTextbook *t = g_new0(ReportTextbook, 1);
        g_ptr_array_add(rows, t);
        t->params = *params;
        if (schedule == NULL) {
            const char *colon = strstr(refusal->message, ": ");
            t->refused = g_strdup(colon != NULL ? colon + 2 : refusal->message);
        } else if (!simulate(t, schedule, type, u, error)) {
            return FALSE;
        } else {
            n_ran++;
        }
        t->name = type->name;
    }
    const ReportTextbook *first = rows->pdata[0];
    if (n_ran == 0)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "schedules: none can be with these numbers; the first, %s: %s", first->name,
                    first->refused);
    return n_ran > 0;
}

static gboolean
wish_check(const Wish *w, GError **error)
{
    gboolean file = w->schedule != NULL && g_str_has_suffix(w->schedule, ".csv");
    const char *wrong = NULL;
    if (!file && (w->pp == 0 || w->microbatches == 0))
        wrong = "--pp and --microbatches are needed; write for example --pp 4 --microbatches 8";
    else if (w->dump != NULL && w->schedule == NULL)
        wrong = "--dump-schedule writes one schedule; add --schedule NAME";
    if (wrong != NULL)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "schedules: %s", wrong);
    return wrong == NULL;
}

static gboolean
textbook(const Wish *w, GString *out, GError **error)
{
    CliUnits u;
    const char *unit = w->unit != NULL ? w->unit : "F=1,I=1,W=1";
    if (!wish_check(w, error) || !cli_units_parse(unit, &u, error))
        return FALSE;
    if (w->p2p_given)
        u.units.p2p = p2p_values[w->p2p];
    ScheduleParams params = {(guint)w->pp, (guint)w->microbatches, (guint)MAX(w->vpp, 1),
                             (guint)w->group};
    g_autoptr(GPtrArray) rows =
        g_ptr_array_new_with_free_func((GDestroyNotify)report_textbook_free);
    gboolean ok = w->schedule != NULL ? run_one(w, &u, &params, rows, error)
                                      : run_all(&u, &params, rows, error);
    if (ok)
        report_textbook(rows, unit, cli_format_name(&w->format), out);
    return ok;
}

static int
schedules_run(int argc, char **argv, GError **error)
{
    Wish w = {0};
    CliArguments arguments = {
        "schedules", "",
        "Lists the pipeline schedules. With --pp and --microbatches, runs each (or --schedule) in\n"
        "units of time, without a model or hardware: makespan, bubble, activations in flight.",
        0, {cli_format_group(&w.format), textbook_group(&w)}};
    gboolean helped = FALSE;
    g_autoptr(GString) out = g_string_new(NULL);
    gboolean ok = cli_arguments_parse(&arguments, &argc, &argv, &helped, error);
    gboolean plain = w.pp == 0 && w.microbatches == 0 && w.vpp == 0 && w.group == 0 &&
                     w.schedule == NULL && w.unit == NULL && w.dump == NULL && !w.p2p_given;
    if (ok && !helped && plain)
        report_schedule_types(cli_format_name(&w.format), out);
    else if (ok && !helped)
        ok = textbook(&w, out, error);
    if (ok && !helped)
        ok = cli_output_write(w.format.output, out, error);
    cli_format_clear(&w.format);
    g_free(w.schedule);
    g_free(w.unit);
    g_free(w.dump);
    return ok ? CLI_DONE : CLI_USAGE;
}

const CliCommand cli_schedules = {"schedules", "pipeline schedules, and textbook pictures of them",
                                  schedules_run};
