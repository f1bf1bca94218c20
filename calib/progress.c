/* The progress line. */
#include "config.h"

#include "calib/progress.h"

#include <math.h>
#include <unistd.h>

void
calib_format_duration(double seconds, char *text, size_t size)
{
    long whole = lround(seconds);
    if (whole >= 3600)
        snprintf(text, size, "%ldh %ldmin", whole / 3600, whole / 60 % 60);
    else if (whole >= 60)
        snprintf(text, size, "%ldmin %lds", whole / 60, whole % 60);
    else
        snprintf(text, size, "%lds", whole);
}

CalibProgress
calib_progress_new(FILE *stream)
{
    return (CalibProgress){.stream = isatty(fileno(stream)) ? stream : NULL, .shown_s = -1};
}

void
calib_progress_show(CalibProgress *p, double now_s, const char *what, unsigned n_rows,
                    double left_s)
{
    char left[32];
    if (p->stream == NULL || (p->shown_s >= 0 && now_s - p->shown_s < 1))
        return;
    p->shown_s = now_s;
    p->dirty = true;
    calib_format_duration(left_s > 0 ? left_s : 0, left, sizeof left);
    /* to the line's start, and what was longer before away */
    fprintf(p->stream, "\r\033[K%s left, %u rows: %.60s", left, n_rows, what);
    fflush(p->stream);
}

void
calib_progress_end(CalibProgress *p)
{
    if (p->stream == NULL || !p->dirty)
        return;
    fputs("\r\033[K", p->stream);
    fflush(p->stream);
    p->dirty = false;
}
