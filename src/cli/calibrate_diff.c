/* dtsim calibrate diff: two systems side by side. */
#include "config.h"

#include "cli/arguments.h"
#include "cli/calibrate.h"
#include "cli/format.h"
#include "cli/output.h"
#include "cluster/system.h"
#include "report/diffed.h"

static gboolean
diff(const CliFormat *format, int argc, char **argv, GError **error)
{
    if (argc < 3) {
        g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                            "calibrate diff: which two? write two system directories, or names of "
                            "dtsim systems");
        return FALSE;
    }
    g_autoptr(ClusterSystem) a = cluster_system_load(argv[1], NULL, error);
    g_autoptr(ClusterSystem) b = a != NULL ? cluster_system_load(argv[2], NULL, error) : NULL;
    g_autoptr(CalibrateDiff) found = b != NULL ? calibrate_diff(a, b, error) : NULL;
    if (found == NULL)
        return FALSE;
    g_autoptr(GString) out = g_string_new(NULL);
    report_diffed(a->name, b->name, found, cli_format_name(format), out);
    return cli_output_write(format->output, out, error);
}

static int
diff_run(int argc, char **argv, GError **error)
{
    g_auto(CliFormat) format = {0};
    CliArguments arguments = {
        "calibrate diff",
        "A B [OPTION...]",
        "What two systems say of their machines, and B's times over A's where "
        "their tables\nmeasured the same. Each is a system directory, or a name "
        "of dtsim systems.",
        2,
        {cli_format_group(&format)}};
    gboolean helped = FALSE;
    if (!cli_arguments_parse(&arguments, &argc, &argv, &helped, error))
        return CLI_USAGE;
    return helped || diff(&format, argc, argv, error) ? CLI_DONE : CLI_USAGE;
}

const CliCommand cli_calibrate_diff = {"diff", "two systems: their facts and their times",
                                       diff_run};
