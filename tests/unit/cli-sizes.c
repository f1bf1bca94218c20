/* --bytes as nccl-tests writes sizes, and groups from counts of GPUs and nodes. */
#include "config.h"

#include "cli/command.h"
#include "cli/group.h"
#include "cli/sizes.h"

static void
test_sizes(void)
{
    static const struct {
        const char *text;
        gint64 sizes[8]; /* ends with 0 */
    } cases[] = {
        {"1M", {1048576}},
        {"1m", {1048576}},
        {"51.2M", {53687091}}, /* as nccl-tests reads -b 51.2M */
        {"8", {8}},
        {"1MB", {1000000}},
        {"1MiB", {1048576}},
        {"2G", {2147483648}},
        {"8..64", {8, 16, 32, 64}},
        {"8..100", {8, 16, 32, 64}},
        {"1K..64K:4", {1024, 4096, 16384, 65536}},
        {"1G,1M,1M", {1048576, 1073741824}},
        {"8..16,1M", {8, 16, 1048576}},
        {"4K..4K", {4096}},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GArray) sizes = cli_sizes_parse("--bytes", cases[i].text, &error);
        g_assert_no_error(error);
        guint n = 0;
        while (cases[i].sizes[n] != 0)
            n++;
        g_assert_cmpuint(sizes->len, ==, n);
        for (guint k = 0; k < n; k++)
            g_assert_cmpint(g_array_index(sizes, gint64, k), ==, cases[i].sizes[k]);
    }
}

static void
test_bad_sizes(void)
{
    static const char *const texts[] = {"",      "M",    "1X",      "-8",      "0",     "8..",
                                        "..8",   "8..4", "8..64:1", "8..64:x", "1,,2",  "1e99",
                                        "2000T", "1Gb",  "nan",     "8...64",  "1MB/s", "1 M"};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        g_test_message("'%s'", texts[i]);
        g_assert_null(cli_sizes_parse("--bytes", texts[i], &error));
        g_assert_error(error, CLI_ERROR, CLI_ERROR_USAGE);
        g_assert_true(g_str_has_prefix(error->message, "--bytes: "));
    }
}

/* 8 GPUs a node, 4 cards: two GPUs share one. */
static ClusterSystem *
system_of_8(void)
{
    static const char *const overrides[] = {"nic.count=4", NULL};
    g_autoptr(GError) error = NULL;
    ClusterSystem *system = cluster_system_load("dgx-a100-80g", overrides, &error);
    g_assert_no_error(error);
    return system;
}

static void
test_groups(void)
{
    static const struct {
        CliGroupWish wish;
        guint ranks, nodes, most;
    } cases[] = {
        {{0, 0}, 8, 1, 8},   /* one whole node */
        {{7, 0}, 7, 1, 7},   /* 7 of 8 */
        {{12, 0}, 12, 2, 8}, /* as few nodes as it takes: 8 and 4 */
        {{12, 2}, 12, 2, 6}, /* evenly: 6 and 6 */
        {{13, 2}, 13, 2, 7}, /* 7 and 6 */
        {{128, 0}, 128, 16, 8}, {{0, 3}, 24, 3, 8}, {{10, 10}, 10, 10, 1},
    };
    g_autoptr(ClusterSystem) system = system_of_8();
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        NetGroup group;
        g_assert_true(cli_group_place(&cases[i].wish, system, &group, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(group.ranks, ==, cases[i].ranks);
        g_assert_cmpuint(group.nodes, ==, cases[i].nodes);
        g_assert_cmpuint(group.ranks_per_node, ==, cases[i].most);
    }
}

static void
test_bad_groups(void)
{
    static const CliGroupWish wishes[] = {{17, 2}, {2, 3}};
    g_autoptr(ClusterSystem) system = system_of_8();
    for (guint i = 0; i < G_N_ELEMENTS(wishes); i++) {
        g_autoptr(GError) error = NULL;
        NetGroup group = {.ranks = 77};
        g_assert_false(cli_group_place(&wishes[i], system, &group, &error));
        g_assert_error(error, CLI_ERROR, CLI_ERROR_USAGE);
        g_assert_cmpuint(group.ranks, ==, 77);
    }
}

static void
test_ops(void)
{
    static const struct {
        const char *text;
        int op; /* -1: refused */
    } cases[] = {{"all_reduce", NET_ALL_REDUCE},
                 {"AllReduce", NET_ALL_REDUCE},
                 {"all_gather_perf", NET_ALL_GATHER},
                 {"reduce-scatter", NET_REDUCE_SCATTER},
                 {"alltoall", NET_ALL_TO_ALL},
                 {"all_to_all", NET_ALL_TO_ALL},
                 {"sendrecv", NET_SEND_RECV},
                 {"broadcast", NET_BROADCAST},
                 {"reduce", -1},
                 {"", -1}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        int op = -1;
        g_assert_true(cli_op_parse(cases[i].text, &op, &error) == (cases[i].op >= 0));
        g_assert_true((error != NULL) == (cases[i].op < 0));
        g_assert_cmpint(op, ==, cases[i].op);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cli/sizes/ranges-lists-and-suffixes", test_sizes);
    g_test_add_func("/cli/sizes/what-is-no-size", test_bad_sizes);
    g_test_add_func("/cli/group/filled-or-spread", test_groups);
    g_test_add_func("/cli/group/no-room", test_bad_groups);
    g_test_add_func("/cli/group/operations-by-name", test_ops);
    return g_test_run();
}
