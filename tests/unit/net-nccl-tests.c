/* Logs of nccl-tests, in the shapes that launchers, versions and pages give them. */
#include "config.h"

#include "net/nccl_tests.h"
#include "net/rows.h"

#include <math.h>
#include <string.h>

#define HEADER                                                                                     \
    "#       size   count  type  redop  root     time   algbw   busbw #wrong     time   algbw   "  \
    "busbw #wrong\n"                                                                               \
    "#        (B)    (elements)                  (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "   \
    "(GB/s)\n"
#define ROW_1M "1048576  262144  float  sum  -1  104.9  10.00  17.50  0  209.7  5.00  8.75  0\n"
#define ROW_2M "2097152  524288  float  sum  -1  209.7  10.00  17.50  0  419.4  5.00  8.75  N/A\n"

static NetTestsLog *
log_of(const char *text)
{
    g_autoptr(GError) error = NULL;
    NetTestsLog *log = net_tests_parse("x.log", text, &error);
    g_assert_no_error(error);
    return log;
}

static const NetTestsTable *
table_of(const NetTestsLog *log, guint i)
{
    g_assert_cmpuint(i, <, log->tables->len);
    return log->tables->pdata[i];
}

static NetTestsRow
row_of(const NetTestsTable *t, guint i)
{
    g_assert_cmpuint(i, <, t->rows->len);
    return g_array_index(t->rows, NetTestsRow, i);
}

/* The same two rows, however they are dressed. */
static void
test_dress(void)
{
    static const char *const texts[] = {
        HEADER ROW_1M ROW_2M,
        ROW_1M ROW_2M, /* a page that cut the header */
        "    " HEADER "    " ROW_1M "host:1:2 [0] NCCL INFO Launch mode Parallel\n" ROW_2M,
        "0: " HEADER "0: " ROW_1M "1: something of rank 1\n0: " ROW_2M,
        "[1,0]<stdout>:" HEADER "[1,0]<stdout>:" ROW_1M "[1,3]<stderr>:x\n[1,0]<stdout>:" ROW_2M,
        "[pod/launcher-x/nccl] " HEADER "[pod/launcher-x/nccl] " ROW_1M "...\n"
        "[pod/launcher-x/nccl] " ROW_2M,
        "# nThread 1 nGpus 8\r\n" HEADER "[STAT]:" ROW_1M "[STAT]:" ROW_2M,
        "2024-05-01T10:00:00Z run(), common.cu:1084, " HEADER "2024-05-01T10:00:00Z  " ROW_1M
        "2024-05-01T10:00:01Z  " ROW_2M,
        HEADER ROW_1M "2097152  524288  float  sum  -1node3:77:99 [0] NCCL INFO Channel 00\n"
                      "node3:77:99 [0] NCCL INFO Channel 01\n"
                      "  209.7  10.00  17.50  0  419.4  5.00  8.75  N/A\n",
    };
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(NetTestsLog) log = log_of(texts[i]);
        g_test_message("dress %u", i);
        g_assert_cmpuint(log->tables->len, ==, 1);
        g_assert_cmpuint(log->notes->len, ==, 0);
        const NetTestsTable *t = table_of(log, 0);
        g_assert_cmpuint(t->rows->len, ==, 2);
        NetTestsRow a = row_of(t, 0), b = row_of(t, 1);
        g_assert_cmpint(a.bytes, ==, 1048576);
        g_assert_cmpint(b.count, ==, 524288);
        g_assert_cmpfloat(a.us[NET_TESTS_OUT_OF_PLACE], ==, 104.9);
        g_assert_cmpfloat(b.us[NET_TESTS_IN_PLACE], ==, 419.4);
        g_assert_cmpfloat(b.busbw_GBps[NET_TESTS_OUT_OF_PLACE], ==, 17.5);
        g_assert_cmpint(a.wrong[NET_TESTS_IN_PLACE], ==, 0);
        g_assert_cmpint(b.wrong[NET_TESTS_IN_PLACE], ==, -1);
        g_assert_cmpstr(t->dtype, ==, "float");
    }
}

/* Columns came and went: which collective, by what is there. */
static void
test_columns(void)
{
    static const struct {
        const char *text;
        guint ops;
    } cases[] = {
        /* ratio 1.75: 2 (n - 1) / n of n = 8 */
        {ROW_1M, 1u << NET_ALL_REDUCE},
        /* counts per rank: an eighth of the size */
        {"1048576 32768 float sum -1 100.0 10.49 9.17 0 100.0 10.49 9.17 0\n",
         1u << NET_REDUCE_SCATTER},
        {"1048576 32768 float none -1 100.0 10.49 9.17 0 100.0 10.49 9.17 0\n",
         1u << NET_ALL_GATHER | 1u << NET_ALL_TO_ALL},
        {"1048576 262144 float none 0 100.0 10.49 10.49 0 100.0 10.49 10.49 0\n",
         1u << NET_BROADCAST},
        {"1048576 262144 float sum 0 100.0 10.49 10.49 0 100.0 10.49 10.49 0\n", 0},
        /* two ranks: 2 (2 - 1) / 2 = 1, as of a send */
        {"1048576 262144 float sum -1 100.0 10.49 10.49 0 100.0 10.49 10.49 0\n",
         1u << NET_ALL_REDUCE | 1u << NET_SEND_RECV},
        /* 2020: neither root nor, but for alltoall, redop; whose rows leave it empty */
        {"# size count type redop time algbw busbw error time algbw busbw error\n"
         "1048576 32768 float 100.0 10.49 9.17 N/A 100.0 10.49 9.17 N/A\n",
         1u << NET_ALL_TO_ALL},
        {"# size count type time algbw busbw error time algbw busbw error\n"
         "1048576 32768 float 100.0 10.49 9.17 N/A 100.0 10.49 9.17 N/A\n",
         1u << NET_ALL_GATHER},
        {"# size count type redop time algbw busbw error time algbw busbw error\n"
         "1048576 262144 float sum 104.9 10.00 17.50 5e-07 104.9 10.00 17.50 5e-07\n",
         1u << NET_ALL_REDUCE},
        {"# size count type root time algbw busbw error time algbw busbw error\n"
         "1048576 262144 float 0 100.0 10.49 10.49 N/A 100.0 10.49 10.49 N/A\n",
         1u << NET_BROADCAST},
        {"# Collective test starting: alltoall_perf\n"
         "1048576 32768 float none -1 100.0 10.49 9.17 0 100.0 10.49 9.17 0\n",
         1u << NET_ALL_TO_ALL},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(NetTestsLog) log = log_of(cases[i].text);
        g_test_message("columns %u", i);
        g_assert_cmphex(table_of(log, 0)->ops, ==, cases[i].ops);
    }
}

#define RANKS(host, a, b)                                                                          \
    "#  Rank " #a " Group 0 Pid 11 on " host " device 0 [0x0f] NVIDIA H100 80GB HBM3\n"            \
    "#  Rank " #b " Group 0 Pid 12 on " host " device 1 [0x1f] NVIDIA H100 80GB HBM3\n"

static void
test_two_tables(void)
{
    g_autoptr(NetTestsLog) log =
        log_of("# nccl-tests version 2.17.8 nccl-headers=22902 nccl-library=22902\n"
               "# Collective test starting: all_reduce_perf\n# Using devices\n" RANKS("n0", 0, 1)
                   RANKS("n1", 2, 3) HEADER ROW_1M ROW_2M
               "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 13.125\n"
               "# Collective test concluded: all_reduce_perf\n"
               "NCCL version 2.18.3+cuda12.2\n"
               "# Collective test starting: all_gather_perf\n# Using devices\n" RANKS("n0", 0, 1)
                   HEADER "0 0 float none -1 0.24 0.00 0.00 0 0.17 0.00 0.00 0\n"
                          "1048576 131072 float none -1 104.9 10.00 5.00 0 104.9 10.00 5.00 0\n");
    const NetTestsTable *a = table_of(log, 0), *b = table_of(log, 1);
    g_assert_cmpuint(log->tables->len, ==, 2);
    g_assert_cmpstr(a->name, ==, "all_reduce");
    g_assert_cmpuint(a->n_ranks, ==, 4);
    g_assert_cmpuint(a->hosts->len, ==, 2);
    g_assert_cmpstr(a->hosts->pdata[1], ==, "n1");
    g_assert_cmpstr(a->device, ==, "NVIDIA H100 80GB HBM3");
    g_assert_cmpstr(a->nccl_version, ==, "2.29.2");
    g_assert_cmpfloat(a->average_GBps, ==, 13.125);
    /* (17.5 + 8.75 + 17.5 + 8.75) / 4 */
    g_assert_cmpfloat(net_tests_average(a), ==, 13.125);
    g_assert_cmpstr(b->name, ==, "all_gather");
    g_assert_cmpuint(b->n_ranks, ==, 2);
    g_assert_cmpstr(b->nccl_version, ==, "2.18.3");
    g_assert_true(isnan(b->average_GBps));
    /* rows of size 0 count, as nccl-tests counts them: (0 + 0 + 5 + 5) / 4 */
    g_assert_cmpfloat(net_tests_average(b), ==, 2.5);
}

/* Ranks that are elided may have been on any host; those within a host's run were not. */
static void
test_elided_ranks(void)
{
    g_autoptr(NetTestsLog) inside = log_of(RANKS("n0", 0, 7) RANKS("n1", 8, 15) ROW_1M);
    g_assert_cmpuint(table_of(inside, 0)->n_ranks, ==, 16);
    g_assert_cmpuint(table_of(inside, 0)->hosts->len, ==, 2);
    g_autoptr(NetTestsLog) last = log_of(RANKS("n8", 70, 71) ROW_1M);
    g_assert_cmpuint(table_of(last, 0)->n_ranks, ==, 72);
    g_assert_cmpuint(table_of(last, 0)->hosts->len, ==, 0);
    g_autoptr(NetTestsLog) torn = log_of(RANKS("n0", 0, 0) RANKS("n1", 0, 0) ROW_1M);
    g_assert_cmpuint(table_of(torn, 0)->n_ranks, ==, 1);
    g_assert_cmpuint(table_of(torn, 0)->hosts->len, ==, 0);
}

/* Every number of ranks up to where two digits of busbw tell neighbours apart, from rows printed as nccl-tests does. */
static void
test_ranks(void)
{
    for (guint n = 2; n <= 128; n++) {
        g_autoptr(GString) text = g_string_new(HEADER);
        for (double us = 15000.0; us < 200000.0; us *= 1.9) {
            double alg = 4294967296.0 / rint(us) / 1e3, bus = alg * 2 * (n - 1) / n;
            g_string_append_printf(text,
                                   "4294967296 1073741824 float sum -1 %.0f %.2f %.2f 0 %.0f %.2f "
                                   "%.2f 0\n",
                                   us, alg, bus, us, alg, bus);
        }
        g_autoptr(NetTestsLog) log = log_of(text->str);
        guint low = 0, high = 0;
        g_assert_true(net_tests_ranks(table_of(log, 0), NET_ALL_REDUCE, &low, &high));
        g_assert_cmpuint(low, <=, n);
        g_assert_cmpuint(high, >=, n);
        if (n <= 64)
            g_assert_cmpuint(low, ==, high);
    }
}

static void
test_units(void)
{
    g_autoptr(NetTestsLog) log = log_of("size count type redop root time algbw busbw #wrong\n"
                                        "(B) (elements) (ms) (MB/s) (MB/s)\n"
                                        "1048576 262144 float sum -1 0.1049 10000 17500 0\n");
    NetTestsRow row = row_of(table_of(log, 0), 0);
    g_assert_cmpfloat_with_epsilon(row.us[NET_TESTS_OUT_OF_PLACE], 104.9, 1e-9);
    g_assert_cmpfloat_with_epsilon(row.busbw_GBps[NET_TESTS_OUT_OF_PLACE], 17.5, 1e-9);
    g_assert_true(isnan(row.us[NET_TESTS_IN_PLACE]));
}

static void
test_left_out(void)
{
    static const struct {
        const char *text, *note;
    } cases[] = {
        {HEADER ROW_1M "2097152 524288 float sum -1 209.7 10.00 1\n", "x.log:4: begins as a row"},
        {HEADER ROW_1M "2097152 524288 float sum -1node3:7:9 [0] NCCL INFO\n",
         "x.log:4: the row of 2097152 bytes is torn"},
        {ROW_1M "# Avg bus bandwidth : 13\n" HEADER ROW_1M ROW_2M ROW_2M
                "4194304 1048576 float sum -1 419.4 10.00 17.50 0 419.4 10.00 17.50 0\n" ROW_2M,
         "x.log:9: sizes fall within a table"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(NetTestsLog) log = log_of(cases[i].text);
        g_assert_cmpuint(log->tables->len, ==, 1);
        g_assert_cmpuint(table_of(log, 0)->rows->len, ==, 1);
        g_assert_cmpuint(log->notes->len, ==, 1);
        g_assert_true(g_str_has_prefix(log->notes->pdata[0], cases[i].note));
    }
}

static void
test_refused(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "x.log: there is no row of nccl-tests in it"},
        {"hello\n3 4 bananas\n", "x.log: there is no row of nccl-tests in it"},
        {HEADER, "x.log: there is no row of nccl-tests in it"},
        {HEADER "1048576 262144 float sum -1 slow\n", "x.log:3: the row of 1048576 bytes"},
        {"size count type redop root time algbw busbw\n(B) (elements) (fortnights) (GB/s) (GB/s)\n",
         "x.log:2: the unit '(fortnights)' is not known"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(net_tests_parse("x.log", cases[i].text, &error));
        g_assert_error(error, NET_ERROR, NET_ERROR_ROW);
        g_test_message("%s", error->message);
        g_assert_true(g_str_has_prefix(error->message, cases[i].message));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/nccl-tests/rows-are-found-in-any-dress", test_dress);
    g_test_add_func("/net/nccl-tests/columns-tell-the-collective", test_columns);
    g_test_add_func("/net/nccl-tests/tables-have-their-own-run", test_two_tables);
    g_test_add_func("/net/nccl-tests/elided-ranks-name-no-hosts", test_elided_ranks);
    g_test_add_func("/net/nccl-tests/ranks-from-bandwidths", test_ranks);
    g_test_add_func("/net/nccl-tests/units-of-the-header", test_units);
    g_test_add_func("/net/nccl-tests/torn-rows-are-noted", test_left_out);
    g_test_add_func("/net/nccl-tests/what-is-no-log", test_refused);
    return g_test_run();
}
