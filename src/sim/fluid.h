/* Activities that share resources: who uses what, at which speed, until when.  Private to sim.
 *
 * An activity j of isolated duration D_j (ns) with loads L_jk uses, at full speed, of resource i
 *
 *   r_ij = sum over kinds k of w_ik * L_jk / (D_j * 1e-9 s)        [load units per second]
 *
 * and runs at speed x_j <= cap_j (sim/maxmin.h); the cap is 1 but for interference.  A resource whose
 * full-speed demand sum_j r_ij fits into its capacity can never bind ("slack"), whatever the caps;
 * components are therefore formed over tight resources only, and an activity that touches none runs at
 * its cap; at cap 1 it ends after exactly D_j, in integers.
 *
 * Changes at one instant are gathered and solved once, when time is about to go on.
 * The end of a disturbed activity is now + remaining / speed, rounded up to the next ns.  At speed 0,
 * which only a resource of capacity 0 brings about, it stands still and has no end.
 *
 * A background is an activity without end: it takes part in demand and solution, not in load and busy
 * time.  It uses one resource only, so it joins no components. */
#pragma once

#include "sim/heap.h"
#include "sim/maxmin.h"
#include "sim/program.h"

/* A use of a resource by a meeting: a node in a list that meetings share. */
typedef struct {
    guint32 resource, kind;
    double weight;
    guint32 next; /* 0: end */
} SimUseNode;

typedef struct {
    guint32 resource;
    guint32 place; /* in the resource's list of users */
    double rate;
} SimActivityUse;

typedef struct {
    double remaining_ns; /* at speed 1, when `since_ns` */
    double speed;        /* below 0: not known yet */
    double cap;          /* the speed is at most this */
    gint64 since_ns;
    gint64 end_ns; /* while the speed is not known: at full speed */
    SimActivityUse *uses;
    guint32 n_uses, capacity;
    guint64 mark;
    guint32 generation;
    guint32 owner;
    guint32 next_free;
    guint8 single;    /* owner is a stream, else a meeting */
    guint8 scheduled; /* its end is in the heap */
    guint8 changed;   /* it is in the list of those that started or whose cap changed */
    guint8 endless;   /* a background */
} SimActivity;

typedef struct {
    guint32 activity, use;
} SimUser;

typedef struct {
    double capacity; /* load units per second; 0: whoever uses it stands still */
    double demand;   /* of all users at full speed */
    double load;     /* total so far */
    gint64 busy_ns, busy_since_ns;
    SimUser *users;
    guint32 n_users, n_reserved;
    guint32 n_endless;  /* of the users */
    guint32 n_removals; /* since the demand was summed anew */
    guint64 mark;       /* of the visit that saw it last */
    guint32 local;      /* its index in that visit */
    gboolean dirty;
} SimResource;

typedef struct {
    SimResource *resources;
    guint32 n_resources, n_resources_reserved;
    SimActivity *activities;
    guint32 n_activities, n_activities_reserved, free_activity;
    GArray *nodes;      /* of SimUseNode; entry 0 is unused */
    GArray *dirty;      /* of guint32: resources */
    GArray *changed;    /* of guint32: activities that started or whose cap changed */
    gboolean unsettled; /* something must be settled before time goes on */
    guint64 mark;       /* number of the visit: a start or a settling */
    gsize n_stale;      /* events in the heap that a change of speed made void */
    guint32 n_standing; /* activities at speed 0 */
    /* the component being solved */
    GArray *members, *tight, *first, *uses, *capacities, *caps, *speeds;
    SimMaxmin buffers;
    guint64 n_solved;
} SimFluid;

void sim_fluid_init(SimFluid *f);
void sim_fluid_clear(SimFluid *f);
guint32 sim_fluid_add_resource(SimFluid *f, double capacity_per_s);
/* Prepends a use to the list `next` and returns the new list. */
guint32 sim_fluid_add_use(SimFluid *f, guint32 next, guint32 resource, guint kind, double weight);

/* Starts an activity (duration_ns > 0) and schedules its end, now or when settled; always when settled
 * with `hold`, for its cap may change until then. Returns its id. */
guint32 sim_fluid_start(SimFluid *f, SimHeap *heap, gint64 now_ns, gint64 duration_ns,
                        const double *load, guint32 uses, guint32 owner, gboolean single,
                        gboolean hold);
/* Counts when settled. */
void sim_fluid_set_cap(SimFluid *f, guint32 activity, double cap);
void sim_fluid_set_capacity(SimFluid *f, guint32 resource, double capacity_per_s);
void sim_fluid_add_background(SimFluid *f, guint32 resource, double rate_per_s);
/* Whether the event is the activity's valid end. */
gboolean sim_fluid_is_current(const SimFluid *f, const SimEvent *event);
/* The activity has ended: its resources are free from now on. */
void sim_fluid_finish(SimFluid *f, gint64 now_ns, guint32 activity);
/* Solves what changed. Must be called before time goes on while `unsettled`. */
void sim_fluid_settle(SimFluid *f, SimHeap *heap, gint64 now_ns);
/* An activity that stands still and a resource of capacity 0 that it uses; there must be one. */
guint32 sim_fluid_find_standing(const SimFluid *f, guint32 *ret_resource);
