/* Data are found by the environment first, then in the tree the program was built in. */
#include "config.h"

#include "conf/datadir.h"

static void
test_environment(void)
{
    const char *data = g_getenv("DTSIM_TEST_DATA");
    g_setenv("DTSIM_DATA", data != NULL ? data : "tests/data", TRUE);
    g_autofree char *path = conf_datadir_find("conf/memory.tsv");
    g_assert_nonnull(path);
    g_assert_true(g_str_has_prefix(path, g_getenv("DTSIM_DATA")));
    g_unsetenv("DTSIM_DATA");
}

static void
test_nowhere(void)
{
    g_assert_null(conf_datadir_find("no/such/place"));
    g_setenv("DTSIM_DATA", "", TRUE);
    g_assert_null(conf_datadir_find("no/such/place"));
    g_unsetenv("DTSIM_DATA");
}

static void
test_tree(void)
{
#ifdef DTSIM_SOURCE_DIR
    g_autofree char *path = conf_datadir_find("src/LAYERS");
    g_assert_cmpstr(path, ==, DTSIM_SOURCE_DIR "/src/LAYERS");
#else
    g_test_skip("compiled outside the build");
#endif
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/conf/datadir/environment-comes-first", test_environment);
    g_test_add_func("/conf/datadir/missing-data-are-null", test_nowhere);
    g_test_add_func("/conf/datadir/a-built-program-uses-its-tree", test_tree);
    return g_test_run();
}
