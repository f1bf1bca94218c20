/* Blocks of bytes cut at line breaks. */
#include "config.h"

#include "conf/lines.h"

#include "conf/complaint.h"
#include "conf/stream.h"

#include <string.h>

#define BLOCK_BYTES 262144

typedef struct {
    ConfLineFunc func;
    gpointer user;
    GString *line;
    guint number; /* of lines that are done */
    gboolean begun;
} Cutter;

static gboolean
end_line(Cutter *c, GError **error)
{
    if (c->line->len > 0 && c->line->str[c->line->len - 1] == '\r')
        g_string_truncate(c->line, c->line->len - 1);
    gboolean done = c->func(c->line->str, ++c->number, c->user, error);
    g_string_truncate(c->line, 0);
    c->begun = FALSE;
    return done;
}

static void
take(Cutter *c, const char *text, gsize length)
{
    gsize at = c->line->len;
    g_string_append_len(c->line, text, (gssize)MIN(length, CONF_LINE_MAX_BYTES - at));
    for (; at < c->line->len; at++)
        if (c->line->str[at] == '\0')
            c->line->str[at] = ' ';
    c->begun |= length > 0;
}

static gboolean
feed(Cutter *c, const char *text, gsize length, GError **error)
{
    for (const char *end; (end = memchr(text, '\n', length)) != NULL;) {
        take(c, text, (gsize)(end - text));
        if (!end_line(c, error))
            return FALSE;
        length -= (gsize)(end + 1 - text);
        text = end + 1;
    }
    take(c, text, length);
    return TRUE;
}

static gboolean
finish(Cutter *c, GError **error)
{
    return !c->begun || end_line(c, error);
}

gboolean
conf_lines_parse(const char *text, gsize length, ConfLineFunc func, gpointer user, GError **error)
{
    g_autoptr(GString) line = g_string_new(NULL);
    Cutter c = {.func = func, .user = user, .line = line};
    return feed(&c, text, length, error) && finish(&c, error);
}

gboolean
conf_lines_load(const char *path, ConfLineFunc func, gpointer user, GError **error)
{
    g_autoptr(GInputStream) stream = conf_stream_open(path, error);
    if (stream == NULL)
        return FALSE;
    g_autoptr(GString) line = g_string_new(NULL);
    g_autofree char *block = g_malloc(BLOCK_BYTES);
    g_autoptr(GError) cause = NULL;
    Cutter c = {.func = func, .user = user, .line = line};
    gssize n;
    while ((n = g_input_stream_read(stream, block, BLOCK_BYTES, NULL, &cause)) > 0)
        if (!feed(&c, block, (gsize)n, error))
            return FALSE;
    if (n == 0)
        return finish(&c, error);
    g_set_error(error, CONF_ERROR, CONF_ERROR_IO, "%s: cannot be read on after line %u: %s", path,
                c.number, cause->message);
    return FALSE;
}
