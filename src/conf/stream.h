/* Files as streams of bytes, unpacked where they are packed. */
#pragma once

#include <gio/gio.h>

/* By its first bytes, not by its name: gzip is unpacked. NULL with *error, which names the path. The caller unrefs. */
GInputStream *conf_stream_open(const char *path, GError **error);
