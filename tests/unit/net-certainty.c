/* Errors that predicted collectives carry, against what was measured: sizes between those that a sweep keeps, and whole
 * sweeps that the others predict. About 68 % should be off by less than one sigma. */
#include "config.h"

#include "net/book.h"

#include "certainty-fixture.h"

static const char *const systems[] = {
    "alps-gh200", "aws-p4d",  "aws-p5",   "azure-nd-a100-v4", "dgx-a100-40g", "dgx-a100-80g",
    "dgx-b200",   "dgx-h100", "dgx-h200", "dgx1-v100-32g",    "gb200-nvl72",  "polaris"};

typedef struct {
    ClusterSystem *system;
    GArray *sweeps;
} Measured;

static Measured
measured_new(const char *name)
{
    g_autoptr(GError) error = NULL;
    Measured m = {.system = cluster_system_load(name, NULL, &error)};
    g_assert_no_error(error);
    g_autofree char *path = g_build_filename(m.system->directory, "collective.tsv", NULL);
    NetFabric fabric = net_fabric_of(m.system, NULL);
    m.sweeps = net_rows_load(path, &fabric, NULL, &error);
    g_assert_no_error(error);
    return m;
}

static void
measured_clear(Measured *m)
{
    g_array_unref(m->sweeps);
    cluster_system_free(m->system);
}

static const NetSweep *
sweep_at(const Measured *m, guint i)
{
    return &g_array_index(m->sweeps, NetSweep, i);
}

/* Points from, from + step ... of the sweep. */
static void
add_points(const NetBook *book, const NetSweep *sweep, guint from, guint step, guint to,
           Tally tally[2])
{
    for (guint i = from; i < to; i += step) {
        NetSample s = net_curve_point(sweep->curve, i);
        CostTime t = net_collective(book, sweep->op, sweep->group, (gint64)s.bytes).time;
        if (t.basis != COST_MEASURED)
            tally_add(&tally[sweep->group.nodes > 1], t, s.ns);
    }
}

/* Every second size, and the largest. */
static NetCurve *
thinned(const NetCurve *curve)
{
    guint n = net_curve_n_points(curve), kept = 0;
    g_autofree NetSample *samples = g_new(NetSample, n);
    for (guint i = 0; i < n; i++)
        if (i % 2 == 0 || i + 1 == n)
            samples[kept++] = net_curve_point(curve, i);
    return net_curve_new(samples, kept);
}

static void
test_sizes(void)
{
    Tally tally[2] = {{0}, {0}};
    for (guint i = 0; i < G_N_ELEMENTS(systems); i++) {
        Measured m = measured_new(systems[i]);
        GArray *thin = net_sweeps_copy(sweep_at(&m, 0), m.sweeps->len);
        for (guint k = 0; k < thin->len; k++) {
            NetSweep *sweep = &g_array_index(thin, NetSweep, k);
            net_curve_free(sweep->curve);
            sweep->curve = thinned(sweep_at(&m, k)->curve);
        }
        g_autoptr(NetBook) book =
            net_book_new(m.system, &g_array_index(thin, NetSweep, 0), thin->len, NULL);
        for (guint k = 0; k < m.sweeps->len; k++)
            add_points(book, sweep_at(&m, k), 1, 2, net_curve_n_points(sweep_at(&m, k)->curve) - 1,
                       tally);
        g_array_unref(thin);
        measured_clear(&m);
    }
    g_assert_cmpuint(tally[0].n + tally[1].n, >, 1000);
    tally_check(&tally[0], "sizes, in a node", 0.62, 0.78);
    tally_check(&tally[1], "sizes, across nodes", 0.58, 0.78);
}

static void
test_groups(void)
{
    Tally tally[2] = {{0}, {0}};
    for (guint i = 0; i < G_N_ELEMENTS(systems); i++) {
        Measured m = measured_new(systems[i]);
        for (guint k = 0; k < m.sweeps->len && m.sweeps->len > 1; k++) {
            g_autofree NetSweep *rest = g_new(NetSweep, m.sweeps->len);
            guint n = 0;
            for (guint j = 0; j < m.sweeps->len; j++)
                if (j != k)
                    rest[n++] = *sweep_at(&m, j);
            g_autoptr(NetBook) book = net_book_new(m.system, rest, n, NULL);
            add_points(book, sweep_at(&m, k), 0, 1, net_curve_n_points(sweep_at(&m, k)->curve),
                       tally);
        }
        measured_clear(&m);
    }
    g_assert_cmpuint(tally[0].n + tally[1].n, >, 2000);
    tally_check(&tally[0], "groups, in a node", 0.58, 0.78);
    tally_check(&tally[1], "groups, across nodes", 0.58, 0.78);
}

/* Sizes of 1, 2 and 3 MB in 10, 22 and 30 us: in line would be 20, so the middle one is ln(1.1) = 0.0953 off, and
 * between them (1.2533 x 0.5 x 0.0953 + 0.03) / 3 = 0.0299 are expected. */
static void
test_between(void)
{
    const NetSample samples[] = {{1e6, 1e4}, {2e6, 2.2e4}, {3e6, 3e4}};
    g_autoptr(NetCurve) curve = net_curve_new(samples, G_N_ELEMENTS(samples));
    g_assert_cmpfloat_with_epsilon(net_curve_error_frac(curve, 1.5e6), 0.0299, 1e-4);
    g_assert_cmpfloat_with_epsilon(net_curve_error_frac(curve, 2.5e6), 0.0299, 1e-4);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/certainty/sizes", test_sizes);
    g_test_add_func("/net/certainty/groups", test_groups);
    g_test_add_func("/net/certainty/between", test_between);
    return g_test_run();
}
