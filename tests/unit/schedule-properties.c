/* What holds for every schedule, over sweeps and for random lists: each op once and in legal order,
 * live activations as promised, closed forms, and no false verdict on a deadlock. */
#include "config.h"

#include "schedule/schedule.h"

#include "schedule-executor.h"

#include <stdio.h>
#include <string.h>

static const ScheduleToken *
token_at(const Schedule *s, guint rank, guint i)
{
    return &g_array_index(s->ranks[rank], ScheduleToken, i);
}

/* --- every type over a sweep ------------------------------------------------------------------------ */

/* F, then B or I and W, once each and on the stage's own rank; a pair is F and backward side by side. */
static void
assert_each_once(const Schedule *s)
{
    guint M = s->params.microbatches;
    g_autofree guint8 *done = g_new0(guint8, (gsize)s->n_stages * M);

    for (guint r = 0; r < s->params.pp; r++)
        for (guint i = 0; i < s->ranks[r]->len; i++) {
            const ScheduleToken *t = token_at(s, r, i);
            /* the state before each kind: nothing; F; F; F and I */
            static const guint8 before[] = {0, 1, 1, 2}, after[] = {1, 3, 2, 3};
            guint8 *cell = &done[(gsize)t->stage * M + t->microbatch];
            g_assert_cmpuint(schedule_rank_of(s, t->stage, t->microbatch), ==, r);
            g_assert_cmpuint(*cell, ==, before[t->kind]);
            *cell = after[t->kind];
            if (t->pair == SCHEDULE_PAIR_FIRST) {
                g_assert_cmpuint(i + 1, <, s->ranks[r]->len);
                g_assert_cmpuint(token_at(s, r, i + 1)->pair, ==, SCHEDULE_PAIR_SECOND);
                g_assert_cmpuint(t->kind, ==, SCHEDULE_F);
                g_assert_cmpuint(token_at(s, r, i + 1)->kind, ==, SCHEDULE_B);
            }
        }
    for (gsize i = 0; i < (gsize)s->n_stages * M; i++)
        g_assert_cmpuint(done[i], ==, 3);
}

/* Live activations of a rank freed by W (or B), or by I (or B): never below 0, 0 at the end. */
static guint
live_peak(const Schedule *s, guint rank, ScheduleKind freed_by)
{
    gint live = 0, peak = 0;

    for (guint i = 0; i < s->ranks[rank]->len; i++) {
        ScheduleKind kind = token_at(s, rank, i)->kind;
        live += kind == SCHEDULE_F;
        live -= kind == SCHEDULE_B || kind == freed_by;
        g_assert_cmpint(live, >=, 0);
        peak = MAX(peak, live);
    }
    g_assert_cmpint(live, ==, 0);
    return (guint)peak;
}

static void
assert_type(const ScheduleType *type, const ScheduleParams *params)
{
    static const gint64 times[][3] = {{1, 1, 1}, {2, 2, 1}, {1, 1, 2}, {3, 4, 2}, {2, 3, 3},
                                      {4, 1, 0}, {1, 3, 0}, {5, 2, 7}, {1, 2, 5}};
    g_autoptr(Schedule) s = schedule_new(type, params, NULL);
    guint at_i[16], at_w[16];

    if (s == NULL)
        return; /* refused: schedule-schedule tests the reasons */
    GError *error = NULL;
    gboolean good = schedule_check(s, &error);
    g_assert_no_error(error);
    g_assert_true(good);
    assert_each_once(s);
    schedule_peaks(s, at_i, at_w);
    for (guint r = 0; r < params->pp; r++) {
        g_assert_cmpuint(at_i[r], ==, live_peak(s, r, SCHEDULE_I));
        g_assert_cmpuint(at_w[r], ==, live_peak(s, r, SCHEDULE_W));
        if (type->peak != NULL && type->build != NULL)
            g_assert_cmpuint(at_w[r], ==, type->peak(params, r));
        else if (type->peak != NULL) /* orders made as a whole, for few microbatches, stay below */
            g_assert_cmpuint(at_w[r], <=, type->peak(params, r));
    }
    for (guint t = 0; t < G_N_ELEMENTS(times) && !s->asynchronous; t++) {
        gint64 F = times[t][0], I = times[t][1], W = times[t][2];
        double promise =
            type->makespan == NULL ? -1 : type->makespan(params, (double)F, (double)I, (double)W);
        ScheduleTimes unit = {.F = F, .I = I, .W = W, .pair = F + I + W};
        g_autoptr(ScheduleRun) run = schedule_run(s, &unit);
        g_assert_nonnull(run);
        if (promise >= 0)
            g_assert_cmpfloat((double)run->makespan, ==, promise);
        for (guint r = 0; r < run->n; r++) /* every stage does the same work */
            g_assert_cmpint(run->busy[r], ==,
                            (gint64)params->microbatches * params->vpp * (F + I + W));
    }
}

static void
test_sweep(void)
{
    guint max_pp = g_test_slow() ? 9 : 6;

    g_test_summary("each op once, in legal order, peak as promised, makespan as the closed form, "
                   "over P, M, V, N, F, I, W");
    for (guint i = 0; schedule_types[i] != NULL; i++) {
        const ScheduleType *type = schedule_types[i];
        g_test_message("%s", type->name);
        for (guint pp = 1; pp <= max_pp; pp++)
            for (guint m = 1; m <= 3 * pp + 1; m++)
                for (guint v = type->min_vpp; v <= MIN(type->max_vpp, 3u); v++)
                    for (guint n = 0; n <= (type->grouped ? m : 0); n += n == 0 ? pp : 1) {
                        ScheduleParams params = {.pp = pp, .microbatches = m, .vpp = v, .group = n};
                        assert_type(type, &params);
                    }
    }
}

/* SPEC.md 3.20's claims about idle time, F = I = W: 1F1B, a third of it, and none within a rank. */
static void
test_zero_bubble(void)
{
    g_test_summary("H1 leaves a third of 1F1B's idle time; H2 and ZB-V none between a rank's "
                   "first and last op");
    for (guint pp = 2; pp <= 8; pp++) {
        static const struct {
            const char *name;
            guint vpp, idle, idle_in_span; /* in units of (P-1) F of a whole device */
        } cases[] = {
            {"1f1b", 1, 6, 6}, {"zb_h1", 1, 2, 2}, {"zb_h2", 1, 2, 0}, {"zbv_torch", 2, 1, 0}};
        for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
            ScheduleParams params = {.pp = pp, .microbatches = 3 * pp, .vpp = cases[i].vpp};
            g_autoptr(Schedule) s = schedule_new(schedule_find(cases[i].name, NULL), &params, NULL);
            gint64 t = 2 / cases[i].vpp;
            ScheduleTimes times = {.F = t, .I = t, .W = t};
            g_autoptr(ScheduleRun) run = schedule_run(s, &times);
            g_assert_cmpint(run->idle[0], ==, cases[i].idle * (pp - 1));
            g_assert_cmpint(run->max_span - run->max_busy, ==, cases[i].idle_in_span * (pp - 1));
        }
    }
}

/* README of DualPipe: a rank idles (P/2-1)(F&B + B - 3W) when F = I; DualPipeV (P-1) of it. */
static void
test_dual_idle(void)
{
    static const gint64 times[][4] = {{2, 2, 2, 6}, {2, 2, 1, 5}, {2, 2, 2, 5}, {4, 4, 2, 8}};

    g_test_summary("the largest idle time of DualPipe and DualPipeV is its authors' formula");
    for (guint pp = 2; pp <= 8; pp += 2)
        for (guint t = 0; t < G_N_ELEMENTS(times); t++)
            for (guint folded = 0; folded < 2; folded++) {
                ScheduleParams params = {
                    .pp = folded ? pp / 2 : pp, .microbatches = 2 * pp + 2, .vpp = folded ? 2 : 1};
                const char *name = folded ? "dualpipev" : "dualpipe";
                g_autoptr(Schedule) s = schedule_new(schedule_find(name, NULL), &params, NULL);
                ScheduleTimes unit = {times[t][0], times[t][1], times[t][2], times[t][3], 0};
                g_autoptr(ScheduleRun) run = schedule_run(s, &unit);
                gint64 idle = unit.pair + unit.I + unit.W - 3 * unit.W, worst = 0;
                for (guint r = 0; r < run->n; r++)
                    worst = MAX(worst, run->idle[r]);
                if (unit.pair == unit.F + unit.I + unit.W)
                    g_assert_cmpint(worst, ==, (gint64)(pp / 2 - 1) * idle);
                else
                    g_assert_cmpint(run->idle[0], <=, (gint64)(pp / 2 - 1) * idle);
            }
}

/* --- random lists ------------------------------------------------------------------------------------ */

typedef struct {
    Schedule *s;
    guint8 *f, *b, *w; /* [stage][microbatch] done; w: B and I+W alike */
    guint left;
} Draw;

static gsize
cell(const Draw *d, guint stage, guint m)
{
    return (gsize)stage * d->s->params.microbatches + m;
}

static gboolean
can_run(const Draw *d, ScheduleKind kind, guint s, guint m)
{
    gsize c = cell(d, s, m);

    if (kind == SCHEDULE_F)
        return !d->f[c] && (s == 0 || d->f[cell(d, s - 1, m)]);
    if (kind == SCHEDULE_W)
        return d->b[c] && !d->w[c];
    return d->f[c] && !d->b[c] && (s + 1 == d->s->n_stages || d->b[cell(d, s + 1, m)]);
}

static void
put(Draw *d, ScheduleToken t)
{
    gsize c = cell(d, t.stage, t.microbatch);

    g_array_append_val(d->s->ranks[schedule_rank_of(d->s, t.stage, t.microbatch)], t);
    if (t.kind == SCHEDULE_F)
        d->f[c] = TRUE;
    else if (t.kind != SCHEDULE_W)
        d->b[c] = TRUE;
    if (t.kind == SCHEDULE_B || t.kind == SCHEDULE_W) {
        d->w[c] = TRUE;
        d->left--;
    }
}

/* A forward that can run now on the same rank as this backward, and so can be its pair. */
static gboolean
find_partner(const Draw *d, guint rank, ScheduleToken *ret)
{
    for (guint s = 0; s < d->s->n_stages; s++)
        for (guint m = 0; m < d->s->params.microbatches; m++)
            if (schedule_rank_of(d->s, s, m) == rank && can_run(d, SCHEDULE_F, s, m)) {
                *ret = (ScheduleToken){.stage = (guint16)s, .microbatch = m};
                return TRUE;
            }
    return FALSE;
}

/* Any placement of n_stages (and of a second copy), and ops drawn as they become ready. */
static Schedule *
draw_schedule(void)
{
    guint pp = (guint)g_test_rand_int_range(1, 5), vpp = (guint)g_test_rand_int_range(1, 4);
    guint M = (guint)g_test_rand_int_range(1, 6), n = pp * vpp;
    Schedule *s = g_new0(Schedule, 1);
    s->name = "drawn";
    s->params = (ScheduleParams){.pp = pp, .microbatches = M, .vpp = vpp};
    s->n_stages = n;
    s->n_replicas = (guint)g_test_rand_int_range(1, 3);
    s->rank_of = g_new(guint, s->n_replicas * n);
    for (guint i = 0; i < s->n_replicas * n; i++)
        s->rank_of[i] = i % n % pp;
    for (guint i = 0; i < s->n_replicas * n; i++) { /* shuffled within a copy */
        guint j = i / n * n + (guint)g_test_rand_int_range(0, (gint)n), kept = s->rank_of[i];
        s->rank_of[i] = s->rank_of[j];
        s->rank_of[j] = kept;
    }
    s->replica_of = g_new0(guint8, M);
    for (guint m = 0; m < M; m++)
        s->replica_of[m] = (guint8)g_test_rand_int_range(0, (gint)s->n_replicas);
    s->ranks = g_new0(GArray *, pp);
    for (guint r = 0; r < pp; r++)
        s->ranks[r] = g_array_new(FALSE, FALSE, sizeof(ScheduleToken));

    g_autofree guint8 *f = g_new0(guint8, n * M), *b = g_new0(guint8, n * M),
                      *w = g_new0(guint8, n * M);
    Draw d = {s, f, b, w, n * M};
    while (d.left > 0) {
        ScheduleToken t = {.kind = (guint8)g_test_rand_int_range(0, 4),
                           .stage = (guint16)g_test_rand_int_range(0, (gint)n),
                           .microbatch = (guint)g_test_rand_int_range(0, (gint)M)};
        ScheduleToken partner;
        if (!can_run(&d, t.kind, t.stage, t.microbatch))
            continue;
        guint rank = schedule_rank_of(s, t.stage, t.microbatch);
        if (t.kind == SCHEDULE_B && g_test_rand_bit() && find_partner(&d, rank, &partner)) {
            partner.pair = SCHEDULE_PAIR_FIRST;
            t.pair = SCHEDULE_PAIR_SECOND;
            put(&d, partner);
        }
        put(&d, t);
    }
    return s;
}

static void
test_random_legal(void)
{
    g_test_summary("a list drawn op by op as inputs become ready is accepted and reaches its end");
    for (guint i = 0; i < 3000; i++) {
        g_autoptr(Schedule) s = draw_schedule();
        GError *error = NULL;
        gboolean good = schedule_check(s, &error);
        g_assert_no_error(error);
        g_assert_true(good);
        ScheduleTimes times = {.F = 2, .I = 3, .W = 1, .pair = 5, .comm = 1};
        g_autoptr(ScheduleRun) run = schedule_run(s, &times);
        g_assert_nonnull(run);
    }
}

/* Index of the token in a row (1-based), which must hold it. */
static guint
index_in_row(const Schedule *s, guint row, const ScheduleToken *wanted)
{
    g_assert_cmpuint(row, >=, 1);
    g_assert_cmpuint(row, <=, s->params.pp);
    for (guint i = 0; i < s->ranks[row - 1]->len; i++) {
        const ScheduleToken *t = token_at(s, row - 1, i);
        if (t->kind == wanted->kind && t->stage == wanted->stage &&
            t->microbatch == wanted->microbatch)
            return i;
    }
    g_assert_not_reached();
}

static ScheduleToken
read_token(const char *text)
{
    guint stage, microbatch;
    char letter;

    g_assert_cmpint(sscanf(text, "%u%c%u", &stage, &letter, &microbatch), ==, 3);
    for (ScheduleKind kind = SCHEDULE_F; kind <= SCHEDULE_W; kind++)
        if (schedule_kind_letter(kind) == letter)
            return (ScheduleToken){
                .kind = (guint8)kind, .stage = (guint16)stage, .microbatch = microbatch};
    g_assert_not_reached();
}

/* "0B0 waits for 1B0 of row 2 behind 1F1, which waits for 0F1 of row 1 behind 0B0": each is the input
 * of the one before, stands where it is said to stand, and the last is the first. */
static void
assert_cycle(const Schedule *s, const char *message)
{
    const char *at = strstr(message, "change the order: ");

    g_assert_nonnull(at);
    at += strlen("change the order: ");
    ScheduleToken first = read_token(at), waiting = first;
    guint links = 0;
    while ((at = strstr(at, " waits for ")) != NULL) {
        at += strlen(" waits for ");
        ScheduleToken need = read_token(at);
        g_assert_cmpuint(need.microbatch, ==, waiting.microbatch);
        if (waiting.kind == SCHEDULE_F)
            g_assert_true(need.kind == SCHEDULE_F && need.stage + 1 == waiting.stage);
        else
            g_assert_true(need.kind != SCHEDULE_F && need.stage == waiting.stage + 1);
        guint row = (guint)g_ascii_strtoull(strstr(at, " of row ") + strlen(" of row "), NULL, 10);
        const char *comma = strchr(at, ','), *behind = strstr(at, " behind ");
        waiting = need;
        if (behind != NULL && (comma == NULL || behind < comma)) {
            waiting = read_token(behind + strlen(" behind "));
            guint of_need = index_in_row(s, row, &need), of_front = index_in_row(s, row, &waiting);
            g_assert_cmpuint(of_front, <=, of_need + 1);
            if (of_front == of_need + 1) /* two of one pair */
                g_assert_cmpuint(token_at(s, row - 1, of_front)->pair, ==, SCHEDULE_PAIR_SECOND);
        }
        links++;
    }
    g_assert_cmpuint(links, >=, 1);
    g_assert_true(waiting.kind == first.kind && waiting.stage == first.stage &&
                  waiting.microbatch == first.microbatch);
}

/* Move one unit (a token or a pair) of one rank to another place. */
static void
disturb(Schedule *s)
{
    GArray *list = s->ranks[g_test_rand_int_range(0, (gint)s->params.pp)];
    guint from = (guint)g_test_rand_int_range(0, (gint)list->len);
    const ScheduleToken *t = &g_array_index(list, ScheduleToken, from);

    if (t->pair != SCHEDULE_SINGLE)
        return;
    ScheduleToken moved = *t;
    g_array_remove_index(list, from);
    guint to = (guint)g_test_rand_int_range(0, (gint)list->len + 1);
    if (to < list->len && g_array_index(list, ScheduleToken, to).pair == SCHEDULE_PAIR_SECOND)
        to++;
    g_array_insert_val(list, to, moved);
}

static void
test_random_disturbed(void)
{
    guint n_legal = 0, n_circular = 0, n_other = 0;

    g_test_summary("a disturbed list is accepted exactly when the executor reaches its end, and a "
                   "deadlock is told as a true circle");
    for (guint i = 0; i < 6000; i++) {
        g_autoptr(Schedule) s = draw_schedule();
        for (gint moves = g_test_rand_int_range(1, 4); moves > 0; moves--)
            disturb(s);
        g_autoptr(GError) error = NULL;
        gboolean good = schedule_check(s, &error);
        ScheduleTimes times = {.F = 1, .I = 1, .W = 1, .pair = 2};
        g_autoptr(ScheduleRun) run = schedule_run(s, &times);
        if (good) {
            g_assert_nonnull(run);
            assert_each_once(s);
            n_legal++;
        } else if (strstr(error->message, "in a circle") != NULL) {
            g_assert_null(run);
            assert_cycle(s, error->message);
            n_circular++;
        } else {
            n_other++; /* out of order within its rank */
        }
    }
    g_test_message("%u legal, %u circular, %u out of order", n_legal, n_circular, n_other);
    g_assert_cmpuint(n_legal, >, 100);
    g_assert_cmpuint(n_circular, >, 100);
    g_assert_cmpuint(n_other, >, 100);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/schedule/properties/every-type-over-a-sweep", test_sweep);
    g_test_add_func("/schedule/properties/zero-bubble-claims", test_zero_bubble);
    g_test_add_func("/schedule/properties/dualpipe-idle-formula", test_dual_idle);
    g_test_add_func("/schedule/properties/random-legal-lists-run", test_random_legal);
    g_test_add_func("/schedule/properties/disturbed-lists-are-judged-right", test_random_disturbed);
    return g_test_run();
}
