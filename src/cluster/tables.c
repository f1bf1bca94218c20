/* Finds the tables of a system. One step: who lends has the file in its own folder. */
#include "config.h"

#include "cluster/tables.h"

#include "cluster/error.h"

#include <string.h>

static const char *const names[CLUSTER_N_TABLES] = {
    [CLUSTER_TABLE_GEMM] = "gemm",
    [CLUSTER_TABLE_ATTENTION] = "attention",
    [CLUSTER_TABLE_MEMORY] = "memory",
    [CLUSTER_TABLE_OVERLAP] = "overlap",
    [CLUSTER_TABLE_COLLECTIVE] = "collective",
};

const char *
cluster_table_name(ClusterTable table)
{
    g_assert(table < CLUSTER_N_TABLES);
    return names[table];
}

char *
cluster_table_path(const ClusterSystem *system, ClusterTable table)
{
    if (system->directory == NULL || *system->directory == '\0')
        return NULL;
    g_autofree char *file = g_strconcat(cluster_table_name(table), ".tsv", NULL);
    g_autofree char *path = g_build_filename(system->directory, file, NULL);
    return g_file_test(path, G_FILE_TEST_EXISTS) ? g_steal_pointer(&path) : NULL;
}

/* A shipped name, or a folder: of a system in a folder, seen from there. */
static char *
place_of(const ClusterSystem *system, const char *name)
{
    gboolean relative = strchr(name, G_DIR_SEPARATOR) != NULL && !g_path_is_absolute(name);
    return relative && *system->directory != '\0' ? g_build_filename(system->directory, name, NULL)
                                                  : g_strdup(name);
}

ClusterSystem *
cluster_table_lender(const ClusterSystem *system, ClusterTable table, GError **error)
{
    const char *name = system->conf != NULL
                           ? conf_keyfile_text(system->conf, "tables", cluster_table_name(table))
                           : "";
    if (*name == '\0')
        return NULL;
    g_autofree char *place = place_of(system, name);
    g_autoptr(ClusterSystem) lender = cluster_system_load(place, NULL, error);
    if (lender == NULL) {
        g_prefix_error(error, "%s: [tables] %s: ", system->name, cluster_table_name(table));
        return NULL;
    }
    g_autofree char *path = cluster_table_path(lender, table);
    if (path != NULL)
        return g_steal_pointer(&lender);
    g_set_error(error, CLUSTER_ERROR, CLUSTER_ERROR_VALUE,
                "%s: [tables] %s: '%s' has no %s.tsv; write a system that has one, or nothing",
                system->name, cluster_table_name(table), name, cluster_table_name(table));
    return NULL;
}
