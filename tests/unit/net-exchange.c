/* Exchanges of tokens as DeepEP makes them, against its published figures; and all-to-alls of many nodes
 * against the wire. */
#include "config.h"

#include "net/rows.h"

#include "conf/table.h"

#include <math.h>

#define EXPERTS 256.0
#define CHOSEN 8
#define HIDDEN 7168.0

static ClusterSystem *
system_of(const char *name, const char *const *sets)
{
    g_autoptr(GError) error = NULL;
    ClusterSystem *system = cluster_system_load(name, sets, &error);
    g_assert_no_error(error);
    return system;
}

static NetBook *
book_of(const ClusterSystem *system)
{
    g_autoptr(GError) error = NULL;
    NetBook *book = net_book_load(system, &error);
    g_assert_no_error(error);
    return book;
}

/* H800: an H100 whose NVLink has 200 GB/s a direction, of which 160 are usable. */
static const char *const h800[] = {"node.nvlink-rate=200GBps", "node.nvlink-efficiency=0.8", NULL};

/* Share of tokens that reach none of `part` among `all` experts, when they choose CHOSEN of them. */
static double
missed(double all, double part)
{
    double share = 1.0;
    for (int i = 0; i < CHOSEN; i++)
        share *= (all - part - i) / (all - i);
    return share;
}

typedef struct {
    const char *kind, *direction;
    guint ranks, nodes;
    double figure;
} Row;

/* What DeepEP would print on the modelled machine: its logical rate, or its time. */
static double
modelled(const NetBook *book, const Row *row)
{
    gboolean dispatch = g_str_equal(row->direction, "dispatch");
    double token = dispatch ? HIDDEN * (1.0 + 4.0 / 128.0) : 2.0 * HIDDEN;
    double n = row->ranks, nodes = row->nodes, on_node = n / nodes;
    NetGroup group = {.ranks = row->ranks,
                      .nodes = row->nodes,
                      .ranks_per_node = row->ranks / row->nodes,
                      .nics = row->ranks / row->nodes};
    if (g_str_equal(row->kind, "low_latency")) {
        double bytes = 128.0 * CHOSEN * token;
        return net_exchange(book, group, bytes * (on_node - 1.0) / n, bytes * (n - on_node) / n)
                   .time.ns /
               1e3;
    }
    double allowed = MIN(nodes, 4.0), candidates = EXPERTS * allowed / nodes;
    double bytes = 4096.0 * token;
    double node_copies = allowed * (1.0 - missed(candidates, EXPERTS / nodes));
    double rank_copies = allowed * on_node * (1.0 - missed(candidates, EXPERTS / n));
    double ns = net_exchange(book, group, bytes * rank_copies * (on_node - 1.0) / on_node,
                             bytes * node_copies * (nodes - 1.0) / nodes)
                    .time.ns;
    return bytes * (row->nodes > 1 ? node_copies : rank_copies) / ns;
}

static Row
read_row(const ConfTable *table, guint i)
{
    g_autoptr(GError) error = NULL;
    gint64 ranks, nodes;
    Row row = {conf_table_text(table, i, 0), conf_table_text(table, i, 1), 0, 0, 0};
    g_assert_true(conf_table_int(table, i, 2, &ranks, &error));
    g_assert_true(conf_table_int(table, i, 3, &nodes, &error));
    g_assert_true(conf_table_double(table, i, 4, &row.figure, &error));
    row.ranks = (guint)ranks;
    row.nodes = (guint)nodes;
    return row;
}

/* Within 15 %, but for the large kernels on two nodes: DeepEP's reach 43 GB/s where NVLink, over which each
 * token goes to 6 ranks, would allow 51; its document does not say why. */
static void
test_published(void)
{
    const char *data = g_getenv("DTSIM_TEST_DATA");
    g_autofree char *path = g_build_filename(data ? data : "tests/data", "net", "deepep.tsv", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfTable) table = conf_table_load(path, &error);
    g_assert_no_error(error);
    g_autoptr(ClusterSystem) system = system_of("dgx-h100", h800);
    g_autoptr(NetBook) book = book_of(system);
    g_assert_cmpuint(conf_table_n_rows(table), ==, 20);
    double sum = 0.0;
    for (guint i = 0; i < conf_table_n_rows(table); i++) {
        Row row = read_row(table, i);
        double ours = modelled(book, &row), ratio = ours / row.figure;
        g_test_message("%s %s EP%u: %.0f, DeepEP %.0f: x%.2f", row.kind, row.direction, row.ranks,
                       ours, row.figure, ratio);
        gboolean two = row.nodes == 2 && g_str_equal(row.kind, "normal");
        g_assert_cmpfloat(ratio, >, 0.85);
        g_assert_cmpfloat(ratio, <, two ? 1.25 : 1.15);
        sum += log(ratio) * log(ratio);
    }
    g_assert_cmpfloat(sqrt(sum / conf_table_n_rows(table)), <, 0.10);
}

/* Bytes over the busier link, and nothing less than that link takes; latency goes with the system's. */
static void
test_links(void)
{
    static const char *const still[] = {"node.nvlink-latency=0ns", "nic.latency=0ns", NULL};
    g_autoptr(ClusterSystem) system = system_of("dgx-a100-80g", NULL),
                             no_latency = system_of("dgx-a100-80g", still);
    g_autoptr(NetBook) book = book_of(system), quick = book_of(no_latency);
    const NetGroup one = {.ranks = 1, .nodes = 1, .ranks_per_node = 1, .nics = 1},
                   node = {.ranks = 8, .nodes = 1, .ranks_per_node = 8, .nics = 8},
                   nodes = {.ranks = 64, .nodes = 8, .ranks_per_node = 8, .nics = 8};
    g_assert_cmpfloat(net_exchange(book, one, 1e6, 1e6).time.ns, ==, 0);
    g_assert_cmpfloat(net_exchange(book, nodes, 0, 0).time.ns, ==, 0);
    double nvlink = 1e9 / (300.0 * 0.78) / 0.93, nic = 1e9 / (25.0 * 0.93) / 0.93; /* ns */
    g_assert_cmpfloat_with_epsilon(net_exchange(quick, node, 1e9, 0).time.ns, nvlink, 1);
    g_assert_cmpfloat_with_epsilon(net_exchange(quick, nodes, 1e9, 1e9).time.ns, nic, 1);
    g_assert_cmpfloat_with_epsilon(net_exchange(quick, nodes, 1e9, 1e6).time.ns, nvlink, 1);
    /* 2 us and 18 us of system.conf against the reference of 2 us and 20 us */
    g_assert_cmpfloat_with_epsilon(net_exchange(book, nodes, 1e9, 1e9).time.ns,
                                   nic + 35000 + 5000 * 0.9, 1);
    for (double bytes = 1; bytes < 1e12; bytes *= 7) {
        NetTime t = net_exchange(book, nodes, bytes, bytes / 3);
        g_assert_cmpint(t.time.basis, ==, COST_MODELLED);
        g_assert_cmpfloat(t.nvlink_bytes - t.nvlink_rest_bytes, <=,
                          net_nvlink_capacity_Bps(book) * t.time.ns / 1e9);
        g_assert_cmpfloat(t.nic_bytes - t.nic_rest_bytes, <=,
                          net_nic_capacity_Bps(book) * t.time.ns / 1e9);
        g_assert_cmpfloat(t.nic_bytes, >, 0.9 * bytes / 3);
    }
}

/* All-to-all of 256 MiB a rank over 2 to 64 nodes: what leaves the node, (n - 8)/n, through one card each.
 * No faster than the card, at most 2.5 times as slow (what 504 peers cost besides); small ones cost by the peer. */
static void
test_all_to_all(void)
{
    static const char *const systems[] = {"dgx-a100-80g", "dgx-h100"};
    for (guint i = 0; i < G_N_ELEMENTS(systems); i++) {
        g_autoptr(ClusterSystem) system = system_of(systems[i], NULL);
        g_autoptr(NetBook) book = book_of(system);
        double last = 0, last_small = 0;
        for (guint nodes = 2; nodes <= 64; nodes *= 2) {
            double n = 8.0 * nodes, bytes = 256.0 * 1024 * 1024;
            NetGroup group = {.ranks = 8 * nodes, .nodes = nodes, .ranks_per_node = 8, .nics = 8};
            double ns = net_collective(book, NET_ALL_TO_ALL, group, (gint64)bytes).time.ns;
            double wire = bytes * (n - 8) / n / (double)system->nic_Bps * 1e9;
            double small = net_collective(book, NET_ALL_TO_ALL, group, 16384).time.ns;
            g_test_message("%s %u nodes: %.0f us, x%.2f of the wire; 16 KiB %.0f us", systems[i],
                           nodes, ns / 1e3, ns / wire, small / 1e3);
            g_assert_cmpfloat(ns / wire, >, 0.95);
            g_assert_cmpfloat(ns / wire, <, 2.5);
            g_assert_cmpfloat(ns, >, last);
            g_assert_cmpfloat(small, >, 1.8 * last_small);
            g_assert_cmpfloat(small / (n - 8), <, 12e3); /* a peer at most 12 us */
            last = ns;
            last_small = small;
        }
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/exchange/deepep-published-figures", test_published);
    g_test_add_func("/net/exchange/the-busier-link", test_links);
    g_test_add_func("/net/exchange/all-to-all-of-many-nodes", test_all_to_all);
    return g_test_run();
}
