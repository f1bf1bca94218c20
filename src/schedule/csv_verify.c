/* A schedule file cell by cell: everything is there, once, on its rank, behind what it needs on its row.
 * Messages, if there are any, are then all there: each F or backward whose input comes from another rank
 * has its RECV before it, and what another rank waits for is sent after it was made. Gathers, if there are
 * any on a row, cover the operations of their stages. */
#include "config.h"

#include "schedule/csv_table.h"

typedef struct {
    const ScheduleTable *table;
    const Schedule *s;
    gboolean messages;
    guint8 *done; /* [n_stages * microbatches] bit set of the ops below TABLE_UNSHARD */
    /* Of the row in hand, by stage. */
    guint *backwards_left; /* B and W still to come */
    gboolean *gathered, *reduced;
    gboolean gathers; /* the row gathers at all */
} Verifier;

#define ILLEGAL SCHEDULE_ERROR_ILLEGAL

static guint8 *
done_at(const Verifier *v, guint stage, guint microbatch)
{
    return &v->done[(gsize)stage * v->s->params.microbatches + microbatch];
}

static gboolean
has(guint8 done, TableOp op)
{
    return (done >> op & 1) != 0;
}

/* The rank of a stage beside that of `cell`, for its microbatch; FALSE when there is none. */
static gboolean
find_peer(const Verifier *v, const TableCell *cell, int step, guint *ret_rank)
{
    int peer = cell->stage + step;

    if (peer < 0 || (guint)peer >= v->s->n_stages)
        return FALSE;
    *ret_rank = schedule_rank_of(v->s, (guint)peer, cell->microbatch);
    return TRUE;
}

/* The input from the stage `step` away has been received, when it comes from another rank. */
static gboolean
check_received(const Verifier *v, guint row, const TableCell *cell, int step, GError **error)
{
    TableOp receive = step < 0 ? TABLE_RECV_F : TABLE_RECV_B;
    TableCell wanted = {
        .op = (guint8)receive, .stage = cell->stage, .microbatch = cell->microbatch};
    char token[TABLE_TOKEN_SIZE];
    guint rank;

    if (!v->messages || !find_peer(v, cell, step, &rank) || rank == row ||
        has(*done_at(v, cell->stage, cell->microbatch), receive))
        return TRUE;
    schedule_table_token(&wanted, token);
    const TableCell *later =
        schedule_table_find(v->table, row, receive, cell->stage, cell->microbatch);
    if (later != NULL)
        return schedule_table_complain(v->table, row, cell, ILLEGAL, error,
                                       "waits for %s, which comes after it in column %u; post the "
                                       "receive first",
                                       token, later->column + 1);
    return schedule_table_complain(
        v->table, row, cell, SCHEDULE_ERROR_INCOMPLETE, error,
        "waits for %s, which is not on its row; add it in front, or leave "
        "all SEND and RECV out",
        token);
}

static gboolean
check_compute(const Verifier *v, guint row, const TableCell *cell, GError **error)
{
    guint8 done = *done_at(v, cell->stage, cell->microbatch);
    guint stage = cell->stage, m = cell->microbatch;

    if (cell->op != TABLE_F && !has(done, TABLE_F))
        return schedule_table_complain(v->table, row, cell, ILLEGAL, error,
                                       "comes before its forward; move it behind %uF%u", stage, m);
    if (cell->op == TABLE_W && has(done, TABLE_B))
        return schedule_table_complain(v->table, row, cell, ILLEGAL, error,
                                       "repeats a backward: use either B, or I and W");
    if (cell->op == TABLE_W && !has(done, TABLE_I))
        return schedule_table_complain(v->table, row, cell, ILLEGAL, error,
                                       "has no input gradient before it; put %uI%u first", stage,
                                       m);
    if ((cell->op == TABLE_B || cell->op == TABLE_I) && (has(done, TABLE_B) || has(done, TABLE_I)))
        return schedule_table_complain(v->table, row, cell, ILLEGAL, error,
                                       "repeats a backward: use either B, or I and W");
    if (cell->op == TABLE_W)
        return TRUE;
    return check_received(v, row, cell, cell->op == TABLE_F ? -1 : 1, error);
}

/* Both run at once, so the backward cannot be that of the forward. */
static gboolean
check_pair(const Verifier *v, guint row, guint i, GError **error)
{
    const TableCell *cell = TABLE_CELL(v->table, row, i);

    if (cell->pair != SCHEDULE_PAIR_SECOND)
        return TRUE;
    const TableCell *forward = cell - 1;
    if (forward->stage != cell->stage || forward->microbatch != cell->microbatch)
        return TRUE;
    return schedule_table_complain(v->table, row, cell, ILLEGAL, error,
                                   "waits for %uF%u, which overlaps it; take them apart",
                                   cell->stage, cell->microbatch);
}

static gboolean
check_message(const Verifier *v, guint row, const TableCell *cell, GError **error)
{
    guint8 done = *done_at(v, cell->stage, cell->microbatch);
    gboolean forward = cell->op == TABLE_SEND_F || cell->op == TABLE_RECV_F;
    gboolean send = cell->op == TABLE_SEND_F || cell->op == TABLE_SEND_B;
    guint peer;

    if (!find_peer(v, cell, forward == send ? 1 : -1, &peer))
        return schedule_table_complain(v->table, row, cell, ILLEGAL, error,
                                       "has no stage to exchange with: there are stages 0 to %u; "
                                       "remove it",
                                       v->s->n_stages - 1);
    if (peer == row)
        return schedule_table_complain(v->table, row, cell, ILLEGAL, error,
                                       "is for a stage on the same row, which needs no message; "
                                       "remove it");
    gboolean made = forward ? has(done, TABLE_F) : has(done, TABLE_B) || has(done, TABLE_I);
    if (send && !made)
        return schedule_table_complain(v->table, row, cell, ILLEGAL, error,
                                       "comes before the %s of stage %u, microbatch %u, which it "
                                       "sends; move it behind",
                                       forward ? "F" : "B or I", cell->stage, cell->microbatch);
    return TRUE;
}

static gboolean
check_gather(const Verifier *v, guint row, const TableCell *cell, GError **error)
{
    gboolean gathered = v->gathered[cell->stage];

    if (cell->op == TABLE_UNSHARD && gathered)
        return schedule_table_complain(v->table, row, cell, ILLEGAL, error,
                                       "gathers a stage that is gathered; put a %uRESHARD between",
                                       cell->stage);
    if (cell->op == TABLE_RESHARD && !gathered)
        return schedule_table_complain(v->table, row, cell, ILLEGAL, error,
                                       "drops a stage that is not gathered; put a %uUNSHARD before",
                                       cell->stage);
    if (cell->op == TABLE_REDUCE_GRAD && v->reduced[cell->stage])
        return schedule_table_complain(v->table, row, cell, ILLEGAL, error,
                                       "is there twice; remove one");
    if (cell->op == TABLE_REDUCE_GRAD && v->backwards_left[cell->stage] > 0)
        return schedule_table_complain(v->table, row, cell, ILLEGAL, error,
                                       "comes before %u backwards of its stage; move it behind the "
                                       "last",
                                       v->backwards_left[cell->stage]);
    return TRUE;
}

/* The stage exists and this row holds it. */
static gboolean
check_home(const Verifier *v, guint row, const TableCell *cell, GError **error)
{
    const Schedule *s = v->s;

    if (cell->stage >= s->n_stages || cell->microbatch >= s->params.microbatches)
        return schedule_table_complain(v->table, row, cell, ILLEGAL, error,
                                       "is out of range: stages 0 to %u run microbatches 0 to %u",
                                       s->n_stages - 1, s->params.microbatches - 1);
    gboolean here = FALSE;
    if (cell->op >= TABLE_UNSHARD)
        for (guint replica = 0; replica < s->n_replicas; replica++)
            here = here || s->rank_of[replica * s->n_stages + cell->stage] == row;
    else
        here = schedule_rank_of(s, cell->stage, cell->microbatch) == row;
    if (here)
        return TRUE;
    return schedule_table_complain(v->table, row, cell, ILLEGAL, error,
                                   "is on a row that does not hold its stage; move it to row %u",
                                   schedule_rank_of(s, cell->stage, cell->microbatch) + 1);
}

static gboolean
check_cell(const Verifier *v, guint row, guint i, GError **error)
{
    const TableCell *cell = TABLE_CELL(v->table, row, i);

    if (!check_home(v, row, cell, error))
        return FALSE;
    if (cell->op >= TABLE_UNSHARD)
        return check_gather(v, row, cell, error);
    if (has(*done_at(v, cell->stage, cell->microbatch), cell->op))
        return schedule_table_complain(v->table, row, cell, ILLEGAL, error,
                                       "is there twice; remove one");
    if (cell->op > TABLE_W)
        return check_message(v, row, cell, error);
    if (v->gathers && !v->gathered[cell->stage])
        return schedule_table_complain(
            v->table, row, cell, ILLEGAL, error,
            "runs on a stage that is not gathered; put a %uUNSHARD before", cell->stage);
    return check_compute(v, row, cell, error) && check_pair(v, row, i, error);
}

static void
note(Verifier *v, const TableCell *cell)
{
    if (cell->op < TABLE_UNSHARD)
        *done_at(v, cell->stage, cell->microbatch) |= (guint8)(1 << cell->op);
    if (cell->op == TABLE_B || cell->op == TABLE_W)
        v->backwards_left[cell->stage]--;
    if (cell->op == TABLE_UNSHARD || cell->op == TABLE_RESHARD)
        v->gathered[cell->stage] = cell->op == TABLE_UNSHARD;
    if (cell->op == TABLE_REDUCE_GRAD)
        v->reduced[cell->stage] = TRUE;
}

static gboolean
check_row(Verifier *v, guint row, GError **error)
{
    guint n = v->table->rows[row]->len;

    v->gathers = FALSE;
    for (guint i = 0; i < n; i++) {
        const TableCell *cell = TABLE_CELL(v->table, row, i);
        v->gathers = v->gathers || cell->op == TABLE_UNSHARD;
        if (cell->stage >= v->s->n_stages)
            continue;
        v->gathered[cell->stage] = v->reduced[cell->stage] = FALSE;
        v->backwards_left[cell->stage] = 0;
    }
    for (guint i = 0; i < n; i++) {
        const TableCell *cell = TABLE_CELL(v->table, row, i);
        if (cell->op == TABLE_B || cell->op == TABLE_W)
            v->backwards_left[cell->stage]++;
    }
    for (guint i = 0; i < n; i++) {
        if (!check_cell(v, row, i, error))
            return FALSE;
        note(v, TABLE_CELL(v->table, row, i));
    }
    return TRUE;
}

static gboolean
complain_missing(const Verifier *v, TableOp op, guint stage, guint microbatch, GError **error)
{
    TableCell cell = {.op = (guint8)op, .stage = (guint16)stage, .microbatch = microbatch};
    char token[TABLE_TOKEN_SIZE];

    g_set_error(error, SCHEDULE_ERROR, SCHEDULE_ERROR_INCOMPLETE,
                "%s: row %u: %s is missing; every stage runs every microbatch", v->table->name,
                schedule_rank_of(v->s, stage, microbatch) + 1, schedule_table_token(&cell, token));
    return FALSE;
}

/* What stage `stage` sends to the stage `step` away is sent, when that is on another rank: the receive is
 * known to be there. */
static gboolean
check_sent(const Verifier *v, guint stage, guint m, int step, GError **error)
{
    TableOp send = step > 0 ? TABLE_SEND_F : TABLE_SEND_B;
    TableCell cell = {.op = (guint8)send, .stage = (guint16)stage, .microbatch = m};
    char token[TABLE_TOKEN_SIZE];
    guint peer, row = schedule_rank_of(v->s, stage, m);

    if (!find_peer(v, &cell, step, &peer) || peer == row || has(*done_at(v, stage, m), send))
        return TRUE;
    const TableCell *receive = schedule_table_find(
        v->table, peer, step > 0 ? TABLE_RECV_F : TABLE_RECV_B, (guint)((int)stage + step), m);
    g_assert(receive != NULL);
    return schedule_table_complain(v->table, peer, receive, SCHEDULE_ERROR_INCOMPLETE, error,
                                   "waits for %s, which is not on row %u; add it there",
                                   schedule_table_token(&cell, token), row + 1);
}

static gboolean
check_complete(const Verifier *v, GError **error)
{
    for (guint stage = 0; stage < v->s->n_stages; stage++)
        for (guint m = 0; m < v->s->params.microbatches; m++) {
            guint8 done = *done_at(v, stage, m);
            if (!has(done, TABLE_F))
                return complain_missing(v, TABLE_F, stage, m, error);
            if (!has(done, TABLE_B) && !has(done, TABLE_I))
                return complain_missing(v, TABLE_B, stage, m, error);
            if (!has(done, TABLE_B) && !has(done, TABLE_W))
                return complain_missing(v, TABLE_W, stage, m, error);
        }
    return TRUE;
}

static gboolean
check_all_sent(const Verifier *v, GError **error)
{
    for (guint stage = 0; stage < v->s->n_stages; stage++)
        for (guint m = 0; m < v->s->params.microbatches; m++)
            if (!check_sent(v, stage, m, 1, error) || !check_sent(v, stage, m, -1, error))
                return FALSE;
    return TRUE;
}

gboolean
schedule_table_verify(const ScheduleTable *t, const Schedule *s, GError **error)
{
    g_autofree guint8 *done = g_new0(guint8, (gsize)s->n_stages * s->params.microbatches);
    g_autofree guint *left = g_new0(guint, s->n_stages);
    g_autofree gboolean *gathered = g_new0(gboolean, s->n_stages);
    g_autofree gboolean *reduced = g_new0(gboolean, s->n_stages);
    Verifier v = {.table = t,
                  .s = s,
                  .messages = (t->ops & TABLE_MESSAGES) != 0,
                  .done = done,
                  .backwards_left = left,
                  .gathered = gathered,
                  .reduced = reduced};

    for (guint r = 0; r < t->n_rows; r++)
        if (!check_row(&v, r, error))
            return FALSE;
    return check_complete(&v, error) && (!v.messages || check_all_sent(&v, error));
}
