/* Logs of nccl-tests: their tables, whatever launchers, shells and pages have put around them.
 *
 * A row is found by its shape (size, count, type, [redop], [root], time, algbw, busbw, [wrong], and the last four
 * once more for in place), not by its place: ranks' labels of srun and mpirun, timestamps, '#' or none of them and
 * lines of NCCL_DEBUG in between do not matter. Lines with another label than a table's own are another process. */
#pragma once

#include "net/collective.h"

enum { NET_TESTS_OUT_OF_PLACE, NET_TESTS_IN_PLACE, NET_TESTS_N_PLACES };

typedef struct {
    guint line; /* in the file, from 1 */
    gint64 bytes, count;
    double us[NET_TESTS_N_PLACES]; /* NAN: not there */
    double algbw_GBps[NET_TESTS_N_PLACES], busbw_GBps[NET_TESTS_N_PLACES];
    /* -1: not checked, or an error of rounding as old versions print */
    gint64 wrong[NET_TESTS_N_PLACES];
} NetTestsRow;

typedef struct {
    guint line; /* of its header, or of its first row where it has none */
    char *name; /* of the collective, as the log has it: "all_reduce"; NULL: it does not say */
    guint ops; /* bit 1 << NetOp: those that name and columns leave; 0: one that is none of these */
    char *dtype;         /* "float" */
    guint n_ranks;       /* by the list of ranks; 0: there is none */
    GPtrArray *hosts;    /* of char*: of the listed ranks, each once, in order of rank */
    char *device;        /* product name; NULL: it does not say */
    char *nccl_version;  /* "2.18.3"; NULL: it does not say */
    GArray *rows;        /* of NetTestsRow, at least one */
    double average_GBps; /* "Avg bus bandwidth" as printed; NAN: not there */
} NetTestsTable;

typedef struct {
    GPtrArray *tables; /* of NetTestsTable, by their first line */
    /* of char*: "FILE:LINE: ..." rows that are torn or cannot be, and were left out */
    GPtrArray *notes;
} NetTestsLog;

/* No table with a row is an error. */
NetTestsLog *net_tests_load(const char *path, GError **error);
NetTestsLog *net_tests_parse(const char *name, const char *text, GError **error);
void net_tests_free(NetTestsLog *log);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NetTestsLog, net_tests_free)

/* How many ops name and columns leave, the last of them, and all in words ("all_gather or all_to_all"), which the caller
 * frees. Of none the words say what it is: "a reduction or gather to one root". */
guint net_tests_ops(const NetTestsTable *table, NetOp *ret_last, char **ret_words);
/* Mean of all busbw of rows, as nccl-tests prints it. */
double net_tests_average(const NetTestsTable *table);
/* The ranks that busbw / algbw of all rows leave for `op`, *ret_low .. *ret_high; FALSE where it says nothing
 * (broadcast, send_recv) or where nothing fits. All-reduce: 2 (n - 1) / n; others: (n - 1) / n. */
gboolean net_tests_ranks(const NetTestsTable *table, NetOp op, guint *ret_low, guint *ret_high);
