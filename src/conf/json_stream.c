/* yajl's callbacks as tokens, with this program's complaints. */
#include "config.h"

#include "conf/json_stream.h"

#include "conf/complaint.h"
#include "conf/stream.h"

#include <string.h>
#include <yajl/yajl_parse.h>

#define BLOCK_BYTES 262144
#define MAX_DEPTH 512      /* deeper is no data, and yajl remembers every bracket */
#define MAX_LINE_BYTES 400 /* beyond, a line is no place */

typedef struct {
    const char *name;
    ConfJsonFunc func;
    gpointer user;
    GError *error; /* of func */
    guint depth;
    gsize bytes, lines; /* of blocks that are done */
    gsize line_begin;   /* byte after the last line break of those */
} Reader;

void
conf_json_token_copy(const ConfJsonToken *token, char *text, gsize size)
{
    gsize n = MIN(token->length, size - 1);
    memcpy(text, token->text, n);
    text[n] = '\0';
}

static int
emit(Reader *r, ConfJsonKind kind, guint depth, const char *text, gsize length)
{
    const ConfJsonToken token = {kind, depth, text, length};
    return r->func(&token, r->user, &r->error);
}

static int
begin(Reader *r, ConfJsonKind kind)
{
    if (r->depth == MAX_DEPTH) {
        g_set_error(&r->error, CONF_ERROR, CONF_ERROR_SYNTAX,
                    "%s: more than %d brackets inside each other; this is no file of data", r->name,
                    MAX_DEPTH);
        return FALSE;
    }
    return emit(r, kind, r->depth++, "", 0);
}

static int
on_map(void *user)
{
    return begin(user, CONF_JSON_MAP);
}

static int
on_array(void *user)
{
    return begin(user, CONF_JSON_ARRAY);
}

static int
on_end_map(void *user)
{
    Reader *r = user;
    return emit(r, CONF_JSON_END_MAP, --r->depth, "", 0);
}

static int
on_end_array(void *user)
{
    Reader *r = user;
    return emit(r, CONF_JSON_END_ARRAY, --r->depth, "", 0);
}

static int
on_key(void *user, const unsigned char *text, size_t length)
{
    Reader *r = user;
    return emit(r, CONF_JSON_KEY, r->depth, (const char *)text, length);
}

static int
on_text(void *user, const unsigned char *text, size_t length)
{
    Reader *r = user;
    return emit(r, CONF_JSON_TEXT, r->depth, (const char *)text, length);
}

static int
on_number(void *user, const char *text, size_t length)
{
    Reader *r = user;
    return emit(r, CONF_JSON_NUMBER, r->depth, text, length);
}

static int
on_bool(void *user, int value)
{
    Reader *r = user;
    return emit(r, CONF_JSON_BOOL, r->depth, value ? "true" : "false", value ? 4 : 5);
}

static int
on_null(void *user)
{
    Reader *r = user;
    return emit(r, CONF_JSON_NULL, r->depth, "", 0);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_bool,
    .yajl_number = on_number,
    .yajl_string = on_text,
    .yajl_start_map = on_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end_map,
    .yajl_start_array = on_array,
    .yajl_end_array = on_end_array,
};

/* --- where it is wrong -------------------------------------------------------------------------- */

static void
count_lines(Reader *r, const char *text, gsize length)
{
    for (const char *at = text; (at = memchr(at, '\n', length - (gsize)(at - text))) != NULL;) {
        r->lines++;
        at++;
        r->line_begin = r->bytes + (gsize)(at - text);
    }
    r->bytes += length;
}

/* "lexical error: invalid char in json text." without its kind, its dot and the line break that yajl adds */
static char *
reason_of(yajl_handle yajl)
{
    unsigned char *text = yajl_get_error(yajl, 0, NULL, 0);
    const char *colon = strstr((const char *)text, ": ");
    char *reason = g_strdup(colon != NULL ? colon + 2 : (const char *)text);
    g_strchomp(reason);
    if (g_str_has_suffix(reason, "."))
        reason[strlen(reason) - 1] = '\0';
    yajl_free_error(yajl, text);
    return reason;
}

static void
complain(Reader *r, yajl_handle yajl, yajl_status status, const char *block, gsize length,
         GError **error)
{
    if (status == yajl_status_client_canceled) {
        g_propagate_error(error, g_steal_pointer(&r->error));
        return;
    }
    count_lines(r, block, MIN(yajl_get_bytes_consumed(yajl), length));
    g_autofree char *reason = reason_of(yajl);
    if (r->bytes - r->line_begin > MAX_LINE_BYTES)
        g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX,
                    "%s: byte %" G_GSIZE_FORMAT ": no JSON: %s", r->name, r->bytes, reason);
    else
        g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX, "%s:%" G_GSIZE_FORMAT ": no JSON: %s",
                    r->name, r->lines + 1, reason);
}

static gboolean
feed(Reader *r, yajl_handle yajl, const char *block, gsize length, GError **error)
{
    yajl_status status = yajl_parse(yajl, (const unsigned char *)block, length);
    if (status != yajl_status_ok) {
        complain(r, yajl, status, block, length, error);
        return FALSE;
    }
    count_lines(r, block, length);
    return TRUE;
}

/* The end: is the value whole? */
static gboolean
finish(Reader *r, yajl_handle yajl, GError **error)
{
    yajl_status status = yajl_complete_parse(yajl);
    if (status == yajl_status_ok)
        return TRUE;
    if (r->error != NULL)
        g_propagate_error(error, g_steal_pointer(&r->error));
    else
        g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX,
                    "%s: ends in the middle, after %" G_GSIZE_FORMAT
                    " bytes of text; is it copied whole?",
                    r->name, r->bytes);
    return FALSE;
}

/* --- sources ------------------------------------------------------------------------------------ */

gboolean
conf_json_stream_parse(const char *name, const char *text, gsize length, ConfJsonFunc func,
                       gpointer user, GError **error)
{
    Reader r = {.name = name, .func = func, .user = user};
    yajl_handle yajl = yajl_alloc(&callbacks, NULL, &r);
    gboolean done = feed(&r, yajl, text, length, error) && finish(&r, yajl, error);
    yajl_free(yajl);
    return done;
}

static gboolean
read_stream(Reader *r, GInputStream *stream, yajl_handle yajl, GError **error)
{
    g_autofree char *block = g_malloc(BLOCK_BYTES);
    g_autoptr(GError) cause = NULL;
    gssize n;
    while ((n = g_input_stream_read(stream, block, BLOCK_BYTES, NULL, &cause)) > 0)
        if (!feed(r, yajl, block, (gsize)n, error))
            return FALSE;
    if (n == 0)
        return finish(r, yajl, error);
    g_set_error(error, CONF_ERROR, CONF_ERROR_IO,
                "%s: cannot be read on after %" G_GSIZE_FORMAT " bytes of text: %s", r->name,
                r->bytes, cause->message);
    return FALSE;
}

gboolean
conf_json_stream_load(const char *path, ConfJsonFunc func, gpointer user, GError **error)
{
    g_autoptr(GInputStream) stream = conf_stream_open(path, error);
    if (stream == NULL)
        return FALSE;
    Reader r = {.name = path, .func = func, .user = user};
    yajl_handle yajl = yajl_alloc(&callbacks, NULL, &r);
    gboolean done = read_stream(&r, stream, yajl, error);
    yajl_free(yajl);
    return done;
}
