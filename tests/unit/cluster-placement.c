/* Placement: ranks fill nodes one after the other, NICs are dealt out in blocks. */
#include "config.h"

#include "cluster/system.h"

static void
test_nodes(void)
{
    const ClusterSystem s = {.gpus_per_node = 8, .nics_per_node = 8};
    g_assert_cmpuint(cluster_node_of(&s, 0), ==, 0);
    g_assert_cmpuint(cluster_node_of(&s, 7), ==, 0);
    g_assert_cmpuint(cluster_node_of(&s, 8), ==, 1);
    g_assert_cmpuint(cluster_local_of(&s, 8), ==, 0);
    g_assert_cmpuint(cluster_local_of(&s, 23), ==, 7);
    for (guint rank = 0; rank < 100; rank++)
        g_assert_cmpuint(cluster_node_of(&s, rank) * 8 + cluster_local_of(&s, rank), ==, rank);
}

static void
test_nics(void)
{
    static const struct {
        gint64 gpus, nics;
        guint of[8];
    } cases[] = {
        {8, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
        {8, 4, {0, 0, 1, 1, 2, 2, 3, 3}},
        {8, 1, {0, 0, 0, 0, 0, 0, 0, 0}},
        {8, 32, {0, 4, 8, 12, 16, 20, 24, 28}}, /* the first of each GPU's four */
    };
    for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
        const ClusterSystem s = {.gpus_per_node = cases[c].gpus, .nics_per_node = cases[c].nics};
        for (guint rank = 0; rank < 16; rank++)
            g_assert_cmpuint(cluster_nic_of(&s, rank), ==, cases[c].of[rank % 8]);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cluster/placement/ranks-fill-node-after-node", test_nodes);
    g_test_add_func("/cluster/placement/nics-are-dealt-out-in-blocks", test_nics);
    return g_test_run();
}
