/* Number formats: names read back, sizes are those of the format in memory. */
#include "config.h"

#include "cluster/system.h"

#include "cluster/error.h"

static void
test_names(void)
{
    static const guint bytes[CLUSTER_N_DTYPES] = {4, 4, 2, 2, 1};
    for (guint i = 0; i < CLUSTER_N_DTYPES; i++) {
        ClusterDtype back = CLUSTER_N_DTYPES;
        g_autoptr(GError) error = NULL;
        g_assert_true(cluster_dtype_parse(cluster_dtype_name((ClusterDtype)i), &back, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(back, ==, i);
        g_assert_cmpuint(cluster_dtype_bytes((ClusterDtype)i), ==, bytes[i]);
    }
}

static void
test_unknown(void)
{
    static const char *const texts[] = {"bf6", "BF16", "", "int8"};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        ClusterDtype untouched = CLUSTER_TF32;
        g_autoptr(GError) error = NULL;
        g_assert_false(cluster_dtype_parse(texts[i], &untouched, &error));
        g_assert_error(error, CLUSTER_ERROR, CLUSTER_ERROR_UNKNOWN);
        g_assert_cmpint(untouched, ==, CLUSTER_TF32);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cluster/dtype/names-read-back", test_names);
    g_test_add_func("/cluster/dtype/unknown-names-are-errors", test_unknown);
    return g_test_run();
}
