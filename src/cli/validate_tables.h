/* Tables of measurements whose rows are gathered by machine, and predicted group by group. */
#pragma once

#include "conf/table.h"

typedef struct {
    GPtrArray *tables; /* of ConfTable, whose texts the groups borrow */
    GPtrArray *groups; /* of what `read` makes of them */
    GArray *skipped;   /* of ReportSkipped */
    guint n_rows;
} CliTables;

/* Takes `groups`. */
void cli_tables_init(CliTables *tables, GPtrArray *groups);
void cli_tables_clear(CliTables *tables);

typedef gboolean (*CliTablesRead)(const ConfTable *table, GPtrArray *groups, GArray *skipped,
                                  GError **error);
gboolean cli_tables_load(CliTables *tables, char **files, CliTablesRead read,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;

typedef gboolean (*CliTablesPredict)(gpointer group, gpointer user, GError **error);
/* All groups in turn, with progress. `what` is its title. */
gboolean cli_tables_predict(const CliTables *tables, const char *what, CliTablesPredict predict,
                            gpointer user, GError **error) G_GNUC_WARN_UNUSED_RESULT;
