/* Inside of `step`: how noise reaches the engine. */
#pragma once

#include "sim/normal.h"
#include "step/chain.h"
#include "step/noise.h"

/* Of a build with its ranks and programs: what all samples share; nobody changes it, so threads may. */
typedef struct {
    const StepBuild *b;
    const StepNoise *noise;
    guint n_ranks;   /* simulated */
    guint n_members; /* ranks that each stands for, in lock step: 1, or its tensor-parallel group */
    guint *members;  /* [n_ranks * n_members] global ranks */
    double *spread;  /* [tags] of a run of kernels; 1: one op */
    guint8 *host;    /* [tags] work of the host */
    guint8 *scalar;  /* [tags] a number that all ranks agree on */
    /* Groups whose collectives are drawn: one is (lowest rank, slot), named by (rank * SIM_SLOTS + slot). */
    GArray *group_names; /* of guint32 */
    GArray *groups; /* of guint32, into group_names: those of a (rank, slot), one after the other */
    guint32 *first_group; /* [n_ranks * SIM_SLOTS + 1] into groups */
    SimNormal normal;
    StepSpeeds speeds;
} StepPacing;

StepPacing *step_pacing_new(const StepBuild *b, const StepNoise *noise, gboolean lanes);
void step_pacing_free(StepPacing *p);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StepPacing, step_pacing_free)

/* One sample's draws. */
typedef struct {
    const StepPacing *shared;
    guint sample;
    double *factor; /* [n_ranks * n_members] GPU work takes so many times as long, without jitter */
    double *host_factor; /* the same of launches */
    guint64 *key;        /* [n_ranks * n_members] of the stream of kernels */
    guint64 *group_key;  /* [group_names] */
    guint32 *n_kernels;  /* [n_ranks] begun so far */
    guint32 *n_met;      /* [group_names] */
    gint64 *phase_ns;    /* [daemons * n_ranks * n_members] */
    /* Of kernels (0) and of hosts (1): when each member was done with its last, and when the slowest was. */
    gint64 *done_ns[2];    /* [n_ranks * n_members] */
    gint64 *slowest_ns[2]; /* [n_ranks] */
    gint64 *
        met_ns; /* [group_names]: when each was done; the lane's when all its groups were: with the first */
    gint64 *slowest_met_ns;
    const SimEngine *engine; /* borrowed */
} StepPace;

StepPace *step_pace_new(const StepPacing *p, guint sample);
void step_pace_free(StepPace *pace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StepPace, step_pace_free)
/* Before the run; the pace must outlive it. */
void step_pace_attach(StepPace *pace, SimEngine *engine);
/* The plan's group whose collectives are on a slot; -1: none are. */
int step_slot_group(guint slot);
/* Is work of a tag on a slot the host's, a kernel's, a collective's, or none of these? */
typedef enum {
    STEP_WORK_OTHER,
    STEP_WORK_KERNEL,
    STEP_WORK_HOST,
    STEP_WORK_COLLECTIVE
} StepWorkKind;
StepWorkKind step_work_kind(const StepPacing *p, guint slot, guint32 tag);
