/* gnuplot, run on a script of plots/ with the data in a temporary file. */
#include "config.h"

#include "report/gantt.h"
#include "report/picture.h"

#include "conf/complaint.h"
#include "conf/datadir.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>

gboolean
report_plot_format(const char *path, const char **ret_format, GError **error)
{
    const char *format = g_str_has_suffix(path, ".svg")   ? "svg"
                         : g_str_has_suffix(path, ".png") ? "png"
                                                          : NULL;
    if (format == NULL) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_VALUE,
                    "--plot: '%s' ends neither in .svg nor in .png; write for example plot.svg",
                    path);
        return FALSE;
    }
    if (ret_format != NULL)
        *ret_format = format;
    return TRUE;
}

/* A fresh file beside `path` ("" : in the folder for temporary files). Caller frees and unlinks. */
static char *
temporary(const char *path, GError **error)
{
    if (path[0] == '\0') {
        g_autofree char *name = NULL;
        int fd = g_file_open_tmp("dtsim-XXXXXX.tsv", &name, error);
        return fd >= 0 && g_close(fd, error) ? g_steal_pointer(&name) : NULL;
    }
    g_autofree char *name = g_strconcat(path, ".XXXXXX", NULL);
    int fd = g_file_test(path, G_FILE_TEST_IS_DIR) ? (errno = EISDIR, -1)
                                                   : g_mkstemp_full(name, O_RDWR, 0666);
    if (fd < 0) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_IO, "%s: %s; write a path that can be written",
                    path, g_strerror(errno));
        return NULL;
    }
    return g_close(fd, error) ? g_steal_pointer(&name) : NULL;
}

/* `who`: what stands before a complaint, "--plot: ". */
static gboolean
gnuplot(const char *who, const char *script, const char *data, const char *picture,
        const char *format, const char *title, GError **error)
{
    g_autofree char *program = g_find_program_in_path("gnuplot");
    if (program == NULL) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_MISSING,
                    "%sgnuplot is not installed; install it, or do without the picture", who);
        return FALSE;
    }
    g_autoptr(GSubprocess) process =
        g_subprocess_new(G_SUBPROCESS_FLAGS_STDOUT_SILENCE | G_SUBPROCESS_FLAGS_STDERR_PIPE, error,
                         program, "-c", script, data, picture, format, title, NULL);
    if (process == NULL)
        return FALSE;
    g_autofree char *complaint = NULL;
    if (!g_subprocess_communicate_utf8(process, NULL, NULL, NULL, &complaint, error))
        return FALSE;
    GStatBuf st;
    if (g_subprocess_get_successful(process) && g_stat(picture, &st) == 0 && st.st_size > 0)
        return TRUE;
    g_set_error(error, CONF_ERROR, CONF_ERROR_IO, "%sgnuplot failed on %s: %s", who, script,
                complaint != NULL ? g_strstrip(complaint) : "no picture");
    return FALSE;
}

char *
report_plot_script(const char *who, const char *script, GError **error)
{
    g_autofree char *relative = g_build_filename("plots", script, NULL);
    char *path = conf_datadir_find(relative);
    if (path == NULL)
        g_set_error(error, CONF_ERROR, CONF_ERROR_MISSING,
                    "%s%s is not installed; set DTSIM_DATA to the folder that holds plots/", who,
                    relative);
    return path;
}

gboolean
report_plot_as(const ReportPicture *wish, const GString *data, const char *title, GError **error)
{
    const char *path = wish->path;
    g_autofree char *script_path = report_plot_script(wish->who, wish->script, error);
    if (script_path == NULL)
        return FALSE;
    g_autofree char *picture = temporary(path, error);
    if (picture == NULL)
        return FALSE;
    g_autofree char *data_path = temporary("", error);
    gboolean ok = data_path != NULL &&
                  g_file_set_contents(data_path, data->str, (gssize)data->len, error) &&
                  gnuplot(wish->who, script_path, data_path, picture, wish->format, title, error);
    if (ok && g_rename(picture, path) != 0) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_IO, "%s: %s; write a path that can be written",
                    path, g_strerror(errno));
        ok = FALSE;
    }
    if (!ok)
        g_unlink(picture);
    if (data_path != NULL)
        g_unlink(data_path);
    return ok;
}

gboolean
report_plot(const char *script, const GString *data, const char *title, const char *path,
            GError **error)
{
    ReportPicture wish = {"--plot: ", script, path, NULL};
    return report_plot_format(path, &wish.format, error) &&
           report_plot_as(&wish, data, title, error);
}
