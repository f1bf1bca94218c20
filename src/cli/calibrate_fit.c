/* dtsim calibrate fit: constants of the models from the tables of a system directory. */
#include "config.h"

#include "cli/arguments.h"
#include "cli/calibrate.h"
#include "cli/format.h"
#include "cli/output.h"
#include "cluster/shipped.h"
#include "cluster/system.h"
#include "report/fitted.h"

#include <string.h>

#define MAX_FOLDS 100

typedef struct {
    CliFormat format;
    gint64 folds;
    gboolean writes;
} Wish;

static void
wish_clear(Wish *w)
{
    cli_format_clear(&w->format);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Wish, wish_clear)

static gboolean
folds_set(const char *name, const char *text, gpointer user, GError **error)
{
    return cli_parse_count(name, text, 2, MAX_FOLDS, &((Wish *)user)->folds, error);
}

static GOptionGroup *
fit_group(Wish *w)
{
    const GOptionEntry entries[] = {
        {"write", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_NONE, &w->writes,
         "Write the keys into the directory's system.conf; all else of it stays", NULL},
        {"folds", 0, G_OPTION_FLAG_NOALIAS, G_OPTION_ARG_CALLBACK,
         (gpointer)(GOptionArgFunc)folds_set,
         "Parts that are left out in turn and predicted from the others (default: 2)", "N"},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    GOptionGroup *group = g_option_group_new("fit", "Fit:", "Show the options of fit", w, NULL);
    g_option_group_add_entries(group, entries);
    return group;
}

/* What ships with dtsim is not for anybody to change. `name` is of a system that was found. */
static gboolean
check_writable(const Wish *w, const char *name, GError **error)
{
    if (!w->writes || strchr(name, '/') != NULL || cluster_shipped_is_folder(name))
        return TRUE;
    g_set_error(
        error, CLI_ERROR, CLI_ERROR_USAGE,
        "calibrate fit --write: '%s' ships with dtsim; copy its folder and write the path of the "
        "copy",
        name);
    return FALSE;
}

static gboolean
fit(const Wish *w, int argc, char **argv, GError **error)
{
    if (argc < 2) {
        g_set_error_literal(
            error, CLI_ERROR, CLI_ERROR_USAGE,
            "calibrate fit: of which machine? write its system directory, or a name of dtsim systems");
        return FALSE;
    }
    g_autoptr(ClusterSystem) system = cluster_system_load(argv[1], NULL, error);
    g_autoptr(CalibrateFit) fitted = system != NULL && check_writable(w, argv[1], error)
                                         ? calibrate_fit(system, (guint)w->folds, error)
                                         : NULL;
    if (fitted == NULL)
        return FALSE;
    g_autofree char *path =
        w->writes ? g_build_filename(system->directory, "system.conf", NULL) : NULL;
    guint n_written = 0;
    if (path != NULL && !calibrate_fit_write(fitted, path, &n_written, error))
        return FALSE;
    const ReportFitted report = {system->name, fitted, path, n_written};
    g_autoptr(GString) out = g_string_new(NULL);
    report_fitted(&report, cli_format_name(&w->format), out);
    return cli_output_write(w->format.output, out, error);
}

static int
fit_run(int argc, char **argv, GError **error)
{
    g_auto(Wish) w = {.folds = 2};
    CliArguments arguments = {
        "calibrate fit",
        "DIR|SYSTEM [OPTION...]",
        "Constants of the models that the tables of a system directory say, with "
        "residuals,\nand what keys of system.conf take of them.",
        1,
        {fit_group(&w), cli_format_group(&w.format)}};
    gboolean helped = FALSE;
    if (!cli_arguments_parse(&arguments, &argc, &argv, &helped, error))
        return CLI_USAGE;
    return helped || fit(&w, argc, argv, error) ? CLI_DONE : CLI_USAGE;
}

const CliCommand cli_calibrate_fit = {"fit", "constants of the models from tables, with residuals",
                                      fit_run};
