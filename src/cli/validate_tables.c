/* Reads tables, then goes through their groups. */
#include "config.h"

#include "cli/validate_tables.h"

#include "cli/progress.h"
#include "report/skipped.h"

void
cli_tables_init(CliTables *t, GPtrArray *groups)
{
    *t = (CliTables){.tables = g_ptr_array_new_with_free_func((GDestroyNotify)conf_table_free),
                     .groups = groups,
                     .skipped = g_array_new(FALSE, FALSE, sizeof(ReportSkipped))};
}

void
cli_tables_clear(CliTables *t)
{
    g_array_unref(t->skipped);
    g_ptr_array_unref(t->groups);
    g_ptr_array_unref(t->tables);
}

gboolean
cli_tables_load(CliTables *t, char **files, CliTablesRead read, GError **error)
{
    for (guint i = 0; files[i] != NULL; i++) {
        ConfTable *table = conf_table_load(files[i], error);
        if (table == NULL)
            return FALSE;
        g_ptr_array_add(t->tables, table);
        t->n_rows += conf_table_n_rows(table);
        if (!read(table, t->groups, t->skipped, error))
            return FALSE;
    }
    return TRUE;
}

gboolean
cli_tables_predict(const CliTables *t, const char *what, CliTablesPredict predict, gpointer user,
                   GError **error)
{
    CliProgress progress = cli_progress_start(what, t->groups->len);
    gboolean ok = TRUE;
    for (guint i = 0; ok && i < t->groups->len; i++) {
        cli_progress_at(&progress, i);
        ok = predict(t->groups->pdata[i], user, error);
    }
    cli_progress_end(&progress);
    return ok;
}
