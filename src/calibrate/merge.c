/* A table's lines, its header perhaps with more columns, and new rows below. */
#include "config.h"

#include "calibrate/merge.h"

#include "calibrate/error.h"
#include "calibrate/machine.h"
#include "cluster/shipped.h"
#include "cluster/system.h"
#include "conf/complaint.h"
#include "conf/table.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

/* A table as it is. */
typedef struct {
    ConfTable *table;                   /* NULL: there is no file */
    GHashTable *rows;                   /* key -> its last row + 1; looked up only */
    guint *before;                      /* of each row: the one of its key before it, + 1; 0 */
    GHashTable *dropped;                /* line numbers that new rows replace; looked up only */
    int columns[CALIBRATE_MAX_COLUMNS]; /* of the file, by the table's; -1: it lacks it */
} Old;

static void
old_clear(Old *old)
{
    conf_table_free(old->table);
    g_clear_pointer(&old->rows, g_hash_table_unref);
    g_clear_pointer(&old->before, g_free);
    g_clear_pointer(&old->dropped, g_hash_table_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Old, old_clear)

static char *
key_of(const Old *old, const CalibrateTable *table, guint row)
{
    g_autoptr(GString) key = g_string_new(NULL);
    for (guint i = 0; i < table->n_keys; i++)
        g_string_append_printf(key, "%s%s", i > 0 ? "\t" : "",
                               old->columns[i] >= 0
                                   ? conf_table_text(old->table, row, (guint)old->columns[i])
                                   : table->columns[i].otherwise);
    return g_strdup(key->str);
}

static gboolean
old_load(Old *old, const char *path, const char *text, const CalibrateTable *table, GError **error)
{
    old->rows = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    old->dropped = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < table->n_columns; i++)
        old->columns[i] = -1;
    if (text == NULL)
        return TRUE;
    old->table = conf_table_parse(path, text, '\t', error);
    if (old->table == NULL)
        return FALSE;
    for (guint i = 0; i < table->n_columns; i++) {
        const CalibrateColumn *c = &table->columns[i];
        guint column;
        old->columns[i] = conf_table_find_column(old->table, c->name);
        if (old->columns[i] < 0 && c->otherwise == NULL &&
            !conf_table_need_column(old->table, c->name, &column, error))
            return FALSE;
    }
    guint n = conf_table_n_rows(old->table);
    old->before = g_new0(guint, n + 1);
    for (guint row = 0; row < n; row++) {
        char *key = key_of(old, table, row);
        old->before[row] = GPOINTER_TO_UINT(g_hash_table_lookup(old->rows, key));
        g_hash_table_insert(old->rows, key, GUINT_TO_POINTER(row + 1));
    }
    return TRUE;
}

/* --- the new text ------------------------------------------------------------------------------- */

static void
append_provenance(GString *out, const CalibrateImport *import, const CalibrateMergeWish *wish,
                  guint rows)
{
    for (guint i = 0; i < import->sources->len; i++)
        g_string_append_printf(out, "# %s: %s\n", wish->by, (char *)import->sources->pdata[i]);
    g_string_append_printf(out, "#   rows of this table from %s: %u\n",
                           import->sources->len == 1 ? "it" : "them", rows);
}

static void
append_value(GString *out, const CalibrateColumn *c, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    if (isnan(value))
        g_string_append(out, "-");
    else if (c->type == CALIBRATE_COLUMN_COUNT)
        g_string_append_printf(out, "%.0f", value);
    else
        g_string_append(out, g_ascii_formatd(text, sizeof text, "%.7g", value));
}

/* The row's cells in the order of the file's columns; columns of others are "-". */
static void
append_row(GString *out, const CalibrateTable *table, const char *const *names,
           const CalibrateRow *row)
{
    g_auto(GStrv) keys = g_strsplit(row->key, "\t", -1);
    for (guint n = 0; names[n] != NULL; n++) {
        if (n > 0)
            g_string_append_c(out, '\t');
        guint i = 0;
        while (i < table->n_columns && strcmp(table->columns[i].name, names[n]) != 0)
            i++;
        if (i < table->n_keys)
            g_string_append(out, keys[i]);
        else if (i < table->n_columns)
            append_value(out, &table->columns[i], row->us[i - table->n_keys]);
        else
            g_string_append_c(out, '-');
    }
    g_string_append_c(out, '\n');
}

/* Does a row say something in a column that the file lacks? */
static gboolean
needs_column(const CalibrateTable *table, guint i, const GArray *rows)
{
    const CalibrateColumn *c = &table->columns[i];
    for (guint r = 0; r < rows->len; r++) {
        const CalibrateRow *row = &g_array_index(rows, CalibrateRow, r);
        g_auto(GStrv) keys = g_strsplit(row->key, "\t", -1);
        if (c->is_key ? strcmp(keys[i], c->otherwise) != 0 : !isnan(row->us[i - table->n_keys]))
            return TRUE;
    }
    return FALSE;
}

/* Columns of the new file: the old ones, and after them what new rows need. NULL-terminated, of char*, borrowed. */
static GPtrArray *
columns_of(const Old *old, const CalibrateTable *table, const GArray *rows, GString *ret_more)
{
    GPtrArray *names = g_ptr_array_new();
    for (guint i = 0; old->table != NULL && i < conf_table_n_columns(old->table); i++)
        g_ptr_array_add(names, (gpointer)conf_table_column_name(old->table, i));
    for (guint i = 0; i < table->n_columns; i++) {
        if (old->table != NULL && (old->columns[i] >= 0 || !needs_column(table, i, rows)))
            continue;
        g_ptr_array_add(names, (gpointer)table->columns[i].name);
        g_string_append_printf(ret_more, "\t%s", table->columns[i].otherwise);
    }
    g_ptr_array_add(names, NULL);
    return names;
}

/* The lines that are there, without rows that are replaced; provenance before the header. */
static void
append_old(GString *out, const Old *old, const char *text, const char *header, const char *more,
           const char *provenance)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    gboolean has_header = FALSE;
    for (guint i = 0; lines[i] != NULL; i++) {
        if (g_str_has_suffix(lines[i], "\r"))
            lines[i][strlen(lines[i]) - 1] = '\0';
        gboolean blank = *lines[i] == '\0', comment = *lines[i] == '#';
        if (blank && lines[i + 1] == NULL)
            break; /* what follows the last line break */
        if (!blank && !comment && !has_header) {
            g_string_append_printf(out, "%s%s\n", provenance, header);
            has_header = TRUE;
        } else if (blank || comment) {
            g_string_append_printf(out, "%s\n", lines[i]);
        } else if (!g_hash_table_contains(old->dropped, GUINT_TO_POINTER(i + 1))) {
            g_string_append_printf(out, "%s%s\n", lines[i], more);
        }
    }
}

/* Which rows are new: by the wish, those whose key is there stay out or take its place. */
static GArray *
choose(Old *old, const GArray *rows, const CalibrateMergeWish *wish, CalibrateMerged *ret)
{
    GArray *chosen = g_array_new(FALSE, FALSE, sizeof(CalibrateRow)); /* borrows keys */
    for (guint i = 0; i < rows->len; i++) {
        const CalibrateRow *row = &g_array_index(rows, CalibrateRow, i);
        guint there = GPOINTER_TO_UINT(g_hash_table_lookup(old->rows, row->key));
        if (there > 0 && !wish->replaces) {
            ret->kept++;
            continue;
        }
        ret->added += there == 0;
        ret->replaced += there > 0;
        for (; there > 0; there = old->before[there - 1])
            g_hash_table_add(old->dropped,
                             GUINT_TO_POINTER(conf_table_line(old->table, there - 1)));
        g_array_append_val(chosen, *row);
    }
    return chosen;
}

char *
calibrate_merge_text(const char *path, const char *text, CalibrateTableId id,
                     const CalibrateImport *import, const CalibrateMergeWish *wish,
                     CalibrateMerged *ret, GError **error)
{
    const CalibrateTable *table = calibrate_table(id);
    g_auto(Old) old = {0};
    if (!old_load(&old, path, text, table, error))
        return NULL;
    g_autoptr(GArray) rows = calibrate_rows_merged(import->rows, id);
    *ret = (CalibrateMerged){.rows = rows->len};
    g_autoptr(GArray) chosen = choose(&old, rows, wish, ret);
    if (chosen->len == 0)
        return g_strdup(text != NULL ? text : "");
    g_autoptr(GString) provenance = g_string_new(NULL), more = g_string_new(NULL);
    append_provenance(provenance, import, wish, chosen->len);
    g_autoptr(GPtrArray) names = columns_of(&old, table, chosen, more);
    g_autofree char *header = g_strjoinv("\t", (char **)names->pdata);
    GString *out = g_string_new(NULL);
    if (text != NULL) {
        append_old(out, &old, text, header, more->str, provenance->str);
    } else {
        if (import->gpu != NULL)
            g_string_append_printf(out, "# gpu: %s\n", import->gpu);
        g_string_append_printf(out, "%s%s%s\n", provenance->str, table->about, header);
    }
    for (guint i = 0; i < chosen->len; i++)
        append_row(out, table, (const char *const *)names->pdata,
                   &g_array_index(chosen, CalibrateRow, i));
    return g_string_free(out, FALSE);
}

/* --- the directory ------------------------------------------------------------------------------ */

static gboolean
check_gpu(const CalibrateImport *import, const char *place, const char *gpu, GError **error)
{
    if (gpu == NULL || import->gpu == NULL || import->mixes ||
        calibrate_gpus_agree(import->gpu, gpu))
        return TRUE;
    g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_MACHINE,
                "%s: is of '%s', but %s of '%s'; write -o of another directory, or --mix-machines",
                place, gpu, import->gpu_source, import->gpu);
    return FALSE;
}

static gboolean
check_system(const char *directory, const CalibrateImport *import, GError **error)
{
    if (!cluster_shipped_is_folder(directory))
        return TRUE;
    g_autofree char *path = g_build_filename(directory, "system.conf", NULL);
    g_autoptr(ClusterSystem) system = cluster_system_load(path, NULL, error);
    return system != NULL && check_gpu(import, path, system->gpu_name, error);
}

static char *
make_table(const char *path, CalibrateTableId id, const CalibrateImport *import,
           const CalibrateMergeWish *wish, CalibrateMerged *ret, GError **error)
{
    g_autofree char *text = NULL;
    if (g_file_test(path, G_FILE_TEST_EXISTS)) {
        text = conf_read_text(path, NULL, error);
        g_autoptr(ConfTable) table =
            text != NULL ? conf_table_parse(path, text, '\t', error) : NULL;
        if (table == NULL)
            return NULL;
        g_autofree char *gpu = calibrate_gpu_of_comment(conf_table_comment(table));
        if (!check_gpu(import, path, gpu, error))
            return NULL;
    }
    return calibrate_merge_text(path, text, id, import, wish, ret, error);
}

static gboolean
make_directory(const char *directory, GError **error)
{
    if (g_mkdir_with_parents(directory, 0777) == 0)
        return TRUE;
    int reason = errno;
    if (*directory == '\0')
        g_set_error_literal(error, CONF_ERROR, CONF_ERROR_IO,
                            "-o: is empty; write the folder of a system");
    else if (g_file_test(directory, G_FILE_TEST_IS_REGULAR))
        g_set_error(error, CONF_ERROR, CONF_ERROR_IO,
                    "%s: is a file; write -o and the folder of a system", directory);
    else
        g_set_error(error, CONF_ERROR, CONF_ERROR_IO,
                    "%s: cannot be made a folder: %s; write -o and another", directory,
                    g_strerror(reason));
    return FALSE;
}

gboolean
calibrate_merge(const char *directory, CalibrateImport *import, const CalibrateMergeWish *wish,
                CalibrateMerged ret[CALIBRATE_N_TABLES], GError **error)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    if (!check_system(directory, import, error))
        return FALSE;
    for (guint id = 0; id < CALIBRATE_N_TABLES; id++) {
        ret[id] = (CalibrateMerged){0};
        g_autofree char *file = g_strconcat(calibrate_table(id)->name, ".tsv", NULL);
        g_autofree char *path = g_build_filename(directory, file, NULL);
        gboolean any = calibrate_rows_count(import->rows, id) > 0;
        char *text = any ? make_table(path, id, import, wish, &ret[id], error) : NULL;
        if (any && text == NULL)
            return FALSE;
        g_ptr_array_add(texts, text);
    }
    if (!make_directory(directory, error))
        return FALSE;
    for (guint id = 0; id < CALIBRATE_N_TABLES; id++) {
        g_autofree char *file = g_strconcat(calibrate_table(id)->name, ".tsv", NULL);
        g_autofree char *path = g_build_filename(directory, file, NULL);
        if (ret[id].added + ret[id].replaced > 0 &&
            !conf_write_text(path, texts->pdata[id], -1, error))
            return FALSE;
    }
    if (!cluster_shipped_is_folder(directory))
        calibrate_import_note(
            import,
            "%s: has no system.conf yet; copy that of a shipped machine, or write "
            "dtsim topology FILE -o %s/system.conf",
            directory, directory);
    return TRUE;
}
