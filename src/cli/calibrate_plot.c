/* dtsim calibrate plot: pictures of the tables of a system directory. */
#include "config.h"

#include "cli/arguments.h"
#include "cli/calibrate.h"
#include "cli/output.h"
#include "cluster/system.h"
#include "report/calibration.h"

static gboolean
draw(const char *path, int argc, char **argv, GError **error)
{
    if (argc < 2)
        g_set_error_literal(
            error, CLI_ERROR, CLI_ERROR_USAGE,
            "calibrate plot: of which machine? write its system directory, or a name "
            "of dtsim systems");
    else if (path == NULL)
        g_set_error_literal(error, CLI_ERROR, CLI_ERROR_USAGE,
                            "calibrate plot: where to? write -o FILE.png, .svg, .pdf or .gp");
    if (argc < 2 || path == NULL || !report_calibration_check(path, error))
        return FALSE;
    g_autoptr(ClusterSystem) system = cluster_system_load(argv[1], NULL, error);
    g_autoptr(CalibratePlot) plot = system != NULL ? calibrate_plot(system, error) : NULL;
    if (plot == NULL)
        return FALSE;
    g_autofree char *title =
        g_strdup_printf("%s (%s): what its tables measured", system->name, system->gpu_name);
    if (!report_calibration_plot(plot, title, path, error))
        return FALSE;
    g_autoptr(GString) out = g_string_new(NULL);
    g_string_append_printf(out, "%s: %u panel%s\n", path, plot->panels->len,
                           plot->panels->len == 1 ? "" : "s");
    for (guint i = 0; i < plot->notes->len; i++)
        g_string_append_printf(out, "%s\n", (const char *)plot->notes->pdata[i]);
    return cli_output_write(NULL, out, error);
}

static GOptionGroup *
plot_group(char **path)
{
    const GOptionEntry entries[] = {
        {"output", 'o', G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_FILENAME, path,
         "The picture: .png, .svg or .pdf; .gp: the script of gnuplot with its data", "FILE"},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    GOptionGroup *group =
        g_option_group_new("plot", "Plot:", "Show the options of plot", NULL, NULL);
    g_option_group_add_entries(group, entries);
    return group;
}

static int
plot_run(int argc, char **argv, GError **error)
{
    g_autofree char *path = NULL;
    CliArguments arguments = {"calibrate plot",
                              "DIR|SYSTEM -o FILE",
                              "Maps of the efficiency of products, bandwidths of kernels and "
                              "collectives with the\nfit through them, attention over lengths.",
                              1,
                              {plot_group(&path)}};
    gboolean helped = FALSE;
    if (!cli_arguments_parse(&arguments, &argc, &argv, &helped, error))
        return CLI_USAGE;
    return helped || draw(path, argc, argv, error) ? CLI_DONE : CLI_USAGE;
}

const CliCommand cli_calibrate_plot = {"plot", "pictures of the tables, with the fit", plot_run};
