/* Reads, appends, replaces. */
#include "config.h"

#include "calib/file.h"

#include "calib/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No table and no list of shapes is longer; some devices never end. */
#define MOST_BYTES ((size_t)1 << 28)

char *
calib_file_read(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    size_t n = 0, room = 0;
    char *text = calib_grow(NULL, 0, &room, 1);
    for (;;) {
        text = calib_grow(text, n + 1, &room, 1);
        ssize_t got = read(fd, text + n, room - n - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int cause = errno;
            free(text);
            close(fd);
            errno = cause;
            return NULL;
        }
        n += (size_t)got;
        if (got == 0)
            break;
        if (n > MOST_BYTES) {
            free(text);
            close(fd);
            errno = EFBIG;
            return NULL;
        }
    }
    close(fd);
    text[n] = '\0';
    return text;
}

/* All of it, or errno. */
static bool
write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t done = write(fd, text, length);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            errno = done == 0 ? ENOSPC : errno;
            return false;
        }
        text += done;
        length -= (size_t)done;
    }
    return true;
}

/* What cannot be synchronised (a pipe, some network file systems) need not be. */
static bool
synchronise(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
}

bool
calib_file_is_open(const CalibFile *file)
{
    return file->fd > 0;
}

void
calib_file_close(CalibFile *file)
{
    if (calib_file_is_open(file))
        close(file->fd - 1);
    file->fd = 0;
}

/* Bytes of whole lines, when one of them is `needle`; else 0. */
static long
whole_lines(const char *path, const char *needle)
{
    char *text = calib_file_read(path);
    if (text == NULL)
        return 0;
    char *last = strrchr(text, '\n');
    long end = 0;
    if (last != NULL) {
        end = last + 1 - text;
        *last = '\0';
        const char *at = strstr(text, needle);
        char after = at != NULL ? at[strlen(needle)] : 'x';
        if (after != '\n' && after != '\0')
            end = 0;
    }
    free(text);
    return end;
}

bool
calib_file_open(CalibFile *file, const char *path, const char *first, const char *needle)
{
    long end = whole_lines(path, needle);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    *file = (CalibFile){.fd = fd + 1, .end = end};
    struct stat about;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && ftruncate(fd, end) != 0) {
        int cause = errno;
        calib_file_close(file);
        errno = cause;
        return false;
    }
    if (end == 0 && !calib_file_append(file, first)) {
        int cause = errno;
        calib_file_close(file);
        errno = cause;
        return false;
    }
    return true;
}

bool
calib_file_append(CalibFile *file, const char *line)
{
    size_t length = strlen(line);
    int fd = file->fd - 1;
    if (write_all(fd, line, length) && synchronise(fd)) {
        file->end += (long)length;
        return true;
    }
    int cause = errno;
    if (ftruncate(fd, file->end) != 0)
        cause = cause != 0 ? cause : errno; /* the torn line is dropped when it is read */
    errno = cause;
    return false;
}

bool
calib_file_replace(const char *path, const char *text, size_t length)
{
    size_t room = strlen(path) + sizeof ".tmp";
    char *beside = calib_grow(NULL, room, &room, 1);
    strcpy(beside, path);
    strcat(beside, ".tmp");
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool done = fd >= 0 && write_all(fd, text, length) && synchronise(fd);
    int cause = errno;
    if (fd >= 0 && close(fd) != 0 && done) {
        done = false;
        cause = errno;
    }
    if (done && rename(beside, path) != 0) {
        done = false;
        cause = errno;
    }
    if (!done && fd >= 0)
        unlink(beside);
    free(beside);
    errno = cause;
    return done;
}
