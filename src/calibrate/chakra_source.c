/* A length, which is a varint, and as many bytes: again and again. */
#include "config.h"

#include "calibrate/chakra_source.h"

#include "calibrate/chakra_json.h"
#include "calibrate/error.h"
#include "conf/complaint.h"
#include "conf/stream.h"

#include <string.h>

#define BLOCK_BYTES 262144
#define MOST_MESSAGE_BYTES                                                                         \
    (64u << 20) /* a node has some hundreds, one with a long list of tensors some thousands */

typedef struct {
    const char *name;
    GInputStream *stream;
    guint8 *block;
    gsize at, n;    /* in the block */
    guint64 offset; /* of the block in the file */
    gboolean ended;
    GByteArray *message;
} Source;

static guint64
place(const Source *s)
{
    return s->offset + s->at;
}

/* The next block; n is 0 at the end. */
static gboolean
fill(Source *s, GError **error)
{
    g_autoptr(GError) cause = NULL;
    s->offset += s->n;
    s->at = s->n = 0;
    if (s->ended ||
        g_input_stream_read_all(s->stream, s->block, BLOCK_BYTES, &s->n, NULL, &cause)) {
        s->ended |= s->n < BLOCK_BYTES;
        return TRUE;
    }
    g_set_error(error, CONF_ERROR, CONF_ERROR_IO,
                "%s: cannot be read on after byte %" G_GUINT64_FORMAT ": %s", s->name,
                s->offset + s->n, cause->message);
    return FALSE;
}

static void
complain_cut(const Source *s, guint64 begin, GError **error)
{
    g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_VALUE,
                "%s: byte %" G_GUINT64_FORMAT ": ends in the middle of the message that begins at "
                "byte %" G_GUINT64_FORMAT "; is it copied whole?",
                s->name, place(s), begin);
}

static void
complain(const Source *s, guint64 at, const char *fault, GError **error)
{
    g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_VALUE,
                "%s: byte %" G_GUINT64_FORMAT ": %s; this is no Chakra execution trace, or a "
                "damaged one; write one of schema 0.0.1 or later",
                s->name, at, fault);
}

/* TRUE and *ret_more FALSE: the file ends where a message could begin. */
static gboolean
read_length(Source *s, guint64 *ret_length, gboolean *ret_more, GError **error)
{
    guint64 begin = place(s);
    *ret_length = 0;
    *ret_more = FALSE;
    for (guint n = 0;; n++) {
        if (s->at == s->n && !fill(s, error))
            return FALSE;
        if (s->n == 0) {
            if (n > 0)
                complain_cut(s, begin, error);
            return n == 0;
        }
        CalibrateVarint state = calibrate_varint_add(s->block[s->at++], n, ret_length);
        if (state == CALIBRATE_VARINT_MORE)
            continue;
        *ret_more = TRUE;
        if (state == CALIBRATE_VARINT_DONE && *ret_length <= MOST_MESSAGE_BYTES)
            return TRUE;
        complain(s, begin, "a message of more than 64 MiB", error);
        return FALSE;
    }
}

/* Memory grows with what is there, not with what a length claims. */
static gboolean
read_message(Source *s, guint64 begin, guint64 length, GError **error)
{
    g_byte_array_set_size(s->message, 0);
    while (s->message->len < length) {
        if (s->at == s->n && !fill(s, error))
            return FALSE;
        if (s->n == 0) {
            complain_cut(s, begin, error);
            return FALSE;
        }
        gsize n = MIN((gsize)length - s->message->len, s->n - s->at);
        g_byte_array_append(s->message, s->block + s->at, (guint)n);
        s->at += n;
    }
    return TRUE;
}

static gboolean
read_messages(Source *s, CalibrateMessageFunc func, gpointer user, GError **error)
{
    guint64 length;
    gboolean more;
    for (guint64 begin = place(s); read_length(s, &length, &more, error); begin = place(s)) {
        if (!more)
            return TRUE;
        guint64 inside = place(s);
        if (!read_message(s, begin, length, error))
            return FALSE;
        GError *cause = NULL;
        CalibrateMessage message = calibrate_message(s->message->data, s->message->len);
        if (func(&message, user, &cause))
            continue;
        if (cause != NULL)
            g_propagate_error(error, cause);
        else
            complain(s, inside + (guint64)(message.at - message.begin), message.fault, error);
        return FALSE;
    }
    return FALSE;
}

/* --- kinds of files ----------------------------------------------------------------------------- */

static gboolean
begins(const Source *s, const char *bytes, gsize n)
{
    return s->n >= n && memcmp(s->block, bytes, n) == 0;
}

/* A brace is also the length 123, but no message begins with a quote (which would be field 4 as four bytes). */
static gboolean
is_json(const Source *s)
{
    gsize i = 0;
    while (i < s->n && g_ascii_isspace(s->block[i]))
        i++;
    if (i == s->n || s->block[i] != '{')
        return FALSE;
    for (i++; i < s->n && g_ascii_isspace(s->block[i]); i++)
        ;
    return i < s->n && s->block[i] == '"';
}

static gboolean
read_source(Source *s, CalibrateMessageFunc func, gpointer user, gboolean *ret_leavings,
            gboolean *ret_json, GError **error)
{
    *ret_leavings = *ret_json = FALSE;
    s->block = g_malloc(BLOCK_BYTES);
    s->message = g_byte_array_new();
    gboolean done = fill(s, error);
    if (done && begins(s, "\0\5\26\7", 4)) { /* AppleDouble */
        *ret_leavings = TRUE;
    } else if (done && s->n >= 262 && memcmp(s->block + 257, "ustar", 5) == 0) {
        g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_KIND,
                    "%s: is a tar archive; unpack it (tar -xf) and write the files in it", s->name);
        done = FALSE;
    } else if (done && is_json(s)) {
        *ret_json = TRUE;
        done = FALSE;
    } else if (done) {
        done = read_messages(s, func, user, error);
    }
    g_free(s->block);
    g_byte_array_unref(s->message);
    return done;
}

gboolean
calibrate_chakra_messages_load(const char *path, CalibrateMessageFunc func, gpointer user,
                               gboolean *ret_leavings, GError **error)
{
    gboolean json;
    g_autoptr(GInputStream) stream = conf_stream_open(path, error);
    if (stream == NULL)
        return FALSE;
    Source s = {.name = path, .stream = stream};
    gboolean done = read_source(&s, func, user, ret_leavings, &json, error);
    if (json)
        calibrate_chakra_json_load(path, error);
    return done;
}

gboolean
calibrate_chakra_messages_parse(const char *name, const void *bytes, gsize n,
                                CalibrateMessageFunc func, gpointer user, gboolean *ret_leavings,
                                GError **error)
{
    gboolean json;
    g_autoptr(GInputStream) stream = g_memory_input_stream_new_from_data(bytes, (gssize)n, NULL);
    Source s = {.name = name, .stream = stream};
    gboolean done = read_source(&s, func, user, ret_leavings, &json, error);
    if (json)
        calibrate_chakra_json_parse(name, bytes, n, error);
    return done;
}
