/* Logs of nccl-tests from any bytes: tables with rows in order of line, or an error, never both. */
#include "config.h"

#include "net/nccl_tests.h"

#include <math.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_table(const NetTestsTable *table)
{
    guint low, high;
    g_assert_cmpuint(table->rows->len, >, 0);
    g_assert_cmpuint(table->hosts->len, <=, table->n_ranks);
    for (guint i = 0; i < table->rows->len; i++) {
        const NetTestsRow *row = &g_array_index(table->rows, NetTestsRow, i);
        g_assert_cmpint(row->bytes, >=, 0);
        g_assert_cmpint(row->count, >=, 0);
        g_assert_true(row->us[NET_TESTS_OUT_OF_PLACE] >= 0.0);
    }
    g_assert_true(net_tests_average(table) >= 0.0);
    for (guint op = 0; op < NET_N_OPS; op++)
        if (net_tests_ranks(table, (NetOp)op, &low, &high))
            g_assert_cmpuint(low, <=, high);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(NetTestsLog) log = net_tests_parse("fuzz.log", text, &error);
    g_assert_true((log == NULL) == (error != NULL));
    guint line = 0;
    for (guint i = 0; log != NULL && i < log->tables->len; i++) {
        const NetTestsTable *table = log->tables->pdata[i];
        g_assert_cmpuint(table->line, >=, line);
        line = table->line;
        check_table(table);
    }
    return 0;
}
