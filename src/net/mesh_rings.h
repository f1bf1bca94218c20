/* Rings that NCCL lays along the NVLinks of a node without a switch. */
#pragma once

#include <glib.h>

#define NET_MESH_MAX_RINGS 32

typedef struct {
    guint n_rings;
    guint8 order[NET_MESH_MAX_RINGS][8]; /* indices of members; each ring runs both ways */
} NetMeshRings;

/* The most rings over `n` members (3 to 8) that share no link: width[i * n + j] links join members i and j. None where
 * links do not close a ring. */
NetMeshRings net_mesh_rings(const guint8 *width, guint n);
