/* What all readers and writers of text share: hints, whole files in, whole files out. */
#include "config.h"

#include "conf/complaint.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

G_DEFINE_QUARK(conf_error_quark, conf_error)

#define MAX_WORD 64 /* longer words are no typing errors */

/* Edit distance with swaps of neighbours (optimal string alignment), case ignored. */
static guint
distance(const char *a, const char *b)
{
    guint n_a = (guint)strlen(a), n_b = (guint)strlen(b);
    guint rows[3][MAX_WORD + 1];
    guint *before = rows[0], *above = rows[1], *row = rows[2];
    for (guint j = 0; j <= n_b; j++)
        above[j] = j;
    for (guint i = 1; i <= n_a; i++) {
        row[0] = i;
        for (guint j = 1; j <= n_b; j++) {
            char x = g_ascii_tolower(a[i - 1]), y = g_ascii_tolower(b[j - 1]);
            row[j] = MIN(MIN(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == g_ascii_tolower(b[j - 2]) && y == g_ascii_tolower(a[i - 2]))
                row[j] = MIN(row[j], before[j - 2] + 1);
        }
        guint *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[n_b];
}

const char *
conf_near_miss(const char *word, const char *const *candidates)
{
    gsize length = strlen(word);
    if (length > MAX_WORD)
        return NULL;
    const char *nearest = NULL;
    guint least = (guint)(1 + length / 3) + 1;
    for (; *candidates != NULL; candidates++) {
        if (strlen(*candidates) > MAX_WORD)
            continue;
        guint here = distance(word, *candidates);
        if (here < least) {
            least = here;
            nearest = *candidates;
        }
    }
    return nearest;
}

char *
conf_hint(const char *word, const char *const *candidates)
{
    const char *nearest = conf_near_miss(word, candidates);
    return nearest == NULL ? g_strdup("") : g_strdup_printf("; did you mean '%s'?", nearest);
}

gboolean
conf_check_text(const char *name, const char *text, gsize length, GError **error)
{
    const char *end;
    if (g_utf8_validate(text, (gssize)length, &end))
        return TRUE;
    guint line = 1;
    for (const char *at = text; at < end; at++)
        line += *at == '\n';
    g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX, "%s:%u: not a text file (%s)", name, line,
                *end == '\0' ? "a NUL byte" : "invalid UTF-8");
    return FALSE;
}

char *
conf_read_text(const char *path, gsize *ret_length, GError **error)
{
    g_autofree char *text = NULL;
    gsize length = 0;
    g_autoptr(GError) cause = NULL;
    if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_IO, "%s: is a folder; write a file's name", path);
        return NULL;
    }
    errno = 0;
    if (!g_file_get_contents(path, &text, &length, &cause)) {
        int code = errno;
        g_set_error(error, CONF_ERROR, CONF_ERROR_IO, "%s: cannot be read: %s", path,
                    code != 0 ? g_strerror(code) : cause->message);
        return NULL;
    }
    if (!conf_check_text(path, text, length, error))
        return NULL;
    if (g_str_has_prefix(text, "\357\273\277")) { /* a byte order mark is no content */
        length -= 3;
        memmove(text, text + 3, length + 1);
    }
    if (ret_length != NULL)
        *ret_length = length;
    return g_steal_pointer(&text);
}

/* Everything or an errno. */
static int
write_all(int fd, const char *text, gsize length)
{
    while (length > 0) {
        gssize n = write(fd, text, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        text += n;
        length -= (gsize)n;
    }
    return 0;
}

static gboolean
complain_write(const char *path, int code, GError **error)
{
    g_set_error(error, CONF_ERROR, CONF_ERROR_IO, "%s: cannot be written: %s", path,
                g_strerror(code));
    return FALSE;
}

static gboolean
write_in_place(const char *path, const char *text, gsize length, GError **error)
{
    int fd = g_open(path, O_WRONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return complain_write(path, errno, error);
    int code = write_all(fd, text, length);
    if (close(fd) < 0 && code == 0)
        code = errno;
    return code == 0 || complain_write(path, code, error);
}

static gboolean
write_and_rename(const char *path, const char *text, gsize length, GError **error)
{
    g_autofree char *draft = g_strconcat(path, ".XXXXXX", NULL);
    int fd = g_mkstemp_full(draft, O_WRONLY | O_CLOEXEC, 0666);
    if (fd < 0)
        return complain_write(path, errno, error);
    int code = write_all(fd, text, length);
    if (code == 0 && fsync(fd) < 0)
        code = errno;
    if (close(fd) < 0 && code == 0)
        code = errno;
    if (code == 0 && g_rename(draft, path) < 0)
        code = errno;
    if (code == 0)
        return TRUE;
    g_unlink(draft);
    return complain_write(path, code, error);
}

gboolean
conf_write_text(const char *path, const char *text, gssize length, GError **error)
{
    gsize n = length < 0 ? strlen(text) : (gsize)length;
    GStatBuf status;
    gboolean exists = g_stat(path, &status) == 0;
    if (g_str_has_prefix(path, "/dev/") || (exists && !S_ISREG(status.st_mode))) {
        if (exists && S_ISDIR(status.st_mode))
            return complain_write(path, EISDIR, error);
        return write_in_place(path, text, n, error);
    }
    /* a symbolic link keeps pointing: its target is replaced */
    char *target = exists ? realpath(path, NULL) : NULL;
    gboolean done = write_and_rename(target != NULL ? target : path, text, n, error);
    free(target);
    return done;
}
