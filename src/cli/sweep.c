/* dtsim sweep: a real simulation of each point of one, two or three axes. */
#include "config.h"

#include "cli/arguments.h"
#include "cli/candidates.h"
#include "cli/case.h"
#include "cli/command.h"
#include "cli/config_file.h"
#include "cli/format.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "report/gantt.h"
#include "report/run.h"
#include "report/sweep.h"

#include <string.h>

#define POINTS_MOST 100000

typedef struct {
    CliInputs *in;
    CliFormat format;
    char *plot;
    guint quantity;
    gboolean quantity_given;
    char *model;      /* the name; NULL before it was loaded */
    GPtrArray *title; /* of char*: what is the same at every point; NULL before the first */
} Wish;

static gboolean
quantity_set(const char *name, const char *text, gpointer user, GError **error)
{
    Wish *w = user;
    w->quantity_given = TRUE;
    return cli_parse_choice(name, text, report_sweep_quantities, &w->quantity, error);
}

static GOptionGroup *
picture_group(Wish *w)
{
    const GOptionEntry entries[] = {
        {"plot", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_FILENAME, &w->plot,
         "Picture, .svg or .png (gnuplot)", "FILE"},
        {"plot-quantity", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_CALLBACK,
         (gpointer)(GOptionArgFunc)quantity_set,
         "bubble_fraction (default), time_s, tokens_per_s_per_gpu, mfu or peak_gb", "WHAT"},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    GOptionGroup *group =
        g_option_group_new("picture", "Picture:", "Show the options of plots", w, NULL);
    g_option_group_add_entries(group, entries);
    return group;
}

static void
point_clear(gpointer point)
{
    ReportPoint *p = point;
    g_free(p->refused);
    g_clear_pointer(&p->doubts, g_array_unref);
}

/* Where schedules are compared, each has the chunks that it can have. */
static gboolean
point_spec(const CliInputs *in, const ClusterSystem *system, PlanSpec *ret_spec, GError **error)
{
    if (!cli_inputs_spec(in, system, ret_spec, error))
        return FALSE;
    if (!cli_inputs_is_axis(in, "schedule") || g_str_has_suffix(ret_spec->schedule, ".csv"))
        return TRUE;
    const ScheduleType *type = schedule_find(ret_spec->schedule, error);
    if (type == NULL)
        return FALSE;
    ret_spec->vpp = cli_candidate_chunks(type, cli_inputs_is_given(in, "vpp") ? ret_spec->vpp : 0);
    if (!type->grouped)
        ret_spec->group = 0;
    return TRUE;
}

static void
refuse(ReportPoint *p, const GError *error)
{
    p->refused = g_strdelimit(g_strdup(error->message), "\r\n\t", ' ');
}

static void
point_run(const CliInputs *in, const CliMachine *machine, const LlmShape *shape, ReportPoint *p)
{
    g_autoptr(GError) error = NULL;
    PlanSpec spec;
    g_autoptr(CliCase) c = point_spec(in, machine->system, &spec, &error)
                               ? cli_case_new(machine, shape, &spec, in->placement, &error)
                               : NULL;
    StepOptions options = cli_inputs_step_options(in);
    g_autoptr(StepResult) r = c != NULL ? cli_case_run(c, &options, &error) : NULL;
    if (r == NULL) {
        cli_config_prefix_error(in, &error);
        refuse(p, error);
        return;
    }
    p->vpp = c->plan->spec.vpp;
    ReportRun run = {
        .plan = c->plan, .schedule = c->schedule, .result = r, .convention = options.convention};
    p->gpus = c->plan->gpus;
    p->global_batch = c->plan->spec.global_batch;
    p->time_s = (double)r->time_ns / 1e9;
    p->certainty = report_certainty(r);
    p->doubts = g_array_ref(r->doubts);
    p->tokens_per_s_per_gpu = report_tokens_per_s(&run) / (double)c->plan->gpus;
    p->mfu = report_mfu(&run);
    p->bubble_fraction = r->bubble_fraction;
    p->closed_form_bubble = report_closed_form_bubble(c->schedule);
    p->peak_gb = (double)r->memory_peak_bytes / 1e9;
    p->fits = report_fits(r);
    p->asynchronous = c->schedule->asynchronous;
}

static gboolean
axes_check(const CliInputs *in, GError **error)
{
    const char *wrong = NULL;
    gsize points = 1;
    for (guint a = 0; a < in->axes->len; a++)
        points *= ((CliAxis *)in->axes->pdata[a])->values->len;
    if (in->axes->len == 0)
        wrong = "no option has a range; write for example --microbatches 1..64*2 or --tp 1,2,4,8";
    else if (in->axes->len > REPORT_SWEEP_AXES)
        wrong = "more than three options have a range; give one value to the others";
    else if (points > POINTS_MOST)
        wrong = "more than 100000 points; write wider steps, as --microbatches 1..64*2";
    if (wrong != NULL)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "sweep: %s", wrong);
    return wrong == NULL;
}

/* Counts and schedule of a point, without axes: of char*. */
static GPtrArray *
title_of(const CliInputs *in)
{
    static const char *const names[] = {
        "tp",   "pp", "dp", "vpp", "micro-batch-size", "microbatches", "global-batch-size",
        "gpus", NULL};
    GPtrArray *title = g_ptr_array_new_with_free_func(g_free);
    if (in->schedule != NULL && !cli_inputs_is_axis(in, "schedule"))
        g_ptr_array_add(title, g_strdup(in->schedule));
    for (guint i = 0; names[i] != NULL; i++) {
        const CliOption *o = cli_option_find(names[i]);
        if (cli_inputs_is_given(in, o->name) && !cli_inputs_is_axis(in, o->name))
            g_ptr_array_add(title, g_strdup_printf("%s %" G_GINT64_FORMAT, o->name,
                                                   G_STRUCT_MEMBER(gint64, in, o->offset)));
    }
    return title;
}

/* What a file of --config says may differ from point to point: only what does not stays in the title. */
static void
title_narrow(Wish *w)
{
    g_autoptr(GPtrArray) here = title_of(w->in);
    if (w->title == NULL) {
        w->title = g_steal_pointer(&here);
        return;
    }
    for (guint i = w->title->len; i-- > 0;)
        if (!g_ptr_array_find_with_equal_func(here, w->title->pdata[i], g_str_equal, NULL))
            g_ptr_array_remove_index(w->title, i);
}

/* What all points are made from. */
typedef struct {
    CliMachine *machine;
    LlmShape *shape;        /* NULL before the first point that the file allows */
    ConfDocument *document; /* of --config; NULL: none was given */
    GPtrArray *warnings;    /* of it: char*, each once */
} Common;

static void
common_clear(Common *common)
{
    cli_machine_free(common->machine);
    llm_shape_free(common->shape);
    conf_document_free(common->document);
    g_ptr_array_unref(common->warnings);
}

/* The file of --config says what it says of this point's degrees and GPUs. FALSE: there is no model, at no point. */
static gboolean
point_do(Wish *w, Common *common, ReportPoint *p, GError **error)
{
    CliInputs *in = w->in;
    g_autoptr(GError) refusal = NULL;
    if (common->document != NULL && !cli_config_put(in, common->machine->system, common->document,
                                                    common->warnings, &refusal)) {
        refuse(p, refusal);
        return TRUE;
    }
    if (common->shape == NULL) {
        common->shape = cli_inputs_load_shape(in, error);
        w->model = g_strdup(cli_inputs_model_name(in));
    }
    if (common->shape == NULL)
        return FALSE;
    title_narrow(w);
    point_run(in, common->machine, common->shape, p);
    return TRUE;
}

/* All points, the first axis outermost. */
static gboolean
points_do(Wish *w, Common *common, ReportSweep *result, GError **error)
{
    CliInputs *in = w->in;
    gboolean ok = TRUE;
    guint n = 1, n_ran = 0;
    for (guint a = 0; a < in->axes->len; a++)
        n *= ((const CliAxis *)in->axes->pdata[a])->values->len;
    CliProgress progress = cli_progress_start("point", n);
    for (guint i = 0; i < n && ok; i++) {
        cli_progress_at(&progress, i);
        ReportPoint p = {0};
        guint rest = i;
        for (guint a = in->axes->len; a-- > 0;) {
            const CliAxis *axis = in->axes->pdata[a];
            guint k = rest % axis->values->len;
            rest /= axis->values->len;
            p.at[a] = g_array_index(axis->values, gint64, k);
            cli_inputs_set_point(in, axis, k);
        }
        ok = point_do(w, common, &p, error);
        n_ran += ok && p.refused == NULL ? 1 : 0;
        g_array_append_val(result->points, p);
    }
    cli_progress_end(&progress);
    cli_config_print_warnings(common->warnings);
    if (ok && n_ran == 0)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "sweep: none of the %u points can be; the first: %s", n,
                    g_array_index(result->points, ReportPoint, 0).refused);
    return ok && n_ran > 0;
}

static gboolean
sweep(Wish *w, ReportSweep *result, GError **error)
{
    Common common = {.machine = cli_inputs_load_machine(w->in, error),
                     .warnings = g_ptr_array_new_with_free_func(g_free)};
    gboolean ok = common.machine != NULL;
    if (ok && w->in->config != NULL) {
        common.document = conf_document_load(w->in->config, error);
        ok = common.document != NULL;
    }
    ok = ok && points_do(w, &common, result, error);
    common_clear(&common);
    return ok;
}

/* Model, system and the counts that are the same at every point. Caller frees. */
static char *
title_print(const Wish *w)
{
    GString *title = g_string_new(w->model);
    g_string_append_printf(title, " on %s",
                           w->in->system != NULL ? w->in->system : CLI_DEFAULT_SYSTEM);
    for (guint i = 0; i < w->title->len; i++)
        g_string_append_printf(title, "%s%s", i == 0 ? ": " : ", ",
                               (const char *)w->title->pdata[i]);
    return g_string_free(title, FALSE);
}

/* A curve of zeros is rarely what was meant. */
static void
warn_of_no_bubble(const ReportSweep *result)
{
    for (guint i = 0; i < result->points->len; i++)
        if (g_array_index(result->points, ReportPoint, i).bubble_fraction > 0)
            return;
    g_printerr("dtsim: note: every bubble is 0, there is no pipeline; write --pp 8 for one\n");
}

static gboolean
finish(const Wish *w, const ReportSweep *result, GError **error)
{
    g_autofree char *title = title_print(w);
    if (w->plot != NULL && w->quantity == 0)
        warn_of_no_bubble(result);
    if (w->plot != NULL && !report_sweep_plot(result, w->quantity, title, w->plot, error))
        return FALSE;
    g_autoptr(GString) out = g_string_new(NULL);
    report_sweep(result, cli_format_name(&w->format), out);
    return cli_output_write(w->format.output, out, error);
}

static gboolean
wish_run(Wish *w, int argc, char **argv, GError **error)
{
    CliArguments arguments = {
        "sweep",
        "",
        "Simulates every point of up to three ranges: any option that takes a number takes a list\n"
        "1,2,4,8 or a range 1..64, 1..64:2 (step), 1..64*2 (factor); --schedule takes a list of\n"
        "names. A range of --microbatches keeps dp and the microbatch and changes the global batch.",
        0,
        {cli_format_group(&w->format), picture_group(w), cli_inputs_machine_group(w->in),
         cli_inputs_plan_group(w->in)}};
    gboolean helped;
    if (!cli_arguments_parse(&arguments, &argc, &argv, &helped, error))
        return FALSE;
    if (helped)
        return TRUE;
    if (w->quantity_given && w->plot == NULL) {
        g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                            "--plot-quantity: there is no picture; add --plot FILE");
        return FALSE;
    }
    if (!axes_check(w->in, error) || (w->plot != NULL && !report_plot_format(w->plot, NULL, error)))
        return FALSE;
    g_autoptr(GArray) points = g_array_new(FALSE, FALSE, sizeof(ReportPoint));
    g_array_set_clear_func(points, point_clear);
    ReportSweep result = {.points = points};
    for (guint a = 0; a < w->in->axes->len; a++)
        result.axes[a] = (ReportAxis){((CliAxis *)w->in->axes->pdata[a])->option->name,
                                      ((CliAxis *)w->in->axes->pdata[a])->names};
    return sweep(w, &result, error) && finish(w, &result, error);
}

static int
sweep_run(int argc, char **argv, GError **error)
{
    Wish w = {.in = cli_inputs_new(), .format = {.index = 2}};
    w.in->axes = g_ptr_array_new_with_free_func((GDestroyNotify)cli_axis_free);
    gboolean ok = wish_run(&w, argc, argv, error);
    cli_inputs_free(w.in);
    cli_format_clear(&w.format);
    g_free(w.plot);
    g_free(w.model);
    g_clear_pointer(&w.title, g_ptr_array_unref);
    return ok ? CLI_DONE : CLI_USAGE;
}

const CliCommand cli_sweep = {"sweep", "one axis or more: a table and a plot", sweep_run};
