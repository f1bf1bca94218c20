/* The schedules that are generated or searched for: op lists letter by letter and times against the
 * published vectors, idle time and memory against closed forms. */
#include "config.h"

#include "schedule/schedule.h"

#include "schedule-executor.h"

#include <string.h>

enum {
    COL_CASE = 0,
    COL_SCHEDULE,
    COL_P,
    COL_M,
    COL_V,
    COL_F,
    COL_I,
    COL_W,
    COL_COMM = 9,
    COL_MAKESPAN,
    COL_BUSY = 12,
    COL_MAX_SPAN,
    COL_IDLE_PER_RANK = 16,
    COL_SPAN_PER_RANK,
    COL_PEAK_I,
    COL_PEAK_W,
    COL_OPS_FILE,
    N_COLUMNS
};

static char *
read_data(const char *relative)
{
    const char *root = g_getenv("DTSIM_TEST_DATA");
    g_autofree char *path =
        g_build_filename(root != NULL ? root : "tests/data", "schedule", relative, NULL);
    char *text = NULL;
    GError *error = NULL;

    g_file_get_contents(path, &text, NULL, &error);
    g_assert_no_error(error);
    return text;
}

static gint64
number(const char *text)
{
    return g_ascii_strtoll(text, NULL, 10);
}

static Schedule *
new_schedule(const char *name, const ScheduleParams *params)
{
    GError *error = NULL;
    const ScheduleType *type = schedule_find(name, &error);

    g_assert_no_error(error);
    Schedule *s = schedule_new(type, params, &error);
    g_assert_no_error(error);
    g_assert_true(schedule_check(s, &error));
    g_assert_no_error(error);
    return s;
}

/* "11 9 7 5" against values. */
static void
assert_per_rank(const char *text, const gint64 *values, guint n)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);

    g_assert_cmpuint(g_strv_length(words), ==, n);
    for (guint r = 0; r < n; r++)
        g_assert_cmpint(values[r], ==, number(words[r]));
}

static gint64 *
widen(const guint *values, guint n)
{
    gint64 *wide = g_new(gint64, n);

    for (guint r = 0; r < n; r++)
        wide[r] = values[r];
    return wide;
}

static void
assert_row(char **row)
{
    ScheduleParams params = {.pp = (guint)number(row[COL_P]),
                             .microbatches = (guint)number(row[COL_M]),
                             .vpp = (guint)number(row[COL_V])};
    ScheduleTimes times = {.F = number(row[COL_F]),
                           .I = number(row[COL_I]),
                           .W = number(row[COL_W]),
                           .comm = number(row[COL_COMM])};
    g_autoptr(Schedule) s = new_schedule(row[COL_SCHEDULE], &params);
    g_autoptr(ScheduleRun) run = schedule_run(s, &times);
    g_autofree char *written = schedule_format_csv(s), *expected = read_data(row[COL_OPS_FILE]);
    g_autofree guint *at_i = g_new(guint, params.pp), *at_w = g_new(guint, params.pp);

    g_test_message("%s", row[COL_CASE]);
    g_assert_cmpstr(g_strchomp(written), ==, g_strchomp(expected));
    g_assert_cmpint(run->makespan, ==, number(row[COL_MAKESPAN]));
    g_assert_cmpint(run->max_busy, ==, number(row[COL_BUSY]));
    g_assert_cmpint(run->max_span, ==, number(row[COL_MAX_SPAN]));
    assert_per_rank(row[COL_IDLE_PER_RANK], run->idle, params.pp);
    assert_per_rank(row[COL_SPAN_PER_RANK], run->span, params.pp);
    schedule_peaks(s, at_i, at_w);
    g_autofree gint64 *wide_i = widen(at_i, params.pp), *wide_w = widen(at_w, params.pp);
    assert_per_rank(row[COL_PEAK_I], wide_i, params.pp);
    assert_per_rank(row[COL_PEAK_W], wide_w, params.pp);
}

static void
test_vectors(void)
{
    g_autofree char *text = read_data("generated.csv");
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    guint n = 0;

    g_test_summary("op lists, peaks, makespan, busy, idle and span equal the vectors");
    for (guint i = 1; lines[i] != NULL && lines[i][0] != '\0'; i++, n++) {
        g_auto(GStrv) row = g_strsplit(lines[i], ",", N_COLUMNS + 1);
        assert_row(row);
    }
    g_assert_cmpuint(n, ==, 53);
}

static guint
highest(const Schedule *s)
{
    g_autofree guint *at_i = g_new(guint, s->params.pp), *at_w = g_new(guint, s->params.pp);
    guint peak = 0;

    schedule_peaks(s, at_i, at_w);
    for (guint r = 0; r < s->params.pp; r++)
        peak = MAX(peak, at_w[r]);
    return peak;
}

static gint64
idle_of(const char *name, guint pp, guint m, ScheduleTimes times)
{
    ScheduleParams params = {.pp = pp, .microbatches = m, .vpp = 2};
    g_autoptr(Schedule) s = new_schedule(name, &params);
    g_autoptr(ScheduleRun) run = schedule_run(s, &times);

    return run->makespan - run->max_busy;
}

static void
test_controllable_memory(void)
{
    static const ScheduleTimes equal = {.F = 1, .I = 1, .W = 1};

    g_test_summary("V-Half and V-Min idle and hold what their closed forms say, F = I = W");
    for (guint P = 2; P <= 16; P++) {
        gint64 half = P == 2 ? 1 : 6 * ((P + 1) / 2) - 7, min = 4 * P - (P % 3 == 0 ? 7 : 5);
        g_assert_cmpint(idle_of("v_half", P, 3 * P, equal), ==, half);
        g_assert_cmpint(idle_of("v_min", P, 3 * P, equal), ==, min);
    }
}

static void
test_v_min_degrades(void)
{
    g_test_summary("V-Min idles ever longer where F, I and W differ; the order stays the same");
    g_assert_cmpint(idle_of("v_min", 4, 12, (ScheduleTimes){.F = 1, .I = 1, .W = 1}), ==, 11);
    g_assert_cmpint(idle_of("v_min", 4, 12, (ScheduleTimes){.F = 2, .I = 2, .W = 1}), ==, 45);
    g_assert_cmpint(idle_of("v_min", 4, 12, (ScheduleTimes){.F = 3, .I = 4, .W = 2}), ==, 106);
    ScheduleParams params = {.pp = 4, .microbatches = 12, .vpp = 2};
    g_autoptr(Schedule) plain = new_schedule("v_min", &params);
    params.costs = (ScheduleCosts){.F = 3, .I = 4, .W = 2};
    g_autoptr(Schedule) uneven = new_schedule("v_min", &params);
    g_autofree char *a = schedule_format_csv(plain), *b = schedule_format_csv(uneven);
    g_assert_cmpstr(a, ==, b);
}

/* Every legal P and M, small M too: the lists run to their end within the promised memory, which is
 * used in full; the makespan is the closed form's where there is one. */
static void
test_promises(void)
{
    static const char *const names[] = {"v_half", "v_min",     "zb_1p",
                                        "zb_2p",  "pipedream", "pipedream_2bw"};
    static const ScheduleTimes equal = {.F = 1, .I = 1, .W = 1};

    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        for (guint P = 1; P <= (g_test_slow() ? 16 : 9); P++)
            for (guint M = 1; M <= 3 * P + 2; M++) {
                const ScheduleType *type = schedule_find(names[i], NULL);
                ScheduleParams params = {.pp = P, .microbatches = M, .vpp = type->min_vpp};
                g_autoptr(Schedule) s = schedule_new(type, &params, NULL);
                if (s == NULL)
                    continue;
                g_assert_true(schedule_check(s, NULL));
                g_autoptr(ScheduleRun) run = schedule_run(s, &equal);
                double promise = type->makespan(&params, 1, 1, 1);
                if (promise >= 0 && !s->asynchronous)
                    g_assert_cmpfloat((double)run->makespan, ==, promise);
                g_assert_cmpuint(highest(s), ==, type->peak(&params, 0));
            }
}

static Schedule *
automatic(const char *name, guint P, guint M, ScheduleCosts costs)
{
    ScheduleParams params = {.pp = P, .microbatches = M, .vpp = 1, .costs = costs};

    return new_schedule(name, &params);
}

static ScheduleRun *
run_with(const Schedule *s, ScheduleCosts costs)
{
    ScheduleTimes times = {.F = costs.F, .I = costs.I, .W = costs.W, .comm = costs.comm};

    return schedule_run(s, &times);
}

static void
assert_like_zb_h1(guint P, guint M, ScheduleCosts costs)
{
    ScheduleParams params = {.pp = P, .microbatches = M, .vpp = 1};
    g_autoptr(Schedule) searched = automatic("zb_1p", P, M, costs);
    g_autoptr(Schedule) fixed = new_schedule("zb_h1", &params);
    g_autoptr(ScheduleRun) run = run_with(searched, costs), other = run_with(fixed, costs);

    g_assert_cmpint(run->makespan, ==, other->makespan);
    g_assert_cmpint(run->max_span, ==, other->max_span);
    g_assert_cmpuint(highest(searched), ==, highest(fixed));
    g_assert_cmpuint(highest(searched), ==, P);
}

static void
test_zb_1p_is_zb_h1(void)
{
    static const ScheduleCosts costs[] = {
        {.F = 1, .I = 1, .W = 1}, {.F = 2, .I = 2, .W = 1}, {.F = 3, .I = 4, .W = 2}};

    g_test_summary("the search in 1F1B's memory finds ZB-H1's makespan, span and peak");
    for (guint P = 2; P <= 8; P++) {
        const guint counts[] = {P, P + 1, 2 * P, 3 * P};
        for (guint i = 0; i < G_N_ELEMENTS(counts); i++)
            for (guint k = 0; k < G_N_ELEMENTS(costs); k++)
                assert_like_zb_h1(P, counts[i], costs[k]);
        g_autoptr(Schedule) told = automatic("zb_1p", P, 2 * P, costs[0]);
        g_autoptr(Schedule) told_nothing = automatic("zb_1p", P, 2 * P, (ScheduleCosts){0});
        g_autofree char *a = schedule_format_csv(told), *b = schedule_format_csv(told_nothing);
        g_assert_cmpstr(a, ==, b);
    }
}

static void
test_zb_h2_memory(void)
{
    g_test_summary("with F = I = W and ZB-H2's 2P - 1 activations the search finds its totals");
    for (guint P = 2; P <= 8; P++) {
        ScheduleCosts costs = {.F = 1, .I = 1, .W = 1, .memory_cap = 2 * P - 1};
        g_autoptr(Schedule) s = automatic("zb_2p", P, 3 * P, costs);
        g_autoptr(ScheduleRun) run = run_with(s, costs);
        g_assert_cmpint(run->max_span, ==, 9 * P);
        g_assert_cmpint(run->makespan, ==, 9 * P + P - 1);
        g_assert_cmpuint(highest(s), ==, 2 * P - 1);
    }
}

static void
test_zb_2p_spans(void)
{
    static const struct {
        ScheduleCosts costs;
        gint64 idle;
    } cases[] = {
        {{.F = 1, .I = 1, .W = 1}, 0},
        {{.F = 2, .I = 2, .W = 1}, 5},
        {{.F = 3, .I = 4, .W = 2}, 7},
    };

    g_test_summary("in twice 1F1B's memory, P = 4, M = 8, the busiest span idles 0, 5 and 7");
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Schedule) s = automatic("zb_2p", 4, 8, cases[i].costs);
        g_autoptr(ScheduleRun) run = run_with(s, cases[i].costs);
        g_assert_cmpint(run->max_span - run->max_busy, ==, cases[i].idle);
        g_assert_cmpuint(highest(s), <=, 8);
    }
}

/* Any costs, stage by stage, and caps: a legal order within the cap. */
static void
test_search_keeps_its_cap(void)
{
    for (guint n = 0; n < (g_test_slow() ? 5000 : 500); n++) {
        guint P = (guint)g_test_rand_int_range(1, 9), M = (guint)g_test_rand_int_range(1, 25);
        ScheduleCosts costs = {.F = g_test_rand_int_range(1, 9),
                               .I = g_test_rand_int_range(1, 9),
                               .W = g_test_rand_int_range(1, 9),
                               .comm = g_test_rand_int_range(0, 3),
                               .memory_cap = (guint)g_test_rand_int_range(1, 12)};
        gint64 by_stage[3][8];
        for (guint s = 0; s < P; s++)
            for (guint k = 0; k < 3; k++)
                by_stage[k][s] = g_test_rand_int_range(1, 9);
        costs.stage_F = by_stage[0];
        costs.stage_I = by_stage[1];
        costs.stage_W = by_stage[2];
        g_autoptr(Schedule) s = automatic(n % 2 ? "zb_1p" : "zb_2p", P, M, costs);
        g_assert_cmpuint(highest(s), <=, costs.memory_cap);
    }
}

static void
test_hanayo(void)
{
    g_autoptr(GError) error = NULL;
    const ScheduleType *type = schedule_find("hanayo", NULL);
    ScheduleParams params = {.pp = 4, .microbatches = 4, .vpp = 3};

    g_assert_nonnull(type);
    g_assert_true(type->reconstruction);
    g_assert_nonnull(strstr(type->summary, "reconstruction"));
    g_assert_null(schedule_new(type, &params, &error));
    g_assert_error(error, SCHEDULE_ERROR, SCHEDULE_ERROR_ILLEGAL);
    for (guint P = 1; P <= 6; P++)
        for (guint M = 1; M <= 2 * P; M++)
            for (params.vpp = 2; params.vpp <= 6; params.vpp += 2) {
                params.pp = P;
                params.microbatches = M;
                g_autoptr(Schedule) s = new_schedule("hanayo", &params);
                g_assert_cmpuint(s->ranks[0]->len, ==, 2 * M * params.vpp);
            }
}

static void
test_pipedream(void)
{
    ScheduleParams params = {.pp = 4, .microbatches = 8, .vpp = 1};
    g_autoptr(Schedule) plain = new_schedule("1f1b", &params);
    g_autofree char *expected = schedule_format_csv(plain);
    static const guint versions[][4] = {{4, 3, 2, 1}, {2, 2, 2, 2}};
    static const char *const names[] = {"pipedream", "pipedream_2bw"};

    g_test_summary("the order is 1F1B's; the versions of the weights are P - r, or 2");
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        const ScheduleType *type = schedule_find(names[i], NULL);
        g_autoptr(Schedule) s = new_schedule(names[i], &params);
        g_autofree char *written = schedule_format_csv(s);
        g_assert_cmpstr(written, ==, expected);
        g_assert_true(s->asynchronous);
        g_assert_cmpfloat(type->makespan(&params, 1, 1, 1), ==, 24);
        for (guint r = 0; r < 4; r++)
            g_assert_cmpuint(type->weight_versions(&params, r), ==, versions[i][r]);
    }
    params.microbatches = 3;
    g_autoptr(GError) error = NULL;
    g_assert_null(schedule_new(schedule_find("pipedream_2bw", NULL), &params, &error));
    g_assert_error(error, SCHEDULE_ERROR, SCHEDULE_ERROR_ILLEGAL);
    g_assert_cmpuint(schedule_find("pipedream", NULL)->weight_versions(&params, 0), ==, 3);
}

static void
test_large(void)
{
    static const struct {
        const char *name;
        guint vpp;
    } cases[] = {{"v_half", 2}, {"v_min", 2}, {"zb_1p", 1}, {"zb_2p", 1}, {"hanayo_greedy", 4}};

    if (!g_test_perf()) {
        g_test_skip("run with -m perf");
        return;
    }
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        ScheduleParams params = {.pp = 64, .microbatches = 1024, .vpp = cases[i].vpp};
        g_test_timer_start();
        g_autoptr(Schedule) s = new_schedule(cases[i].name, &params);
        double seconds = g_test_timer_elapsed();
        g_test_minimized_result(seconds, "%s: %.3f s", cases[i].name, seconds);
        g_assert_cmpfloat(seconds, <, 1);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/schedule/generated/lists-peaks-and-times", test_vectors);
    g_test_add_func("/schedule/generated/controllable-memory-closed-forms",
                    test_controllable_memory);
    g_test_add_func("/schedule/generated/v-min-wants-equal-times", test_v_min_degrades);
    g_test_add_func("/schedule/generated/promised-makespan-and-memory", test_promises);
    g_test_add_func("/schedule/generated/zb-1p-finds-zb-h1", test_zb_1p_is_zb_h1);
    g_test_add_func("/schedule/generated/zb-2p-in-zb-h2-memory", test_zb_h2_memory);
    g_test_add_func("/schedule/generated/zb-2p-spans", test_zb_2p_spans);
    g_test_add_func("/schedule/generated/searches-keep-their-cap", test_search_keeps_its_cap);
    g_test_add_func("/schedule/generated/hanayo-is-a-reconstruction", test_hanayo);
    g_test_add_func("/schedule/generated/pipedream-is-1f1b-unflushed", test_pipedream);
    g_test_add_func("/schedule/generated/large-in-under-a-second", test_large);
    return g_test_run();
}
