/* A file that is written as results come, and appears under its name whole or not at all. */
#pragma once

#include <glib.h>
#include <stdio.h>

typedef struct ReportStream ReportStream;

/* Written beside `path` under a temporary name until report_stream_close; in place when it is a device or a
 * pipe. */
ReportStream *report_stream_open(const char *path, GError **error);
FILE *report_stream_file(ReportStream *stream);
/* A write failed with this errno; the first one is what close complains of. */
void report_stream_note(ReportStream *stream, int code);
/* Gives the file its name; frees `stream`. */
gboolean report_stream_close(ReportStream *stream, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Removes what was written; frees `stream`. */
void report_stream_abandon(ReportStream *stream);
