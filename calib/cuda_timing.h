/* Times calls on the GPU's own clock, with events around many of them. */
#pragma once

#include "calib/cuda_gpu.h"

/* Writes timing->samples microseconds of one call each. The host is never waited for: it enqueues a whole sample while
 * the stream is held, so that short kernels follow each other as fast as the GPU takes them, as they do where a training
 * program runs ahead of its GPU. */
CalibStatus calib_cuda_time(CalibGpu *gpu, CalibCudaWork *work, const CalibTiming *timing,
                            double *us, CalibError *error);
/* Once, untimed: libraries load their kernels, and what fails does so here. */
CalibStatus calib_cuda_run_once(CalibGpu *gpu, CalibCudaWork *work, CalibError *error);

/* Holds a stream of this GPU until gate `which` (below CALIB_MAX_SAMPLES) is opened, or for a moment at most. */
CalibStatus calib_cuda_hold(CalibGpu *gpu, cudaStream_t stream, unsigned which, CalibError *error);
void calib_cuda_open(CalibGpu *gpu, unsigned which);
