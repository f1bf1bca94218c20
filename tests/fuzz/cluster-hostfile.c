/* Bytes as a hostfile: refused with an error, or as many different slots as ranks. */
#include "config.h"

#include <stdint.h>

#include "cluster/hostfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);

    for (gint64 fabric = 0; fabric <= 16; fabric += 16) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GArray) slots = cluster_hostfile_parse("hosts", text, 8, fabric, &error);
        g_assert_true((slots == NULL) == (error != NULL));
        g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
        for (guint i = 0; slots != NULL && i < slots->len; i++) {
            guint slot = g_array_index(slots, guint, i);
            g_assert_true(fabric == 0 || slot < 16 * 8);
            g_assert_true(g_hash_table_add(seen, GUINT_TO_POINTER(slot)));
        }
    }
    return 0;
}
