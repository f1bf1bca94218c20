/* Progress on a terminal. */
#include "config.h"

#include "cli/progress.h"

#include <unistd.h>

#define SILENT_US 2000000

CliProgress
cli_progress_start(const char *what, guint n)
{
    return (CliProgress){what, n, g_get_monotonic_time(), FALSE};
}

void
cli_progress_at(CliProgress *progress, guint i)
{
    if (!isatty(STDERR_FILENO) || g_get_monotonic_time() - progress->started_us < SILENT_US)
        return;
    g_printerr("\r%s %u of %u", progress->what, i + 1, progress->n);
    progress->shown = TRUE;
}

void
cli_progress_end(CliProgress *progress)
{
    if (progress->shown)
        g_printerr("\r%*s\r", 60, "");
}
