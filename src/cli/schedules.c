/* dtsim schedules: what schedules there are; all of them beside each other on a model and a machine, or with
 * --unit in units of time. */
#include "config.h"

#include "cli/arguments.h"
#include "cli/case.h"
#include "cli/command.h"
#include "cli/comparison.h"
#include "cli/output.h"

#include <string.h>

static gboolean
order_set(const char *name, const char *text, gpointer user, GError **error)
{
    CliComparison *c = user;
    return cli_parse_choice(name, text, report_schedule_orders, &c->order, error);
}

static GOptionGroup *
comparison_group(CliComparison *c)
{
    const int flags = G_OPTION_FLAG_NOALIAS;
    const GOptionEntry entries[] = {
        {"unit", 0, flags, G_OPTION_ARG_FILENAME, &c->unit,
         "No model: durations of one chunk: F, I, W (or B = I + W), pair, comm", "F=1,I=1,..."},
        {"sort", 0, flags, G_OPTION_ARG_CALLBACK, (gpointer)(GOptionArgFunc)order_set,
         "listed (default), time, memory or name", "BY"},
        {"plot", 0, flags, G_OPTION_ARG_FILENAME, &c->plot,
         "Pictures of all on one page, .svg or .png (gnuplot)", "FILE"},
        {"dump-schedule", 0, flags, G_OPTION_ARG_FILENAME, &c->dump,
         "Write the order of operations of the one --schedule, one line a rank (CSV)", "FILE"},
        {"dump-comms", 0, flags, G_OPTION_ARG_FILENAME, &c->dump_comms,
         "The same with its sends and receives", "FILE"},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    GOptionGroup *group = g_option_group_new(
        "comparison", "Comparison:", "Show the options of the comparison", c, NULL);
    g_option_group_add_entries(group, entries);
    return group;
}

static void
comparison_clear(CliComparison *c)
{
    cli_inputs_free(c->in);
    cli_format_clear(&c->format);
    g_free(c->unit);
    g_free(c->plot);
    g_free(c->dump);
    g_free(c->dump_comms);
}

static gboolean
comparison_check(const CliComparison *c, GError **error)
{
    const char *many = c->in->schedule == NULL || strchr(c->in->schedule, ',') != NULL
                           ? c->dump != NULL         ? "--dump-schedule"
                             : c->dump_comms != NULL ? "--dump-comms"
                                                     : NULL
                           : NULL;
    if (many != NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "schedules: %s writes one schedule; add --schedule NAME", many);
        return FALSE;
    }
    return cli_inputs_check_placement(c->in, error) &&
           (c->plot == NULL || report_plot_format(c->plot, NULL, error));
}

static gboolean
compare(const CliComparison *c, GString *out, GError **error)
{
    CliCompared compared = {0};
    if (!comparison_check(c, error))
        return FALSE;
    g_autoptr(GPtrArray) rows =
        g_ptr_array_new_with_free_func((GDestroyNotify)report_schedule_free);
    compared.schedules.rows = rows;
    gboolean ok = c->unit != NULL ? cli_compare_units(c, &compared, error)
                                  : cli_compare_real(c, &compared, error);
    g_autofree char *head = compared.head, *title = compared.title;
    if (!ok)
        return FALSE;
    compared.schedules.head = head;
    report_schedules_sort(&compared.schedules, c->order);
    if (c->plot != NULL && !report_schedules_plot(&compared.schedules, title, c->plot, error))
        return FALSE;
    report_schedules(&compared.schedules, cli_format_name(&c->format), out);
    return TRUE;
}

static int
schedules_run(int argc, char **argv, GError **error)
{
    CliComparison c = {.in = cli_inputs_new()};
    CliArguments arguments = {
        "schedules",
        "",
        "Lists the pipeline schedules. With any option of the plan, as --pp 4 --microbatches 8, runs\n"
        "each of them (or --schedule NAME,NAME) on the layer times of the model: iteration, bubble,\n"
        "memory. With --unit, in units of time, without a model or hardware.",
        0,
        {cli_format_group(&c.format), comparison_group(&c), cli_inputs_machine_group(c.in),
         cli_inputs_plan_group(c.in)}};
    gboolean helped = FALSE;
    g_autoptr(GString) out = g_string_new(NULL);
    gboolean ok = cli_arguments_parse(&arguments, &argc, &argv, &helped, error);
    gboolean plain = c.in->given->len == 0 && c.unit == NULL && c.dump == NULL &&
                     c.dump_comms == NULL && c.plot == NULL;
    if (ok && !helped && plain)
        report_schedule_types(cli_format_name(&c.format), out);
    else if (ok && !helped)
        ok = compare(&c, out, error);
    if (ok && !helped)
        ok = cli_output_write(c.format.output, out, error);
    comparison_clear(&c);
    return ok ? CLI_DONE : CLI_USAGE;
}

const CliCommand cli_schedules = {
    "schedules", "pipeline schedules, side by side or as textbook pictures", schedules_run};
