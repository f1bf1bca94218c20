/* The table of a log that a prediction is held against. */
#pragma once

#include "cli/group.h"

typedef struct {
    char *path;   /* NULL: no log */
    gint64 table; /* which of several, from 1; 0: not given */
    gboolean in_place;
} CliLogWish;

typedef struct {
    gint64 bytes;
    double us;
    guint line;
} CliLogRow;

typedef struct {
    NetOp op;
    GArray *rows;       /* of CliLogRow, in the order of the log */
    GPtrArray *remarks; /* of char*: what the log did not say */
} CliLogTable;

/* `op` < 0: as the log says. Ranks and nodes that the user did not give come from the log, into `group`. */
CliLogTable *cli_log_table_load(const CliLogWish *wish, int op, CliGroupWish *group,
                                GError **error);
void cli_log_table_free(CliLogTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CliLogTable, cli_log_table_free)
