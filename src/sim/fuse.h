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

/* What a chain is made of: ops of both slots, each in order. */
typedef struct {
    guint32 tag;
    gint64 duration_ns;
    guint kind;         /* SimWork.kind */
    gboolean other;     /* an op of the other slot */
    guint after;        /* begins when so many of the chain's on the opposite slot are over */
    const double *load; /* [SIM_LOADS] */
} SimLink;

typedef struct {
    guint other; /* a slot whose ops may be in chains */
    /* May an op of that slot be? Its meeting must be nobody else's, and nothing that it uses may ever be short. */
    gboolean (*serial)(void *user, const SimLink *link);
    /* May an op of the slot itself? */
    gboolean (*plain)(void *user, guint32 tag);
    /* The tag of a chain of n > 1 links. */
    guint32 (*tag)(void *user, const SimLink *links, guint n);
    void *user;
} SimChain;

/* Ops of a slot that follow each other, with those of another slot that begin and end meanwhile, become one op of `slot`.
 * Before any call; no program may wait for a count of ops of the other slot, and the first of them in a template must
 * wait for the slot. A chain takes as long as its links, each waiting for what it waited for, and its SimWork.kind is
 * that of the longest on `slot`: without interference and pace no time changes. */
void sim_template_chain(SimTemplate *t, guint slot, const SimChain *how);
