/* Cells of a schedule file: made, found, named in complaints, written. */
#include "config.h"

#include "schedule/csv_table.h"

#include <stdarg.h>

static const char *const op_names[TABLE_N_OPS] = {
    "F", "B", "I", "W", "SEND_F", "RECV_F", "SEND_B", "RECV_B", "UNSHARD", "RESHARD", "REDUCE_GRAD",
};

ScheduleTable *
schedule_table_new(const char *name, guint n_rows)
{
    ScheduleTable *t = g_new0(ScheduleTable, 1);

    t->name = g_intern_string(name);
    t->n_rows = n_rows;
    t->rows = g_new(GArray *, n_rows);
    for (guint r = 0; r < n_rows; r++)
        t->rows[r] = g_array_new(FALSE, FALSE, sizeof(TableCell));
    return t;
}

void
schedule_table_free(ScheduleTable *t)
{
    if (t == NULL)
        return;
    for (guint r = 0; r < t->n_rows; r++)
        g_array_unref(t->rows[r]);
    g_free(t->rows);
    g_free(t);
}

static const char *
op_name(guint op, gboolean older)
{
    g_assert(op < TABLE_N_OPS);
    if (older && op == TABLE_B)
        return "BW";
    return op_names[older && op == TABLE_I ? TABLE_B : op];
}

/* Digits of `value`, without printf: a file may hold millions. */
static void
append_number(GString *text, guint value)
{
    char digits[10];
    guint n = 0;

    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    while (n > 0)
        g_string_append_c(text, digits[--n]);
}

static void
append_token(GString *text, const TableCell *cell, gboolean older)
{
    append_number(text, cell->stage);
    g_string_append(text, op_name(cell->op, older));
    if (cell->op < TABLE_UNSHARD)
        append_number(text, cell->microbatch);
}

const char *
schedule_table_token(const TableCell *cell, char buffer[TABLE_TOKEN_SIZE])
{
    if (cell->op < TABLE_UNSHARD)
        g_snprintf(buffer, TABLE_TOKEN_SIZE, "%u%s%u", cell->stage, op_name(cell->op, FALSE),
                   cell->microbatch);
    else
        g_snprintf(buffer, TABLE_TOKEN_SIZE, "%u%s", cell->stage, op_name(cell->op, FALSE));
    return buffer;
}

char *
schedule_table_format(const ScheduleTable *t)
{
    GString *text = g_string_new(NULL);

    for (guint r = 0; r < t->n_rows; r++) {
        for (guint i = 0; i < t->rows[r]->len; i++) {
            const TableCell *cell = TABLE_CELL(t, r, i);
            if (cell->pair == SCHEDULE_PAIR_SECOND)
                g_string_append_c(text, ';');
            else if (i > 0)
                g_string_append_c(text, ',');
            if (cell->pair == SCHEDULE_PAIR_FIRST)
                g_string_append_c(text, '(');
            append_token(text, cell, t->older);
            if (cell->pair == SCHEDULE_PAIR_SECOND)
                g_string_append(text, ")OVERLAP_F_B");
        }
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}

gboolean
schedule_table_complain(const ScheduleTable *t, guint row, const TableCell *cell,
                        ScheduleError code, GError **error, const char *format, ...)
{
    char token[TABLE_TOKEN_SIZE];
    va_list arguments;

    va_start(arguments, format);
    g_autofree char *what = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, SCHEDULE_ERROR, code, "%s: row %u, column %u: %s %s", t->name, row + 1,
                cell->column + 1, schedule_table_token(cell, token), what);
    return FALSE;
}

const TableCell *
schedule_table_find(const ScheduleTable *t, guint row, TableOp op, guint stage, guint microbatch)
{
    for (guint i = 0; i < t->rows[row]->len; i++) {
        const TableCell *cell = TABLE_CELL(t, row, i);
        if (cell->op == op && cell->stage == stage && cell->microbatch == microbatch)
            return cell;
    }
    return NULL;
}
