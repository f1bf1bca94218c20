/* Every schedule against the published vectors: op lists letter by letter, peaks, and the times
 * that an independent list executor gets from the lists. */
#include "config.h"

#include "schedule/schedule.h"

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

/* "..._P2_M4_V2_N3_...": the group, or 0. */
static guint
group_of(const char *name)
{
    const char *at = strstr(name, "_N");

    return at == NULL ? 0 : (guint)number(at + 2);
}

/* The list executor: each rank in order; an op starts when its rank is free and its inputs, `comm`
 * later when they come from another rank, are there. */
typedef struct {
    const Schedule *s;
    gint64 F, B, comm;
    gint64 *f_end, *b_end;      /* [stage][microbatch], -1: not done */
    gint64 *start, *end, *busy; /* per rank */
} Run;

static gint64
arrival(const Run *run, gint64 *ends, guint from, guint to, guint m)
{
    gint64 end = ends[from * run->s->params.microbatches + m];

    if (end < 0)
        return -1;
    return run->s->rank_of[from] == run->s->rank_of[to] ? end : end + run->comm;
}

static gint64
inputs_at(const Run *run, const ScheduleToken *t)
{
    guint s = t->stage, m = t->microbatch;

    if (t->kind == SCHEDULE_F)
        return s == 0 ? 0 : arrival(run, run->f_end, s - 1u, s, m);
    gint64 own = run->f_end[s * run->s->params.microbatches + m];
    gint64 next = s + 1u == run->s->n_stages ? own : arrival(run, run->b_end, s + 1u, s, m);
    return own < 0 || next < 0 ? -1 : MAX(own, next);
}

static void
run_schedule(Run *run)
{
    const Schedule *s = run->s;
    guint cells = s->n_stages * s->params.microbatches;
    g_autofree guint *at = g_new0(guint, s->params.pp);
    gboolean moved = TRUE;

    run->f_end = g_new(gint64, cells);
    run->b_end = g_new(gint64, cells);
    for (guint i = 0; i < cells; i++)
        run->f_end[i] = run->b_end[i] = -1;
    run->start = g_new0(gint64, s->params.pp);
    run->end = g_new0(gint64, s->params.pp);
    run->busy = g_new0(gint64, s->params.pp);
    while (moved) {
        moved = FALSE;
        for (guint r = 0; r < s->params.pp; r++) {
            while (at[r] < s->ranks[r]->len) {
                const ScheduleToken *t = &g_array_index(s->ranks[r], ScheduleToken, at[r]);
                gint64 inputs = inputs_at(run, t),
                       duration = t->kind == SCHEDULE_F ? run->F : run->B;
                if (inputs < 0)
                    break;
                gint64 begin = MAX(inputs, run->end[r]);
                if (at[r]++ == 0)
                    run->start[r] = begin;
                run->end[r] = begin + duration;
                run->busy[r] += duration;
                (t->kind == SCHEDULE_F
                     ? run->f_end
                     : run->b_end)[t->stage * s->params.microbatches + t->microbatch] = run->end[r];
                moved = TRUE;
            }
        }
    }
    for (guint r = 0; r < s->params.pp; r++)
        g_assert_cmpuint(at[r], ==, s->ranks[r]->len);
}

static gint64
makespan_of(const Run *run)
{
    gint64 last = 0;

    for (guint r = 0; r < run->s->params.pp; r++)
        last = MAX(last, run->end[r]);
    return last;
}

static void
run_clear(Run *run)
{
    g_free(run->f_end);
    g_free(run->b_end);
    g_free(run->start);
    g_free(run->end);
    g_free(run->busy);
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
assert_per_rank(const char *text, const gint64 *values, guint n)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);

    g_assert_cmpuint(g_strv_length(words), ==, n);
    for (guint r = 0; r < n; r++)
        g_assert_cmpint(values[r], ==, number(words[r]));
}

static void
assert_peaks(const Schedule *s, char **row)
{
    guint pp = s->params.pp;
    g_autofree guint *at_i = g_new(guint, pp), *at_w = g_new(guint, pp);
    g_autofree gint64 *wide_i = g_new(gint64, pp), *wide_w = g_new(gint64, pp);

    schedule_peaks(s, at_i, at_w);
    for (guint r = 0; r < pp; r++) {
        wide_i[r] = at_i[r];
        wide_w[r] = at_w[r];
    }
    assert_per_rank(row[COL_PEAK_I], wide_i, pp);
    assert_per_rank(row[COL_PEAK_W], wide_w, pp);
}

static void
assert_times(const Schedule *s, char **row)
{
    guint pp = s->params.pp;
    Run run = {.s = s,
               .F = number(row[COL_F]),
               .B = number(row[COL_B_FULL]),
               .comm = number(row[COL_COMM])};
    g_autofree gint64 *idle = g_new(gint64, pp), *span = g_new(gint64, pp);

    run_schedule(&run);
    gint64 makespan = makespan_of(&run), busy = 0, max_span = 0;
    for (guint r = 0; r < pp; r++) {
        idle[r] = makespan - run.busy[r];
        span[r] = run.end[r] - run.start[r];
        busy = MAX(busy, run.busy[r]);
        max_span = MAX(max_span, span[r]);
    }
    g_assert_cmpint(makespan, ==, number(row[COL_MAKESPAN]));
    g_assert_cmpint(busy, ==, number(row[COL_BUSY]));
    g_assert_cmpint(max_span, ==, number(row[COL_MAX_SPAN]));
    assert_per_rank(row[COL_IDLE_PER_RANK], idle, pp);
    assert_per_rank(row[COL_SPAN_PER_RANK], span, pp);
    double over_total = 100.0 * (double)(makespan - busy) / (double)makespan;
    g_assert_cmpfloat_with_epsilon(over_total, g_ascii_strtod(row[COL_IDLE_TOTAL], NULL), 5.1e-5);
    run_clear(&run);
}

static void
test_vectors(void)
{
    g_autofree char *text = read_data("schedules.csv");
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    guint n = 0;

    g_test_summary("op lists, peaks, makespan, busy, idle and span equal the vectors");
    for (guint i = 1; lines[i] != NULL && lines[i][0] != '\0'; i++) {
        g_auto(GStrv) row = g_strsplit(lines[i], ",", N_COLUMNS + 1);
        ScheduleParams params = {.pp = (guint)number(row[COL_P]),
                                 .microbatches = (guint)number(row[COL_M]),
                                 .vpp = (guint)number(row[COL_V]),
                                 .group = group_of(row[COL_CASE])};
        g_test_message("%s", row[COL_CASE]);
        g_autoptr(Schedule) s = new_schedule(row[COL_SCHEDULE], params);
        g_autofree char *written = schedule_format_csv(s), *expected = read_data(row[COL_OPS_FILE]);
        g_assert_cmpstr(g_strchomp(written), ==, g_strchomp(expected));
        assert_peaks(s, row);
        assert_times(s, row);
        n++;
    }
    g_assert_cmpuint(n, >=, 70);
}

/* Makespan and peaks of every legal (P, M, V, N) against the closed forms. */
static void
assert_closed_forms(const ScheduleType *type, ScheduleParams params, gint64 F, gint64 B)
{
    g_autoptr(Schedule) s = schedule_new(type, &params, NULL);
    guint at_i[16], at_w[16];

    if (s == NULL)
        return; /* refused: schedule-schedule tests the reasons */
    g_assert_true(schedule_check(s, NULL));
    schedule_peaks(s, at_i, at_w);
    for (guint r = 0; r < params.pp; r++) {
        g_assert_cmpuint(at_i[r], ==, type->peak(&params, r));
        g_assert_cmpuint(at_w[r], ==, at_i[r]); /* no schedule here splits the backward */
    }
    double promise = type->makespan(&params, (double)F, (double)B, 0);
    if (promise < 0)
        return;
    Run run = {.s = s, .F = F, .B = B, .comm = 0};
    run_schedule(&run);
    g_assert_cmpfloat((double)makespan_of(&run), ==, promise);
    run_clear(&run);
}

static void
test_closed_forms(void)
{
    static const gint64 times[][2] = {{1, 1}, {1, 2}, {3, 5}, {4, 1}};
    guint max_pp = g_test_slow() ? 8 : 5;

    g_test_summary("makespan and live activations equal each schedule's closed form over a sweep");
    for (guint i = 0; schedule_types[i] != NULL; i++) {
        const ScheduleType *type = schedule_types[i];
        for (guint pp = 1; pp <= max_pp; pp++)
            for (guint m = 1; m <= 3 * pp + 1; m++)
                for (guint v = type->min_vpp; v <= MIN(type->max_vpp, 4u); v++)
                    for (guint n = 0; n <= (type->grouped ? m : 0); n += n == 0 ? pp : 1)
                        for (guint t = 0; t < G_N_ELEMENTS(times); t++) {
                            ScheduleParams params = {
                                .pp = pp, .microbatches = m, .vpp = v, .group = n};
                            assert_closed_forms(type, params, times[t][0], times[t][1]);
                        }
    }
}

/* P = 4, M = 4 idles 3/7 of the time under GPipe and 1F1B alike, not 3/6. */
static void
test_three_sevenths(void)
{
    static const char *const names[] = {"gpipe", "gpipe_lifo", "1f1b"};

    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        ScheduleParams params = {.pp = 4, .microbatches = 4, .vpp = 1};
        g_autoptr(Schedule) s = new_schedule(names[i], params);
        Run run = {.s = s, .F = 1, .B = 1};
        run_schedule(&run);
        g_assert_cmpint(makespan_of(&run), ==, 14);
        g_assert_cmpint((makespan_of(&run) - run.busy[0]) * 7, ==, makespan_of(&run) * 3);
        run_clear(&run);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/schedule/vectors/lists-peaks-and-times", test_vectors);
    g_test_add_func("/schedule/vectors/closed-forms-over-a-sweep", test_closed_forms);
    g_test_add_func("/schedule/vectors/four-by-four-idles-three-sevenths", test_three_sevenths);
    return g_test_run();
}
