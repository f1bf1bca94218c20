/* The list executor of the tests. */
#include "config.h"

#include "schedule-executor.h"

typedef struct {
    const Schedule *s;
    const ScheduleTimes *times;
    gint64 *f_end, *b_end; /* [stage][microbatch] end of F, and of B or I; -1: not done */
    guint *at;
    gint64 *free_at; /* per rank */
    ScheduleRun *out;
} Executor;

static gint64 *
end_of(const Executor *x, gboolean forward, guint stage, guint m)
{
    return &(forward ? x->f_end : x->b_end)[(gsize)stage * x->s->params.microbatches + m];
}

/* When the output of stage `from` is at stage `to`; -1: not made yet. */
static gint64
arrival(const Executor *x, gboolean forward, guint from, guint to, guint m)
{
    gint64 end = *end_of(x, forward, from, m);
    gboolean same = schedule_rank_of(x->s, from, m) == schedule_rank_of(x->s, to, m);

    return end < 0 || same ? end : end + x->times->comm;
}

static gint64
inputs_at(const Executor *x, const ScheduleToken *t)
{
    guint s = t->stage, m = t->microbatch;

    if (t->kind == SCHEDULE_W)
        return *end_of(x, FALSE, s, m);
    if (t->kind == SCHEDULE_F)
        return s == 0 ? 0 : arrival(x, TRUE, s - 1u, s, m);
    gint64 own = *end_of(x, TRUE, s, m);
    gint64 next = s + 1u == x->s->n_stages ? own : arrival(x, FALSE, s + 1u, s, m);
    return own < 0 || next < 0 ? -1 : MAX(own, next);
}

static gint64
duration(const Executor *x, const ScheduleToken *t)
{
    const gint64 by_kind[] = {x->times->F, x->times->I + x->times->W, x->times->I, x->times->W};

    return t->pair != SCHEDULE_SINGLE ? x->times->pair : by_kind[t->kind];
}

/* The next token or pair of a rank, if its inputs are there. */
static gboolean
run_next(Executor *x, guint rank)
{
    const GArray *list = x->s->ranks[rank];
    guint first = x->at[rank];

    if (first == list->len)
        return FALSE;
    const ScheduleToken *t = &g_array_index(list, ScheduleToken, first);
    guint n = t->pair == SCHEDULE_SINGLE ? 1 : 2;
    gint64 start = x->free_at[rank];
    for (guint i = 0; i < n; i++) {
        gint64 inputs = inputs_at(x, t + i);
        if (inputs < 0)
            return FALSE;
        start = MAX(start, inputs);
    }
    gint64 end = start + duration(x, t);
    for (guint i = 0; i < n; i++) {
        if (t[i].kind != SCHEDULE_W)
            *end_of(x, t[i].kind == SCHEDULE_F, t[i].stage, t[i].microbatch) = end;
        x->out->start[rank][first + i] = start;
        x->out->end[rank][first + i] = end;
    }
    x->out->busy[rank] += end - start;
    x->free_at[rank] = end;
    x->at[rank] += n;
    return TRUE;
}

static void
summarise(Executor *x)
{
    ScheduleRun *out = x->out;

    for (guint r = 0; r < out->n; r++) {
        out->makespan = MAX(out->makespan, x->free_at[r]);
        out->max_busy = MAX(out->max_busy, out->busy[r]);
        out->span[r] = x->free_at[r] - out->start[r][0];
        out->max_span = MAX(out->max_span, out->span[r]);
    }
    for (guint r = 0; r < out->n; r++)
        out->idle[r] = out->makespan - out->busy[r];
}

ScheduleRun *
schedule_run(const Schedule *s, const ScheduleTimes *times)
{
    gsize cells = (gsize)s->n_stages * s->params.microbatches;
    guint pp = s->params.pp;
    ScheduleRun *out = g_new0(ScheduleRun, 1);
    g_autofree gint64 *f_end = g_new(gint64, cells), *b_end = g_new(gint64, cells);
    g_autofree gint64 *free_at = g_new0(gint64, pp);
    g_autofree guint *at = g_new0(guint, pp);
    Executor x = {s, times, f_end, b_end, at, free_at, out};
    gboolean moved = TRUE;

    for (gsize i = 0; i < cells; i++)
        f_end[i] = b_end[i] = -1;
    out->n = pp;
    out->busy = g_new0(gint64, pp);
    out->idle = g_new0(gint64, pp);
    out->span = g_new0(gint64, pp);
    out->start = g_new0(gint64 *, pp);
    out->end = g_new0(gint64 *, pp);
    for (guint r = 0; r < pp; r++) {
        out->start[r] = g_new0(gint64, s->ranks[r]->len);
        out->end[r] = g_new0(gint64, s->ranks[r]->len);
    }
    while (moved) {
        moved = FALSE;
        for (guint r = 0; r < pp; r++)
            while (run_next(&x, r))
                moved = TRUE;
    }
    for (guint r = 0; r < pp; r++)
        if (at[r] < s->ranks[r]->len) {
            schedule_run_free(out);
            return NULL;
        }
    summarise(&x);
    return out;
}

void
schedule_run_free(ScheduleRun *run)
{
    if (run == NULL)
        return;
    for (guint r = 0; r < run->n; r++) {
        g_free(run->start[r]);
        g_free(run->end[r]);
    }
    g_free(run->start);
    g_free(run->end);
    g_free(run->busy);
    g_free(run->idle);
    g_free(run->span);
    g_free(run);
}
