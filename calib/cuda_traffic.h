/* What is sent, again and again, by all GPUs of this process that take part; and compute beside it. */
#pragma once

#include "calib/cuda_gpu.h"

/* GPUs and streams are borrowed, one of each for each of the `n` members; n may be 0. */
typedef struct CalibTraffic CalibTraffic;
struct CalibTraffic {
    unsigned n;
    CalibGpu *gpus[32];
    cudaStream_t streams[32];
    void *data;
    CalibStatus (*launch)(CalibTraffic *traffic, CalibError *error);
    /* Enqueues what lets no member go on before all of them, in all processes, have come so far. */
    CalibStatus (*align)(CalibTraffic *traffic, CalibError *error);
};

/* `samples` times of one call, of the slowest GPU here. */
CalibStatus calib_traffic_time(CalibTraffic *traffic, unsigned calls, unsigned samples, double *us,
                               CalibError *error);
CalibStatus calib_traffic_repeat(CalibTraffic *traffic, unsigned calls, CalibError *error);
/* Waits until all is over. */
CalibStatus calib_traffic_finish(CalibTraffic *traffic, CalibError *error);

/* Runs a job on all ranks at once. The status is the worst of all ranks, `worst` their largest values. */
typedef struct {
    void *data;
    CalibStatus (*run)(void *data, CalibStatus (*job)(void *job_data, CalibError *error),
                       void *job_data, double *worst, unsigned n, CalibError *error);
} CalibTogether;

/* Makes compute of one member. */
CalibStatus calib_overlap_work_new(CalibGpu *gpu, const CalibOverlap *overlap, CalibCudaWork **ret,
                                   CalibError *error);
/* The four times of CalibOverlap, as CalibBackend.run writes them. `works`: one a member of the traffic. Both must stay
 * where they are if this fails: what hangs may still use them. */
typedef struct CalibOverlapRun CalibOverlapRun;
CalibOverlapRun *calib_overlap_run_new(CalibTraffic *traffic, CalibCudaWork *const *works);
void calib_overlap_run_free(CalibOverlapRun *run);
CalibStatus calib_overlap_run(CalibOverlapRun *run, const CalibTogether *together,
                              const CalibTiming *timing, double *us, CalibError *error);
/* Compute beside copies to pinned host memory, on one GPU. */
CalibStatus calib_overlap_with_copy(CalibGpu *gpu, const CalibOverlap *overlap,
                                    const CalibTiming *timing, double *us, CalibError *error);
