/* NVLinks between the GPUs of a node without a switch. */
#pragma once

#include <glib.h>

/* Links between GPU i and GPU j, at [i * gpus + j], both ways alike; "0-1:1 0-3:2" names pairs and their numbers of
 * links (":1" may be left out). Empty: of 8 GPUs the hybrid cube mesh of a DGX-1, of others one link for each pair.
 * Every GPU must reach every other directly or over one between. Caller frees; NULL: error. */
guint8 *cluster_mesh_parse(const char *text, guint gpus, GError **error);
