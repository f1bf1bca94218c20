/* Where dtsim's own data lie, for a built program and for an installed one. */
#include "config.h"

#include "conf/datadir.h"

#include <glib.h>
#include <string.h>

/* A compilation by hand knows no places; the environment and the program's own place remain. */
#ifndef DTSIM_BUILD_DIR
#define DTSIM_BUILD_DIR NULL
#define DTSIM_SOURCE_DIR NULL
#define DTSIM_PKGDATADIR NULL
#define DTSIM_BINDIR NULL
#endif

static gboolean
is_below(const char *path, const char *folder)
{
    gsize length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

/* relative below root if it exists, else NULL; root may be NULL */
static char *
try_root(const char *root, const char *relative)
{
    if (root == NULL || *root == '\0')
        return NULL;
    char *path = g_build_filename(root, relative, NULL);
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        g_clear_pointer(&path, g_free);
    return path;
}

char *
conf_datadir_find(const char *relative)
{
    const char *build = DTSIM_BUILD_DIR, *source = DTSIM_SOURCE_DIR;
    const char *bindir = DTSIM_BINDIR, *installed = DTSIM_PKGDATADIR;
    char *path = try_root(g_getenv("DTSIM_DATA"), relative);
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);

    /* A prefix inside the build tree is an installation, not the tree. */
    gboolean in_tree = program != NULL && build != NULL && is_below(program, build) &&
                       !(bindir != NULL && is_below(program, bindir));
    if (path == NULL && in_tree)
        path = try_root(source, relative);
    if (path == NULL && program != NULL && !in_tree) { /* an installation that was moved */
        g_autofree char *folder = g_path_get_dirname(program);
        g_autofree char *prefix = g_path_get_dirname(folder);
        g_autofree char *moved = g_build_filename(prefix, "share", "dtsim", NULL);
        path = try_root(moved, relative);
    }
    return path != NULL ? path : try_root(installed, relative);
}
