/* Text of a schedule file to cells: "0F0,,0SEND_F0,(0F3;3B5)OVERLAP_F_B", one row a rank.
 *
 * Spaces around a cell, quotes around it, empty cells (idle slots) and empty rows at the end mean
 * nothing. PyTorch's older files write B for the input gradient and BW for the whole backward; they are
 * known by a BW, or by a W without any I. */
#include "config.h"

#include "schedule/csv_table.h"

#include <string.h>

#define MAX_MICROBATCH (1u << 24)
#define PAIR_END ")OVERLAP_F_B"
#define OLDER_BW TABLE_N_OPS /* stands for BW until the letters are known to be the older ones */

static const struct {
    const char *name;
    guint8 op;
} ops[] = {
    {"F", TABLE_F},
    {"B", TABLE_B},
    {"I", TABLE_I},
    {"W", TABLE_W},
    {"SEND_F", TABLE_SEND_F},
    {"RECV_F", TABLE_RECV_F},
    {"SEND_B", TABLE_SEND_B},
    {"RECV_B", TABLE_RECV_B},
    {"BW", OLDER_BW},
    {"REDUCE_GRAD", TABLE_REDUCE_GRAD},
    {"UNSHARD", TABLE_UNSHARD},
    {"RESHARD", TABLE_RESHARD},
};

typedef struct {
    ScheduleTable *table;
    guint row, column;
    gsize n_cells;
    GError **error;
} Reader;

static gboolean
complain(const Reader *r, const char *cell, gsize length, const char *why)
{
    g_set_error(r->error, SCHEDULE_ERROR, SCHEDULE_ERROR_ILLEGAL,
                "%s: row %u, column %u: '%.*s' is not an operation; %s", r->table->name, r->row + 1,
                r->column + 1, (int)MIN(length, 40), cell, why);
    return FALSE;
}

/* Digits only, at most `limit`; moves *at behind them. */
static gboolean
parse_number(const char **at, const char *end, guint limit, guint *ret)
{
    guint64 value = 0;
    const char *start = *at;

    for (; *at < end && g_ascii_isdigit(**at); (*at)++) {
        value = value * 10 + (guint64)(**at - '0');
        if (value > limit)
            return FALSE;
    }
    *ret = (guint)value;
    return *at > start;
}

/* STAGE OP MICROBATCH between `at` and `end`, and nothing else. */
static gboolean
parse_token(const char *at, const char *end, TableCell *ret)
{
    guint stage, microbatch = 0, op = 0;

    if (!parse_number(&at, end, G_MAXUINT16 - 1, &stage))
        return FALSE;
    const char *name = at;
    while (at < end && (g_ascii_isupper(*at) || *at == '_'))
        at++;
    gsize length = (gsize)(at - name);
    while (op < G_N_ELEMENTS(ops) &&
           (strlen(ops[op].name) != length || memcmp(ops[op].name, name, length) != 0))
        op++;
    if (op == G_N_ELEMENTS(ops))
        return FALSE;
    gboolean whole_stage = ops[op].op == TABLE_UNSHARD || ops[op].op == TABLE_RESHARD ||
                           ops[op].op == TABLE_REDUCE_GRAD;
    if (!whole_stage && !parse_number(&at, end, MAX_MICROBATCH, &microbatch))
        return FALSE;
    *ret = (TableCell){.op = ops[op].op, .stage = (guint16)stage, .microbatch = microbatch};
    return at == end;
}

static gboolean
append_cell(Reader *r, TableCell cell, SchedulePair pair)
{
    if (r->n_cells++ >= SCHEDULE_MAX_TOKENS) {
        g_set_error(r->error, SCHEDULE_ERROR, SCHEDULE_ERROR_ILLEGAL,
                    "%s: row %u, column %u: more than %u operations; write fewer microbatches",
                    r->table->name, r->row + 1, r->column + 1, SCHEDULE_MAX_TOKENS);
        return FALSE;
    }
    cell.pair = (guint8)pair;
    cell.column = r->column;
    r->table->ops |= 1u << cell.op;
    g_array_append_val(r->table->rows[r->row], cell);
    return TRUE;
}

static gboolean
parse_pair(Reader *r, const char *at, const char *end)
{
    gsize length = (gsize)(end - at), tail = strlen(PAIR_END);
    const char *middle = memchr(at, ';', length), *close = end - tail;
    TableCell forward, backward;

    if (length <= tail || memcmp(close, PAIR_END, tail) != 0 || middle == NULL || middle > close ||
        !parse_token(at + 1, middle, &forward) || !parse_token(middle + 1, close, &backward))
        return complain(r, at, length, "write an overlapped pair as in '(0F3;3B5)OVERLAP_F_B'");
    if (forward.op != TABLE_F ||
        (backward.op != TABLE_B && backward.op != TABLE_I && backward.op != OLDER_BW))
        return complain(r, at, length,
                        "an overlapped pair is a forward and a backward (B or I), in this order");
    return append_cell(r, forward, SCHEDULE_PAIR_FIRST) &&
           append_cell(r, backward, SCHEDULE_PAIR_SECOND);
}

static void
strip(const char **at, const char **end)
{
    while (*at < *end && g_ascii_isspace(**at))
        (*at)++;
    while (*end > *at && g_ascii_isspace((*end)[-1]))
        (*end)--;
}

static gboolean
parse_cell(Reader *r, const char *at, const char *end)
{
    TableCell cell;

    strip(&at, &end);
    if (end - at >= 2 && *at == '"' && end[-1] == '"') {
        at++;
        end--;
        strip(&at, &end);
    }
    if (at == end)
        return TRUE; /* an idle slot */
    if (*at == '(')
        return parse_pair(r, at, end);
    if (!parse_token(at, end, &cell))
        return complain(r, at, (gsize)(end - at),
                        "write STAGE, one of F B I W, MICROBATCH, as in '3F0' (or SEND_F RECV_F "
                        "SEND_B RECV_B; UNSHARD RESHARD REDUCE_GRAD without microbatch)");
    return append_cell(r, cell, SCHEDULE_SINGLE);
}

static gboolean
parse_row(Reader *r, const char *at, const char *end)
{
    for (r->column = 0;; r->column++) {
        const char *comma = memchr(at, ',', (gsize)(end - at));
        if (!parse_cell(r, at, comma != NULL ? comma : end))
            return FALSE;
        if (comma == NULL)
            return TRUE;
        at = comma + 1;
    }
}

/* The older letters to today's: BW becomes B, B becomes I. */
static gboolean
renew_letters(ScheduleTable *t, GError **error)
{
    gboolean bw = (t->ops >> OLDER_BW & 1) != 0, i = (t->ops >> TABLE_I & 1) != 0;

    t->older = bw || (!i && (t->ops >> TABLE_W & 1) != 0);
    if (!t->older)
        return TRUE;
    t->ops = 0;
    for (guint r = 0; r < t->n_rows; r++)
        for (guint k = 0; k < t->rows[r]->len; k++) {
            TableCell *cell = TABLE_CELL(t, r, k);
            if (cell->op == TABLE_I)
                return schedule_table_complain(
                    t, r, cell, SCHEDULE_ERROR_ILLEGAL, error,
                    "is today's letter and the file has a BW, which is an older one (then B is the "
                    "input gradient); write either I and B, or B and BW");
            if (cell->op == TABLE_B)
                cell->op = TABLE_I;
            else if (cell->op == OLDER_BW)
                cell->op = TABLE_B;
            t->ops |= 1u << cell->op;
        }
    return TRUE;
}

/* Rows with something in them; empty ones at the end do not count. */
static guint
count_rows(const char *text, const char *end)
{
    guint n = 0;

    while (end > text && g_ascii_isspace(end[-1]))
        end--;
    for (const char *at = text; at != NULL && at < end; n++) {
        at = memchr(at, '\n', (gsize)(end - at));
        at = at != NULL ? at + 1 : NULL;
    }
    return n;
}

ScheduleTable *
schedule_table_parse(const char *name, const char *text, GError **error)
{
    if (g_str_has_prefix(text, "\xEF\xBB\xBF")) /* a byte order mark */
        text += 3;
    const char *end = text + strlen(text);
    guint n = count_rows(text, end);

    if (n == 0 || n > G_MAXUINT16) {
        g_set_error(
            error, SCHEDULE_ERROR, SCHEDULE_ERROR_INCOMPLETE,
            "%s: holds %u rows; write one line a pipeline rank (at most %u), as in '0F0,0B0'", name,
            n, G_MAXUINT16);
        return NULL;
    }
    g_autoptr(ScheduleTable) table = schedule_table_new(name, n);
    Reader reader = {.table = table, .error = error};
    for (; reader.row < n; reader.row++) {
        const char *line_end = memchr(text, '\n', (gsize)(end - text));
        if (!parse_row(&reader, text, line_end != NULL ? line_end : end))
            return NULL;
        text = line_end != NULL ? line_end + 1 : end;
    }
    return renew_letters(table, error) ? g_steal_pointer(&table) : NULL;
}
