/* What all importers share. */
#include "config.h"

#include "calibrate/import.h"

#include "calibrate/error.h"
#include "calibrate/machine.h"

#include <glib/gstdio.h>

void
calibrate_import_init(CalibrateImport *import)
{
    *import = (CalibrateImport){.op = -1};
    import->rows = calibrate_rows_new();
    import->notes = g_ptr_array_new_with_free_func(g_free);
    import->sources = g_ptr_array_new_with_free_func(g_free);
}

void
calibrate_import_clear(CalibrateImport *import)
{
    calibrate_rows_free(import->rows);
    g_ptr_array_unref(import->notes);
    g_ptr_array_unref(import->sources);
    g_free(import->gpu);
    g_free(import->gpu_source);
}

void
calibrate_import_note(CalibrateImport *import, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_ptr_array_add(import->notes, g_strdup_vprintf(format, arguments));
    va_end(arguments);
}

/* The day on which the file was last changed: of a log, when it was written. */
static char *
date_of(const char *path)
{
    GStatBuf status;
    if (g_stat(path, &status) != 0)
        return g_strdup("undated");
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc((gint64)status.st_mtime);
    return g_date_time_format(time, "%Y-%m-%d");
}

void
calibrate_import_source(CalibrateImport *import, const char *path, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *about = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autofree char *name = g_path_get_basename(path), *date = date_of(path);
    char *source = g_strdup_printf("%s (%s): %s", name, date, about);
    for (char *at = source; *at != '\0'; at++) /* it becomes one line of a comment */
        if ((guchar)*at < ' ')
            *at = ' ';
    g_ptr_array_add(import->sources, source);
}

gboolean
calibrate_import_gpu(CalibrateImport *import, const char *source, const char *name, GError **error)
{
    if (name == NULL)
        return TRUE;
    if (import->gpu == NULL) {
        import->gpu = g_strdelimit(g_strdup(name), "\t\r\n", ' ');
        import->gpu_source = g_strdup(source);
        return TRUE;
    }
    if (import->mixes || calibrate_gpus_agree(import->gpu, name))
        return TRUE;
    g_set_error(
        error, CALIBRATE_ERROR, CALIBRATE_ERROR_MACHINE,
        "%s: is of '%s', but %s of '%s'; import them into directories of their own, or write "
        "--mix-machines",
        source, name, import->gpu_source, import->gpu);
    return FALSE;
}
