/* Communicators: one of all GPUs of the run, and one for each group and number of channels, made when first asked for.
 * All processes must ask for the same ones in the same order. */
#pragma once

#include "calib/crew.h"
#include "calib/cuda_traffic.h"
#include "calib/seats.h"

#include <nccl.h>
#include <pthread.h>

typedef struct {
    int ranks, nodes, channels;        /* ranks 0: none; channels 0: NCCL's choice */
    unsigned long used;                /* when last */
    ncclComm_t comms[CALIB_MOST_GPUS]; /* of this process' GPUs; NULL: not of this group */
} CalibGroup;

/* Each takes some hundred MB of a GPU. */
enum { CALIB_MOST_GROUPS = 8 };

typedef struct {
    const CalibSeats *seats;
    int rank;              /* for complaints */
    bool splits;           /* NCCL 2.18 makes groups from the world */
    pthread_mutex_t mutex; /* of all that is below, once a job runs */
    CalibGroup world, groups[CALIB_MOST_GROUPS];
    bool stopped;
    unsigned long clock;
} CalibGroups;

void calib_groups_init(CalibGroups *groups, const CalibSeats *seats, int rank);
/* The group, or CALIB_CANNOT where this NCCL cannot make it; `id` as calib_groups_needs_id. */
CalibStatus calib_groups_make(CalibGroups *groups, int ranks, int nodes, int channels,
                              const ncclUniqueId *id, CalibGroup **ret, CalibError *error);
CalibStatus calib_groups_make_world(CalibGroups *groups, const ncclUniqueId *id, CalibError *error);
/* Must rank 0 make an id for this group, and all have it? */
bool calib_groups_needs_id(CalibGroups *groups, int ranks, int nodes, int channels);
bool calib_groups_has_world(const CalibGroups *groups);
/* From another thread. Without waiting: false if NCCL found an error; */
bool calib_groups_are_well(CalibGroups *groups, CalibError *error);
/* ends all that GPUs do for any group. */
void calib_groups_stop(CalibGroups *groups);
/* `in_order`: no rank has failed. */
void calib_groups_clear(CalibGroups *groups, bool in_order);
