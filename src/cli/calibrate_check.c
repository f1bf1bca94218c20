/* dtsim calibrate check: what is wrong with the tables of a system directory, and what they lack. */
#include "config.h"

#include "cli/arguments.h"
#include "cli/calibrate.h"
#include "cli/format.h"
#include "cli/output.h"
#include "cluster/system.h"
#include "report/checked.h"

static int
check(const CliFormat *format, gboolean all, int argc, char **argv, GError **error)
{
    if (argc < 2) {
        g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                            "calibrate check: which machine? write its system directory, or a name "
                            "of dtsim systems");
        return CLI_USAGE;
    }
    g_autoptr(ClusterSystem) system = cluster_system_load(argv[1], NULL, error);
    g_autoptr(CalibrateCheck) found = system != NULL ? calibrate_check(system, error) : NULL;
    if (found == NULL)
        return CLI_USAGE;
    g_autoptr(GString) out = g_string_new(NULL);
    report_checked(system->name, found, all, cli_format_name(format), out);
    if (!cli_output_write(format->output, out, error))
        return CLI_USAGE;
    return found->n_wrong > 0 ? CLI_NO : CLI_DONE;
}

static GOptionGroup *
check_group(gboolean *all)
{
    const GOptionEntry entries[] = {
        {"all", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_NONE, all,
         "Every odd row; text has the five oddest of each table and rule", NULL},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    GOptionGroup *group =
        g_option_group_new("check", "Check:", "Show the options of check", NULL, NULL);
    g_option_group_add_entries(group, entries);
    return group;
}

static int
check_run(int argc, char **argv, GError **error)
{
    g_auto(CliFormat) format = {0};
    gboolean all = FALSE;
    CliArguments arguments = {
        "calibrate check",
        "DIR|SYSTEM [OPTION...]",
        "Rows of a system directory's tables that cannot be, or are odd; what is measured, and "
        "what\nis missing.",
        1,
        {check_group(&all), cli_format_group(&format)}};
    gboolean helped = FALSE;
    if (!cli_arguments_parse(&arguments, &argc, &argv, &helped, error))
        return CLI_USAGE;
    return helped ? CLI_DONE : check(&format, all, argc, argv, error);
}

const CliCommand cli_calibrate_check = {"check", "rows that cannot be, and what is missing",
                                        check_run};
