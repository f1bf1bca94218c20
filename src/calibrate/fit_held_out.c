/* Rows that are taken out of their table and predicted from the others, as dtsim does it: efficiency and rates
 * interpolated, collectives from sweeps and model. */
#include "config.h"

#include "calibrate/fit_parts.h"
#include "calibrate/fit_rows.h"
#include "cost/book.h"
#include "net/rows.h"

#include <math.h>

/* The header, comments and those rows that are in a part (`inside`), or in all others. Caller frees. */
static char *
rows_text(const ConfTable *table, const guint *part, guint fold, gboolean inside)
{
    GString *text = g_string_new(conf_table_comment(table));
    if (text->len > 0)
        g_string_append_c(text, '\n');
    guint n = conf_table_n_columns(table);
    for (guint c = 0; c < n; c++)
        g_string_append_printf(text, "%s%c", conf_table_column_name(table, c),
                               c + 1 < n ? '\t' : '\n');
    for (guint i = 0; i < conf_table_n_rows(table); i++) {
        if ((part[i] == fold) != inside)
            continue;
        for (guint c = 0; c < n; c++)
            g_string_append_printf(text, "%s%c", conf_table_text(table, i, c),
                                   c + 1 < n ? '\t' : '\n');
    }
    return g_string_free(text, FALSE);
}

static void
append_error(GArray *errors, double predicted_ns, double ns)
{
    double error = fabs(predicted_ns / ns - 1);
    g_array_append_val(errors, error);
}

/* One array of errors for each dtype of gemm.tsv, else the first alone. */
typedef struct {
    const ClusterSystem *system;
    ClusterTable id;
    GArray *errors[CLUSTER_N_DTYPES];
} Tester;

static gboolean
test_gemm(Tester *t, const CostBook *book, const ConfTable *left_out, GError **error)
{
    for (guint i = 0; i < CLUSTER_N_DTYPES; i++) {
        g_autoptr(GArray) rows = calibrate_gemm_rows(t->system, left_out, (ClusterDtype)i, error);
        if (rows == NULL)
            return FALSE;
        for (guint r = 0; r < rows->len; r++) {
            const CalibrateGemmRow *row = &g_array_index(rows, CalibrateGemmRow, r);
            append_error(t->errors[i], cost_gemm(book, &row->gemm).ns, row->ns);
        }
    }
    return TRUE;
}

static gboolean
test_attention(Tester *t, const CostBook *book, const ConfTable *left_out, GError **error)
{
    g_autoptr(GArray) rows = calibrate_attention_rows(left_out, error);
    for (guint r = 0; rows != NULL && r < rows->len; r++) {
        const CalibrateAttentionRow *row = &g_array_index(rows, CalibrateAttentionRow, r);
        append_error(t->errors[0], cost_attention(book, &row->attention).ns, row->ns);
    }
    return rows != NULL;
}

static gboolean
test_memory(Tester *t, const CostBook *book, const ConfTable *left_out, GError **error)
{
    g_autoptr(GArray) rows = calibrate_memory_rows(left_out, error);
    for (guint r = 0; rows != NULL && r < rows->len; r++) {
        const CalibrateMemoryRow *row = &g_array_index(rows, CalibrateMemoryRow, r);
        append_error(t->errors[0], cost_memory(book, row->kernel, row->bytes).ns, row->ns);
    }
    return rows != NULL;
}

static gboolean
test_collective(Tester *t, const char *text, const ConfTable *left_out, GError **error)
{
    NetFabric fabric = net_fabric_of(t->system, NULL);
    g_autoptr(GArray) sweeps =
        net_rows_parse(conf_table_name(left_out), text, &fabric, NULL, error);
    g_autoptr(NetBook) book =
        sweeps != NULL
            ? net_book_new(t->system, (const NetSweep *)(void *)sweeps->data, sweeps->len, error)
            : NULL;
    g_autoptr(GArray) rows = book != NULL ? calibrate_collective_rows(left_out, error) : NULL;
    for (guint r = 0; rows != NULL && r < rows->len; r++) {
        const CalibrateCollectiveRow *row = &g_array_index(rows, CalibrateCollectiveRow, r);
        NetTime time = net_collective(
            book, row->op, net_even_group(&fabric, row->ranks, row->nodes), (gint64)row->bytes);
        append_error(t->errors[0], time.time.ns, row->ns);
    }
    return rows != NULL;
}

static gboolean
test_fold(Tester *t, const ConfTable *table, const guint *part, guint fold, GError **error)
{
    const char *name = conf_table_name(table);
    g_autofree char *fitted_text = rows_text(table, part, fold, FALSE);
    g_autofree char *left_out_text = rows_text(table, part, fold, TRUE);
    g_autoptr(ConfTable) left_out = conf_table_parse(name, left_out_text, '\t', error);
    if (left_out == NULL)
        return FALSE;
    if (t->id == CLUSTER_TABLE_COLLECTIVE)
        return test_collective(t, fitted_text, left_out, error);
    g_autoptr(ConfTable) fitted = conf_table_parse(name, fitted_text, '\t', error);
    g_autoptr(CostBook) book =
        fitted != NULL ? cost_book_of_table(t->system, t->id, fitted, error) : NULL;
    if (book == NULL)
        return FALSE;
    return t->id == CLUSTER_TABLE_GEMM        ? test_gemm(t, book, left_out, error)
           : t->id == CLUSTER_TABLE_ATTENTION ? test_attention(t, book, left_out, error)
                                              : test_memory(t, book, left_out, error);
}

/* As dtsim reads it when it runs. */
static gboolean
check_table(const ClusterSystem *system, ClusterTable id, const ConfTable *table, GError **error)
{
    if (id == CLUSTER_TABLE_COLLECTIVE) {
        NetFabric fabric = net_fabric_of(system, NULL);
        g_autoptr(GArray) sweeps = net_rows_load(conf_table_name(table), &fabric, NULL, error);
        return sweeps != NULL;
    }
    g_autoptr(CostBook) book = cost_book_of_table(system, id, table, error);
    return book != NULL;
}

gboolean
calibrate_fit_hold_out(CalibrateFit *fit, const ClusterSystem *system, ClusterTable id,
                       const ConfTable *table, GError **error)
{
    if (!check_table(system, id, table, error))
        return FALSE;
    if (id == CLUSTER_TABLE_OVERLAP)
        return TRUE;
    Tester t = {.system = system, .id = id};
    guint n = id == CLUSTER_TABLE_GEMM ? CLUSTER_N_DTYPES : 1;
    for (guint i = 0; i < n; i++)
        t.errors[i] = g_array_new(FALSE, FALSE, sizeof(double));
    g_autofree guint *part = calibrate_folds(conf_table_n_rows(table), fit->folds);
    gboolean good = TRUE;
    for (guint fold = 0; fold < fit->folds && good; fold++)
        good = test_fold(&t, table, part, fold, error);
    for (guint i = 0; i < n; i++) {
        if (good && t.errors[i]->len > 0)
            calibrate_fit_held_out_add(
                fit, id,
                g_strdup(id == CLUSTER_TABLE_GEMM ? cluster_dtype_name((ClusterDtype)i) : "rows"),
                t.errors[i]);
        g_array_unref(t.errors[i]);
    }
    return good;
}
