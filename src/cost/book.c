/* Loads gemm.tsv, attention.tsv, memory.tsv and overlap.tsv of a system.
 *
 * Efficiencies are those of the system as measured, rooflines of a query those of the system as
 * asked for: so overrides (a higher peak, faster memory) act on measured times, too, and so does what differs
 * between this GPU and one whose table it borrows ([tables] of system.conf). */
#include "config.h"

#include "cost/book.h"

#include "cluster/tables.h"

/* Rows that the leave-one-out error is estimated from. */
#define SAMPLE 256
/* What a measured time is worth after overrides have changed it by the model. */
#define ERROR_OVERRIDDEN 0.05
/* A median absolute error of a normal distribution times this is its sigma. */
#define SIGMA_OF_MEDIAN 1.4826

/* `ret` is NULL when nothing was measured. */
static gboolean
load_table(CostBook *book, ClusterTable table, ConfTable **ret, GError **error)
{
    GError *local = NULL;
    *ret = NULL;
    book->lenders[table] = cluster_table_lender(book->system, table, &local);
    if (local) {
        g_propagate_error(error, local);
        return FALSE;
    }
    if (book->lenders[table])
        book->measured[table] = book->lenders[table];
    g_autofree char *path =
        cluster_table_path(book->lenders[table] ? book->lenders[table] : book->system, table);
    *ret = path ? conf_table_load(path, error) : NULL;
    return !path || *ret;
}

static gboolean
take_gemm(CostBook *book, const ConfTable *table, GError **error)
{
    for (guint i = 0; i < CLUSTER_N_DTYPES; i++) {
        g_autoptr(CostGemmTable) gemm =
            cost_gemm_table_new(book->measured[CLUSTER_TABLE_GEMM], table, (ClusterDtype)i, error);
        if (!gemm)
            return FALSE;
        if (!cost_gemm_table_n_rows(gemm))
            continue;
        book->gemm_error[i] = SIGMA_OF_MEDIAN * cost_gemm_table_leave_one_out(gemm, SAMPLE);
        book->gemm[i] = g_steal_pointer(&gemm);
    }
    return TRUE;
}

/* The system as its directory says it, without overrides; NULL when it has no system.conf. */
static ClusterSystem *
load_measured(const ClusterSystem *system)
{
    g_autofree char *path = g_build_filename(system->directory, "system.conf", NULL);
    if (*system->directory == '\0' || !g_file_test(path, G_FILE_TEST_EXISTS))
        return NULL;
    return cluster_system_load(path, NULL, NULL);
}

static gboolean
take_table(CostBook *book, ClusterTable table, const ConfTable *rows, GError **error)
{
    const ClusterSystem *measured = book->measured[table];
    switch (table) {
    case CLUSTER_TABLE_GEMM:
        return take_gemm(book, rows, error);
    case CLUSTER_TABLE_ATTENTION:
        book->attention = cost_attention_table_new(measured, rows, error);
        return book->attention != NULL;
    case CLUSTER_TABLE_MEMORY:
        book->memory = cost_memory_table_new(rows, error);
        return book->memory != NULL;
    case CLUSTER_TABLE_OVERLAP:
        book->overlap = cost_overlap_table_new(measured, rows, error);
        return book->overlap != NULL;
    default:
        g_assert_not_reached();
    }
}

CostBook *
cost_book_load(const ClusterSystem *system, GError **error)
{
    g_autoptr(CostBook) book = g_new0(CostBook, 1);
    book->system = system;
    book->owned = load_measured(system);
    for (guint i = 0; i < CLUSTER_N_TABLES; i++)
        book->measured[i] = book->owned ? book->owned : system;
    for (guint i = 0; i < CLUSTER_TABLE_COLLECTIVE; i++) {
        g_autoptr(ConfTable) rows = NULL;
        if (!load_table(book, (ClusterTable)i, &rows, error) ||
            (rows && !take_table(book, (ClusterTable)i, rows, error)))
            return NULL;
    }
    return g_steal_pointer(&book);
}

CostBook *
cost_book_of_table(const ClusterSystem *system, ClusterTable table, const ConfTable *rows,
                   GError **error)
{
    g_assert(table != CLUSTER_TABLE_COLLECTIVE);
    g_autoptr(CostBook) book = g_new0(CostBook, 1);
    book->system = system;
    for (guint i = 0; i < CLUSTER_N_TABLES; i++)
        book->measured[i] = system;
    if (rows && !take_table(book, table, rows, error))
        return NULL;
    return g_steal_pointer(&book);
}

void
cost_book_free(CostBook *book)
{
    if (!book)
        return;
    for (guint i = 0; i < CLUSTER_N_DTYPES; i++)
        cost_gemm_table_free(book->gemm[i]);
    cost_attention_table_free(book->attention);
    cost_memory_table_free(book->memory);
    cost_overlap_table_free(book->overlap);
    cluster_system_free(book->owned);
    for (guint i = 0; i < CLUSTER_N_TABLES; i++)
        cluster_system_free(book->lenders[i]);
    g_free(book);
}

void
cost_book_counts(const CostBook *book, guint *ret_gemm, guint *ret_attention, guint *ret_memory)
{
    *ret_gemm = 0;
    for (guint i = 0; i < CLUSTER_N_DTYPES; i++)
        *ret_gemm += book->gemm[i] ? cost_gemm_table_n_rows(book->gemm[i]) : 0;
    *ret_attention = book->attention ? cost_attention_table_n_rows(book->attention) : 0;
    *ret_memory = book->memory ? cost_memory_table_n_rows(book->memory) : 0;
}

double
cost_book_gemm_residual(const CostBook *book, ClusterDtype dtype, guint most)
{
    return book->gemm[dtype] ? cost_gemm_table_leave_one_out(book->gemm[dtype], most) : 0;
}

CostTime
cost_measured_time(double ns, double ratio)
{
    gboolean same = !(ratio < 1 || ratio > 1);
    double error = same ? 0 : ERROR_OVERRIDDEN;
    return (CostTime){ns * ratio, same ? COST_MEASURED : COST_MODELLED, error, error};
}
