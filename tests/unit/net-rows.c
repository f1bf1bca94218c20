/* Reading collective.tsv. */
#include "config.h"

#include "net/rows.h"

#include <string.h>

#define HEADER "# a machine\nop\tdtype\tranks\tnodes\tbytes\ttime_us\n"

static NetFabric
fabric(void)
{
    ClusterSystem system = {.gpu_name = (char *)"A100",
                            .gpus_per_node = 8,
                            .nvlink_Bps = 300000000000,
                            .nvlink_efficiency = 0.8,
                            .nvlink_latency_ns = 2000,
                            .nics_per_node = 8,
                            .nic_Bps = 25000000000,
                            .nic_efficiency = 0.9,
                            .nic_latency_ns = 20000,
                            .oversubscription = 1.0,
                            .gpudirect = TRUE,
                            .pxn = TRUE};
    return net_fabric_of(&system, NULL);
}

static void
test_sweeps(void)
{
    NetFabric f = fabric();
    guint n_rows = 0;
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) sweeps = net_rows_parse("t.tsv",
                                              HEADER "all_gather\tbf16\t16\t2\t1024\t40\n"
                                                     "all_reduce\tbf16\t8\t1\t2048\t25.5\n"
                                                     "all_reduce\tfp32\t8\t1\t1024\t22\n"
                                                     "send_recv\tbf16\t2\t2\t1024\t18\n",
                                              &f, &n_rows, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(n_rows, ==, 4);
    g_assert_cmpuint(sweeps->len, ==, 3);
    const NetSweep *s = (const NetSweep *)(void *)sweeps->data;
    g_assert_cmpint(s[0].op, ==, NET_ALL_REDUCE);
    g_assert_cmpfloat(net_curve_ns(s[0].curve, 2048, NULL, NULL), ==, 25500);
    g_assert_cmpint(s[1].op, ==, NET_ALL_GATHER);
    g_assert_cmpuint(s[1].group.ranks_per_node, ==, 8);
    g_assert_cmpuint(s[1].group.nics, ==, 8);
    g_assert_cmpuint(s[2].group.nics, ==, 1);
}

static void
test_bad_rows(void)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        {HEADER "allreduce\tbf16\t8\t1\t1024\t20\n", "all_reduce"},
        {HEADER "all_reduce\tbf16\t1\t1\t1024\t20\n", "ranks"},
        {HEADER "all_reduce\tbf16\t8\t9\t1024\t20\n", "nodes"},
        {HEADER "all_reduce\tbf16\t8\t0\t1024\t20\n", "nodes"},
        {HEADER "all_reduce\tbf16\t8\t1\t0\t20\n", "bytes"},
        {HEADER "all_reduce\tbf16\t8\t1\t1024\t0\n", "time_us"},
        {HEADER "all_reduce\tbf16\t8\t1\t1024\t-3\n", "time_us"},
        {HEADER "all_reduce\tbf16\t8\t1\t1024\tfast\n", "time_us"},
        {"op\tdtype\tranks\tnodes\tbytes\n", "time_us"},
    };
    NetFabric f = fabric();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        guint n_rows = 77;
        g_autoptr(GError) error = NULL;
        g_assert_null(net_rows_parse("t.tsv", cases[i].text, &f, &n_rows, &error));
        g_assert_nonnull(error);
        g_assert_nonnull(strstr(error->message, "t.tsv"));
        g_assert_nonnull(strstr(error->message, cases[i].said));
        g_assert_cmpuint(n_rows, ==, 77);
    }
}

static void
test_missing_file(void)
{
    NetFabric f = fabric();
    guint n_rows = 77;
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) sweeps = net_rows_load("no/such/collective.tsv", &f, &n_rows, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(sweeps->len, ==, 0);
    g_assert_cmpuint(n_rows, ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/rows/become-sweeps", test_sweeps);
    g_test_add_func("/net/rows/bad-ones-are-named", test_bad_rows);
    g_test_add_func("/net/rows/missing-file-is-no-rows", test_missing_file);
    return g_test_run();
}
