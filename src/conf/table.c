/* Tables in text. The file is held once; cells are offsets into it, cut out in place. */
#include "config.h"

#include "conf/table.h"

#include "conf/complaint.h"

#include <errno.h>
#include <gio/gio.h>
#include <math.h>
#include <string.h>

struct ConfTable {
    char *name;
    char *text;      /* the file with its cells cut by NULs */
    GArray *columns; /* of guint32 offsets: the header */
    GArray *cells;   /* of guint32 offsets, row by row */
    GArray *lines;   /* of guint32, one a row */
    GString *comment;
    char separator;
};

/* Offsets are 32 bit, and a gzip file of a few KB can hold gigabytes. */
#define MAX_TEXT ((gsize)1 << 30)

void
conf_table_free(ConfTable *table)
{
    if (table == NULL)
        return;
    g_free(table->name);
    g_free(table->text);
    g_array_unref(table->columns);
    g_array_unref(table->cells);
    g_array_unref(table->lines);
    g_string_free(table->comment, TRUE);
    g_free(table);
}

static ConfTable *
table_new(const char *name, char *text, char separator)
{
    ConfTable *table = g_new0(ConfTable, 1);
    table->name = g_strdup(name);
    table->text = text;
    table->columns = g_array_new(FALSE, FALSE, sizeof(guint32));
    table->cells = g_array_new(FALSE, FALSE, sizeof(guint32));
    table->lines = g_array_new(FALSE, FALSE, sizeof(guint32));
    table->comment = g_string_new(NULL);
    table->separator = separator;
    return table;
}

static gboolean
complain_syntax(const ConfTable *table, guint line, const char *what, GError **error)
{
    g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX, "%s:%u: %s", table->name, line, what);
    return FALSE;
}

/* A quoted cell from after its opening quote, unquoted in place. Returns the first character after
 * the closing quote, or NULL when there is none. */
static char *
unquote(char *at, guint *line)
{
    char *to = at;
    for (; *at != '\0'; at++) {
        if (*at == '"' && at[1] != '"') {
            char *after = at + 1;
            *to = '\0';
            return after;
        }
        at += *at == '"';
        *line += *at == '\n';
        *to++ = *at;
    }
    return NULL;
}

/* One record from `at` into `cells`; *ret_next is the head of the next line, NULL at the end. */
static gboolean
scan_record(ConfTable *table, char *at, guint *line, GArray *cells, char **ret_next, GError **error)
{
    const guint first = *line;
    const char stops[] = {table->separator, '\n', '\0'};
    for (;;) {
        char *cell = at;
        if (table->separator == ',' && *at == '"') {
            cell = at + 1;
            at = unquote(cell, line);
            if (at == NULL)
                return complain_syntax(table, first,
                                       "a quote is not closed; write \" after the cell", error);
            if (*at == '\r' && at[1] == '\n')
                at++;
            if (*at != table->separator && *at != '\n' && *at != '\0')
                return complain_syntax(table, *line,
                                       "text after a closing quote; write \"\" for a "
                                       "quote inside a cell",
                                       error);
        } else {
            at += strcspn(at, stops);
            if (*at != table->separator && at > cell && at[-1] == '\r')
                at[-1] = '\0';
        }
        guint32 offset = (guint32)(cell - table->text);
        g_array_append_val(cells, offset);
        char stop = *at;
        *at = '\0';
        if (stop != table->separator) {
            *ret_next = stop == '\n' ? at + 1 : NULL;
            *line += stop == '\n';
            return TRUE;
        }
        at++;
    }
}

static gboolean
check_header(const ConfTable *table, guint line, GError **error)
{
    for (guint i = 0; i < table->columns->len; i++) {
        const char *name = conf_table_column_name(table, i);
        if (*name == '\0') {
            g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX,
                        "%s:%u: column %u has no name; write one in the header", table->name, line,
                        i + 1);
            return FALSE;
        }
        if (conf_table_find_column(table, name) != (int)i) {
            g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX,
                        "%s:%u: column %s stands twice in the header; keep one", table->name, line,
                        name);
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean
check_row(const ConfTable *table, guint n_cells, guint line, GError **error)
{
    if (n_cells != table->columns->len) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX,
                    "%s:%u: %u cells, but the header names %u columns; separate cells by %s",
                    table->name, line, n_cells, table->columns->len,
                    table->separator == '\t' ? "one tab" : "a comma");
        return FALSE;
    }
    if (table->lines->len == G_MAXINT32)
        return complain_syntax(table, line, "too many rows", error);
    return TRUE;
}

static char *
scan_comment(ConfTable *table, char *at, gboolean keep)
{
    gsize length = strcspn(at, "\n");
    gboolean more = at[length] != '\0';
    at[length] = '\0';
    if (length > 0 && at[length - 1] == '\r')
        at[length - 1] = '\0';
    if (keep)
        g_string_append_printf(table->comment, "%s%s", table->comment->len > 0 ? "\n" : "", at);
    return more ? at + length + 1 : NULL;
}

static gboolean
scan(ConfTable *table, GError **error)
{
    gboolean has_header = FALSE;
    guint line = 1;
    for (char *at = table->text; at != NULL && *at != '\0';) {
        if (*at == '\n' || (at[0] == '\r' && at[1] == '\n')) {
            at += *at == '\r' ? 2 : 1;
            line++;
            continue;
        }
        if (*at == '#') {
            at = scan_comment(table, at, !has_header);
            line++;
            continue;
        }
        guint first = line, before = table->cells->len;
        if (!scan_record(table, at, &line, has_header ? table->cells : table->columns, &at, error))
            return FALSE;
        if (!has_header) {
            if (!check_header(table, first, error))
                return FALSE;
            has_header = TRUE;
            continue;
        }
        if (!check_row(table, table->cells->len - before, first, error))
            return FALSE;
        g_array_append_val(table->lines, first);
    }
    if (!has_header) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX,
                    "%s: no header; write the names of the columns in the first line", table->name);
        return FALSE;
    }
    return TRUE;
}

/* takes `text` */
static ConfTable *
parse_owned(const char *name, char *text, gsize length, char separator, GError **error)
{
    g_autoptr(ConfTable) table = table_new(name, text, separator);
    if (length > MAX_TEXT) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_VALUE, "%s: larger than 1GiB; split the table",
                    name);
        return NULL;
    }
    if (!conf_check_text(name, text, length, error) || !scan(table, error))
        return NULL;
    return g_steal_pointer(&table);
}

ConfTable *
conf_table_parse(const char *name, const char *text, char separator, GError **error)
{
    return parse_owned(name, g_strdup(text), strlen(text), separator, error);
}

/* The text inside a gzip file, NUL-terminated; stops past MAX_TEXT. */
static char *
read_gzip(const char *path, gsize *ret_length, GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autoptr(GFile) file = g_file_new_for_path(path);
    g_autoptr(GFileInputStream) packed = g_file_read(file, NULL, &cause);
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    if (packed != NULL) {
        g_autoptr(GZlibDecompressor) unzip = g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP);
        g_autoptr(GInputStream) plain =
            g_converter_input_stream_new(G_INPUT_STREAM(packed), G_CONVERTER(unzip));
        guint8 block[65536];
        gssize n;
        while (bytes->len <= MAX_TEXT &&
               (n = g_input_stream_read(plain, block, sizeof block, NULL, &cause)) > 0)
            g_byte_array_append(bytes, block, (guint)n);
    }
    if (cause != NULL) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_IO, "%s: cannot be read: %s", path,
                    cause->message);
        return NULL;
    }
    *ret_length = bytes->len;
    g_byte_array_append(bytes, (const guint8 *)"", 1);
    return (char *)g_byte_array_free(g_steal_pointer(&bytes), FALSE);
}

ConfTable *
conf_table_load(const char *path, GError **error)
{
    g_autofree char *plain = g_strdup(path);
    gboolean zipped = g_str_has_suffix(path, ".gz");
    if (zipped)
        plain[strlen(plain) - 3] = '\0';
    gsize length = 0;
    char *text = zipped ? read_gzip(path, &length, error) : conf_read_text(path, &length, error);
    if (text == NULL)
        return NULL;
    return parse_owned(path, text, length, g_str_has_suffix(plain, ".csv") ? ',' : '\t', error);
}

guint
conf_table_n_rows(const ConfTable *table)
{
    return table->lines->len;
}

guint
conf_table_n_columns(const ConfTable *table)
{
    return table->columns->len;
}

const char *
conf_table_name(const ConfTable *table)
{
    return table->name;
}

const char *
conf_table_column_name(const ConfTable *table, guint column)
{
    g_assert(column < table->columns->len);
    return table->text + g_array_index(table->columns, guint32, column);
}

guint
conf_table_line(const ConfTable *table, guint row)
{
    g_assert(row < table->lines->len);
    return g_array_index(table->lines, guint32, row);
}

const char *
conf_table_comment(const ConfTable *table)
{
    return table->comment->str;
}

int
conf_table_find_column(const ConfTable *table, const char *name)
{
    for (guint i = 0; i < table->columns->len; i++)
        if (strcmp(conf_table_column_name(table, i), name) == 0)
            return (int)i;
    return -1;
}

gboolean
conf_table_need_column(const ConfTable *table, const char *name, guint *ret_column, GError **error)
{
    int column = conf_table_find_column(table, name);
    if (column >= 0) {
        *ret_column = (guint)column;
        return TRUE;
    }
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; i < table->columns->len; i++)
        g_ptr_array_add(names, (char *)conf_table_column_name(table, i));
    g_ptr_array_add(names, NULL);
    const char *near = conf_near_miss(name, (const char *const *)names->pdata);
    g_autofree char *all = g_strjoinv(" ", (char **)names->pdata);
    g_set_error(error, CONF_ERROR, CONF_ERROR_MISSING, "%s: no column %s%s%s%s; columns are %s",
                table->name, name, near != NULL ? " (is it '" : "", near != NULL ? near : "",
                near != NULL ? "'?)" : "", all);
    return FALSE;
}

const char *
conf_table_text(const ConfTable *table, guint row, guint column)
{
    g_assert(row < table->lines->len && column < table->columns->len);
    gsize i = (gsize)row * table->columns->len + column;
    return table->text + g_array_index(table->cells, guint32, i);
}

gboolean
conf_table_double(const ConfTable *table, guint row, guint column, double *ret, GError **error)
{
    const char *text = conf_table_text(table, row, column);
    char *end;
    double value = g_ascii_strtod(text, &end);
    /* of what strtod takes, only decimal numbers: no blanks, hexadecimals, nan or inf */
    gboolean decimal = text[strspn(text, "+-.0123456789eE")] == '\0';
    if (end == text || *end != '\0' || !decimal || !isfinite(value)) {
        conf_table_complain(table, row, column, error, "'%s' is not a %s", text,
                            decimal && end != text && *end == '\0' ? "finite number" : "number");
        return FALSE;
    }
    *ret = value;
    return TRUE;
}

gboolean
conf_table_int(const ConfTable *table, guint row, guint column, gint64 *ret, GError **error)
{
    const char *text = conf_table_text(table, row, column);
    gint64 value;
    if (!g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &value, NULL)) {
        conf_table_complain(table, row, column, error, "'%s' is not an integer", text);
        return FALSE;
    }
    *ret = value;
    return TRUE;
}

void
conf_table_complain(const ConfTable *table, guint row, guint column, GError **error,
                    const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, CONF_ERROR, CONF_ERROR_VALUE, "%s:%u: column %s: %s", table->name,
                conf_table_line(table, row), conf_table_column_name(table, column), what);
}
