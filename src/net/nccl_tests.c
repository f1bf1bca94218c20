/* Logs of nccl-tests, line by line: one stream of lines for each label that a launcher puts before them. */
#include "config.h"

#include "net/nccl_tests.h"

#include "net/nccl_tests_line.h"
#include "net/nccl_tests_table.h"
#include "net/rows.h"

#include "conf/complaint.h"
#include "conf/line_label.h"

#include <math.h>
#include <string.h>

/* What one process has written so far. */
typedef struct {
    char *label;
    NetTestsColumns columns;
    NetTestsRun run;      /* of the table to come */
    NetTestsTable *table; /* the open one, owned; NULL: none */
    NetTestsShape shape;  /* of its rows */
    guint header_line;    /* of a header without rows yet; 0: none */
    guint torn_line;      /* of the head of a row whose rest has not come; 0: none */
    NetTestsLine torn;
} Stream;

typedef struct {
    const char *name;
    GPtrArray *streams; /* of Stream, by first appearance */
    char *version;
    GPtrArray
        *programs; /* of char*: "all_reduce" of all_reduce_perf, since the last table; each once */
    char *
        only_program; /* the one that the whole text names; "" when it names several; NULL: none yet */
    NetTestsLog *log;
} Parser;

static void
stream_free(gpointer data)
{
    Stream *s = data;
    g_free(s->label);
    net_tests_run_clear(&s->run);
    net_tests_table_free(s->table);
    g_free(s);
}

static Stream *
stream_of(Parser *p, const char *label, gsize n)
{
    for (guint i = 0; i < p->streams->len; i++) {
        Stream *s = p->streams->pdata[i];
        if (strlen(s->label) == n && strncmp(s->label, label, n) == 0)
            return s;
    }
    Stream *s = g_new0(Stream, 1);
    s->label = g_strndup(label, n);
    s->columns = (NetTestsColumns){.us = 1.0, .GBps = 1.0};
    g_ptr_array_add(p->streams, s);
    return s;
}

static void note(Parser *p, guint line, const char *format, ...) G_GNUC_PRINTF(3, 4);

static void
note(Parser *p, guint line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args);
    va_end(args);
    g_ptr_array_add(p->log->notes, g_strdup_printf("%s:%u: %s", p->name, line, what));
}

/* What the commands before this table run: one program, or the only one of the whole text. */
static const char *
program_of(const Parser *p)
{
    if (p->programs->len == 1)
        return p->programs->pdata[0];
    return p->programs->len == 0 && p->only_program != NULL && p->only_program[0] != '\0'
               ? p->only_program
               : NULL;
}

static void
table_close(Parser *p, Stream *s)
{
    if (s->torn_line > 0)
        note(p, s->torn_line, "the row of %" G_GINT64_FORMAT " bytes is torn by another line",
             s->torn.row.bytes);
    s->torn_line = 0;
    s->header_line = 0;
    NetTestsTable *table = g_steal_pointer(&s->table);
    if (table == NULL)
        return;
    net_tests_table_finish(table, &s->shape, &s->columns, &s->run, p->version, program_of(p));
    net_tests_run_clear(&s->run);
    if (s->shape.fell_line > 0) {
        note(p, s->shape.fell_line,
             "sizes fall within a table: several processes wrote at once; left out, have the "
             "launcher label lines (srun -l, mpirun --tag-output)");
        net_tests_table_free(table);
    } else {
        g_ptr_array_add(p->log->tables, table);
        g_ptr_array_set_size(p->programs, 0);
    }
}

static void
row_add(Stream *s, guint line, const NetTestsLine *row)
{
    if (s->table == NULL) {
        s->table = net_tests_table_new(s->header_line > 0 ? s->header_line : line, row->dtype);
        s->shape = (NetTestsShape){.first_bytes = row->row.bytes};
        s->header_line = 0;
    }
    net_tests_table_add(s->table, &s->shape, line, row);
}

/* "sum  -1" and somebody else's line: what goes before it may be the rest of a row. */
static void
row_read(Parser *p, Stream *s, guint line, char **words)
{
    NetTestsLine row;
    if (s->torn_line > 0 && net_tests_tail(words, &s->columns, &s->torn)) {
        row_add(s, s->torn_line, &s->torn);
        s->torn_line = 0;
        return;
    }
    switch (net_tests_row(words, &s->columns, &row)) {
    case NET_TESTS_OTHER:
        return;
    case NET_TESTS_BROKEN:
        if (s->columns.seen)
            note(
                p, line,
                "begins as a row and does not go on as one (time, algbw, busbw, #wrong); left out");
        return;
    case NET_TESTS_HEAD:
        if (s->columns.seen && s->torn_line == 0) {
            s->torn_line = line;
            s->torn = row;
        }
        return;
    case NET_TESTS_ROW:
        row_add(s, line, &row);
    }
}

/* all_reduce_perf, all_reduce_perf_mpi, with any path before it. */
static void
programs_read(Parser *p, const char *line)
{
    for (const char *at = strstr(line, "_perf"); at != NULL; at = strstr(at + 1, "_perf")) {
        const char *start = at;
        while (start > line && (g_ascii_islower(start[-1]) || start[-1] == '_'))
            start--;
        g_autofree char *name = net_tests_name(start, (gsize)(at - start));
        if (name == NULL)
            continue;
        if (p->only_program == NULL) {
            p->only_program = g_strdup(name);
        } else if (strcmp(p->only_program, name) != 0) {
            g_free(p->only_program);
            p->only_program = g_strdup("");
        }
        if (!g_ptr_array_find_with_equal_func(p->programs, name, g_str_equal, NULL))
            g_ptr_array_add(p->programs, g_steal_pointer(&name));
    }
}

/* Lines around tables. TRUE: nothing else is in it. */
static gboolean
frame_read(Parser *p, Stream *s, guint line, const char *text, char **words)
{
    net_tests_version(text, &p->version);
    const char *average = strstr(text, "Avg bus bandwidth");
    if (average != NULL) {
        const char *colon = strchr(average, ':');
        if (s->table != NULL && colon != NULL)
            s->table->average_GBps = g_ascii_strtod(colon + 1, NULL);
        table_close(p, s);
        return TRUE;
    }
    if (net_tests_run_read(&s->run, words))
        return TRUE;
    NetTestsColumns columns;
    gboolean begins = strstr(text, "Collective test starting:") != NULL;
    gboolean header = !begins && net_tests_header(words, &columns);
    gboolean run = strstr(text, "nThread ") != NULL || strstr(text, "Using devices") != NULL;
    if (begins || header || run)
        table_close(p, s);
    if (run) /* of a table that never came */
        net_tests_run_clear(&s->run);
    if (header) {
        s->columns = columns;
        s->header_line = line;
    }
    if (begins) /* this and nothing else */
        g_ptr_array_set_size(p->programs, 0);
    if (strstr(text, "Collective test concluded:") == NULL)
        programs_read(p, text);
    return header;
}

static gboolean
line_read(Parser *p, guint line, const char *text, GError **error)
{
    const char *label;
    gsize n;
    const char *rest = conf_line_label(text, &label, &n);
    Stream *s = stream_of(p, label, n);
    g_auto(GStrv) words = net_tests_words(rest);
    if (words[0] == NULL)
        return TRUE;
    if (s->header_line > 0 && !net_tests_units(words, &s->columns, error)) {
        g_prefix_error(error, "%s:%u: ", p->name, line);
        return FALSE;
    }
    if (!frame_read(p, s, line, rest, words))
        row_read(p, s, line, words);
    return TRUE;
}

static int
compare_tables(gconstpointer a, gconstpointer b)
{
    guint x = (*(const NetTestsTable *const *)a)->line,
          y = (*(const NetTestsTable *const *)b)->line;
    return (x > y) - (x < y);
}

static gboolean
lines_read(Parser *p, const char *text, GError **error)
{
    guint line = 0;
    for (const char *at = text; *at != '\0';) {
        gsize n = strcspn(at, "\n");
        g_autofree char *one = g_strndup(at, n);
        if (!line_read(p, ++line, one, error))
            return FALSE;
        at += n + (at[n] == '\n');
    }
    for (guint i = 0; i < p->streams->len; i++)
        table_close(p, p->streams->pdata[i]);
    g_ptr_array_sort(p->log->tables, compare_tables);
    if (p->log->tables->len > 0)
        return TRUE;
    if (p->log->notes->len > 0)
        g_set_error_literal(error, NET_ERROR, NET_ERROR_ROW, p->log->notes->pdata[0]);
    else
        g_set_error(error, NET_ERROR, NET_ERROR_ROW,
                    "%s: there is no row of nccl-tests in it; write a log with lines as '1048576 "
                    "262144 float sum -1 27.37 38.31 67.04 0'",
                    p->name);
    return FALSE;
}

NetTestsLog *
net_tests_parse(const char *name, const char *text, GError **error)
{
    g_autoptr(NetTestsLog) log = g_new0(NetTestsLog, 1);
    log->tables = g_ptr_array_new_with_free_func((GDestroyNotify)net_tests_table_free);
    log->notes = g_ptr_array_new_with_free_func(g_free);
    Parser p = {.name = name,
                .streams = g_ptr_array_new_with_free_func(stream_free),
                .programs = g_ptr_array_new_with_free_func(g_free),
                .log = log};
    gboolean ok = lines_read(&p, text, error);
    g_ptr_array_unref(p.streams);
    g_ptr_array_unref(p.programs);
    g_free(p.version);
    g_free(p.only_program);
    return ok ? g_steal_pointer(&log) : NULL;
}

NetTestsLog *
net_tests_load(const char *path, GError **error)
{
    g_autofree char *text = conf_read_text(path, NULL, error);
    return text != NULL ? net_tests_parse(path, text, error) : NULL;
}

void
net_tests_free(NetTestsLog *log)
{
    if (log == NULL)
        return;
    g_ptr_array_unref(log->tables);
    g_ptr_array_unref(log->notes);
    g_free(log);
}
