/* Choosing a table of a log, and what it says of the group. */
#include "config.h"

#include "cli/collective_log.h"

#include "cli/command.h"
#include "net/nccl_tests.h"

#include <math.h>
#include <string.h>

void
cli_log_table_free(CliLogTable *table)
{
    if (table == NULL)
        return;
    g_array_unref(table->rows);
    g_ptr_array_unref(table->remarks);
    g_free(table);
}

static void remark(CliLogTable *table, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void
remark(CliLogTable *table, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_ptr_array_add(table->remarks, g_strdup_vprintf(format, args));
    va_end(args);
}

/* "1 line 24 (all_reduce), 2 line 88 (all_gather)" */
static char *
tables_print(const GPtrArray *tables)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < tables->len && i < 12; i++) {
        const NetTestsTable *t = tables->pdata[i];
        g_string_append_printf(text, "%s%u line %u%s%s%s", i > 0 ? ", " : "", i + 1, t->line,
                               t->name != NULL ? " (" : "", t->name != NULL ? t->name : "",
                               t->name != NULL ? ")" : "");
    }
    if (tables->len > 12)
        g_string_append(text, " ...");
    return g_string_free(text, FALSE);
}

static const NetTestsTable *
table_choose(const NetTestsLog *log, const CliLogWish *wish, int op, GError **error)
{
    const GPtrArray *tables = log->tables;
    guint n = 0;
    const NetTestsTable *found = NULL;
    if (wish->table > 0 && wish->table <= tables->len)
        return tables->pdata[wish->table - 1];
    for (guint i = 0; i < tables->len; i++) {
        const NetTestsTable *t = tables->pdata[i];
        if (op >= 0 && !(t->ops & 1u << op))
            continue;
        found = found != NULL ? found : t;
        n++;
    }
    if (n == 1 && wish->table == 0)
        return found;
    g_autofree char *list = tables_print(tables);
    if (wish->table > 0)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--table: %s has %u; write one of: %s",
                    wish->path, tables->len, list);
    else if (n == 0)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: no table of %s; leave the operation out, or write --table N of: %s",
                    wish->path, net_op_name((NetOp)op), list);
    else
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s: has several tables; write --table N, of: %s", wish->path, list);
    return NULL;
}

/* The operation that was asked for, or the only one that the table can be. */
static gboolean
op_choose(const NetTestsTable *t, const char *path, int op, NetOp *ret_op, GError **error)
{
    g_autofree char *words = NULL;
    guint n = net_tests_ops(t, ret_op, &words);
    if (op >= 0 && (t->ops & 1u << op)) {
        *ret_op = (NetOp)op;
        return TRUE;
    }
    if (op < 0 && n == 1)
        return TRUE;
    if (n == 0)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s:%u: the table is of %s, which is not modelled; write another --table", path,
                    t->line, words);
    else if (op < 0)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s:%u: the log does not say which collective it is; write dtsim collective %s",
                    path, t->line, words);
    else
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s:%u: the table is of %s; write that instead of %s", path, t->line, words,
                    net_op_name((NetOp)op));
    return FALSE;
}

/* Ranks: as given, else by the list, else by busbw / algbw. */
static gboolean
ranks_choose(CliLogTable *table, const NetTestsTable *t, const char *path, CliGroupWish *group,
             GError **error)
{
    guint low = 0, high = 0;
    gboolean told = net_tests_ranks(t, table->op, &low, &high);
    if (group->gpus == 0)
        group->gpus = t->n_ranks;
    if (group->gpus == 0 && told && low == high) {
        group->gpus = low;
        remark(table, "The log lists no ranks; busbw / algbw says %u.", low);
    }
    if (group->gpus == 0) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "%s:%u: the log lists no ranks, and busbw / algbw %s; write --gpus N", path,
                    t->line, told ? "leaves several numbers" : "does not tell how many");
        if (told)
            g_prefix_error(error, "--gpus: from %u to %u: ", low, high);
        return FALSE;
    }
    if (told && (group->gpus < low || group->gpus > high))
        remark(table, "busbw / algbw of the log is that of %u ranks, not of %" G_GINT64_FORMAT ".",
               low, group->gpus);
    if (group->nodes == 0 && t->hosts->len > 0)
        group->nodes = t->hosts->len;
    else if (group->nodes == 0)
        remark(table, "The log does not name all hosts; ranks are taken to fill nodes.");
    if (group->gpus > 1)
        return TRUE;
    g_set_error(
        error, CLI_ERROR, CLI_ERROR_USAGE,
        "%s:%u: the table is of one rank, which has nobody to talk to (was MPI wired?); write a "
        "log of two or more",
        path, t->line);
    return FALSE;
}

static void
rows_take(CliLogTable *table, const NetTestsTable *t, gboolean in_place)
{
    guint place = in_place ? NET_TESTS_IN_PLACE : NET_TESTS_OUT_OF_PLACE;
    for (guint i = 0; i < t->rows->len; i++) {
        const NetTestsRow *r = &g_array_index(t->rows, NetTestsRow, i);
        CliLogRow row = {r->bytes, r->us[place], r->line};
        if (r->bytes > 0 && r->us[place] > 0)
            g_array_append_val(table->rows, row);
    }
}

CliLogTable *
cli_log_table_load(const CliLogWish *wish, int op, CliGroupWish *group, GError **error)
{
    g_autoptr(NetTestsLog) log = net_tests_load(wish->path, error);
    const NetTestsTable *t = log != NULL ? table_choose(log, wish, op, error) : NULL;
    if (t == NULL)
        return NULL;
    g_autoptr(CliLogTable) table = g_new0(CliLogTable, 1);
    table->rows = g_array_new(FALSE, FALSE, sizeof(CliLogRow));
    table->remarks = g_ptr_array_new_with_free_func(g_free);
    if (!op_choose(t, wish->path, op, &table->op, error) ||
        !ranks_choose(table, t, wish->path, group, error))
        return NULL;
    rows_take(table, t, wish->in_place);
    if (table->rows->len == 0) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s:%u: no row has a size and %s time; %s",
                    wish->path, t->line, wish->in_place ? "an in-place" : "an out-of-place",
                    wish->in_place ? "leave --in-place out" : "write --in-place");
        return NULL;
    }
    for (guint i = 0; i < log->notes->len; i++)
        remark(table, "%s", (const char *)log->notes->pdata[i]);
    return g_steal_pointer(&table);
}
