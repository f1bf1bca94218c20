/* The systems that ship with dtsim: their names and where they lie. */
#pragma once

#include <glib.h>

/* The folder that holds system.conf of a shipped name or of a path; caller frees. A text with a
 * '/' or that names a folder with a system.conf is a path (the path of the system.conf itself will
 * do too). */
char *cluster_shipped_find(const char *name_or_directory, GError **error);
/* Whether the folder holds a system.conf. */
gboolean cluster_shipped_is_folder(const char *directory);
