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

/* A pair is a forward and, right after it, a backward of something else; `i` is either of them. */
static const char *
pair_fault(const GArray *tokens, guint i)
{
    const ScheduleToken *t = &g_array_index(tokens, ScheduleToken, i);
    guint first = t->pair == SCHEDULE_PAIR_SECOND ? i - 1 : i;

    if (t->pair == SCHEDULE_SINGLE)
        return NULL;
    if ((i == 0 && t->pair == SCHEDULE_PAIR_SECOND) || first + 1 >= tokens->len)
        return "has no partner; a pair is a forward and a backward, as in (1F3;0B1)OVERLAP_F_B";
    const ScheduleToken *f = &g_array_index(tokens, ScheduleToken, first), *b = f + 1;
    if (f->pair != SCHEDULE_PAIR_FIRST || b->pair != SCHEDULE_PAIR_SECOND ||
        f->kind != SCHEDULE_F || (b->kind != SCHEDULE_B && b->kind != SCHEDULE_I))
        return "is in a pair that is not a forward and then a backward; write it as in "
               "(1F3;0B1)OVERLAP_F_B";
    if (f->stage == b->stage && f->microbatch == b->microbatch)
        return "is in a pair with its own forward or backward, which cannot run together; write "
               "them one after the other";
    return NULL;
}

/* What is wrong with doing `kind` after what is done of its stage and microbatch, or NULL. */
static const char *
order_fault(guint8 done, ScheduleKind kind)
{
    if (has(done, kind))
        return "is there twice; remove one";
    if (kind != SCHEDULE_F && !has(done, SCHEDULE_F))
        return "comes before its forward; move it behind the F";
    if (kind == SCHEDULE_W && !has(done, SCHEDULE_I))
        return "has no input gradient before it; put the I first";
    if ((kind == SCHEDULE_B || kind == SCHEDULE_I) &&
        (has(done, SCHEDULE_B) || has(done, SCHEDULE_I)))
        return "repeats a backward: use either B, or I and W";
    return NULL;
}

/* One rank's list by itself: each token is in range, at home, once, and after what it needs there. */
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
        const char *fault = pair_fault(tokens, i);
        if (fault == NULL)
            fault = order_fault(*done, t->kind);
        if (fault != NULL)
            return complain(s, rank, t, SCHEDULE_ERROR_ILLEGAL, fault, error);
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

/* The first token of a rank's next unit (a token, or a pair) that is not ready; NULL: it can run. */
static const ScheduleToken *
blocked(const Progress *p, guint rank, guint at)
{
    const ScheduleToken *t = &g_array_index(p->s->ranks[rank], ScheduleToken, at);

    if (!ready(p, t))
        return t;
    return t->pair == SCHEDULE_PAIR_FIRST && !ready(p, t + 1) ? t + 1 : NULL;
}

/* The token that a blocked one waits for; it stands on *ret_rank, at or behind its next unit. */
static const ScheduleToken *
awaited(const Schedule *s, const guint *at, const ScheduleToken *t, guint *ret_rank)
{
    guint stage = t->kind == SCHEDULE_F ? t->stage - 1u : t->stage + 1u;
    guint rank = *ret_rank = schedule_rank_of(s, stage, t->microbatch);

    for (guint i = at[rank]; i < s->ranks[rank]->len; i++) {
        const ScheduleToken *other = &g_array_index(s->ranks[rank], ScheduleToken, i);
        gboolean same_way = t->kind == SCHEDULE_F
                                ? other->kind == SCHEDULE_F
                                : other->kind == SCHEDULE_B || other->kind == SCHEDULE_I;
        if (same_way && other->stage == stage && other->microbatch == t->microbatch)
            return other;
    }
    g_assert_not_reached(); /* the lists are complete */
}

static void
append_token(GString *text, const ScheduleToken *t)
{
    g_string_append_printf(text, "%u%c%u", t->stage, schedule_kind_letter(t->kind), t->microbatch);
}

#define MAX_CYCLE_SHOWN 16

/* Every rank from `rank` on is stuck: follow who waits for whom until a rank comes again, and tell
 * that circle. */
static gboolean
complain_of_cycle(const Progress *p, const guint *at, guint rank, GError **error)
{
    const Schedule *s = p->s;
    g_autofree gboolean *seen = g_new0(gboolean, s->params.pp);
    guint next, shown = 0;

    while (!seen[rank]) { /* the way into the circle */
        seen[rank] = TRUE;
        awaited(s, at, blocked(p, rank, at[rank]), &rank);
    }
    guint first = rank;
    g_autoptr(GString) text = g_string_new(
        "waits for ever: the ranks wait for each other in a circle; change the order: ");
    const ScheduleToken *start = blocked(p, first, at[first]);
    append_token(text, start);
    do {
        const ScheduleToken *need = awaited(s, at, blocked(p, rank, at[rank]), &next);
        const ScheduleToken *before = blocked(p, next, at[next]);
        rank = next;
        if (++shown > MAX_CYCLE_SHOWN)
            continue;
        g_string_append(text, shown == 1 ? " waits for " : ", which waits for ");
        append_token(text, need);
        g_string_append_printf(text, " of row %u", rank + 1);
        if (need != before) {
            g_string_append(text, " behind ");
            append_token(text, before);
        }
    } while (rank != first);
    if (shown > MAX_CYCLE_SHOWN)
        g_string_append_printf(text, ", and so on over %u ranks", shown);
    return complain(s, first, start, SCHEDULE_ERROR_ILLEGAL, text->str, error);
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
            while (at[r] < s->ranks[r]->len && blocked(p, r, at[r]) == NULL) {
                const ScheduleToken *t = &g_array_index(s->ranks[r], ScheduleToken, at[r]);
                for (guint n = t->pair == SCHEDULE_PAIR_FIRST ? 2 : 1; n > 0; n--, t++, at[r]++)
                    *cell(p, t->stage, t->microbatch) |= (guint8)(1 << t->kind);
                moved = TRUE;
            }
    }
    for (guint r = 0; r < s->params.pp; r++)
        if (at[r] < s->ranks[r]->len)
            return complain_of_cycle(p, at, r, error);
    return TRUE;
}

gboolean
schedule_check(const Schedule *s, GError **error)
{
    guint64 cells = (guint64)s->n_stages * s->params.microbatches, n_tokens = 0;

    for (guint r = 0; r < s->params.pp; r++)
        n_tokens += s->ranks[r]->len;
    if (cells == 0) {
        g_set_error(error, SCHEDULE_ERROR, SCHEDULE_ERROR_INCOMPLETE,
                    "%s: holds no operations; write one line a pipeline rank, as in '0F0,0B0'",
                    s->name);
        return FALSE;
    }
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
