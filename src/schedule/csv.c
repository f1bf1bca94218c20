/* Schedules as text: PyTorch's pipeline CSV, one line a rank, "0F0,0F1,1B0" (stage, operation,
 * microbatch). Messages and gathers in a file are checked and set aside: the simulator makes its own. */
#include "config.h"

#include "schedule/schedule.h"

#include "conf/complaint.h"
#include "schedule/csv_table.h"

char
schedule_kind_letter(ScheduleKind kind)
{
    static const char letters[] = "FBIW"; /* in the order of ScheduleKind */

    g_assert(kind <= SCHEDULE_W);
    return letters[kind];
}

char *
schedule_format_csv(const Schedule *s)
{
    g_autoptr(ScheduleTable) t = schedule_table_of(s);

    return schedule_table_format(t);
}

char *
schedule_format_as_read(const Schedule *s)
{
    return s->table != NULL ? schedule_table_format(s->table) : schedule_format_csv(s);
}

/* The compute operations of a table, by rank. */
static void
take_tokens(Schedule *s, const ScheduleTable *t)
{
    for (guint r = 0; r < t->n_rows; r++)
        for (guint i = 0; i < t->rows[r]->len; i++) {
            const TableCell *cell = TABLE_CELL(t, r, i);
            if (cell->op > TABLE_W)
                continue;
            ScheduleToken token = {.kind = cell->op,
                                   .pair = cell->pair,
                                   .stage = cell->stage,
                                   .microbatch = cell->microbatch};
            g_array_append_val(s->ranks[r], token);
        }
}

Schedule *
schedule_parse_csv_placed(const char *name, const char *text, const char *placement, GError **error)
{
    g_autoptr(ScheduleTable) table = schedule_table_parse(name, text, error);

    if (table == NULL)
        return NULL;
    if ((table->ops & TABLE_COMPUTE) == 0) {
        g_set_error(error, SCHEDULE_ERROR, SCHEDULE_ERROR_INCOMPLETE,
                    "%s: holds no operations; write one line a pipeline rank, as in '0F0,0B0'",
                    table->name);
        return NULL;
    }
    g_autoptr(Schedule) s = g_new0(Schedule, 1);
    s->name = table->name;
    s->params.pp = table->n_rows;
    s->ranks = g_new(GArray *, table->n_rows);
    for (guint r = 0; r < table->n_rows; r++)
        s->ranks[r] = g_array_new(FALSE, FALSE, sizeof(ScheduleToken));
    if (!schedule_place(s, table, placement, error) || !schedule_table_verify(table, s, error) ||
        !schedule_table_run(table, s, error))
        return NULL;
    take_tokens(s, table);
    if (table->older || (table->ops & ~TABLE_COMPUTE) != 0)
        s->table = g_steal_pointer(&table);
    return g_steal_pointer(&s);
}

Schedule *
schedule_parse_csv(const char *name, const char *text, GError **error)
{
    return schedule_parse_csv_placed(name, text, NULL, error);
}

Schedule *
schedule_load_csv_placed(const char *path, const char *placement, GError **error)
{
    g_autofree char *text = conf_read_text(path, NULL, error);

    return text == NULL ? NULL : schedule_parse_csv_placed(path, text, placement, error);
}

Schedule *
schedule_load_csv(const char *path, GError **error)
{
    return schedule_load_csv_placed(path, NULL, error);
}
