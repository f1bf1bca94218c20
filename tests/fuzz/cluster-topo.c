/* Bytes as NCCL's XML or as the matrix of nvidia-smi topo -m: refused with an error, or a node whose links and distances
 * are the same both ways. */
#include "config.h"

#include <stdint.h>

#include "cluster/topo_node.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(ClusterTopoNode) node = cluster_topo_parse("node", text, &error);
    g_assert_true((node == NULL) == (error != NULL));
    if (node == NULL)
        return 0;
    guint n = node->devices->len;
    g_assert_true(node->n_gpus >= 1 && node->n_gpus <= n);
    for (guint i = 0; i < n; i++)
        for (guint j = 0; j < n; j++) {
            g_assert_true(cluster_topo_near(node, i, j) == cluster_topo_near(node, j, i));
            g_assert_true(i >= node->n_gpus || j >= node->n_gpus ||
                          node->links[i * node->n_gpus + j] == node->links[j * node->n_gpus + i]);
        }
    g_autoptr(ClusterTopoConf) conf = cluster_topo_conf_new(node, NULL);
    g_assert_true(conf->set->len > 0);
    return 0;
}
