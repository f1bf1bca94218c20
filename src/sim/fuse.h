/* Templates with fewer ops that run alike: runs of plain ops of a slot as one. */
#pragma once

#include "sim/program.h"

typedef struct {
    /* May two ops that follow each other on the slot be of one run? (By their tags; that neither joins a meeting and
     * nothing waits between them is seen to.) */
    gboolean (*together)(void *user, guint32 before, guint32 tag);
    /* The tag of a run of n > 1 ops. */
    guint32 (*tag)(void *user, const guint32 *tags, const gint64 *durations_ns, guint n);
    void *user;
} SimFuse;

/* Before any call of the template. A run takes the sum of its ops' times, and its SimWork.kind is that of the longest;
 * work of another kind is in it where that is an eighth of it at most. Without interference and pace no time changes. Indices of ops change. */
void sim_template_fuse(SimTemplate *t, guint slot, const SimFuse *how);
