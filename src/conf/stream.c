/* A file, buffered, behind gzip's decompressor where it begins as gzip does. */
#include "config.h"

#include "conf/stream.h"

#include "conf/complaint.h"

#define BUFFER_BYTES 262144

static GInputStream *
open_plain(const char *path, GError **error)
{
    g_autoptr(GFile) file = g_file_new_for_path(path);
    g_autoptr(GFileInputStream) stream = g_file_read(file, NULL, error);
    if (stream == NULL)
        return NULL;
    g_autoptr(GInputStream) buffered =
        g_buffered_input_stream_new_sized(G_INPUT_STREAM(stream), BUFFER_BYTES);
    gsize n = 0;
    if (g_buffered_input_stream_fill(G_BUFFERED_INPUT_STREAM(buffered), 2, NULL, error) < 0)
        return NULL;
    const guint8 *head = g_buffered_input_stream_peek_buffer(G_BUFFERED_INPUT_STREAM(buffered), &n);
    if (n < 2 || head[0] != 0x1f || head[1] != 0x8b)
        return g_steal_pointer(&buffered);
    g_autoptr(GZlibDecompressor) unzip = g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP);
    return g_converter_input_stream_new(buffered, G_CONVERTER(unzip));
}

/* GIO says "Error opening file /whole/path: No such file or directory". */
static const char *
reason_of(const GError *cause)
{
    const char *end = g_str_has_prefix(cause->message, "Error opening file")
                          ? g_strrstr(cause->message, ": ")
                          : NULL;
    return end != NULL ? end + 2 : cause->message;
}

GInputStream *
conf_stream_open(const char *path, GError **error)
{
    g_autoptr(GError) cause = NULL;
    GInputStream *stream = open_plain(path, &cause);
    if (stream == NULL)
        g_set_error(error, CONF_ERROR, CONF_ERROR_IO, "%s: cannot be read: %s", path,
                    reason_of(cause));
    return stream;
}
