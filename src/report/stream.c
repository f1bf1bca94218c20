/* Files written as results come. */
#include "config.h"

#include "report/stream.h"

#include "conf/complaint.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <unistd.h>

struct ReportStream {
    char *path, *temporary; /* temporary NULL: written in place (a device or pipe) */
    FILE *file;
    int failure; /* errno of the first write that failed */
};

static void
stream_free(ReportStream *stream)
{
    g_free(stream->path);
    g_free(stream->temporary);
    g_free(stream);
}

static void
complain(const ReportStream *stream, int code, GError **error)
{
    g_set_error(error, CONF_ERROR, CONF_ERROR_IO, "%s: %s; write a path that can be written",
                stream->path, g_strerror(code));
}

ReportStream *
report_stream_open(const char *path, GError **error)
{
    ReportStream *stream = g_new0(ReportStream, 1);
    stream->path = g_strdup(path);
    GStatBuf st;
    gboolean special = g_stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
    if (special) {
        stream->file = g_fopen(path, "w");
    } else if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
        errno = EISDIR;
    } else {
        stream->temporary = g_strconcat(path, ".XXXXXX", NULL);
        int fd = g_mkstemp_full(stream->temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
        stream->file = fd >= 0 ? fdopen(fd, "w") : NULL;
    }
    if (stream->file == NULL) {
        complain(stream, errno, error);
        stream_free(stream);
        return NULL;
    }
    return stream;
}

FILE *
report_stream_file(ReportStream *stream)
{
    return stream->file;
}

void
report_stream_note(ReportStream *stream, int code)
{
    if (stream->failure == 0)
        stream->failure = code;
}

gboolean
report_stream_close(ReportStream *stream, GError **error)
{
    if (fclose(stream->file) != 0)
        report_stream_note(stream, errno);
    if (stream->failure == 0 && stream->temporary != NULL &&
        g_rename(stream->temporary, stream->path) != 0)
        report_stream_note(stream, errno);
    gboolean ok = stream->failure == 0;
    if (!ok) {
        complain(stream, stream->failure, error);
        if (stream->temporary != NULL)
            g_unlink(stream->temporary);
    }
    stream_free(stream);
    return ok;
}

void
report_stream_abandon(ReportStream *stream)
{
    if (stream == NULL)
        return;
    fclose(stream->file);
    if (stream->temporary != NULL)
        g_unlink(stream->temporary);
    stream_free(stream);
}
