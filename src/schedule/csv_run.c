/* The rows of a schedule file together: they reach the end, or the circle of waits is told.
 *
 * A row runs in order. An F or backward waits for its input: without messages for the operation of the
 * stage beside it, with messages until that rank has posted the SEND. Two ranks exchange their messages in
 * the order in which each posts them (one communicator carries them), so both must post the same order. */
#include "config.h"

#include "schedule/csv_table.h"

#define MAX_TOLD 6 /* waits of a circle that are written out */

typedef struct {
    const ScheduleTable *table;
    const Schedule *s;
    gboolean messages;
    guint8 *done; /* [n_stages * microbatches] bit set of the ops below TABLE_UNSHARD */
    guint *at;    /* [rows] the first cell that has not run */
    guint *queue; /* [rows] ring of rows that may go on */
    gboolean *queued;
    guint head, n_queued;
} Run;

/* What a row waits for: a cell that another row (or the same, later) has not reached. */
typedef struct {
    guint row;
    const TableCell *cell;
} Place;

static guint8 *
done_at(const Run *run, guint stage, guint microbatch)
{
    return &run->done[(gsize)stage * run->s->params.microbatches + microbatch];
}

static gboolean
is_backward(guint op)
{
    return op == TABLE_B || op == TABLE_I;
}

/* The stage whose result the cell takes, or -1. */
static int
source_of(const Run *run, const TableCell *cell)
{
    if (cell->op == TABLE_F)
        return (int)cell->stage - 1;
    if (is_backward(cell->op) && cell->stage + 1u < run->s->n_stages)
        return cell->stage + 1;
    return -1;
}

/* Ops that the input of a cell on `row` waits for, as a bit set; any of them will do. */
static guint
wanted_ops(const Run *run, guint row, const TableCell *cell, guint source)
{
    gboolean remote = schedule_rank_of(run->s, source, cell->microbatch) != row;

    if (remote && run->messages)
        return cell->op == TABLE_F ? 1u << TABLE_SEND_F : 1u << TABLE_SEND_B;
    return cell->op == TABLE_F ? 1u << TABLE_F : 1u << TABLE_B | 1u << TABLE_I;
}

static gboolean
is_ready(const Run *run, guint row, const TableCell *cell)
{
    int source = source_of(run, cell);

    if (source < 0)
        return TRUE;
    return (*done_at(run, (guint)source, cell->microbatch) &
            wanted_ops(run, row, cell, (guint)source)) != 0;
}

/* The cell at `i`, or the first of its pair that is not ready; NULL: it can run. */
static const TableCell *
find_blocked(const Run *run, guint row, guint i)
{
    const TableCell *cell = TABLE_CELL(run->table, row, i);

    if (!is_ready(run, row, cell))
        return cell;
    if (cell->pair == SCHEDULE_PAIR_FIRST && !is_ready(run, row, cell + 1))
        return cell + 1;
    return NULL;
}

static void
enqueue(Run *run, guint row)
{
    guint n = run->table->n_rows;

    if (run->queued[row])
        return;
    run->queued[row] = TRUE;
    run->queue[(run->head + run->n_queued++) % n] = row;
}

/* The row that may have waited for this cell goes on. */
static void
wake(Run *run, const TableCell *cell)
{
    int target = -1;

    if (cell->op == TABLE_F || cell->op == TABLE_SEND_F)
        target = cell->stage + 1;
    else if (is_backward(cell->op) || cell->op == TABLE_SEND_B)
        target = (int)cell->stage - 1;
    if (target >= 0 && (guint)target < run->s->n_stages)
        enqueue(run, schedule_rank_of(run->s, (guint)target, cell->microbatch));
}

static void
advance(Run *run, guint row)
{
    guint n = run->table->rows[row]->len;

    while (run->at[row] < n && find_blocked(run, row, run->at[row]) == NULL) {
        guint size = TABLE_CELL(run->table, row, run->at[row])->pair == SCHEDULE_PAIR_FIRST ? 2 : 1;
        for (guint k = 0; k < size; k++) {
            const TableCell *cell = TABLE_CELL(run->table, row, run->at[row]++);
            if (cell->op >= TABLE_UNSHARD)
                continue;
            *done_at(run, cell->stage, cell->microbatch) |= (guint8)(1 << cell->op);
            wake(run, cell);
        }
    }
}

/* What the first cell of a stuck row waits for. */
static Place
find_wanted(const Run *run, guint row, const TableCell *blocked)
{
    guint source = (guint)source_of(run, blocked);
    guint ops = wanted_ops(run, row, blocked, source);
    Place place = {.row = schedule_rank_of(run->s, source, blocked->microbatch)};

    for (guint op = 0; op < TABLE_UNSHARD && place.cell == NULL; op++)
        if ((ops >> op & 1) != 0)
            place.cell =
                schedule_table_find(run->table, place.row, op, source, blocked->microbatch);
    g_assert(place.cell != NULL); /* the table is complete */
    return place;
}

/* Follow the waits from any stuck row into the circle, then tell it once around. */
static gboolean
complain_circle(const Run *run, guint row, GError **error)
{
    char token[TABLE_TOKEN_SIZE];
    g_autoptr(GString) text = g_string_new(NULL);
    guint start, told = 0;

    for (guint i = 0; i < run->table->n_rows; i++)
        row = find_wanted(run, row, find_blocked(run, row, run->at[row])).row;
    start = row;
    do {
        Place wanted = find_wanted(run, row, find_blocked(run, row, run->at[row]));
        const TableCell *next = find_blocked(run, wanted.row, run->at[wanted.row]);
        if (told++ < MAX_TOLD) {
            g_string_append_printf(
                text, "%swaits for %s (row %u, column %u)", told > 1 ? ", which " : "",
                schedule_table_token(wanted.cell, token), wanted.row + 1, wanted.cell->column + 1);
            if (wanted.cell != next)
                g_string_append_printf(text, ", which comes after %s (column %u)",
                                       schedule_table_token(next, token), next->column + 1);
        }
        row = wanted.row;
    } while (row != start);
    if (told > MAX_TOLD)
        g_string_append_printf(text, ", and so on over %u more rows", told - MAX_TOLD);
    return schedule_table_complain(
        run->table, start, find_blocked(run, start, run->at[start]), SCHEDULE_ERROR_ILLEGAL, error,
        "%s: a circle, none of them can start; change the order", text->str);
}

static gboolean
is_message(const TableCell *cell)
{
    return (TABLE_MESSAGES >> cell->op & 1) != 0;
}

static gboolean
is_send(const TableCell *cell)
{
    return cell->op == TABLE_SEND_F || cell->op == TABLE_SEND_B;
}

static gboolean
is_forward(const TableCell *cell)
{
    return cell->op == TABLE_SEND_F || cell->op == TABLE_RECV_F;
}

/* The other end of a message: SEND for RECV and the other way. */
static TableCell
other_end(const TableCell *cell)
{
    TableCell other = *cell;
    int step = is_forward(cell) == is_send(cell) ? 1 : -1;

    other.stage = (guint16)(cell->stage + step);
    other.op = is_forward(cell) ? (is_send(cell) ? TABLE_RECV_F : TABLE_SEND_F)
                                : (is_send(cell) ? TABLE_RECV_B : TABLE_SEND_B);
    return other;
}

/* Each message has the same place among those of its two ranks on both of them. */
static gboolean
check_order(const Run *run, GError **error)
{
    const Schedule *s = run->s;
    gsize n_cells = (gsize)s->n_stages * s->params.microbatches;
    g_autofree guint32 *place = g_new0(guint32, 2 * n_cells); /* by direction and sending stage */
    g_autofree guint32 *count = g_new0(guint32, run->table->n_rows);
    char token[TABLE_TOKEN_SIZE];

    for (guint r = 0; r < run->table->n_rows; r++) {
        const GArray *cells = run->table->rows[r];
        for (guint pass = 0; pass < 2; pass++)
            for (guint i = 0; i < cells->len; i++) {
                const TableCell *cell = TABLE_CELL(run->table, r, i);
                if (!is_message(cell))
                    continue;
                TableCell other = other_end(cell);
                guint peer = schedule_rank_of(s, other.stage, cell->microbatch);
                if (pass == 0) { /* without a sweep over all rows for each */
                    count[peer] = 0;
                    continue;
                }
                guint sender = is_send(cell) ? cell->stage : other.stage;
                guint32 *slot = &place[(is_forward(cell) ? 0 : n_cells) +
                                       (gsize)sender * s->params.microbatches + cell->microbatch];
                count[peer]++;
                if (*slot != 0 && *slot != count[peer])
                    return schedule_table_complain(
                        run->table, r, cell, SCHEDULE_ERROR_ILLEGAL, error,
                        "is message %u between rows %u and %u here, and %s is message %u there; two "
                        "ranks exchange messages in order: post them in the same order on both",
                        count[peer], r + 1, peer + 1, schedule_table_token(&other, token), *slot);
                *slot = count[peer];
            }
    }
    return TRUE;
}

gboolean
schedule_table_run(const ScheduleTable *t, const Schedule *s, GError **error)
{
    g_autofree guint8 *done = g_new0(guint8, (gsize)s->n_stages * s->params.microbatches);
    g_autofree guint *at = g_new0(guint, t->n_rows);
    g_autofree guint *queue = g_new0(guint, t->n_rows);
    g_autofree gboolean *queued = g_new0(gboolean, t->n_rows);
    Run run = {.table = t,
               .s = s,
               .messages = (t->ops & TABLE_MESSAGES) != 0,
               .done = done,
               .at = at,
               .queue = queue,
               .queued = queued};

    for (guint r = 0; r < t->n_rows; r++)
        enqueue(&run, r);
    while (run.n_queued > 0) {
        guint row = queue[run.head];
        run.head = (run.head + 1) % t->n_rows;
        run.n_queued--;
        queued[row] = FALSE;
        advance(&run, row);
    }
    for (guint r = 0; r < t->n_rows; r++)
        if (at[r] < t->rows[r]->len)
            return complain_circle(&run, r, error);
    return !run.messages || check_order(&run, error);
}
