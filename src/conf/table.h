/* Tables in text: TSV (tab) and CSV (RFC 4180 quotes), header line first. Empty lines and
 * lines that begin with `#` are no rows.
 * Messages: "FILE:LINE: column NAME: what is wrong". */
#pragma once

#include "units/quantity.h"

typedef struct ConfTable ConfTable;

/* Separator by the file's ending: ".csv" comma, else tab. Gzip (".gz") is read too.
 * Every row must have as many cells as the header; at most G_MAXINT32 rows. */
ConfTable *conf_table_load(const char *path, GError **error);
ConfTable *conf_table_parse(const char *name, const char *text, char separator, GError **error);
void conf_table_free(ConfTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ConfTable, conf_table_free)

guint conf_table_n_rows(const ConfTable *table);
guint conf_table_n_columns(const ConfTable *table);
const char *conf_table_name(const ConfTable *table); /* path as given */
const char *conf_table_column_name(const ConfTable *table, guint column);
guint conf_table_line(const ConfTable *table, guint row); /* line number in the file */
const char *conf_table_comment(const ConfTable *table);   /* the '#' lines, joined by \n */

/* Column index by name, or -1. */
int conf_table_find_column(const ConfTable *table, const char *name);
/* The same, as an error with a near-miss hint and the list of columns that are there. */
gboolean conf_table_need_column(const ConfTable *table, const char *name, guint *ret_column,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;

const char *conf_table_text(const ConfTable *table, guint row,
                            guint column); /* borrowed, never NULL */
gboolean conf_table_double(const ConfTable *table, guint row, guint column, double *ret,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT; /* finite */
gboolean conf_table_int(const ConfTable *table, guint row, guint column, gint64 *ret,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* GError "FILE:LINE: column NAME: message" for the caller's own findings. */
void conf_table_complain(const ConfTable *table, guint row, guint column, GError **error,
                         const char *format, ...) G_GNUC_PRINTF(5, 6);
