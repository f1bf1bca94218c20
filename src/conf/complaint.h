/* The voice of every input error: place, what is wrong, what to write instead; near-miss hints. */
#pragma once

#include <glib.h>

#define CONF_ERROR (conf_error_quark())
GQuark conf_error_quark(void);

typedef enum {
    CONF_ERROR_IO,
    CONF_ERROR_SYNTAX,
    CONF_ERROR_MISSING,
    CONF_ERROR_UNKNOWN,
    CONF_ERROR_VALUE,
} ConfError;

/* The candidate nearest to `word` by edit distance, or NULL when none is near (distance > 1 + len/3).
 * `candidates` is NULL-terminated; the result is borrowed from it. */
const char *conf_near_miss(const char *word, const char *const *candidates);
/* "; did you mean 'x'?" or "" -- caller frees. */
char *conf_hint(const char *word, const char *const *candidates);
/* Are these `length` bytes text: UTF-8 without NUL? The complaint names the line. */
gboolean conf_check_text(const char *name, const char *text, gsize length, GError **error);
/* Whole text file as a NUL-terminated string (an embedded NUL or invalid UTF-8 is an error). */
char *conf_read_text(const char *path, gsize *ret_length, GError **error);
/* Replace `path` by `text` through a temporary name in the same folder; nothing half-written. "/dev/..."
 * and pipes are written in place. Errors name the path and the cause. */
gboolean conf_write_text(const char *path, const char *text, gssize length, GError **error);
