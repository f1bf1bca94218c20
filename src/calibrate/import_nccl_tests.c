/* Logs of nccl-tests -> collective.tsv. */
#include "config.h"

#include "calibrate/error.h"
#include "calibrate/import.h"

#include "net/nccl_tests.h"

#include <math.h>
#include <string.h>

static const char *
dtype_of(const char *name)
{
    static const char *const names[][2] = {
        {"float", "fp32"}, {"half", "fp16"},    {"bfloat16", "bf16"}, {"double", "fp64"},
        {"f8e4m3", "fp8"}, {"fp8_e4m3", "fp8"}, {"f8e5m2", "fp8"},    {"fp8_e5m2", "fp8"}};
    for (guint i = 0; name != NULL && i < G_N_ELEMENTS(names); i++)
        if (strcmp(name, names[i][0]) == 0)
            return names[i][1];
    return name != NULL && *name != '\0' ? name : "fp32";
}

/* Why a table cannot be taken, as "FILE:LINE: ..."; NULL: it can. */
static char *
find_op(const CalibrateImport *import, const char *path, const NetTestsTable *t, NetOp *ret_op)
{
    g_autofree char *words = NULL;
    guint n = net_tests_ops(t, ret_op, &words);
    if (n == 0)
        return g_strdup_printf("%s:%u: is of %s, which is not modelled; leave it out", path,
                               t->line,
                               t->name != NULL ? t->name : "a reduction or gather to one root");
    if (n == 1)
        return NULL;
    if (import->op >= 0 && t->ops & 1u << import->op) {
        *ret_op = (NetOp)import->op;
        return NULL;
    }
    return g_strdup_printf("%s:%u: does not say which collective it is; write --op %s", path,
                           t->line, words);
}

static char *
find_ranks(const CalibrateImport *import, const char *path, const NetTestsTable *t, NetOp op,
           gint64 *ret_ranks, gint64 *ret_nodes)
{
    guint low = 0, high = 0;
    gboolean told = net_tests_ranks(t, op, &low, &high);
    gint64 ranks = t->n_ranks;
    if (ranks == 0)
        ranks = import->ranks;
    if (ranks == 0 && told && low == high)
        ranks = low;
    if (ranks == 0 && told)
        return g_strdup_printf("%s:%u: lists no ranks, and busbw / algbw leaves %u to %u; write "
                               "--ranks N",
                               path, t->line, low, high);
    if (ranks == 0)
        return g_strdup_printf(
            "%s:%u: lists no ranks, and busbw / algbw does not tell how many; write --ranks N",
            path, t->line);
    if (ranks < 2)
        return g_strdup_printf(
            "%s:%u: is of one rank, which has nobody to talk to (was MPI wired?)", path, t->line);
    gint64 nodes = t->hosts->len > 0 ? t->hosts->len : import->nodes;
    if (nodes == 0 && import->per_node > 0)
        nodes = (ranks + import->per_node - 1) / import->per_node;
    if (nodes == 0)
        return g_strdup_printf("%s:%u: names no hosts; write --nodes N or --gpus-per-node N", path,
                               t->line);
    if (nodes > ranks)
        return g_strdup_printf("%s:%u: has %" G_GINT64_FORMAT
                               " ranks, which cannot be on %" G_GINT64_FORMAT
                               " nodes; write another --nodes",
                               path, t->line, ranks, nodes);
    *ret_ranks = ranks;
    *ret_nodes = nodes;
    return NULL;
}

static guint
add_rows(CalibrateImport *import, const NetTestsTable *t, NetOp op, gint64 ranks, gint64 nodes)
{
    char of_ranks[24], of_nodes[24], bytes[24];
    g_snprintf(of_ranks, sizeof of_ranks, "%" G_GINT64_FORMAT, ranks);
    g_snprintf(of_nodes, sizeof of_nodes, "%" G_GINT64_FORMAT, nodes);
    guint n = 0;
    for (guint i = 0; i < t->rows->len; i++) {
        const NetTestsRow *row = &g_array_index(t->rows, NetTestsRow, i);
        double out = row->us[NET_TESTS_OUT_OF_PLACE], in = row->us[NET_TESTS_IN_PLACE];
        if (row->bytes < 1 || !(out >= 0.001))
            continue;
        g_snprintf(bytes, sizeof bytes, "%" G_GINT64_FORMAT, row->bytes);
        const char *const keys[] = {net_op_name(op), dtype_of(t->dtype), of_ranks, of_nodes, bytes};
        const double us[] = {out, in >= 0.001 ? in : NAN};
        calibrate_rows_add(import->rows, CALIBRATE_TABLE_COLLECTIVE, keys, us);
        n++;
    }
    return n;
}

/* What is wrong with the table, or NULL; *error is of what stops the import. */
static char *
take_table(CalibrateImport *import, const char *path, const NetTestsTable *t, guint *ret_rows,
           GError **error)
{
    NetOp op = NET_ALL_REDUCE;
    gint64 ranks = 0, nodes = 0;
    char *fault = find_op(import, path, t, &op);
    if (fault == NULL)
        fault = find_ranks(import, path, t, op, &ranks, &nodes);
    if (fault != NULL || !calibrate_import_gpu(import, path, t->device, error))
        return fault;
    guint n = add_rows(import, t, op, ranks, nodes);
    if (n == 0)
        return g_strdup_printf("%s:%u: no row has a size and a time out of place", path, t->line);
    calibrate_import_source(import, path,
                            "nccl-tests %s of %" G_GINT64_FORMAT " ranks on %" G_GINT64_FORMAT
                            " nodes, %s, NCCL %s, %u rows",
                            net_op_name(op), ranks, nodes,
                            t->device != NULL ? t->device : "device not named",
                            t->nccl_version != NULL ? t->nccl_version : "of unknown version", n);
    *ret_rows += n;
    return NULL;
}

gboolean
calibrate_import_nccl_tests(CalibrateImport *import, const char *path, GError **error)
{
    g_autoptr(NetTestsLog) log = net_tests_load(path, error);
    if (log == NULL)
        return FALSE;
    guint rows = 0;
    g_autofree char *first = NULL;
    for (guint i = 0; i < log->tables->len; i++) {
        g_autoptr(GError) cause = NULL;
        char *fault = take_table(import, path, log->tables->pdata[i], &rows, &cause);
        if (cause != NULL) {
            g_propagate_error(error, g_steal_pointer(&cause));
            return FALSE;
        }
        if (fault == NULL)
            continue;
        calibrate_import_note(import, "%s", fault);
        first = first != NULL ? first : g_strdup(fault);
        g_free(fault);
    }
    for (guint i = 0; i < log->notes->len; i++)
        calibrate_import_note(import, "%s", (const char *)log->notes->pdata[i]);
    if (rows > 0)
        return TRUE;
    g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_EMPTY, "%s", first);
    return FALSE;
}
