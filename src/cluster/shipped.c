/* Finds systems by name in dtsim's data folder, or takes the user's own folder. */
#include "config.h"

#include "cluster/shipped.h"

#include "cluster/error.h"
#include "cluster/system.h"
#include "conf/complaint.h"
#include "conf/datadir.h"

#include <string.h>

#define SYSTEMS_FOLDER "calib/systems"
#define CONF_NAME "system.conf"
#define MOST_HINTS 3

gboolean
cluster_shipped_is_folder(const char *directory)
{
    g_autofree char *path = g_build_filename(directory, CONF_NAME, NULL);
    return g_file_test(path, G_FILE_TEST_IS_REGULAR);
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char **
cluster_system_names(void)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *folder = conf_datadir_find(SYSTEMS_FOLDER);
    g_autoptr(GDir) dir = folder ? g_dir_open(folder, 0, NULL) : NULL;
    for (const char *entry; dir && (entry = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *directory = g_build_filename(folder, entry, NULL);
        if (cluster_shipped_is_folder(directory))
            g_ptr_array_add(names, g_strdup(entry));
    }
    /* The folder's own order is the file system's: sort, so that output never depends on it. */
    g_ptr_array_sort(names, compare_names);
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&names), FALSE);
}

static char *
find_path(const char *path, GError **error)
{
    if (cluster_shipped_is_folder(path))
        return g_strdup(path);
    g_autofree char *base = g_path_get_basename(path);
    if (g_str_equal(base, CONF_NAME) && g_file_test(path, G_FILE_TEST_IS_REGULAR))
        return g_path_get_dirname(path);
    if (g_file_test(path, G_FILE_TEST_IS_DIR))
        g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_UNKNOWN,
                    "system '%s': the folder has no " CONF_NAME "; name a folder that has one",
                    path);
    else
        g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_UNKNOWN,
                    "system '%s': no such folder; name a folder with a " CONF_NAME
                    ", or a shipped system without '/'",
                    path);
    return NULL;
}

/* "dgx-a100" means dgx-a100-40g or dgx-a100-80g, whatever else is fewer letters away. */
static char *
hint_of(const char *name, char **names)
{
    g_autoptr(GString) begun = g_string_new(NULL);
    guint n = 0;
    for (guint i = 0; *name && names[i]; i++)
        if (g_str_has_prefix(names[i], name))
            g_string_append_printf(begun, "%s'%s'", n++ > 0 ? " or " : "", names[i]);
    if (n > 0 && n <= MOST_HINTS)
        return g_strdup_printf("; did you mean %s?", begun->str);
    return conf_hint(name, (const char *const *)names);
}

char *
cluster_shipped_find(const char *name_or_directory, GError **error)
{
    const char *name = name_or_directory;
    if (strchr(name, G_DIR_SEPARATOR) || cluster_shipped_is_folder(name))
        return find_path(name, error);
    if (*name && !g_str_equal(name, ".") && !g_str_equal(name, "..")) {
        g_autofree char *relative = g_build_filename(SYSTEMS_FOLDER, name, NULL);
        g_autofree char *directory = conf_datadir_find(relative);
        if (directory && cluster_shipped_is_folder(directory))
            return g_steal_pointer(&directory);
    }
    g_auto(GStrv) names = cluster_system_names();
    g_autofree char *hint = hint_of(name, names);
    g_autofree char *list = g_strjoinv(", ", names);
    g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_UNKNOWN,
                "system '%s' is not known%s; write a folder with a " CONF_NAME " or one of: %s",
                name, hint, *list ? list : "(none found; set DTSIM_DATA)");
    return NULL;
}
