/* Columns of text, aligned. */
#include "config.h"

#include "report/table.h"

#include <string.h>

struct ReportTable {
    char *align;
    guint n_columns;
    GPtrArray *cells; /* of char*, row by row */
};

ReportTable *
report_table_new(const char *align, const char *const *heads)
{
    ReportTable *table = g_new0(ReportTable, 1);
    table->align = g_strdup(align);
    table->n_columns = (guint)strlen(align);
    table->cells = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; heads != NULL && heads[i] != NULL; i++)
        g_ptr_array_add(table->cells, g_strdup(heads[i]));
    return table;
}

void
report_table_free(ReportTable *table)
{
    if (table == NULL)
        return;
    g_free(table->align);
    g_ptr_array_unref(table->cells);
    g_free(table);
}

void
report_table_cell(ReportTable *table, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_ptr_array_add(table->cells, g_strdup_vprintf(format, args));
    va_end(args);
}

static void
trim_line_end(GString *out)
{
    while (out->len > 0 && out->str[out->len - 1] == ' ')
        g_string_truncate(out, out->len - 1);
}

void
report_table_print(const ReportTable *table, guint indent, GString *out)
{
    guint n = table->n_columns;
    g_autofree gsize *width = g_new0(gsize, n);
    for (guint i = 0; i < table->cells->len; i++)
        width[i % n] = MAX(width[i % n], strlen(table->cells->pdata[i]));
    for (guint i = 0; i < table->cells->len; i++) {
        guint column = i % n;
        const char *cell = table->cells->pdata[i];
        gsize gap = width[column] - strlen(cell);
        g_string_append_printf(out, "%*s", column == 0 ? (int)indent : 2, "");
        if (table->align[column] == 'r')
            g_string_append_printf(out, "%*s%s", (int)gap, "", cell);
        else
            g_string_append_printf(out, "%s%*s", cell, (int)gap, "");
        if (column == n - 1) {
            trim_line_end(out);
            g_string_append_c(out, '\n');
        }
    }
}
