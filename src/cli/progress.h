/* How far a long command is: one line on a terminal, nothing elsewhere, nothing in the first two seconds. */
#pragma once

#include <glib.h>

typedef struct {
    const char *what; /* "point" */
    guint n;
    gint64 started_us;
    gboolean shown;
} CliProgress;

CliProgress cli_progress_start(const char *what, guint n);
void cli_progress_at(CliProgress *progress, guint i);
void cli_progress_end(CliProgress *progress);
