/* Kinds of work that slow each other down on a rank.  Private to sim.
 *
 * With n_b activities of kind b running on rank r (the work itself left out), work of kind k may go at most
 * at
 *
 *   cap_r(k) = product over b of s_kb ^ n_b        (s_kb: what sim_engine_set_interference says, else 1)
 *
 * and an activity of members on several ranks at the least of their caps:  cap_j = min over r of cap_r(k_j).
 *
 * A rank knows what runs on it; an activity knows how many of its members are at each cap, and only a
 * few caps occur, so one kernel beside a collective of thousands costs no more than beside one of two.
 * Work that is alone on its rank becomes an activity only when something starts beside it.
 * Changes at one instant are looked at once: kernels back to back are no change. */
#pragma once

#include "sim/fluid.h"

/* The part of an activity that runs on one rank. */
typedef struct {
    double cap; /* what the rank allows it */
    guint32 rank, activity, kind;
    guint32 next, previous; /* on the rank */
    guint32 sibling;        /* next of the activity, or next free one */
} SimPart;

typedef struct {
    double cap;
    guint32 n; /* members at this cap */
} SimLevel;

/* What interference knows of an activity, by its id. */
typedef struct {
    guint32 first; /* part; G_MAXUINT32: none */
    guint32 n_levels, n_reserved;
    SimLevel *levels;
    gboolean touched;
} SimShape;

typedef struct {
    guint32 n[SIM_KINDS]; /* running, by kind */
    guint32 first;        /* part */
    gboolean dirty;
    /* The stream of work that runs alone on the rank, uses nothing and so is no activity yet; G_MAXUINT32: none. */
    guint32 solo;
    gint64 solo_end_ns;
} SimNeighbours;

typedef struct {
    double speed[SIM_KINDS][SIM_KINDS]; /* of the first beside the second */
    guint32 kinds;                      /* bit k: kind k disturbs or is disturbed */
    SimPart *parts;
    guint32 n_parts, n_parts_reserved, free_part;
    SimShape *shapes;
    guint32 n_shapes;
    SimNeighbours *ranks;
    GArray *dirty;   /* of guint32: ranks on which something started or ended */
    GArray *touched; /* of guint32: activities */
} SimInterference;

void sim_interference_init(SimInterference *in);
void sim_interference_clear(SimInterference *in);
void sim_interference_set(SimInterference *in, guint kind, guint beside, double speed);
void sim_interference_set_n_ranks(SimInterference *in, guint32 n_ranks);

/* The activity has a member of kind `kind` on `rank`; once for each rank. It must be held (sim_fluid_start). */
void sim_interference_add(SimInterference *in, SimFluid *f, guint32 activity, guint32 rank,
                          guint kind);
/* The activity ends; nothing happens when it was never added. */
void sim_interference_remove(SimInterference *in, SimFluid *f, guint32 activity);
/* Sets the caps that changed, before the fluid is settled. */
void sim_interference_settle(SimInterference *in, SimFluid *f);

static inline gboolean
sim_interference_has(const SimInterference *in, guint kind)
{
    return in->kinds >> kind & 1;
}
