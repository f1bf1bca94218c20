/* Every schedule against the vectors: op lists letter by letter, peaks, and the times that an
 * independent list executor gets from the lists. */
#include "config.h"

#include "schedule/schedule.h"

#include "schedule-executor.h"

#include <string.h>

enum {
    COL_CASE,
    COL_SCHEDULE,
    COL_P,
    COL_M,
    COL_V,
    COL_F,
    COL_I,
    COL_W,
    COL_B_FULL,
    COL_COMM,
    COL_MAKESPAN,
    COL_MAKESPAN_DEC,
    COL_BUSY,
    COL_MAX_SPAN,
    COL_IDLE_TOTAL,
    COL_IDLE_IDEAL,
    COL_IDLE_PER_RANK,
    COL_SPAN_PER_RANK,
    COL_PEAK_I,
    COL_PEAK_W,
    COL_OPS_FILE,
    COL_TIMELINE_FILE,
    COL_NOTE,
    N_COLUMNS
};

static char *
data_path(const char *relative)
{
    const char *root = g_getenv("DTSIM_TEST_DATA");

    return g_build_filename(root != NULL ? root : "tests/data", "schedule", relative, NULL);
}

static char *
read_data(const char *relative)
{
    g_autofree char *path = data_path(relative);
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

/* Twice the value of "23" or "23/2": the vectors hold halves and nothing finer. */
static gint64
twice(const char *text)
{
    char *end;
    gint64 value = 2 * g_ascii_strtoll(text, &end, 10);

    if (*end != '/')
        return value;
    g_assert_cmpint(number(end + 1), ==, 2);
    return value / 2;
}

/* "..._P2_M4_V2_N3_...": the group, or 0. */
static guint
group_of(const char *name)
{
    const char *at = strstr(name, "_N");

    return at == NULL ? 0 : (guint)number(at + 2);
}

/* "(0F3;3B5)OVERLAP_F_B" for a pair; a line a rank. */
static char *
format(const Schedule *s)
{
    GString *text = g_string_new(NULL);

    for (guint r = 0; r < s->params.pp; r++) {
        for (guint i = 0; i < s->ranks[r]->len; i++) {
            const ScheduleToken *t = &g_array_index(s->ranks[r], ScheduleToken, i);
            const char *before = i == 0 ? "" : t->pair == SCHEDULE_PAIR_SECOND ? ";" : ",";
            g_string_append_printf(text, "%s%s%u%c%u%s", before,
                                   t->pair == SCHEDULE_PAIR_FIRST ? "(" : "", t->stage,
                                   schedule_kind_letter(t->kind), t->microbatch,
                                   t->pair == SCHEDULE_PAIR_SECOND ? ")OVERLAP_F_B" : "");
        }
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}

static Schedule *
new_schedule(const char *name, ScheduleParams params)
{
    GError *error = NULL;
    const ScheduleType *type = schedule_find(name, &error);

    g_assert_no_error(error);
    Schedule *s = schedule_new(type, &params, &error);
    g_assert_no_error(error);
    g_assert_true(schedule_check(s, &error));
    g_assert_no_error(error);
    return s;
}

/* "11 9 7 5" against values. */
static void
assert_counts(const char *text, const guint *values, guint n)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);

    g_assert_cmpuint(g_strv_length(words), ==, n);
    for (guint i = 0; i < n; i++)
        g_assert_cmpint(number(words[i]), ==, values[i]);
}

/* "23/2 11" against values doubled. */
static void
assert_doubled(const char *text, const gint64 *values, guint n)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);

    g_assert_cmpuint(g_strv_length(words), ==, n);
    for (guint i = 0; i < n; i++)
        g_assert_cmpint(twice(words[i]), ==, values[i]);
}

static void
assert_peaks(const Schedule *s, char **row)
{
    guint pp = s->params.pp;
    g_autofree guint *at_i = g_new(guint, pp), *at_w = g_new(guint, pp);

    schedule_peaks(s, at_i, at_w);
    assert_counts(row[COL_PEAK_I], at_i, pp);
    assert_counts(row[COL_PEAK_W], at_w, pp);
}

/* A row's times, doubled. A pair takes what the note says, "pair takes 5/2; ...". */
static ScheduleTimes
times_of(char **row)
{
    ScheduleTimes times = {.F = twice(row[COL_F]),
                           .I = twice(row[COL_I]),
                           .W = twice(row[COL_W]),
                           .comm = twice(row[COL_COMM])};
    const char *pair = strstr(row[COL_NOTE], "pair takes ");

    times.pair = pair != NULL ? twice(pair + strlen("pair takes ")) : times.F + times.I + times.W;
    return times;
}

static void
assert_percentage(const char *text, gint64 part, gint64 whole)
{
    g_assert_cmpfloat_with_epsilon(100.0 * (double)part / (double)whole, g_ascii_strtod(text, NULL),
                                   5.1e-5);
}

static void
assert_times(const ScheduleRun *run, char **row)
{
    gint64 idle = run->makespan - run->max_busy;

    g_assert_cmpint(run->makespan, ==, twice(row[COL_MAKESPAN]));
    g_assert_cmpint(run->max_busy, ==, twice(row[COL_BUSY]));
    g_assert_cmpint(run->max_span, ==, twice(row[COL_MAX_SPAN]));
    assert_doubled(row[COL_IDLE_PER_RANK], run->idle, run->n);
    assert_doubled(row[COL_SPAN_PER_RANK], run->span, run->n);
    assert_percentage(row[COL_IDLE_TOTAL], idle, run->makespan);
    assert_percentage(row[COL_IDLE_IDEAL], idle, run->max_busy);
}

/* "rank,op,stage,microbatch,start,end" of every op, rank after rank in the order of the list. */
static void
assert_timeline(const Schedule *s, const ScheduleRun *run, const char *file)
{
    g_autofree char *text = read_data(file);
    g_auto(GStrv) lines = g_strsplit(g_strchomp(text), "\n", -1);
    guint line = 1;

    for (guint r = 0; r < run->n; r++)
        for (guint i = 0; i < s->ranks[r]->len; i++) {
            const ScheduleToken *t = &g_array_index(s->ranks[r], ScheduleToken, i);
            g_assert_nonnull(lines[line]);
            g_autofree char *got =
                g_strdup_printf("%u,%c,%u,%u,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT, r,
                                schedule_kind_letter(t->kind), t->stage, t->microbatch,
                                run->start[r][i] / 2, run->end[r][i] / 2);
            g_assert_cmpstr(got, ==, lines[line++]);
        }
    g_assert_null(lines[line]);
}

typedef struct {
    guint rows, timelines;
} Seen;

static void
assert_row(char **row, Seen *seen)
{
    ScheduleParams params = {.pp = (guint)number(row[COL_P]),
                             .microbatches = (guint)number(row[COL_M]),
                             .vpp = (guint)number(row[COL_V]),
                             .group = group_of(row[COL_CASE])};

    g_test_message("%s", row[COL_CASE]);
    g_autoptr(Schedule) s = new_schedule(row[COL_SCHEDULE], params);
    g_autofree char *written = format(s), *expected = read_data(row[COL_OPS_FILE]);
    g_assert_cmpstr(g_strchomp(written), ==, g_strchomp(expected));
    assert_peaks(s, row);
    ScheduleTimes times = times_of(row);
    g_autoptr(ScheduleRun) run = schedule_run(s, &times);
    g_assert_nonnull(run);
    assert_times(run, row);
    seen->rows++;
    if (row[COL_TIMELINE_FILE][0] == '\0')
        return;
    assert_timeline(s, run, row[COL_TIMELINE_FILE]);
    seen->timelines++;
}

static void
test_vectors(void)
{
    static const char *const files[] = {"schedules.csv", "generated.csv"};
    Seen seen = {0};

    g_test_summary("op lists, peaks, makespan, busy, idle, span and timelines equal the vectors");
    for (guint f = 0; f < G_N_ELEMENTS(files); f++) {
        g_autofree char *text = read_data(files[f]);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        for (guint i = 1; lines[i] != NULL && lines[i][0] != '\0'; i++) {
            g_auto(GStrv) row = g_strsplit(g_strchomp(lines[i]), ",", N_COLUMNS);
            assert_row(row, &seen);
        }
    }
    g_assert_cmpuint(seen.rows, ==, 269);
    g_assert_cmpuint(seen.timelines, ==, 21);
}

/* P = 4, M = 4 idles 3/7 of the time under GPipe and 1F1B alike, not 3/6. */
static void
test_three_sevenths(void)
{
    static const char *const names[] = {"gpipe", "gpipe_lifo", "1f1b"};

    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        ScheduleParams params = {.pp = 4, .microbatches = 4, .vpp = 1};
        g_autoptr(Schedule) s = new_schedule(names[i], params);
        ScheduleTimes times = {.F = 1, .I = 1};
        g_autoptr(ScheduleRun) run = schedule_run(s, &times);
        g_assert_cmpint(run->makespan, ==, 14);
        g_assert_cmpint(run->idle[0] * 7, ==, run->makespan * 3);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/schedule/vectors/lists-peaks-and-times", test_vectors);
    g_test_add_func("/schedule/vectors/four-by-four-idles-three-sevenths", test_three_sevenths);
    return g_test_run();
}
