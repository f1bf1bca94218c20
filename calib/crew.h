/* The processes of one run, over TCP: all of them talk to rank 0.
 *
 * NCCL is not asked for this, so that no GPU waits in a kernel while rank 0 measures another, and a process that dies is
 * noticed at once, whatever its GPUs do. */
#pragma once

#include "calib/launch.h"
#include "calib/rendezvous.h"

typedef struct CalibCrew CalibCrew;

typedef struct {
    double join_s;   /* that processes wait for each other in the beginning */
    double answer_s; /* that one may come later than another to calib_crew_agree */
} CalibCrewLimits;

/* Rank 0's bytes go to all ranks, by other means (CALIB_MEET_MPI); else NULL. */
typedef bool (*CalibBroadcast)(void *data, size_t size);

/* `*ret` stays NULL where there is one process only. All functions below take NULL for that. */
CalibStatus calib_crew_join(const CalibPlace *place, const CalibCrewLimits *limits,
                            CalibBroadcast broadcast, CalibCrew **ret, CalibError *error);
void calib_crew_free(CalibCrew *crew);

/* As CalibBackend.share. */
CalibStatus calib_crew_share(CalibCrew *crew, void *data, size_t size, CalibError *error);
/* Each rank's `size` bytes, by rank, in each rank's `all`. */
CalibStatus calib_crew_gather(CalibCrew *crew, const void *mine, size_t size, void *all,
                              CalibError *error);

enum { CALIB_MOST_VALUES = 256 };
/* The worst status and the largest values (n at most CALIB_MOST_VALUES) of all ranks. Of a failure `error` is that of the
 * rank that had it first. */
CalibStatus calib_crew_agree(CalibCrew *crew, CalibStatus mine, double *worst, unsigned n,
                             CalibError *error);
/* Without waiting: false if a rank has failed or is lost; `error` says which and why. */
bool calib_crew_is_whole(CalibCrew *crew, CalibError *error);
