/* All GPUs of a run: who drives which, and what they measure together. */
#pragma once

#include "calib/cuda_gpu.h"

typedef struct CalibTeam CalibTeam;

/* Finds the other processes and shares out GPUs; opens none. A run of one process needs nothing of this network. */
CalibStatus calib_team_open(const CalibLaunch *launch, CalibTeam **ret, CalibError *error);
/* As calib_gpu_open wants them: CUDA's number of this process' first GPU; the process' rank. */
int calib_team_device(const CalibTeam *team);
int calib_team_rank(const CalibTeam *team);
/* Fills in the processes of the run, its nodes and GPUs, and the versions of NCCL and MPI. */
void calib_team_describe(CalibTeam *team, CalibMachine *machine);

/* A collective, or compute beside one; `first` is this process' first GPU, whose arena is laid out anew. All ranks call it
 * with the same arguments. */
CalibStatus calib_team_run(CalibTeam *team, CalibGpu *first, const CalibCase *what,
                           const CalibTiming *timing, double *us, CalibError *error);
CalibStatus calib_team_share(CalibTeam *team, void *data, size_t size, CalibError *error);
/* Without waiting: false if another rank has failed or is lost. */
bool calib_team_is_whole(CalibTeam *team, CalibError *error);
/* Before anything is given back, once all is said: where a call of NCCL hangs for good, the process ends here, with status 1;
 * one that has failed otherwise ends within a bound. */
void calib_team_give_up(CalibTeam *team);
void calib_team_close(CalibTeam *team);
