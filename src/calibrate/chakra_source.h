/* Messages of a file, each behind its length, one after the other in bounded memory; gzip is unpacked. */
#pragma once

#include "calibrate/protobuf.h"

/* FALSE with *error or message->fault set stops the reading; a fault becomes a complaint with its byte in the file. */
typedef gboolean (*CalibrateMessageFunc)(CalibrateMessage *message, gpointer user, GError **error);

/* Files that are none say what they are: archives, JSON. `ret_leavings`: is what macOS puts beside files when it copies
 * or packs them; nothing is read. */
gboolean calibrate_chakra_messages_load(const char *path, CalibrateMessageFunc func, gpointer user,
                                        gboolean *ret_leavings,
                                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean calibrate_chakra_messages_parse(const char *name, const void *bytes, gsize n,
                                         CalibrateMessageFunc func, gpointer user,
                                         gboolean *ret_leavings,
                                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
