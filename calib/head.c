/* Writes and compares the first lines of tables. */
#include "config.h"

#include "calib/head.h"

#include "calib/grow.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Lines that are compared. Rows measured with another of these are not of one machine. */
static const char *const fixed[] = {"# gpu: ",  "# driver: ", "# cuda: ",      "# cublas: ",
                                    "# nccl: ", "# cudnn: ",  "# attention: ", NULL};

static const char *
or_none(const char *text)
{
    return *text != '\0' ? text : "none";
}

static void
add(char **at, char *end, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(*at, (size_t)(end - *at), format, arguments);
    va_end(arguments);
    if (n > 0)
        *at += n < end - *at ? n : end - *at - 1;
}

char *
calib_head_new(const CalibMachine *m, const char *version, const char *name)
{
    enum { SIZE = 4096 };
    size_t room = SIZE / 2;
    char *text = calib_grow(NULL, room, &room, 1), *at = text, *end = text + room, date[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &utc));
    add(&at, end, "# source: measured by dtsim-calibrate %s on %s\n", version, or_none(m->host));
    add(&at, end, "# system: %s\n# date: %s (UTC)\n", name, date);
    add(&at, end, "# gpu: %d x %s\n", m->gpus, or_none(m->gpu_name));
    add(&at, end, "# driver: %s\n# cuda: %s\n# cublas: %s\n", or_none(m->driver), or_none(m->cuda),
        or_none(m->cublas));
    add(&at, end, "# nccl: %s", or_none(m->nccl));
    if (*m->nccl_algo != '\0')
        add(&at, end, ", NCCL_ALGO=%s", m->nccl_algo);
    if (*m->nccl_proto != '\0')
        add(&at, end, ", NCCL_PROTO=%s", m->nccl_proto);
    add(&at, end, "\n# cudnn: %s\n# attention: %s\n", or_none(m->cudnn), or_none(m->attention));
    if (*m->mpi != '\0')
        add(&at, end, "# mpi: %s\n", m->mpi);
    add(&at, end,
        "# times: medians in microseconds; spread_frac: 1.4826 x median absolute deviation / "
        "median; samples behind it;\n"
        "# flag: unsteady where spread or drift stayed over 2 %%\n");
    return text;
}

/* The rest of the line that begins with `key`. */
static bool
find_line(const char *text, const char *key, char *ret, size_t size)
{
    size_t length = strlen(key);
    for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, key, length) != 0)
            continue;
        size_t n = strcspn(at, "\n");
        snprintf(ret, size, "%.*s", (int)n, at);
        return true;
    }
    *ret = '\0';
    return false;
}

bool
calib_head_agrees(const char *head, const char *text, char *ret_ours, char *ret_theirs, size_t size)
{
    for (int i = 0; fixed[i] != NULL; i++) {
        find_line(head, fixed[i], ret_ours, size);
        find_line(text, fixed[i], ret_theirs, size);
        if (strcmp(ret_ours, ret_theirs) != 0)
            return false;
    }
    return true;
}
