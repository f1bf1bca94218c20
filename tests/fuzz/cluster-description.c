/* A machine in one line, or NVLinks of a mesh, from arbitrary bytes: an error iff it failed; a machine has nodes. */
#include "config.h"

#include "cluster/description.h"
#include "cluster/mesh.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_mesh(const char *text)
{
    for (guint gpus = 1; gpus <= 8; gpus++) {
        g_autoptr(GError) error = NULL;
        g_autofree guint8 *links = cluster_mesh_parse(text, gpus, &error);
        g_assert_true((links == NULL) == (error != NULL));
        for (guint i = 0; links != NULL && i < gpus * gpus; i++)
            g_assert_cmpuint(links[i], ==, links[i % gpus * gpus + i / gpus]);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(ClusterDescription) d = cluster_description_parse(text, &error);
    g_assert_true((d == NULL) == (error != NULL));
    if (d != NULL) {
        g_assert_cmpuint(d->n_nodes, >, 0);
        for (guint i = 0; d->set[i] != NULL; i++)
            g_assert_nonnull(strchr(d->set[i], '='));
    }
    check_mesh(text);
    return 0;
}
