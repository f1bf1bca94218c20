/* What a collective costs on a system: measured where measured, sane between and beyond. */
#include "config.h"

#include "net/rows.h"

#include <glib/gstdio.h>
#include <math.h>

#define HEADER "op\tdtype\tranks\tnodes\tbytes\ttime_us\n"

typedef struct {
    char *directory;
    ClusterSystem system;
} Machine;

/* A machine whose directory holds `rows` (NULL: no table) and no system.conf. */
static Machine
machine_new(const char *rows)
{
    g_autoptr(GError) error = NULL;
    char *directory = g_dir_make_tmp("dtsim-net-XXXXXX", &error);
    g_assert_no_error(error);
    if (rows != NULL) {
        g_autofree char *path = g_build_filename(directory, "collective.tsv", NULL);
        g_autofree char *text = g_strconcat(HEADER, rows, NULL);
        g_assert_true(g_file_set_contents(path, text, -1, &error));
    }
    ClusterSystem system = {
        .directory = directory,
        .gpu_name = (char *)"A100",
        .gpus_per_node = 8,
        .link = CLUSTER_LINK_NVSWITCH,
        .nvlink_Bps = 300000000000,
        .nvlink_efficiency = 0.78,
        .nvlink_latency_ns = 2000,
        .pcie_Bps = 25000000000,
        .nics_per_node = 8,
        .nic_Bps = 25000000000,
        .nic_efficiency = 0.93,
        .nic_latency_ns = 18000,
        .rail_optimised = TRUE,
        .oversubscription = 1.0,
        .gpudirect = TRUE,
        .pxn = TRUE,
    };
    return (Machine){directory, system};
}

static void
machine_clear(Machine *machine)
{
    g_autofree char *path = g_build_filename(machine->directory, "collective.tsv", NULL);
    g_remove(path);
    g_rmdir(machine->directory);
    g_free(machine->directory);
}

static NetBook *
book_of(const ClusterSystem *system)
{
    g_autoptr(GError) error = NULL;
    NetBook *book = net_book_load(system, &error);
    g_assert_no_error(error);
    return book;
}

static const char rows[] = "all_reduce\tbf16\t8\t1\t1024\t22\n"
                           "all_reduce\tbf16\t8\t1\t1048576\t40\n"
                           "all_reduce\tbf16\t8\t1\t67108864\t600\n"
                           "all_reduce\tbf16\t8\t1\t1073741824\t8160\n"
                           "all_gather\tbf16\t16\t2\t1024\t36\n"
                           "all_gather\tbf16\t16\t2\t1073741824\t5723\n";

static const NetGroup node = {.ranks = 8, .nodes = 1, .ranks_per_node = 8, .nics = 8},
                      pair_of_nodes = {.ranks = 16, .nodes = 2, .ranks_per_node = 8, .nics = 8},
                      one_a_node = {.ranks = 16, .nodes = 16, .ranks_per_node = 1, .nics = 1};

static void
test_measured(void)
{
    Machine machine = machine_new(rows);
    g_autoptr(NetBook) book = book_of(&machine.system);
    g_assert_cmpuint(net_book_n_rows(book), ==, 6);
    NetTime hit = net_collective(book, NET_ALL_REDUCE, node, 67108864);
    g_assert_cmpfloat(hit.time.ns, ==, 600000);
    g_assert_cmpint(hit.time.basis, ==, COST_MEASURED);
    g_assert_cmpstr(hit.algorithm, ==, "ring");
    g_assert_cmpstr(hit.protocol, ==, "Simple");
    g_assert_cmpuint(hit.channels, ==, 24);
    g_assert_cmpint(hit.pattern, ==, NET_PATTERN_RING);
    /* halfway in bytes between two sizes is halfway in time */
    NetTime between = net_collective(book, NET_ALL_REDUCE, node, (1048576 + 67108864) / 2);
    g_assert_cmpfloat_with_epsilon(between.time.ns, 320000, 1);
    g_assert_cmpint(between.time.basis, ==, COST_INTERPOLATED);
    NetTime beyond = net_collective(book, NET_ALL_REDUCE, node, 4294967296);
    g_assert_cmpint(beyond.time.basis, ==, COST_MODELLED);
    g_assert_cmpfloat(beyond.time.ns, >, 3.9 * 8160e3);
    g_assert_cmpfloat(beyond.time.ns, <, 4.1 * 8160e3);
    NetTime below = net_collective(book, NET_ALL_REDUCE, node, 8);
    g_assert_cmpfloat(below.time.ns, <=, 22000);
    g_assert_cmpfloat(below.time.ns, >, 18000);
    NetTime other = net_collective(book, NET_ALL_REDUCE, one_a_node, 1 << 30);
    g_assert_cmpint(other.time.basis, ==, COST_MODELLED);
    g_assert_cmpfloat(other.time.error_frac, >, 0);
    machine_clear(&machine);
}

static void
test_nothing_to_send(void)
{
    Machine machine = machine_new(NULL);
    g_autoptr(NetBook) book = book_of(&machine.system);
    g_assert_cmpuint(net_book_n_rows(book), ==, 0);
    for (int op = 0; op < NET_N_OPS; op++) {
        NetTime alone = net_collective(
            book, (NetOp)op, (NetGroup){.ranks = 1, .nodes = 1, .ranks_per_node = 1, .nics = 1},
            1 << 20);
        NetTime empty = net_collective(book, (NetOp)op, pair_of_nodes, 0);
        g_assert_cmpfloat(alone.time.ns, ==, 0);
        g_assert_cmpfloat(alone.nvlink_bytes, ==, 0);
        g_assert_cmpfloat(empty.time.ns, ==, 0);
        g_assert_cmpfloat(empty.nic_bytes, ==, 0);
    }
    g_assert_cmpfloat(net_point_to_point(book, TRUE, 0).time.ns, ==, 0);
    machine_clear(&machine);
}

/* Random groups and sizes: time never falls with bytes; no link carries more than its capacity. */
static void
check_book(const NetBook *book)
{
    for (int round = 0; round < 60; round++) {
        NetOp op = (NetOp)g_test_rand_int_range(0, NET_N_OPS);
        guint nodes = 1u << g_test_rand_int_range(0, 7);
        guint k = 1u << g_test_rand_int_range(nodes == 1 ? 1 : 0, 4);
        NetGroup group = {.ranks = nodes * k, .nodes = nodes, .ranks_per_node = k, .nics = k};
        double last = 0.0;
        for (double bytes = 1; bytes < 6e10; bytes *= g_test_rand_double_range(1.01, 3.0)) {
            NetTime t = net_collective(book, op, group, (gint64)bytes);
            g_assert_true(isfinite(t.time.ns));
            g_assert_cmpfloat(t.time.ns, >=, last * (1 - 1e-12));
            g_assert_cmpfloat(t.time.ns, >, 0);
            g_assert_cmpfloat(t.nvlink_bytes - t.nvlink_rest_bytes, <=,
                              net_nvlink_capacity_Bps(book) * t.time.ns / 1e9 + 1e-3);
            g_assert_cmpfloat(t.nic_bytes - t.nic_rest_bytes, <=,
                              net_nic_capacity_Bps(book) * t.time.ns / 1e9 + 1e-3);
            g_assert_cmpfloat(nodes == 1 ? t.nic_bytes : 0, ==, 0);
            last = t.time.ns;
        }
    }
}

static void
test_invariants(void)
{
    Machine measured = machine_new(rows), bare = machine_new(NULL);
    g_autoptr(NetBook) a = book_of(&measured.system), b = book_of(&bare.system);
    check_book(a);
    check_book(b);
    machine_clear(&measured);
    machine_clear(&bare);
}

/* A large all_reduce alone fills its port: two of them on one port take twice as long. */
static void
test_large_transfer_fills_port(void)
{
    Machine machine = machine_new(rows);
    g_autoptr(NetBook) book = book_of(&machine.system);
    NetTime t = net_collective(book, NET_ALL_REDUCE, node, 1 << 30);
    g_assert_cmpfloat(t.nvlink_bytes / (t.time.ns / 1e9), >, 0.95 * net_nvlink_capacity_Bps(book));
    t = net_collective(book, NET_ALL_GATHER, pair_of_nodes, 1 << 30);
    g_assert_cmpfloat(t.nic_bytes / (t.time.ns / 1e9), >, 0.95 * net_nic_capacity_Bps(book));
    /* one rank a node puts nothing on NVLink */
    t = net_collective(book, NET_ALL_REDUCE, one_a_node, 1 << 30);
    g_assert_cmpfloat(t.nvlink_bytes, ==, 0);
    machine_clear(&machine);
}

static const struct {
    const char *what;
    NetOp op;
    NetGroup group;
    gint64 bytes;
    double low_us, high_us;
} plausible[] = {
    {"small all_reduce in a node",
     NET_ALL_REDUCE,
     {.ranks = 8, .nodes = 1, .ranks_per_node = 8, .nics = 8},
     1024,
     12,
     40},
    {"small all_reduce, two nodes",
     NET_ALL_REDUCE,
     {.ranks = 16, .nodes = 2, .ranks_per_node = 8, .nics = 8},
     1024,
     20,
     60},
    {"small send in a node",
     NET_SEND_RECV,
     {.ranks = 2, .nodes = 1, .ranks_per_node = 2, .nics = 2},
     1024,
     5,
     20},
    {"small send across",
     NET_SEND_RECV,
     {.ranks = 2, .nodes = 2, .ranks_per_node = 1, .nics = 1},
     1024,
     8,
     30},
    {"1 GiB all_reduce in a node, about 230 GB/s",
     NET_ALL_REDUCE,
     {.ranks = 8, .nodes = 1, .ranks_per_node = 8, .nics = 8},
     1 << 30,
     7500,
     9500},
    {"1 GiB all_reduce, 16 nodes of one rank, 23 GB/s",
     NET_ALL_REDUCE,
     {.ranks = 16, .nodes = 16, .ranks_per_node = 1, .nics = 1},
     1 << 30,
     85000,
     100000},
    {"1 GiB sent across",
     NET_SEND_RECV,
     {.ranks = 2, .nodes = 2, .ranks_per_node = 1, .nics = 1},
     1 << 30,
     44000,
     50000},
};

/* Without a table: plausible times of a DGX A100. */
static void
test_plausible(void)
{
    Machine machine = machine_new(NULL);
    g_autoptr(NetBook) book = book_of(&machine.system);
    for (gsize i = 0; i < G_N_ELEMENTS(plausible); i++) {
        double us =
            net_collective(book, plausible[i].op, plausible[i].group, plausible[i].bytes).time.ns /
            1e3;
        g_test_message("%s: %.1f us", plausible[i].what, us);
        g_assert_cmpfloat(us, >, plausible[i].low_us);
        g_assert_cmpfloat(us, <, plausible[i].high_us);
    }
    machine_clear(&machine);
}

static void
test_bad_table(void)
{
    Machine machine = machine_new("all_reduce\tbf16\t8\t1\t0\t22\n");
    g_autoptr(GError) error = NULL;
    g_assert_null(net_book_load(&machine.system, &error));
    g_assert_nonnull(error);
    machine_clear(&machine);
}

static int
compare_doubles(gconstpointer a, gconstpointer b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Every second size of each sweep is taken out of the shipped table and predicted from the rest. */
static void
test_held_out_sizes(gconstpointer name)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ClusterSystem) system = cluster_system_load(name, NULL, &error);
    g_assert_no_error(error);
    NetFabric fabric = net_fabric_of(system, NULL);
    g_autofree char *path = g_build_filename(system->directory, "collective.tsv", NULL);
    g_autoptr(GArray) sweeps = net_rows_load(path, &fabric, NULL, &error);
    g_assert_no_error(error);
    g_autoptr(GString) kept = g_string_new(NULL);
    g_autoptr(GArray) held = g_array_new(FALSE, FALSE, sizeof(NetSample));
    g_autoptr(GArray) held_sweeps = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint i = 0; i < sweeps->len; i++) {
        const NetSweep *s = &g_array_index(sweeps, NetSweep, i);
        guint index = 0;
        for (double b = net_curve_first_bytes(s->curve); b <= net_curve_last_bytes(s->curve);
             b *= 2) {
            NetSample sample = {floor(b), net_curve_ns(s->curve, floor(b), NULL, NULL)};
            if (index++ % 2 == 1) {
                g_array_append_val(held, sample);
                g_array_append_val(held_sweeps, i);
                continue;
            }
            g_string_append_printf(kept, "%s\tany\t%u\t%u\t%.0f\t%.6f\n", net_op_name(s->op),
                                   s->group.ranks, s->group.nodes, sample.bytes, sample.ns / 1e3);
        }
    }
    Machine machine = machine_new(kept->str);
    ClusterSystem halved = *system;
    halved.directory = machine.directory;
    g_autoptr(NetBook) book = book_of(&halved);
    g_autofree double *errors = g_new(double, held->len);
    for (guint i = 0; i < held->len; i++) {
        const NetSample *sample = &g_array_index(held, NetSample, i);
        const NetSweep *s = &g_array_index(sweeps, NetSweep, g_array_index(held_sweeps, guint, i));
        NetTime t = net_collective(book, s->op, s->group, (gint64)sample->bytes);
        errors[i] = fabs(log(t.time.ns / sample->ns));
    }
    qsort(errors, held->len, sizeof *errors, compare_doubles);
    double median = errors[held->len / 2], p90 = errors[held->len * 9 / 10];
    g_test_message("%s: %u sizes held out, error median %.1f %%, 90th percentile %.1f %%",
                   (const char *)name, held->len, 100 * median, 100 * p90);
    g_assert_cmpuint(held->len, >, 10);
    g_assert_cmpfloat(median, <, 0.10);
    g_assert_cmpfloat(p90, <, 0.50);
    machine_clear(&machine);
}

/* Twice the NIC rate: large transfers across nodes take about half, those in a node the same. */
static void
test_overrides_act_on_measured_times(void)
{
    static const char *const faster[] = {"nic.rate=400Gbps", NULL};
    g_autoptr(GError) error = NULL;
    g_autoptr(ClusterSystem) plain = cluster_system_load("dgx-a100-80g", NULL, &error);
    g_assert_no_error(error);
    g_autoptr(ClusterSystem) changed = cluster_system_load("dgx-a100-80g", faster, &error);
    g_assert_no_error(error);
    g_autoptr(NetBook) a = book_of(plain), b = book_of(changed);
    double before = net_collective(a, NET_ALL_GATHER, one_a_node, 1 << 30).time.ns;
    double after = net_collective(b, NET_ALL_GATHER, one_a_node, 1 << 30).time.ns;
    g_assert_cmpfloat(before / after, >, 1.8);
    g_assert_cmpfloat(before / after, <, 2.05);
    g_assert_cmpfloat_with_epsilon(net_nic_capacity_Bps(b) / net_nic_capacity_Bps(a), 2.0, 1e-9);
    g_assert_cmpfloat(net_collective(a, NET_ALL_REDUCE, node, 1 << 30).time.ns, ==,
                      net_collective(b, NET_ALL_REDUCE, node, 1 << 30).time.ns);
    check_book(b);
}

static void
test_all_bytes_count(void)
{
    g_test_summary(
        "two nodes of 8 exchange: half of each buffer leaves its node, also where the measured "
        "time leaves less room at the capacity");
    g_autoptr(GError) error = NULL;
    g_autoptr(ClusterSystem) system = cluster_system_load("dgx-h100", NULL, &error);
    g_assert_no_error(error);
    g_autoptr(NetBook) book = book_of(system);
    NetTime t = net_collective(book, NET_ALL_TO_ALL, pair_of_nodes, 1 << 30);
    g_assert_cmpfloat(t.nic_bytes, ==, 1 << 29);
    g_assert_cmpfloat(t.nic_rest_bytes, >, 0);
    g_assert_cmpfloat(t.nic_rest_bytes, <, 0.2 * t.nic_bytes);
    double within = t.nic_bytes - t.nic_rest_bytes;
    g_assert_cmpfloat_with_epsilon(within, net_nic_capacity_Bps(book) * t.time.ns / 1e9, 1.0);
}

/* Sweeps of eight GPUs a node say nothing of nodes of one, and stop nothing. */
static void
test_smaller_nodes(void)
{
    const char *const smaller[] = {"node.gpus=1", "nic.rate=25Gbps", NULL};
    g_autoptr(GError) error = NULL;
    g_autoptr(ClusterSystem) system = cluster_system_load("dgx1-v100-32g", smaller, &error);
    g_assert_no_error(error);
    g_autoptr(NetBook) book = net_book_load(system, &error);
    g_assert_no_error(error);
    NetGroup pair = {.ranks = 2, .nodes = 2, .ranks_per_node = 1, .nics = 1};
    g_assert_cmpfloat(net_collective(book, NET_ALL_REDUCE, pair, 1 << 20).time.ns, >, 0.0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/book/measured-rows-are-exact", test_measured);
    g_test_add_func("/net/book/one-rank-or-no-bytes-cost-nothing", test_nothing_to_send);
    g_test_add_func("/net/book/monotone-and-within-capacity", test_invariants);
    g_test_add_func("/net/book/large-transfer-fills-its-port", test_large_transfer_fills_port);
    g_test_add_func("/net/book/plausible-without-a-table", test_plausible);
    g_test_add_func("/net/book/bad-table-is-an-error", test_bad_table);
    g_test_add_data_func("/net/book/held-out-sizes-dgx-a100-80g", "dgx-a100-80g",
                         test_held_out_sizes);
    g_test_add_data_func("/net/book/held-out-sizes-dgx-h100", "dgx-h100", test_held_out_sizes);
    g_test_add_func("/net/book/overrides-act-on-measured-times",
                    test_overrides_act_on_measured_times);
    g_test_add_func("/net/book/smaller-nodes-than-measured", test_smaller_nodes);
    g_test_add_func("/net/book/all-bytes-count", test_all_bytes_count);
    return g_test_run();
}
