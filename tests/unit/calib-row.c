/* Rows as text and back, for every table. */
#include "config.h"

#include "calib/row.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static int64_t
any(int64_t most)
{
    return 1 + (int64_t)(g_test_rand_double() * (double)(most - 1));
}

static CalibGemm
any_gemm(void)
{
    CalibGemm g = {.dtype = (CalibDtype)g_test_rand_int_range(0, CALIB_N_DTYPES),
                   .pass = (CalibPass)g_test_rand_int_range(0, CALIB_N_PASSES),
                   .m = any(100000),
                   .n = any(100000),
                   .k = any(100000),
                   .batch = 1,
                   .groups = 1};
    *(g_test_rand_bit() ? &g.batch : &g.groups) = any(64);
    return g;
}

static CalibAttention
any_attention(void)
{
    int64_t heads = any(64);
    return (CalibAttention){(CalibDtype)g_test_rand_int_range(0, CALIB_N_DTYPES),
                            any(64),
                            heads,
                            heads,
                            any(256),
                            any(65536),
                            g_test_rand_bit(),
                            false};
}

static CalibCollective
any_collective(int n_ops)
{
    return (CalibCollective){(CalibOp)g_test_rand_int_range(0, n_ops),
                             (CalibDtype)g_test_rand_int_range(0, CALIB_N_DTYPES),
                             (int)any(1024),
                             (int)any(16),
                             false,
                             any((int64_t)1 << 40)};
}

static CalibMemory
any_memory(void)
{
    return (CalibMemory){(CalibKernel)g_test_rand_int_range(0, CALIB_N_KERNELS),
                         any((int64_t)1 << 34) - 1};
}

static CalibCase
any_case(void)
{
    CalibCase what;
    memset(&what, 0, sizeof what);
    what.kind = (CalibKind)g_test_rand_int_range(0, CALIB_N_CASES);
    switch (what.kind) {
    case CALIB_CASE_GEMM:
        what.gemm = any_gemm();
        break;
    case CALIB_CASE_MEMORY:
        what.memory = any_memory();
        break;
    case CALIB_CASE_ATTENTION:
        what.attention = any_attention();
        break;
    case CALIB_CASE_COLLECTIVE:
        what.collective = any_collective(CALIB_N_OPS);
        break;
    default:
        what.overlap.work = (CalibWork)g_test_rand_int_range(0, 3);
        what.overlap.traffic = any_collective(CALIB_N_OPS + 1);
        what.overlap.channels = (int)any(64);
        if (what.overlap.work == CALIB_WORK_GEMM)
            what.overlap.gemm = any_gemm();
        else if (what.overlap.work == CALIB_WORK_ATTENTION)
            what.overlap.attention = any_attention();
        else
            what.overlap.memory = any_memory();
        break;
    }
    return what;
}

static unsigned
n_times(const CalibCase *what)
{
    if (what->kind == CALIB_CASE_ATTENTION || what->kind == CALIB_CASE_COLLECTIVE)
        return 2;
    return calib_case_n_times(what);
}

/* What a table writes it reads again: the same case, times to five digits, and from then on to the last bit. */
static void
test_round_trip(void)
{
    guint seen[8] = {0};
    for (int i = 0; i < 4000; i++) {
        CalibRow row = {.what = any_case(), .samples = (unsigned)any(60)}, again, third;
        row.spread_frac = g_test_rand_int_range(0, 10000) / 1e4;
        row.steady = g_test_rand_bit();
        for (unsigned t = 0; t < n_times(&row.what); t++)
            row.us[t] = exp(g_test_rand_double_range(-6, 18));
        if (n_times(&row.what) == 2 && g_test_rand_bit())
            row.us[1] = NAN;
        const CalibTable *table = calib_table_of(&row.what);
        g_assert_nonnull(table);
        for (int t = 0; calib_tables[t] != NULL; t++)
            seen[t] += calib_tables[t] == table;
        char line[1024];
        calib_table_format(table, &row, line, sizeof line);
        g_assert_true(g_str_has_suffix(line, "\n"));
        line[strlen(line) - 1] = '\0';
        g_assert_true(calib_table_parse(table, line, &again));
        g_assert_cmpint(calib_case_compare(&row.what, &again.what), ==, 0);
        g_assert_true(row.steady == again.steady && row.samples == again.samples);
        for (unsigned t = 0; t < n_times(&row.what); t++) {
            if (isnan(row.us[t]))
                g_assert_true(isnan(again.us[t]));
            else
                g_assert_cmpfloat(fabs(again.us[t] / row.us[t] - 1), <, 6e-5);
        }
        calib_table_format(table, &again, line, sizeof line);
        line[strlen(line) - 1] = '\0';
        g_assert_true(calib_table_parse(table, line, &third));
        g_assert_cmpmem(third.us, n_times(&row.what) * sizeof *third.us, again.us,
                        n_times(&row.what) * sizeof *again.us);
    }
    for (int t = 0; calib_tables[t] != NULL; t++)
        g_assert_cmpuint(seen[t], >, 0);
}

static void
test_numbers(void)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {2.1357, "2.1357"},  {123456.7, "123457"}, {0.0123, "0.012300"}, {1234.56, "1234.6"},
        {99999.9, "100000"}, {0.5, "0.50000"},     {1e9, "1000000000"},  {NAN, "-"}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        char text[64];
        calib_format_number(cases[i].value, text, sizeof text);
        g_assert_cmpstr(text, ==, cases[i].text);
    }
    double value;
    static const char *const bad[] = {"", "x", "1x", "inf", "nan", "-1", "1e999", "--"};
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
        g_assert_false(calib_parse_number(bad[i], &value));
}

/* Rows of another table, with too few cells or with junk are none. */
static void
test_bad_lines(void)
{
    static const char *const lines[] = {
        "",
        "bf16\t8\t8\t8\t1\t3.0\tforward\t0.001\t9",
        "bf16\t8\t8\t8\t1\t3.0\tforward\t0.001\t9\t-\t-",
        "bf17\t8\t8\t8\t1\t3.0\tforward\t0.001\t9\t-",
        "bf16\t8\t8\t8\t1\t3.0\tsideward\t0.001\t9\t-",
        "bf16\t8\t8\t8\t1\tthree\tforward\t0.001\t9\t-",
        "bf16\t8\t8\t8.5\t1\t3.0\tforward\t0.001\t9\t-",
        "bf16\t8\t8\t8\t1\t3.0\tforward\t0.001\t9\tnoisy",
    };
    CalibRow row;
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_autofree char *line = g_strdup(lines[i]);
        g_assert_false(calib_table_parse(calib_tables[0], line, &row));
    }
    char good[] = "bf16\t8\t8\t8\t1\t3.0\tforward\t0.001\t9\tunsteady";
    g_assert_true(calib_table_parse(calib_tables[0], good, &row));
    g_assert_false(row.steady);
}

/* A collective is out of place and in place, attention forward and backward, all others one. */
static void
test_variants(void)
{
    for (int i = 0; i < 200; i++) {
        CalibCase what = any_case(), variant;
        g_assert_true(calib_row_variant(&what, 0, &variant));
        g_assert_cmpint(calib_case_compare(&what, &variant), ==, 0);
        bool two = what.kind == CALIB_CASE_COLLECTIVE || what.kind == CALIB_CASE_ATTENTION;
        g_assert_true(calib_row_variant(&what, 1, &variant) == two);
        if (two)
            g_assert_cmpint(calib_case_compare(&what, &variant), <, 0);
        g_assert_false(calib_row_variant(&what, 2, &variant));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/calib/row/round-trip-of-every-table", test_round_trip);
    g_test_add_func("/calib/row/numbers-keep-five-digits", test_numbers);
    g_test_add_func("/calib/row/bad-lines-are-refused", test_bad_lines);
    g_test_add_func("/calib/row/variants", test_variants);
    return g_test_run();
}
