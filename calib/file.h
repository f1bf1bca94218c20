/* Files that survive: appended lines are on the disk when a call returns; whole files appear at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Zeroed: not open. */
typedef struct {
    int fd;   /* + 1 */
    long end; /* bytes that are whole lines */
} CalibFile;

/* The whole text, up to 256 MiB; NULL with errno. Caller frees. Bytes of 0 end it. */
char *calib_file_read(const char *path);
/* Opens to append. A file that lacks the line `needle` is begun anew with `first`; of another, what follows its last \n
 * is cut off. False with errno. */
bool calib_file_open(CalibFile *file, const char *path, const char *first, const char *needle);
bool calib_file_is_open(const CalibFile *file);
/* `line` ends in \n. False with errno: then the file is as before. */
bool calib_file_append(CalibFile *file, const char *line);
void calib_file_close(CalibFile *file);
/* `text` to PATH.tmp, then renamed. False with errno: PATH is as before. */
bool calib_file_replace(const char *path, const char *text, size_t length);
