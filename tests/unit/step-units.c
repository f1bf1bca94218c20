/* Textbook mode against the vectors of the schedules, and the blocking p2p model against its closed form. */
#include "config.h"

#include <string.h>

#include "conf/table.h"
#include "step/step.h"

static char *
data_path(const char *name)
{
    const char *root = g_getenv("DTSIM_TEST_DATA");
    return g_build_filename(root ? root : "tests/data", name, NULL);
}

static gint64
cell(const ConfTable *table, guint row, const char *column)
{
    guint c;
    gint64 value;
    GError *error = NULL;
    gboolean ok = conf_table_need_column(table, column, &c, &error) &&
                  conf_table_int(table, row, c, &value, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    return value;
}

static const char *
text(const ConfTable *table, guint row, const char *column)
{
    int c = conf_table_find_column(table, column);
    g_assert_cmpint(c, >=, 0);
    return conf_table_text(table, row, (guint)c);
}

/* "interleaved_megatron_P4_M8_V2_N4": the group is in the name of the op list. */
static guint
group_of_row(const ConfTable *table, guint row)
{
    const char *n = strstr(text(table, row, "case"), "_N");
    return n ? (guint)g_ascii_strtoull(n + 2, NULL, 10) : 0;
}

static Schedule *
schedule_of(const char *name, guint pp, guint microbatches, guint vpp, guint group)
{
    GError *error = NULL;
    const ScheduleType *type = schedule_find(name, &error);
    g_assert_no_error(error);
    ScheduleParams params = {.pp = pp, .microbatches = microbatches, .vpp = vpp, .group = group};
    Schedule *schedule = schedule_new(type, &params, &error);
    g_assert_no_error(error);
    return schedule;
}

/* Twice the value of "23" or "23/2": the vectors hold halves and nothing finer. */
static gint64
twice(const char *words)
{
    char *end;
    gint64 value = 2 * g_ascii_strtoll(words, &end, 10);
    if (*end != '/')
        return value;
    g_assert_cmpint(g_ascii_strtoll(end + 1, NULL, 10), ==, 2);
    return value / 2;
}

static void
check_list(const ConfTable *table, guint row, const char *column, const gint64 *doubled, guint n)
{
    g_auto(GStrv) words = g_strsplit(text(table, row, column), " ", -1);
    g_assert_cmpuint(g_strv_length(words), ==, n);
    for (guint i = 0; i < n; i++)
        g_assert_cmpint(twice(words[i]), ==, doubled[i]);
}

/* "rank,op,stage,microbatch,start,end" of every op, rank after rank in the order of the list; times are
 * doubled. */
static void
append_line(void *user, guint pp_rank, ScheduleToken token, gint64 start, gint64 end)
{
    g_string_append_printf(user, "%u,%c,%u,%u,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT "\n", pp_rank,
                           schedule_kind_letter(token.kind), token.stage, token.microbatch,
                           start / 2, end / 2);
}

static void
check_timeline(const char *file, const char *lines)
{
    g_autofree char *relative = g_build_filename("schedule", file, NULL);
    g_autofree char *path = data_path(relative), *expected = NULL;
    GError *error = NULL;
    g_file_get_contents(path, &expected, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(lines, ==, strchr(expected, '\n') + 1);
}

static void
check_row(const ConfTable *table, guint row)
{
    GError *error = NULL;
    g_autoptr(Schedule) s = schedule_of(text(table, row, "schedule"), (guint)cell(table, row, "P"),
                                        (guint)cell(table, row, "M"), (guint)cell(table, row, "V"),
                                        group_of_row(table, row));
    StepUnits units = {.F = twice(text(table, row, "F")),
                       .I = twice(text(table, row, "I")),
                       .W = twice(text(table, row, "W")),
                       .comm = twice(text(table, row, "comm"))};
    const char *pair = strstr(text(table, row, "note"), "pair takes ");
    if (pair)
        units.pair = twice(pair + strlen("pair takes "));
    g_autoptr(GString) lines = g_string_new(NULL);
    g_autoptr(StepUnitResult) r = step_run_units(s, &units, append_line, lines, &error);
    g_assert_no_error(error);
    g_test_message("%s", text(table, row, "case"));
    g_assert_cmpint(r->makespan, ==, twice(text(table, row, "makespan")));
    g_assert_cmpint(r->busy_max, ==, twice(text(table, row, "busy_max")));
    g_assert_cmpint(r->max_span, ==, twice(text(table, row, "max_span")));
    check_list(table, row, "idle_per_rank", r->idle, r->n);
    check_list(table, row, "span_per_rank", r->span, r->n);
    const char *timeline = text(table, row, "timeline_file");
    if (timeline[0] != '\0')
        check_timeline(timeline, lines->str);
}

static void
test_vectors(void)
{
    static const char *const files[] = {"schedule/schedules.csv", "schedule/generated.csv"};
    g_test_summary("every row of the vectors of all schedules agrees exactly: makespan, busy time, "
                   "spans and idle time of each rank, and the timelines");
    guint checked = 0;
    for (guint f = 0; f < G_N_ELEMENTS(files); f++) {
        GError *error = NULL;
        g_autofree char *path = data_path(files[f]);
        g_autoptr(ConfTable) table = conf_table_load(path, &error);
        g_assert_no_error(error);
        for (guint row = 0; row < conf_table_n_rows(table); row++, checked++)
            check_row(table, row);
    }
    g_assert_cmpuint(checked, ==, 269);
}

static void
test_blocking(void)
{
    g_test_summary("blocking batches (M2) and asynchronous messages (M1) agree with all vectors");
    GError *error = NULL;
    g_autofree char *path = data_path("step/blocking_1f1b.csv");
    g_autoptr(ConfTable) table = conf_table_load(path, &error);
    g_assert_no_error(error);
    for (guint row = 0; row < conf_table_n_rows(table); row++) {
        g_autoptr(Schedule) s =
            schedule_of("1f1b", (guint)cell(table, row, "P"), (guint)cell(table, row, "M"), 1, 0);
        StepUnits units = {.F = cell(table, row, "F"),
                           .I = cell(table, row, "B"),
                           .comm = cell(table, row, "c"),
                           .p2p = PLAN_P2P_BLOCKING};
        const char *const columns[] = {"makespan_blocking", "makespan_async_latency", "ideal"};
        const PlanP2p models[] = {PLAN_P2P_BLOCKING, PLAN_P2P_ASYNC, PLAN_P2P_IDEAL};
        for (guint i = 0; i < 3; i++) {
            units.p2p = models[i];
            g_autoptr(StepUnitResult) r = step_run_units(s, &units, NULL, NULL, &error);
            g_assert_no_error(error);
            g_assert_cmpint(r->makespan, ==, cell(table, row, columns[i]));
        }
    }
}

static void
test_overlapped(void)
{
    g_test_summary("with free messages all p2p models give the ideal time; overlapped messages "
                   "never take longer than one fused exchange after each pair");
    static const guint shapes[][3] = {{3, 6, 2}, {4, 8, 2}, {4, 8, 4}, {8, 16, 2}};
    GError *error = NULL;
    for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
        g_autoptr(Schedule) s =
            schedule_of("interleaved_megatron", shapes[i][0], shapes[i][1], shapes[i][2], 0);
        gint64 makespan[PLAN_P2P_FUSED + 1][2];
        for (guint p2p = PLAN_P2P_IDEAL; p2p <= PLAN_P2P_FUSED; p2p++)
            for (guint comm = 0; comm < 2; comm++) {
                if (p2p == PLAN_P2P_BLOCKING)
                    continue;
                StepUnits units = {.F = 20, .I = 40, .comm = comm ? 3 : 0, .p2p = p2p};
                g_autoptr(StepUnitResult) r = step_run_units(s, &units, NULL, NULL, &error);
                g_assert_no_error(error);
                makespan[p2p][comm] = r->makespan;
            }
        for (guint p2p = PLAN_P2P_IDEAL; p2p <= PLAN_P2P_FUSED; p2p++)
            if (p2p != PLAN_P2P_BLOCKING && p2p != PLAN_P2P_FUSED)
                g_assert_cmpint(makespan[p2p][0], ==, makespan[PLAN_P2P_IDEAL][0]);
        g_assert_cmpint(makespan[PLAN_P2P_OVERLAPPED][1], <=, makespan[PLAN_P2P_FUSED][1]);
        g_assert_cmpint(makespan[PLAN_P2P_OVERLAPPED][1], >, makespan[PLAN_P2P_IDEAL][1]);
    }
}

static void
test_fused_naive(void)
{
    g_test_summary("one microbatch at a time also runs with fused exchanges: M P (F + B)");
    GError *error = NULL;
    g_autoptr(Schedule) schedule = schedule_of("naive", 3, 4, 1, 0);
    StepUnits units = {.F = 1, .I = 2, .p2p = PLAN_P2P_FUSED};
    g_autoptr(StepUnitResult) r = step_run_units(schedule, &units, NULL, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpint(r->makespan, ==, 4 * 3 * (1 + 2));
}

static void
test_large_groups(void)
{
    g_test_summary(
        "groups of more microbatches than ranks: the end ranks receive ahead, nothing waits in "
        "a circle, and small messages cost little more than asynchronous ones");
    static const guint shapes[][4] = {
        {2, 6, 2, 3}, {4, 12, 2, 6}, {4, 12, 3, 6}, {4, 14, 2, 5}, {12, 30, 2, 15}};
    GError *error = NULL;
    for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
        g_autoptr(Schedule) s = schedule_of("interleaved_megatron", shapes[i][0], shapes[i][1],
                                            shapes[i][2], shapes[i][3]);
        gint64 makespan[2];
        for (guint k = 0; k < 2; k++) {
            StepUnits units = {.F = 200,
                               .I = 400,
                               .comm = 1,
                               .p2p = k == 0 ? PLAN_P2P_ASYNC : PLAN_P2P_OVERLAPPED};
            g_autoptr(StepUnitResult) r = step_run_units(s, &units, NULL, NULL, &error);
            g_assert_no_error(error);
            makespan[k] = r->makespan;
        }
        g_assert_cmpint(makespan[1], >=, makespan[0]);
        g_assert_cmpint(makespan[1], <=, makespan[0] + makespan[0] / 20);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/step/units/agrees-with-every-vector", test_vectors);
    g_test_add_func("/step/units/blocking-batches-agree-with-the-closed-form", test_blocking);
    g_test_add_func("/step/units/fused-exchanges-of-one-microbatch", test_fused_naive);
    g_test_add_func("/step/units/overlapped-messages-lie-between", test_overlapped);
    g_test_add_func("/step/units/large-groups-receive-ahead", test_large_groups);
    return g_test_run();
}
