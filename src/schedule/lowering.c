/* A schedule with the messages and gathers that PyTorch's runtime would add (SPEC.md 4):
 *
 *   merge    I directly followed by W of the same stage and microbatch is one B;
 *   gather   before each operation the next three distinct stages of the row are gathered (UNSHARD), and
 *            those gathered that are not among them dropped (RESHARD); gradients are reduced
 *            (REDUCE_GRAD) behind a stage's last B or W;
 *   send     the ranks take turns, each giving one operation if its input has arrived. Behind it stands
 *            its SEND, and in the same moment the RECV is appended to the row of the rank that needs it.
 *            Stages on one rank need no message. */
#include "config.h"

#include "schedule/csv_table.h"

#define N_GATHERED 3 /* stages: one forward, one backward, one ahead */

static void
append(ScheduleTable *t, guint row, TableCell cell)
{
    t->ops |= 1u << cell.op;
    g_array_append_val(t->rows[row], cell);
}

static TableCell
cell_of(ScheduleToken token)
{
    return (TableCell){
        .op = token.kind, .pair = token.pair, .stage = token.stage, .microbatch = token.microbatch};
}

ScheduleTable *
schedule_table_of(const Schedule *s)
{
    ScheduleTable *t = schedule_table_new(s->name, s->params.pp);

    for (guint r = 0; r < s->params.pp; r++)
        for (guint i = 0; i < s->ranks[r]->len; i++)
            append(t, r, cell_of(g_array_index(s->ranks[r], ScheduleToken, i)));
    return t;
}

static ScheduleTable *
merge(const ScheduleTable *from)
{
    ScheduleTable *t = schedule_table_new(from->name, from->n_rows);

    for (guint r = 0; r < from->n_rows; r++)
        for (guint i = 0; i < from->rows[r]->len; i++) {
            TableCell cell = *TABLE_CELL(from, r, i);
            const TableCell *next = i + 1 < from->rows[r]->len ? TABLE_CELL(from, r, i + 1) : NULL;
            if (next != NULL && cell.op == TABLE_I && cell.pair == SCHEDULE_SINGLE &&
                next->op == TABLE_W && next->stage == cell.stage &&
                next->microbatch == cell.microbatch) {
                cell.op = TABLE_B;
                i++;
            }
            append(t, r, cell);
        }
    return t;
}

/* The next distinct stages from a cell on, nearest first. */
typedef struct {
    guint n;
    guint16 stages[N_GATHERED];
} Ahead;

static gboolean
holds(const Ahead *a, guint stage)
{
    for (guint i = 0; i < a->n; i++)
        if (a->stages[i] == stage)
            return TRUE;
    return FALSE;
}

static void
put_first(Ahead *a, guint16 stage)
{
    guint16 moved = stage;

    for (guint i = 0; i < N_GATHERED; i++) {
        if (i == a->n) {
            a->stages[a->n++] = moved;
            return;
        }
        guint16 old = a->stages[i];
        a->stages[i] = moved;
        if (old == stage)
            return;
        moved = old;
    }
}

/* From what is gathered to what lies ahead: drops first, in order of stages. */
static void
gather(ScheduleTable *t, guint row, const Ahead *now, const Ahead *ahead)
{
    guint16 drops[N_GATHERED];
    guint n = 0;

    for (guint i = 0; i < now->n; i++) {
        if (holds(ahead, now->stages[i]))
            continue;
        guint at = n++;
        for (; at > 0 && drops[at - 1] > now->stages[i]; at--)
            drops[at] = drops[at - 1];
        drops[at] = now->stages[i];
    }
    for (guint i = 0; i < n; i++)
        append(t, row, (TableCell){.op = TABLE_RESHARD, .stage = drops[i]});
    for (guint i = 0; i < ahead->n; i++)
        if (!holds(now, ahead->stages[i]))
            append(t, row, (TableCell){.op = TABLE_UNSHARD, .stage = ahead->stages[i]});
}

static gboolean
ends_gradient(const TableCell *cell)
{
    return cell->op == TABLE_B || cell->op == TABLE_W;
}

/* Gathers and reductions of one row. Near the end of a row fewer than three stages lie ahead, and what is
 * then no longer needed is dropped. */
static void
gather_row(ScheduleTable *t, const ScheduleTable *from, guint row)
{
    guint n = from->rows[row]->len;
    g_autofree Ahead *ahead = g_new0(Ahead, n + 1);
    g_autofree guint *left = g_new0(guint, (gsize)G_MAXUINT16 + 1);
    Ahead now = {0};

    for (guint i = n; i-- > 0;) {
        const TableCell *cell = TABLE_CELL(from, row, i);
        ahead[i] = ahead[i + 1];
        put_first(&ahead[i], cell->stage);
        left[cell->stage] += ends_gradient(cell);
    }
    for (guint i = 0; i < n; i++) {
        const TableCell *cell = TABLE_CELL(from, row, i);
        guint size = cell->pair == SCHEDULE_PAIR_FIRST ? 2 : 1;
        gather(t, row, &now, &ahead[i]);
        now = ahead[i];
        for (guint k = 0; k < size; k++)
            append(t, row, cell[k]);
        for (guint k = 0; k < size; k++)
            if (ends_gradient(&cell[k]) && --left[cell[k].stage] == 0)
                append(t, row, (TableCell){.op = TABLE_REDUCE_GRAD, .stage = cell[k].stage});
        i += size - 1;
    }
}

static ScheduleTable *
add_gathers(const ScheduleTable *from)
{
    ScheduleTable *t = schedule_table_new(from->name, from->n_rows);

    for (guint r = 0; r < from->n_rows; r++)
        gather_row(t, from, r);
    return t;
}

typedef struct {
    const Schedule *s;
    const ScheduleTable *from;
    ScheduleTable *to;
    guint8 *done;   /* [n_stages * microbatches] bit set of the ops below TABLE_UNSHARD */
    guint *at;      /* [rows] the first cell that has not had its turn */
    guint64 *awake; /* bit set of the rows that may go on */
    guint n_left;   /* rows not at their end */
} Sending;

static guint8 *
done_at(const Sending *l, guint stage, guint microbatch)
{
    return &l->done[(gsize)stage * l->s->params.microbatches + microbatch];
}

static gboolean
is_backward(const TableCell *cell)
{
    return cell->op == TABLE_B || cell->op == TABLE_I;
}

/* Its input has been received, or was made on this row. */
static gboolean
is_ready(const Sending *l, guint row, const TableCell *cell)
{
    gboolean forward = cell->op == TABLE_F;
    int source = (int)cell->stage + (forward ? -1 : 1);

    if ((!forward && !is_backward(cell)) || source < 0 || (guint)source >= l->s->n_stages)
        return TRUE;
    if (schedule_rank_of(l->s, (guint)source, cell->microbatch) != row)
        return (*done_at(l, cell->stage, cell->microbatch) >>
                    (forward ? TABLE_RECV_F : TABLE_RECV_B) &
                1) != 0;
    guint made = forward ? 1u << TABLE_F : 1u << TABLE_B | 1u << TABLE_I;
    return (*done_at(l, (guint)source, cell->microbatch) & made) != 0;
}

/* The message of an operation, on both rows. */
static void
send(Sending *l, guint row, const TableCell *cell)
{
    gboolean forward = cell->op == TABLE_F;
    int target = (int)cell->stage + (forward ? 1 : -1);

    if ((!forward && !is_backward(cell)) || target < 0 || (guint)target >= l->s->n_stages)
        return;
    guint peer = schedule_rank_of(l->s, (guint)target, cell->microbatch);
    if (peer == row)
        return;
    TableCell message = {.op = forward ? TABLE_SEND_F : TABLE_SEND_B,
                         .stage = cell->stage,
                         .microbatch = cell->microbatch};
    append(l->to, row, message);
    message.op = forward ? TABLE_RECV_F : TABLE_RECV_B;
    message.stage = (guint16)target;
    append(l->to, peer, message);
    *done_at(l, message.stage, message.microbatch) |= (guint8)(1 << message.op);
    if (l->at[peer] < l->from->rows[peer]->len)
        l->awake[peer / 64] |= G_GUINT64_CONSTANT(1) << peer % 64;
}

/* One operation, or pair, of a row that is awake; it sleeps when it has to wait or is at its end. */
static void
take_turn(Sending *l, guint row)
{
    const TableCell *cell = TABLE_CELL(l->from, row, l->at[row]);
    guint size = cell->pair == SCHEDULE_PAIR_FIRST ? 2 : 1;
    gboolean ready = TRUE;

    for (guint k = 0; k < size; k++)
        ready = ready && is_ready(l, row, &cell[k]);
    for (guint k = 0; ready && k < size; k++) {
        append(l->to, row, cell[k]);
        if (cell[k].op < TABLE_UNSHARD)
            *done_at(l, cell[k].stage, cell[k].microbatch) |= (guint8)(1 << cell[k].op);
    }
    l->at[row] += ready ? size : 0;
    for (guint k = 0; ready && k < size; k++)
        send(l, row, &cell[k]);
    gboolean ended = l->at[row] == l->from->rows[row]->len;
    l->n_left -= ended;
    if (ended || !ready)
        l->awake[row / 64] &= ~(G_GUINT64_CONSTANT(1) << row % 64);
}

/* Rows that are awake take turns in order; those woken behind the one in turn still have theirs in the
 * same round. */
static void
take_turns(Sending *l)
{
    guint n_words = (l->from->n_rows + 63) / 64;

    while (l->n_left > 0) {
        gboolean any = FALSE;
        for (guint word = 0; word < n_words; word++) {
            guint64 ahead = ~G_GUINT64_CONSTANT(0);
            while ((l->awake[word] & ahead) != 0) {
                guint bit = (guint)__builtin_ctzll(l->awake[word] & ahead);
                take_turn(l, 64 * word + bit);
                ahead = bit == 63 ? 0 : ~G_GUINT64_CONSTANT(0) << (bit + 1);
                any = TRUE;
            }
        }
        g_assert(any); /* schedule_check has passed */
    }
}

static ScheduleTable *
add_messages(const Schedule *s, const ScheduleTable *from)
{
    g_autofree guint8 *done = g_new0(guint8, (gsize)s->n_stages * s->params.microbatches);
    g_autofree guint *at = g_new0(guint, from->n_rows);
    g_autofree guint64 *awake = g_new0(guint64, from->n_rows / 64 + 1);
    Sending l = {.s = s, .from = from, .done = done, .at = at, .awake = awake};

    l.to = schedule_table_new(from->name, from->n_rows);
    for (guint r = 0; r < from->n_rows; r++)
        if (from->rows[r]->len > 0) {
            awake[r / 64] |= G_GUINT64_CONSTANT(1) << r % 64;
            l.n_left++;
        }
    take_turns(&l);
    return l.to;
}

static char *
format_lowered(const Schedule *s, gboolean gathers)
{
    g_autoptr(ScheduleTable) compute = schedule_table_of(s);
    g_autoptr(ScheduleTable) merged = merge(compute);
    g_autoptr(ScheduleTable) gathered = gathers ? add_gathers(merged) : NULL;
    g_autoptr(ScheduleTable) sent = add_messages(s, gathers ? gathered : merged);

    return schedule_table_format(sent);
}

char *
schedule_format_comms(const Schedule *s)
{
    return format_lowered(s, FALSE);
}

char *
schedule_format_comms_sharded(const Schedule *s)
{
    return format_lowered(s, TRUE);
}
