/* The progress line. */
#include "config.h"

#include "calib/progress.h"

#include <math.h>
#include <unistd.h>

#define TERMINAL_S 1
#define LOG_S 60

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
    bool terminal = isatty(fileno(stream)) != 0;
    return (CalibProgress){
        .stream = stream, .terminal = terminal, .shown_s = terminal ? -TERMINAL_S : 0};
}

void
calib_progress_show(CalibProgress *p, double now_s, const char *what, unsigned n_rows,
                    double left_s)
{
    char left[32];
    if (now_s - p->shown_s < (p->terminal ? TERMINAL_S : LOG_S))
        return;
    p->shown_s = now_s;
    calib_format_duration(left_s > 0 ? left_s : 0, left, sizeof left);
    /* to the line's start, and what was longer before away */
    fprintf(p->stream, "%s%s left, %u rows: %.60s%s", p->terminal ? "\r\033[K" : "", left, n_rows,
            what, p->terminal ? "" : "\n");
    fflush(p->stream);
    p->dirty = p->terminal;
}

void
calib_progress_end(CalibProgress *p)
{
    if (!p->dirty)
        return;
    fputs("\r\033[K", p->stream);
    fflush(p->stream);
    p->dirty = false;
}
