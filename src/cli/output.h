/* Where results go: standard output or a file that appears whole or not at all. */
#pragma once

#include <glib.h>

/* `path` NULL or "-": standard output, flushed and checked. */
gboolean cli_output_write(const char *path, const GString *text,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
