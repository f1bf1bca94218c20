/* Names, groups and closed forms of collectives. */
#include "config.h"

#include "net/collective.h"

#include "conf/table.h"

static void
test_ring_bytes(void)
{
    static const struct {
        NetOp op;
        guint n;
        double bytes, sent;
    } cases[] = {
        {NET_ALL_REDUCE, 2, 1000, 1000}, {NET_ALL_REDUCE, 8, 1000, 1750},
        {NET_ALL_GATHER, 8, 1000, 875},  {NET_REDUCE_SCATTER, 4, 1000, 750},
        {NET_ALL_TO_ALL, 10, 1000, 900}, {NET_BROADCAST, 7, 1000, 1000},
        {NET_SEND_RECV, 2, 1000, 1000},  {NET_ALL_REDUCE, 1, 1000, 0},
        {NET_ALL_GATHER, 1, 1000, 0},    {NET_BROADCAST, 1, 1000, 0},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpfloat_with_epsilon(net_ring_bytes(cases[i].op, cases[i].n, cases[i].bytes),
                                       cases[i].sent, 1e-9);
    /* fp16 gradients of 70e9 parameters over many ranks: about 280 GB from every GPU */
    double sent = net_ring_bytes(NET_ALL_REDUCE, 1024, 70e9 * 2.0);
    g_assert_cmpfloat(sent, >, 279e9);
    g_assert_cmpfloat(sent, <, 280e9);
}

static NetOp
op_of(const char *word)
{
    static const struct {
        const char *word;
        NetOp op;
    } words[] = {{"AR", NET_ALL_REDUCE}, {"AG", NET_ALL_GATHER}, {"RS", NET_REDUCE_SCATTER}};
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (g_str_equal(word, words[i].word))
            return words[i].op;
    g_error("unknown collective %s", word);
}

/* Bytes that data and tensor parallel training of real models sends, worked out independently. */
static void
test_published_volumes(void)
{
    const char *data = g_getenv("DTSIM_TEST_DATA");
    g_autofree char *path =
        g_build_filename(data ? data : "tests/data", "net", "volumes.csv", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfTable) table = conf_table_load(path, &error);
    g_assert_no_error(error);
    guint op, n, count, payload, sent;
    g_assert_true(conf_table_need_column(table, "collective", &op, &error));
    g_assert_true(conf_table_need_column(table, "n", &n, &error));
    g_assert_true(conf_table_need_column(table, "count", &count, &error));
    g_assert_true(conf_table_need_column(table, "payload_bytes_each", &payload, &error));
    g_assert_true(conf_table_need_column(table, "ring_bytes_sent_per_gpu_total", &sent, &error));
    g_assert_cmpuint(conf_table_n_rows(table), >=, 20);
    for (guint i = 0; i < conf_table_n_rows(table); i++) {
        gint64 ranks, times, bytes, expected;
        g_assert_true(conf_table_int(table, i, n, &ranks, &error));
        g_assert_true(conf_table_int(table, i, count, &times, &error));
        g_assert_true(conf_table_int(table, i, payload, &bytes, &error));
        g_assert_true(conf_table_int(table, i, sent, &expected, &error));
        double ring =
            net_ring_bytes(op_of(conf_table_text(table, i, op)), (guint)ranks, (double)bytes);
        g_assert_cmpfloat_with_epsilon((double)times * ring, (double)expected, 1.0);
    }
}

static void
test_groups(void)
{
    static const struct {
        const char *what;
        gint64 gpus, nics;
        guint first, stride, n;
        NetGroup expected;
    } cases[] = {
        {"a whole node", 8, 8, 0, 1, 8, {.ranks = 8, .nodes = 1, .ranks_per_node = 8, .nics = 8}},
        {"two whole nodes",
         8,
         8,
         0,
         1,
         16,
         {.ranks = 16, .nodes = 2, .ranks_per_node = 8, .nics = 8}},
        {"one rank on each of 16 nodes",
         8,
         8,
         3,
         8,
         16,
         {.ranks = 16, .nodes = 16, .ranks_per_node = 1, .nics = 1}},
        {"two ranks of each node, own NICs",
         8,
         8,
         0,
         4,
         8,
         {.ranks = 8, .nodes = 4, .ranks_per_node = 2, .nics = 2}},
        {"DGX-1: two neighbours share a NIC",
         8,
         4,
         0,
         1,
         2,
         {.ranks = 2, .nodes = 1, .ranks_per_node = 2, .nics = 1}},
        {"DGX-1: a node", 8, 4, 0, 1, 8, {.ranks = 8, .nodes = 1, .ranks_per_node = 8, .nics = 4}},
        {"p5: a GPU has four NICs",
         8,
         32,
         0,
         8,
         4,
         {.ranks = 4, .nodes = 4, .ranks_per_node = 1, .nics = 4}},
        {"p5: a node", 8, 32, 0, 1, 8, {.ranks = 8, .nodes = 1, .ranks_per_node = 8, .nics = 32}},
        {"one rank", 8, 8, 5, 1, 1, {.ranks = 1, .nodes = 1, .ranks_per_node = 1, .nics = 1}},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        ClusterSystem system = {.gpus_per_node = cases[i].gpus, .nics_per_node = cases[i].nics};
        g_autofree guint *ranks = g_new(guint, cases[i].n);
        for (guint r = 0; r < cases[i].n; r++)
            ranks[r] = cases[i].first + r * cases[i].stride;
        NetGroup group = net_group_of(&system, ranks, cases[i].n);
        g_test_message("%s", cases[i].what);
        g_assert_cmpuint(group.ranks, ==, cases[i].expected.ranks);
        g_assert_cmpuint(group.nodes, ==, cases[i].expected.nodes);
        g_assert_cmpuint(group.ranks_per_node, ==, cases[i].expected.ranks_per_node);
        g_assert_cmpuint(group.nics, ==, cases[i].expected.nics);
    }
}

static void
test_order_of_ranks(void)
{
    ClusterSystem system = {.gpus_per_node = 8, .nics_per_node = 8};
    const guint up[] = {1, 9, 17, 2, 10}, down[] = {10, 17, 2, 1, 9};
    NetGroup a = net_group_of(&system, up, 5), b = net_group_of(&system, down, 5);
    g_assert_cmpmem(&a, sizeof a, &b, sizeof b);
    g_assert_cmpuint(a.nodes, ==, 3);
    g_assert_cmpuint(a.ranks_per_node, ==, 2);
    g_assert_cmpuint(a.least_per_node, ==, 1);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/collective/ring-sends-its-closed-form", test_ring_bytes);
    g_test_add_func("/net/collective/volumes-of-real-plans", test_published_volumes);
    g_test_add_func("/net/collective/group-from-ranks", test_groups);
    g_test_add_func("/net/collective/order-of-ranks-does-not-matter", test_order_of_ranks);
    return g_test_run();
}
