/* Rows into the tables of a system directory. */
#pragma once

#include "calibrate/import.h"

typedef struct {
    gboolean replaces; /* rows of what is there take its place; else what is there stays */
    const char *by;    /* "dtsim calibrate import kineto" */
} CalibrateMergeWish;

typedef struct {
    guint rows; /* of this import, merged */
    guint added, replaced, kept;
} CalibrateMerged;

/* All tables are made before the first is written; each is replaced as a whole. New rows come after those that are
 * there; lines of others stay as they are. The GPU of the directory must be the import's; a note says if it has no
 * system.conf. `ret`: one a table. */
gboolean calibrate_merge(const char *directory, CalibrateImport *import,
                         const CalibrateMergeWish *wish, CalibrateMerged ret[CALIBRATE_N_TABLES],
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The text of one table with the import's rows; `text` NULL: there is no file yet. Caller frees. */
char *calibrate_merge_text(const char *path, const char *text, CalibrateTableId table,
                           const CalibrateImport *import, const CalibrateMergeWish *wish,
                           CalibrateMerged *ret, GError **error);
