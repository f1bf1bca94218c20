/* Sizes of messages as --bytes takes them. */
#pragma once

#include <glib.h>

/* "8..8G" (times 2), "8..8G:4" (times 4), "1M,64M,1G", and lists of these: an array of gint64, ascending, each once.
 * K, M, G and T alone are powers of 1024 as in nccl-tests; units of their own (1MB = 1000 KB, 1MiB) mean what they
 * say elsewhere; a number alone is bytes. */
GArray *cli_sizes_parse(const char *option, const char *text, GError **error);
/* One of them. */
gboolean cli_size_parse(const char *option, const char *text, gint64 *ret_bytes,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
