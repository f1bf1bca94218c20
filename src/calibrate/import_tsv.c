/* Tables of others with this program's columns, in any order, times and sizes in any unit that their names say. */
#include "config.h"

#include "calibrate/error.h"
#include "calibrate/import.h"
#include "conf/table.h"

#include <math.h>
#include <string.h>

typedef struct {
    int column;   /* of the file; -1: it has none */
    double scale; /* to us or bytes */
} Place;

static const struct {
    const char *unit;
    double us; /* 0: it is one of size */
    double bytes;
} units[] = {
    {"ns", 1e-3, 0}, {"us", 1, 0},       {"ms", 1e3, 0},        {"s", 1e6, 0},
    {"B", 0, 1},     {"bytes", 0, 1},    {"KB", 0, 1e3},        {"MB", 0, 1e6},
    {"GB", 0, 1e9},  {"KiB", 0, 1024.0}, {"MiB", 0, 1048576.0}, {"GiB", 0, 1073741824.0},
};

/* The unit in "time_ms", "time (ms)", "time [ms]": borrowed; "": there is none. `base` is what stands before. */
static const char *
unit_of(const char *name, char base[32], char unit[16])
{
    gsize n = strcspn(name, " ([");
    const char *under = strrchr(name, '_');
    unit[0] = '\0';
    if (name[n] != '\0') {
        const char *at = name + n + strspn(name + n, " ([");
        g_strlcpy(unit, at, MIN(16, strcspn(at, " )]") + 1));
    } else if (under != NULL) {
        for (guint i = 0; i < G_N_ELEMENTS(units); i++)
            if (strcmp(under + 1, units[i].unit) == 0) {
                g_strlcpy(unit, under + 1, 16);
                n = (gsize)(under - name);
            }
    }
    g_strlcpy(base, name, MIN(32, n + 1));
    return unit;
}

/* FALSE with *error: a unit is missing or unknown. */
static gboolean
scale_of(const ConfTable *t, guint column, CalibrateColumnType type, const char *unit,
         double *ret_scale, GError **error)
{
    gboolean time = type == CALIBRATE_COLUMN_TIME;
    for (guint i = 0; i < G_N_ELEMENTS(units); i++)
        if (strcmp(unit, units[i].unit) == 0 && (time ? units[i].us : units[i].bytes) > 0) {
            *ret_scale = time ? units[i].us : units[i].bytes;
            return TRUE;
        }
    const char *name = conf_table_column_name(t, column);
    g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_VALUE, "%s: column %s: %s%s%s; write %s",
                conf_table_name(t), name, *unit != '\0' ? "'" : "has no unit", unit,
                *unit != '\0' ? "' is no unit of it" : "",
                time ? "ns, us, ms or s, as in time_us"
                     : "B, KB, MB, GB, KiB, MiB or GiB, as in size_MiB");
    return FALSE;
}

/* The file's column that holds the table's column `c`. */
static gboolean
find_place(const ConfTable *t, const CalibrateColumn *c, Place *ret, GError **error)
{
    *ret = (Place){conf_table_find_column(t, c->name), 1};
    if (ret->column >= 0)
        return TRUE;
    gboolean scaled = c->type == CALIBRATE_COLUMN_TIME || c->type == CALIBRATE_COLUMN_BYTES;
    char wanted[32], base[32], unit[16];
    unit_of(c->name, wanted, unit);
    for (guint i = 0; scaled && i < conf_table_n_columns(t); i++) {
        unit_of(conf_table_column_name(t, i), base, unit);
        gboolean size = c->type == CALIBRATE_COLUMN_BYTES && strcmp(base, "size") == 0;
        if (strcmp(base, wanted) != 0 && !size)
            continue;
        ret->column = (int)i;
        return scale_of(t, i, c->type, unit, &ret->scale, error);
    }
    return TRUE;
}

/* The table whose columns are there, by those that no other has. */
static gboolean
find_table(const ConfTable *t, CalibrateTableId *ret, GError **error)
{
    static const struct {
        CalibrateTableId id;
        const char *columns[4];
    } marks[] = {
        {CALIBRATE_TABLE_ATTENTION, {"heads", "head_dim", "seq", NULL}},
        {CALIBRATE_TABLE_GEMM, {"m", "n", "k", NULL}},
        {CALIBRATE_TABLE_COLLECTIVE, {"op", "ranks", NULL}},
        {CALIBRATE_TABLE_MEMORY, {"kernel", NULL}},
    };
    for (guint i = 0; i < G_N_ELEMENTS(marks); i++) {
        gboolean all = TRUE;
        for (guint c = 0; marks[i].columns[c] != NULL; c++)
            all = all && conf_table_find_column(t, marks[i].columns[c]) >= 0;
        if (all) {
            *ret = marks[i].id;
            return TRUE;
        }
    }
    const char *header = conf_table_column_name(t, 0);
    if (conf_table_n_columns(t) == 1 && strpbrk(header, ",; \t\r") != NULL) {
        g_set_error(
            error, CALIBRATE_ERROR, CALIBRATE_ERROR_KIND,
            "%s: its header is one column, '%s'; separate columns by tabs, or by commas in a "
            "file whose name ends in .csv",
            conf_table_name(t), header);
        return FALSE;
    }
    g_set_error(
        error, CALIBRATE_ERROR, CALIBRATE_ERROR_KIND,
        "%s: has the columns of no table; write those of gemm (dtype m n k batch time_us), "
        "attention (dtype batch heads kv_heads head_dim seq causal forward_us backward_us), "
        "memory (kernel bytes time_us) or collective (op dtype ranks nodes bytes time_us)",
        conf_table_name(t));
    return FALSE;
}

static const char *
alias(const char *text)
{
    static const char *const names[][2] = {
        {"bfloat16", "bf16"},
        {"float16", "fp16"},
        {"half", "fp16"},
        {"float32", "fp32"},
        {"float", "fp32"},
        {"float8", "fp8"},
        {"fp8_e4m3", "fp8"},
        {"true", "1"},
        {"false", "0"},
        {"True", "1"},
        {"False", "0"},
        {"allreduce", "all_reduce"},
        {"allgather", "all_gather"},
        {"reducescatter", "reduce_scatter"},
        {"alltoall", "all_to_all"},
        {"sendrecv", "send_recv"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if (strcmp(text, names[i][0]) == 0)
            return names[i][1];
    return text;
}

/* What says the same of the whole file; NULL: nothing does. */
static const char *
option_of(const CalibrateColumn *c)
{
    return strcmp(c->name, "dtype") == 0   ? "--dtype bf16"
           : strcmp(c->name, "nodes") == 0 ? "--nodes N"
                                           : NULL;
}

static void
complain_of_no_column(const ConfTable *t, const CalibrateColumn *c, GError **error)
{
    guint column;
    if (option_of(c) != NULL) {
        g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_VALUE,
                    "%s: no column %s; write one, or %s", conf_table_name(t), c->name,
                    option_of(c));
        return;
    }
    gboolean found = conf_table_need_column(t, c->name, &column, error);
    g_assert(!found);
}

/* What stands for a key that the file has no column of; NULL: nothing does. */
static const char *
otherwise_of(const CalibrateImport *import, const CalibrateColumn *c, char cell[24])
{
    if (strcmp(c->name, "dtype") == 0)
        return import->dtype;
    gint64 told = strcmp(c->name, "nodes") == 0 ? import->nodes : 0;
    if (told == 0)
        return c->otherwise;
    g_snprintf(cell, 24, "%" G_GINT64_FORMAT, told);
    return cell;
}

/* A key's cell as the table has it; caller frees. NULL with *error. */
static char *
read_key(const CalibrateImport *import, const ConfTable *t, guint row, const CalibrateColumn *c,
         const Place *place, GError **error)
{
    char told[24];
    if (place->column < 0) {
        const char *otherwise = otherwise_of(import, c, told);
        if (otherwise == NULL)
            complain_of_no_column(t, c, error);
        return g_strdup(otherwise);
    }
    guint column = (guint)place->column;
    g_autofree char *cell = NULL;
    if (c->type == CALIBRATE_COLUMN_BYTES) {
        double value;
        if (!conf_table_double(t, row, column, &value, error))
            return NULL;
        double bytes = value * place->scale;
        if (!(bytes >= 1 && bytes < 1e15) || fabs(bytes - nearbyint(bytes)) > 1e-6 * bytes) {
            conf_table_complain(t, row, column, error, "'%s' is no whole number of bytes from 1",
                                conf_table_text(t, row, column));
            return NULL;
        }
        cell = g_strdup_printf("%.0f", nearbyint(bytes));
    } else {
        cell = g_strdup(alias(conf_table_text(t, row, column)));
    }
    g_autofree char *fault = calibrate_cell_fault(c->type, cell);
    if (fault == NULL)
        return g_steal_pointer(&cell);
    conf_table_complain(t, row, column, error, "%s", fault);
    return NULL;
}

/* NAN where the cell is empty or "-". */
static gboolean
read_time(const ConfTable *t, guint row, const CalibrateColumn *c, const Place *place, double *ret,
          GError **error)
{
    *ret = NAN;
    if (place->column < 0)
        return TRUE;
    const char *text = conf_table_text(t, row, (guint)place->column);
    if (c->otherwise != NULL && (*text == '\0' || strcmp(text, "-") == 0))
        return TRUE;
    double value;
    if (!conf_table_double(t, row, (guint)place->column, &value, error))
        return FALSE;
    *ret = value * place->scale;
    if (*ret >= 0.001 && *ret < 1e12)
        return TRUE;
    conf_table_complain(t, row, (guint)place->column, error,
                        "'%s' is no time; write one from a nanosecond to a million seconds", text);
    return FALSE;
}

/* Ranks and nodes must be a group. */
static gboolean
check_group(const ConfTable *t, guint row, const Place *places, char *const *keys, GError **error)
{
    gint64 ranks = g_ascii_strtoll(keys[2], NULL, 10), nodes = g_ascii_strtoll(keys[3], NULL, 10);
    if (ranks >= 2 && ranks <= 1 << 20 && ranks % nodes == 0)
        return TRUE;
    conf_table_complain(
        t, row, (guint)places[2].column, error,
        "%s ranks on %s nodes are no group; write 2 ranks or more, as many on each node", keys[2],
        keys[3]);
    return FALSE;
}

static gboolean
take_row(CalibrateImport *import, const ConfTable *t, guint row, CalibrateTableId id,
         const Place *places, GError **error)
{
    const CalibrateTable *table = calibrate_table(id);
    g_auto(GStrv) keys = g_new0(char *, table->n_keys + 1);
    double us[CALIBRATE_MAX_TIMES] = {NAN, NAN, NAN, NAN};
    for (guint i = 0; i < table->n_keys; i++) {
        keys[i] = read_key(import, t, row, &table->columns[i], &places[i], error);
        if (keys[i] == NULL)
            return FALSE;
    }
    gboolean any = FALSE;
    for (guint i = table->n_keys; i < table->n_columns; i++) {
        double *to = &us[i - table->n_keys];
        if (!read_time(t, row, &table->columns[i], &places[i], to, error))
            return FALSE;
        any = any || !isnan(*to);
    }
    if (!any) {
        conf_table_complain(t, row, 0, error, "the row has no time");
        return FALSE;
    }
    if (id == CALIBRATE_TABLE_COLLECTIVE && !check_group(t, row, places, keys, error))
        return FALSE;
    calibrate_rows_add(import->rows, id, (const char *const *)keys, us);
    return TRUE;
}

static gboolean
find_places(CalibrateImport *import, const ConfTable *t, const CalibrateTable *table, Place *places,
            GError **error)
{
    g_autofree gboolean *used = g_new0(gboolean, conf_table_n_columns(t));
    for (guint i = 0; i < table->n_columns; i++) {
        const CalibrateColumn *c = &table->columns[i];
        guint column;
        if (!find_place(t, c, &places[i], error))
            return FALSE;
        if (places[i].column >= 0)
            used[places[i].column] = TRUE;
        else if (!c->is_key && c->otherwise == NULL &&
                 !conf_table_need_column(t, c->name, &column, error))
            return FALSE;
    }
    for (guint i = 0; i < conf_table_n_columns(t); i++)
        if (!used[i])
            calibrate_import_note(import, "%s: column %s is none of %s.tsv, and left out",
                                  conf_table_name(t), conf_table_column_name(t, i), table->name);
    return TRUE;
}

gboolean
calibrate_import_tsv(CalibrateImport *import, const char *name, const char *text, char separator,
                     GError **error)
{
    g_autoptr(ConfTable) t = conf_table_parse(name, text, separator, error);
    CalibrateTableId id = CALIBRATE_TABLE_GEMM;
    Place places[CALIBRATE_MAX_COLUMNS] = {{0}};
    if (t == NULL || !find_table(t, &id, error) ||
        !find_places(import, t, calibrate_table(id), places, error))
        return FALSE;
    for (guint row = 0; row < conf_table_n_rows(t); row++)
        if (!take_row(import, t, row, id, places, error))
            return FALSE;
    if (conf_table_n_rows(t) == 0) {
        g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_EMPTY,
                    "%s: has a header, but no rows; write one a measurement", name);
        return FALSE;
    }
    calibrate_import_source(import, name, "%s, %u rows", calibrate_table(id)->name,
                            conf_table_n_rows(t));
    return TRUE;
}
