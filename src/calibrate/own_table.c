/* Loads a table, or says whose it is. */
#include "config.h"

#include "calibrate/own_table.h"

#include "calibrate/error.h"

ConfTable *
calibrate_own_table(const ClusterSystem *system, ClusterTable id, char **ret_why, GError **error)
{
    const char *name = cluster_table_name(id);
    g_autofree char *path = cluster_table_path(system, id);
    if (path != NULL)
        return conf_table_load(path, error);
    const char *lender = conf_keyfile_text(system->conf, "tables", name);
    *ret_why = *lender != '\0' ? g_strdup_printf("%s.tsv is that of %s", name, lender)
                               : g_strdup_printf("no %s.tsv", name);
    return NULL;
}

void
calibrate_complain_of_no_table(const ClusterSystem *system, const char *what, GError **error)
{
    g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_EMPTY,
                "%s: has no table of its own %s; measure with dtsim-calibrate, or import one",
                system->name, what);
}
