/* The tables of a system directory that measurements of others go into, and rows for them. */
#pragma once

#include <glib.h>

typedef enum {
    CALIBRATE_TABLE_GEMM,
    CALIBRATE_TABLE_ATTENTION,
    CALIBRATE_TABLE_MEMORY,
    CALIBRATE_TABLE_COLLECTIVE,
    CALIBRATE_TABLE_KERNELS,
    CALIBRATE_N_TABLES
} CalibrateTableId;

typedef enum {
    CALIBRATE_COLUMN_DTYPE, /* one that GPUs compute in */
    CALIBRATE_COLUMN_PASS,
    CALIBRATE_COLUMN_OP,
    CALIBRATE_COLUMN_KERNEL, /* bound by memory */
    CALIBRATE_COLUMN_FLAG,   /* 0 or 1 */
    CALIBRATE_COLUMN_COUNT,  /* 1 to 2147483647 */
    CALIBRATE_COLUMN_BYTES,
    CALIBRATE_COLUMN_WORD,
    CALIBRATE_COLUMN_TIME, /* us */
} CalibrateColumnType;

typedef struct {
    const char *name;
    CalibrateColumnType type;
    gboolean is_key;       /* rows that agree in these are of one thing */
    const char *otherwise; /* where a table has no such column; NULL: it must be there */
} CalibrateColumn;

enum { CALIBRATE_MAX_COLUMNS = 9 };

typedef struct {
    const char *name;  /* "gemm" */
    const char *about; /* '#' lines for a new file */
    CalibrateColumn columns[CALIBRATE_MAX_COLUMNS];
    guint n_columns, n_keys; /* keys come first */
} CalibrateTable;
const CalibrateTable *calibrate_table(CalibrateTableId id);

/* Is the cell what its column holds? Else what is wrong and what to write; caller frees. */
char *calibrate_cell_fault(CalibrateColumnType type, const char *text);

/* --- rows --------------------------------------------------------------------------------------- */

enum { CALIBRATE_MAX_TIMES = 4 };

/* How several measurements of one thing become one. */
typedef enum {
    CALIBRATE_MERGE_MEDIAN,
    CALIBRATE_MERGE_LEAST, /* times that hold waiting, which only ever adds */
} CalibrateMerge;

typedef struct CalibrateRows CalibrateRows;
CalibrateRows *calibrate_rows_new(void);
void calibrate_rows_free(CalibrateRows *rows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CalibrateRows, calibrate_rows_free)

/* `keys`: cells of the table's keys. `us`: of its other columns (times, but a count too), NAN where there is none. */
void calibrate_rows_add(CalibrateRows *rows, CalibrateTableId table, const char *const *keys,
                        const double *us);
/* What was left out of a table, and why: counted by reason. */
void calibrate_rows_leave_out(CalibrateRows *rows, const char *reason);
void calibrate_rows_set_merge(CalibrateRows *rows, CalibrateTableId table, CalibrateMerge merge);
guint calibrate_rows_count(const CalibrateRows *rows, CalibrateTableId table); /* before merging */

typedef struct {
    char *key;                      /* cells with tabs between them */
    double us[CALIBRATE_MAX_TIMES]; /* NAN: none */
    guint samples;
} CalibrateRow;
/* Merged, in order of first appearance; caller unrefs. */
GArray *calibrate_rows_merged(const CalibrateRows *rows, CalibrateTableId table);

typedef struct {
    char *reason;
    guint n;
} CalibrateLeftOut;
const GArray *calibrate_rows_left_out(const CalibrateRows *rows); /* of CalibrateLeftOut */
