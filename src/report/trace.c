/* Chrome trace events, streamed. */
#include "config.h"

#include "report/trace.h"

#include "report/stream.h"

#include <errno.h>

struct ReportTrace {
    ReportStream *stream;
    FILE *file;          /* the stream's */
    GHashTable *streams; /* look-up only: stream -> thread id + 1, the same on every rank */
    GHashTable *named;   /* set, look-up only: "RANK STREAM" and "RANK" that have their name */
    gboolean any;
};

static void
trace_free(ReportTrace *trace)
{
    g_hash_table_unref(trace->streams);
    g_hash_table_unref(trace->named);
    g_free(trace);
}

ReportTrace *
report_trace_open(const char *path, GError **error)
{
    ReportStream *stream = report_stream_open(path, error);
    if (stream == NULL)
        return NULL;
    ReportTrace *trace = g_new0(ReportTrace, 1);
    trace->stream = stream;
    trace->file = report_stream_file(stream);
    trace->streams = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    trace->named = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", trace->file);
    return trace;
}

/* The text of a JSON string, with its quotes. */
static char *
quoted(const char *text)
{
    GString *s = g_string_new("\"");
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\')
            g_string_append_c(s, '\\');
        if ((guchar)*p < 0x20)
            g_string_append_printf(s, "\\u%04x", (guint)(guchar)*p);
        else
            g_string_append_c(s, *p);
    }
    g_string_append_c(s, '"');
    return g_string_free(s, FALSE);
}

static void
begin_event(ReportTrace *trace)
{
    if (fputs(trace->any ? ",\n" : "\n", trace->file) == EOF)
        report_stream_note(trace->stream, errno);
    trace->any = TRUE;
}

/* The thread of a stream, named when first seen; threads of one stream stand at one place on every rank. */
static guint
thread_of(ReportTrace *trace, guint rank, const char *stream)
{
    guint thread = GPOINTER_TO_UINT(g_hash_table_lookup(trace->streams, stream));
    if (thread == 0) {
        thread = g_hash_table_size(trace->streams) + 1;
        g_hash_table_insert(trace->streams, g_strdup(stream), GUINT_TO_POINTER(thread));
    }
    if (!g_hash_table_add(trace->named, g_strdup_printf("%u %s", rank, stream)))
        return thread - 1;
    if (g_hash_table_add(trace->named, g_strdup_printf("%u", rank))) {
        begin_event(trace);
        fprintf(trace->file,
                "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":\"rank "
                "%u\"}}",
                rank, rank);
    }
    g_autofree char *name = quoted(stream);
    begin_event(trace);
    fprintf(trace->file,
            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":%s}}",
            rank, thread - 1, name);
    return thread - 1;
}

void
report_trace_op(void *user, guint rank, const char *stream, const char *name, const char *kind,
                gint64 stage, gint64 microbatch, gint64 start_ns, gint64 end_ns)
{
    ReportTrace *trace = user;
    guint thread = thread_of(trace, rank, stream);
    gint64 duration = end_ns - start_ns;
    g_autofree char *title = quoted(name);
    g_autofree char *category = quoted(kind);
    begin_event(trace);
    fprintf(trace->file,
            "{\"ph\":\"X\",\"name\":%s,\"cat\":%s,\"pid\":%u,\"tid\":%u,"
            "\"ts\":%" G_GINT64_FORMAT ".%03d,\"dur\":%" G_GINT64_FORMAT ".%03d",
            title, category, rank, thread, start_ns / 1000, (int)(start_ns % 1000), duration / 1000,
            (int)(duration % 1000));
    if (stage >= 0)
        fprintf(trace->file,
                ",\"args\":{\"stage\":%" G_GINT64_FORMAT ",\"microbatch\":%" G_GINT64_FORMAT "}",
                stage, microbatch);
    if (fputc('}', trace->file) == EOF)
        report_stream_note(trace->stream, errno);
}

gboolean
report_trace_close(ReportTrace *trace, GError **error)
{
    fputs("\n]}\n", trace->file);
    gboolean ok = report_stream_close(trace->stream, error);
    trace_free(trace);
    return ok;
}

void
report_trace_abandon(ReportTrace *trace)
{
    if (trace == NULL)
        return;
    report_stream_abandon(trace->stream);
    trace_free(trace);
}
