/* Memory-bound kernels: rates between rows, the floor below, a documented share of the copy rate
 * without rows. */
#include "config.h"

#include "cost/memory_table.h"

#include "cost-fixture.h"

#include <math.h>
#include <string.h>

static CostMemoryTable *
table_of(const char *text)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfTable) rows = conf_table_parse("memory.tsv", text, '\t', &error);
    g_assert_no_error(error);
    CostMemoryTable *table = cost_memory_table_new(rows, &error);
    g_assert_no_error(error);
    return table;
}

/* 1 MB at 50 GB/s, 16 MB at 80 GB/s: between them the rate follows log bytes. */
static void
test_rates(void)
{
    g_autoptr(CostMemoryTable) t =
        table_of("kernel\tbytes\ttime_us\nadd\t1000000\t20\nadd\t16000000\t200\n");
    static const struct {
        double bytes, us;
        CostBasis basis;
    } cases[] = {
        {1e6, 20, COST_MEASURED},
        {16e6, 200, COST_MEASURED},
        {4e6, 4e6 / 63245.553, COST_INTERPOLATED}, /* sqrt(50 * 80) GB/s half way in the log */
        {32e6, 400, COST_INTERPOLATED},
        {5e5, 11, COST_INTERPOLATED}, /* half way from the floor of 2 us at nothing */
        {0, 2, COST_INTERPOLATED},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        CostTime time;
        g_assert_true(cost_memory_table_time(t, COST_ADD, cases[i].bytes, 2000, &time));
        g_assert_cmpfloat_with_epsilon(time.ns, cases[i].us * 1e3, 1e-3 * cases[i].us * 1e3);
        g_assert_cmpint(time.basis, ==, cases[i].basis);
    }
    CostTime untouched = {.ns = 7, .basis = COST_MODELLED};
    g_assert_false(cost_memory_table_time(t, COST_NORM, 1e6, 2000, &untouched));
    g_assert_cmpfloat(untouched.ns, ==, 7);
}

/* The rows by bytes, passed one after the other. */
static double
scanned_us(const double *bytes, const double *us, guint n, double at)
{
    guint i = 0;
    while (i < n && bytes[i] < at)
        i++;
    if (i < n && bytes[i] == at)
        return us[i];
    if (i == 0)
        return 2 + (us[0] - 2) * at / bytes[0];
    if (i == n)
        return at * us[n - 1] / bytes[n - 1];
    double x = log(at / bytes[i - 1]) / log(bytes[i] / bytes[i - 1]);
    return at / exp((1 - x) * log(bytes[i - 1] / us[i - 1]) + x * log(bytes[i] / us[i]));
}

/* Of tables of 1 to 40 rows, some of the same bytes, of which the least time counts, each row is found, and what lies beside
 * it, as one finds it who looks at all of them. */
static void
test_rows_are_found(void)
{
    enum { MOST = 40 };
    for (guint round = 0; round < 200; round++) {
        double bytes[MOST], us[MOST];
        guint n = (guint)g_test_rand_int_range(1, MOST + 1);
        g_autoptr(GString) text = g_string_new("kernel\tbytes\ttime_us\n");
        for (guint i = 0; i < n; i++) {
            gboolean same = i > 0 && g_test_rand_int_range(0, 4) == 0;
            bytes[i] =
                same ? bytes[i - 1] : (i > 0 ? bytes[i - 1] : 0) + g_test_rand_int_range(2, 50);
            us[i] = (i > 0 ? us[i - 1] : 2) + g_test_rand_int_range(1, 9);
            g_autofree char *row = g_strdup_printf("add\t%.0f\t%.0f\n", bytes[i], us[i]);
            g_string_insert(
                text, g_test_rand_bit() ? -1 : (gssize)strlen("kernel\tbytes\ttime_us\n"), row);
        }
        g_autoptr(CostMemoryTable) t = table_of(text->str);
        for (double at = 1; at <= bytes[n - 1] + 2; at++) {
            CostTime time;
            g_assert_true(cost_memory_table_time(t, COST_ADD, at, 2000, &time));
            double due = 1e3 * scanned_us(bytes, us, n, at);
            g_assert_cmpfloat_with_epsilon(time.ns, due, 1e-9 * due);
        }
    }
}

static void
test_fallback(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_system(NULL);
    g_autoptr(CostBook) book = cost_fixture_book(s);
    CostTime copy = cost_memory(book, COST_COPY, 9e9);
    g_assert_cmpfloat_with_epsilon(copy.ns, 1e8, 1); /* 9 GB at 90 GB/s */
    g_assert_cmpint(copy.basis, ==, COST_MODELLED);
    g_assert_cmpfloat(cost_memory(book, COST_NORM, 9e9).ns, >, copy.ns);
    g_assert_cmpfloat(cost_memory(book, COST_COPY, 100).ns, ==, 2000);
    g_assert_cmpfloat(cost_memory(book, COST_COPY, 0).ns, ==, 2000);
}

/* On the shipped machines more bytes take more time, no kernel beats HBM by more than its cache
 * explains, and each kernel has a name of its own. */
static void
test_shipped(void)
{
    static const char *const systems[] = {"dgx-a100-80g", "dgx-h100", "dgx1-v100-32g"};
    for (guint i = 0; i < G_N_ELEMENTS(systems); i++) {
        g_autoptr(ClusterSystem) s = cost_fixture_shipped(systems[i]);
        g_autoptr(CostBook) book = cost_fixture_book(s);
        for (int kernel = 0; kernel < COST_N_MEMORY_KERNELS; kernel++) {
            double before = 0;
            for (double bytes = 1024; bytes < 1e11; bytes *= 1.7) {
                double ns = cost_memory(book, (CostMemoryKernel)kernel, bytes).ns;
                g_assert_cmpfloat(ns, >=, before * 0.995);
                g_assert_cmpfloat(ns, >=, (double)s->kernel_floor_ns);
                if (bytes > 4.0 * (double)s->l2_bytes)
                    g_assert_cmpfloat(bytes / ns * 1e9, <, (double)s->memory_Bps);
                before = ns;
            }
        }
    }
    for (int a = 0; a < COST_N_MEMORY_KERNELS; a++)
        for (int b = 0; b < a; b++)
            g_assert_cmpstr(cost_memory_kernel_name((CostMemoryKernel)a), !=,
                            cost_memory_kernel_name((CostMemoryKernel)b));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cost/memory/rates-follow-log-bytes", test_rates);
    g_test_add_func("/cost/memory/rows-are-found", test_rows_are_found);
    g_test_add_func("/cost/memory/without-rows-a-share-of-a-copy", test_fallback);
    g_test_add_func("/cost/memory/shipped-machines-are-plausible", test_shipped);
    return g_test_run();
}
