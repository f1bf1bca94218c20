/* Folders that tests write to. */
#pragma once

#include <glib.h>
#include <glib/gstdio.h>

/* In memory where there is such a place: every row is synchronised, and disks take their time for that. */
static inline char *
folder_new(void)
{
    char *fast = g_strdup("/dev/shm/calib-XXXXXX");
    if (g_mkdtemp(fast) != NULL)
        return fast;
    g_free(fast);
    GError *error = NULL;
    char *path = g_dir_make_tmp("calib-XXXXXX", &error);
    g_assert_no_error(error);
    return path;
}

static inline void
folder_empty(const char *path)
{
    GDir *dir = g_dir_open(path, 0, NULL);
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *file = g_build_filename(path, name, NULL);
        g_unlink(file);
    }
    if (dir != NULL)
        g_dir_close(dir);
}

static inline void
folder_free(char *path)
{
    folder_empty(path);
    g_rmdir(path);
    g_free(path);
}

static inline gboolean
folder_has(const char *path, const char *name)
{
    g_autofree char *file = g_build_filename(path, name, NULL);
    return g_file_test(file, G_FILE_TEST_EXISTS);
}

/* NULL: no such file. Lines that begin with `skip` are left out when it is not NULL. */
static inline char *
folder_read(const char *path, const char *name, const char *skip)
{
    g_autofree char *file = g_build_filename(path, name, NULL);
    char *text = NULL;
    if (!g_file_get_contents(file, &text, NULL, NULL) || skip == NULL)
        return text;
    GString *kept = g_string_new(NULL);
    char **lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
        if (!g_str_has_prefix(*line, skip))
            g_string_append_printf(kept, "%s\n", *line);
    g_strfreev(lines);
    g_free(text);
    return g_string_free(kept, FALSE);
}
