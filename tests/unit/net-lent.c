/* Sweeps of one node that a system borrows: they answer as they do where they were measured, and nothing of several
 * nodes comes along. */
#include "config.h"

#include "net/coverage.h"

static ClusterSystem *
system_of(const char *name, const char *set)
{
    const char *sets[] = {set, NULL};
    g_autoptr(GError) error = NULL;
    ClusterSystem *s = cluster_system_load(name, set ? sets : NULL, &error);
    g_assert_no_error(error);
    return s;
}

static NetBook *
book_of(const ClusterSystem *s)
{
    g_autoptr(GError) error = NULL;
    NetBook *book = net_book_load(s, &error);
    g_assert_no_error(error);
    return book;
}

static void
test_in_a_node(void)
{
    g_autoptr(ClusterSystem) own = system_of("dgx-h100", NULL), lent = system_of("aws-p5", NULL);
    g_autoptr(NetBook) of_own = book_of(own), of_lent = book_of(lent);
    const NetGroup node = {.ranks = 8, .nodes = 1, .ranks_per_node = 8, .nics = 1};
    for (gint64 bytes = 1 << 20; bytes <= 1 << 30; bytes *= 4) {
        NetTime a = net_collective(of_own, NET_ALL_GATHER, node, bytes);
        NetTime b = net_collective(of_lent, NET_ALL_GATHER, node, bytes);
        g_assert_cmpfloat_with_epsilon(a.time.ns, b.time.ns, 1);
        g_assert_cmpint(b.time.basis, ==, a.time.basis);
    }
}

static void
test_coverage(void)
{
    g_autoptr(ClusterSystem) own = system_of("dgx-h100", NULL), lent = system_of("aws-p5", NULL);
    g_autoptr(ClusterSystem) alone = system_of("aws-p5", "tables.collective=");
    g_autoptr(NetBook) of_own = book_of(own), of_lent = book_of(lent), of_alone = book_of(alone);
    g_autoptr(GArray) all = net_book_coverage(of_own), borrowed = net_book_coverage(of_lent),
                      few = net_book_coverage(of_alone);
    guint in_node = 0, rows = 0;
    for (guint i = 0; i < all->len; i++)
        in_node += g_array_index(all, NetCovered, i).nodes == 1;
    g_assert_cmpuint(few->len, ==, 1); /* its own: all_reduce of two nodes */
    g_assert_cmpuint(borrowed->len, ==, in_node + 1);
    for (guint i = 0; i < borrowed->len; i++) {
        const NetCovered *c = &g_array_index(borrowed, NetCovered, i);
        rows += c->n_rows;
        if (c->nodes > 1) {
            g_assert_cmpint(c->op, ==, NET_ALL_REDUCE);
            g_assert_cmpuint(c->ranks, ==, 16);
        }
        if (i > 0)
            g_assert_cmpint(g_array_index(borrowed, NetCovered, i - 1).op, <=, c->op);
    }
    g_assert_cmpuint(net_book_n_rows(of_lent), ==, rows);
}

/* Groups that do not fit into a node of this system stay away. */
static void
test_smaller_node(void)
{
    g_autoptr(ClusterSystem) s = system_of("aws-p5", "node.gpus=4");
    g_autoptr(NetBook) book = book_of(s);
    g_autoptr(GArray) groups = net_book_coverage(book);
    for (guint i = 0; i < groups->len; i++)
        if (g_array_index(groups, NetCovered, i).nodes == 1)
            g_assert_cmpuint(g_array_index(groups, NetCovered, i).ranks, <=, 4);
}

/* A node of one GPU has no room for what was measured in one of 8: the rest of the table goes on counting. */
static void
test_single_gpus(void)
{
    static const char *const names[] = {"dgx1-v100-32g", "dgx-h100", "polaris"};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        const char *sets[] = {"node.gpus=1", "nic.count=1", "nic.rate=25Gbps", NULL};
        g_autoptr(GError) error = NULL;
        g_autoptr(ClusterSystem) s = cluster_system_load(names[i], sets, &error);
        g_assert_no_error(error);
        g_autoptr(NetBook) book = book_of(s);
        const NetGroup pair = {.ranks = 2, .nodes = 2, .ranks_per_node = 1, .nics = 1};
        double ns = net_collective(book, NET_ALL_REDUCE, pair, 1 << 30).time.ns;
        g_assert_cmpfloat(ns, >, 0.9 * (1 << 30) / 3.125); /* each sends all of it at 25 Gb/s */
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/lent/in-a-node", test_in_a_node);
    g_test_add_func("/net/lent/coverage", test_coverage);
    g_test_add_func("/net/lent/smaller-node", test_smaller_node);
    g_test_add_func("/net/lent/single-gpus", test_single_gpus);
    return g_test_run();
}
