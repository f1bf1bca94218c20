/* Lines of a text of any length in bounded memory, from a file (gzip or not) or from bytes. */
#pragma once

#include <glib.h>

/* Of a longer line the rest is dropped: no line of a log that says something is so long. */
enum { CONF_LINE_MAX_BYTES = 65536 };

/* `line`: NUL-terminated, without its line break, until the next; bytes of any kind, but NULs are spaces. `number`
 * from 1. FALSE with *error set stops the reading. */
typedef gboolean (*ConfLineFunc)(const char *line, guint number, gpointer user, GError **error);

gboolean conf_lines_load(const char *path, ConfLineFunc func, gpointer user,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean conf_lines_parse(const char *text, gsize length, ConfLineFunc func, gpointer user,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
