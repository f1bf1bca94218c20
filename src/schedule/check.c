/* Is a schedule complete and can it run; and how many activations does it keep alive. */
#include "config.h"

#include "schedule/schedule.h"

/* What is done of each (stage, microbatch), one bit a kind. */
typedef struct {
    const Schedule *s;
    guint8 *done;
} Progress;

static guint8 *
cell(const Progress *p, guint stage, guint microbatch)
{
    return &p->done[(gsize)stage * p->s->params.microbatches + microbatch];
}

static gboolean
has(guint8 done, ScheduleKind kind)
{
    return (done >> kind & 1) != 0;
}

/* Set the error, "NAME: row R: TOKEN ..."; rows count from 1 as in the file. Returns FALSE. */
static gboolean
complain(const Schedule *s, guint rank, const ScheduleToken *t, ScheduleError code,
         const char *what, GError **error)
{
    g_set_error(error, SCHEDULE_ERROR, code, "%s: row %u (rank %u): %u%c%u %s", s->name, rank + 1,
                rank, t->stage, schedule_kind_letter(t->kind), t->microbatch, what);
    return FALSE;
}

/* One rank's list by itself: each token is in range, at home, once, and after what it needs there.
 * */
static gboolean
check_rank(const Progress *p, guint rank, GError **error)
{
    const Schedule *s = p->s;
    const GArray *tokens = s->ranks[rank];

    for (guint i = 0; i < tokens->len; i++) {
        const ScheduleToken *t = &g_array_index(tokens, ScheduleToken, i);
        if (t->stage >= s->n_stages || t->microbatch >= s->params.microbatches)
            return complain(s, rank, t, SCHEDULE_ERROR_ILLEGAL, "is out of range", error);
        if (schedule_rank_of(s, t->stage, t->microbatch) != rank)
            return complain(s, rank, t, SCHEDULE_ERROR_ILLEGAL, "belongs to another rank's stage",
                            error);

        guint8 *done = cell(p, t->stage, t->microbatch);
        gboolean backward = has(*done, SCHEDULE_B) || has(*done, SCHEDULE_I);
        if (has(*done, t->kind))
            return complain(s, rank, t, SCHEDULE_ERROR_ILLEGAL, "is there twice; remove one",
                            error);
        if (t->kind != SCHEDULE_F && !has(*done, SCHEDULE_F))
            return complain(s, rank, t, SCHEDULE_ERROR_ILLEGAL,
                            "comes before its forward; move it behind the F", error);
        if ((t->kind == SCHEDULE_B || t->kind == SCHEDULE_I) && backward)
            return complain(s, rank, t, SCHEDULE_ERROR_ILLEGAL,
                            "repeats a backward: use either B, or I and W", error);
        if (t->kind == SCHEDULE_W && !has(*done, SCHEDULE_I))
            return complain(s, rank, t, SCHEDULE_ERROR_ILLEGAL,
                            "has no input gradient before it; put the I first", error);
        *done |= (guint8)(1 << t->kind);
    }
    return TRUE;
}

static gboolean
check_complete(const Progress *p, GError **error)
{
    const Schedule *s = p->s;

    for (guint stage = 0; stage < s->n_stages; stage++)
        for (guint m = 0; m < s->params.microbatches; m++) {
            guint8 done = *cell(p, stage, m);
            ScheduleKind missing = !has(done, SCHEDULE_F)                             ? SCHEDULE_F
                                   : !has(done, SCHEDULE_B) && !has(done, SCHEDULE_I) ? SCHEDULE_B
                                                                                      : SCHEDULE_W;
            if (has(done, SCHEDULE_F) &&
                (has(done, SCHEDULE_B) || (has(done, SCHEDULE_I) && has(done, SCHEDULE_W))))
                continue;
            ScheduleToken t = {.kind = missing, .stage = (guint16)stage, .microbatch = m};
            return complain(s, schedule_rank_of(s, stage, m), &t, SCHEDULE_ERROR_INCOMPLETE,
                            "is missing; every stage runs every microbatch", error);
        }
    return TRUE;
}

/* Inputs from other stages are there: F after F of the stage before, I or B after I or B of the
 * next. */
static gboolean
ready(const Progress *p, const ScheduleToken *t)
{
    if (t->kind == SCHEDULE_F)
        return t->stage == 0 || has(*cell(p, t->stage - 1u, t->microbatch), SCHEDULE_F);
    if (t->kind == SCHEDULE_W || t->stage + 1u == p->s->n_stages)
        return TRUE;
    guint8 next = *cell(p, t->stage + 1u, t->microbatch);
    return has(next, SCHEDULE_B) || has(next, SCHEDULE_I);
}

/* Run all lists in order without times: they reach the end, or some ranks wait for each other for
 * ever. */
static gboolean
check_runs(Progress *p, GError **error)
{
    const Schedule *s = p->s;
    g_autofree guint *at = g_new0(guint, s->params.pp);
    gboolean moved = TRUE;

    memset(p->done, 0, (gsize)s->n_stages * s->params.microbatches);
    while (moved) {
        moved = FALSE;
        for (guint r = 0; r < s->params.pp; r++)
            for (; at[r] < s->ranks[r]->len; at[r]++) {
                const ScheduleToken *t = &g_array_index(s->ranks[r], ScheduleToken, at[r]);
                if (!ready(p, t))
                    break;
                *cell(p, t->stage, t->microbatch) |= (guint8)(1 << t->kind);
                moved = TRUE;
            }
    }
    for (guint r = 0; r < s->params.pp; r++)
        if (at[r] < s->ranks[r]->len)
            return complain(
                s, r, &g_array_index(s->ranks[r], ScheduleToken, at[r]), SCHEDULE_ERROR_ILLEGAL,
                "waits for ever: the ranks wait for each other in a circle; change the order",
                error);
    return TRUE;
}

gboolean
schedule_check(const Schedule *s, GError **error)
{
    guint64 cells = (guint64)s->n_stages * s->params.microbatches, n_tokens = 0;

    for (guint r = 0; r < s->params.pp; r++)
        n_tokens += s->ranks[r]->len;
    if (n_tokens < 2 * cells) { /* before cells are allocated: indices in a file may be absurd */
        g_set_error(error, SCHEDULE_ERROR, SCHEDULE_ERROR_INCOMPLETE,
                    "%s: %" G_GUINT64_FORMAT
                    " operations are too few for %u stages and %u microbatches; "
                    "every stage runs one F and one B (or I and W) for every microbatch",
                    s->name, n_tokens, s->n_stages, s->params.microbatches);
        return FALSE;
    }

    g_autofree guint8 *done = g_new0(guint8, cells);
    Progress p = {.s = s, .done = done};
    for (guint r = 0; r < s->params.pp; r++)
        if (!check_rank(&p, r, error))
            return FALSE;
    return check_complete(&p, error) && check_runs(&p, error);
}

void
schedule_peaks(const Schedule *s, guint *ret_at_input_grad, guint *ret_at_weight_grad)
{
    for (guint r = 0; r < s->params.pp; r++) {
        guint live_i = 0, live_w = 0;
        ret_at_input_grad[r] = ret_at_weight_grad[r] = 0;
        for (guint i = 0; i < s->ranks[r]->len; i++) {
            ScheduleKind kind = g_array_index(s->ranks[r], ScheduleToken, i).kind;
            if (kind == SCHEDULE_F) {
                live_i++;
                live_w++;
            }
            if (kind == SCHEDULE_B || kind == SCHEDULE_I)
                live_i--;
            if (kind == SCHEDULE_B || kind == SCHEDULE_W)
                live_w--;
            ret_at_input_grad[r] = MAX(ret_at_input_grad[r], live_i);
            ret_at_weight_grad[r] = MAX(ret_at_weight_grad[r], live_w);
        }
    }
}
