/* Tables from arbitrary bytes, tab and comma: every cell can be read, errors iff it failed. */
#include "config.h"

#include "conf/table.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_cells(const ConfTable *table)
{
    guint n = conf_table_n_columns(table);
    for (guint i = 0; i < conf_table_n_rows(table) * n; i++) {
        g_autoptr(GError) no_double = NULL, no_int = NULL;
        double real = 0;
        gint64 whole = 0;
        g_assert_nonnull(conf_table_text(table, i / n, i % n));
        g_assert_true(conf_table_double(table, i / n, i % n, &real, &no_double) ==
                      (no_double == NULL));
        g_assert_true(conf_table_int(table, i / n, i % n, &whole, &no_int) == (no_int == NULL));
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    for (int i = 0; i < 2; i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(ConfTable) table = conf_table_parse("fuzz", text, i == 0 ? '\t' : ',', &error);
        g_assert_true((table == NULL) == (error != NULL));
        if (table != NULL)
            read_cells(table);
    }
    return 0;
}
