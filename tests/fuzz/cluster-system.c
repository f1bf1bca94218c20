/* A system.conf from arbitrary bytes: an error iff it failed; a system has positive rates and
 * prints back. */
#include "config.h"

#include "cluster/system.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(ClusterSystem) s = cluster_system_parse("fuzz", text, NULL, &error);
    g_assert_true((s == NULL) == (error != NULL));
    if (!s)
        return 0;
    g_assert_true(s->memory_Bps > 0 && s->nvlink_Bps > 0 && s->nic_Bps > 0 && s->n_sms > 0);
    g_assert_cmpuint(cluster_nic_of(s, 12345), <, (guint)s->nics_per_node);
    g_autofree char *printed = conf_keyfile_print(s->conf);
    g_autoptr(ClusterSystem) again = cluster_system_parse("again", printed, NULL, &error);
    g_assert_no_error(error);
    g_assert_nonnull(again);
    return 0;
}
