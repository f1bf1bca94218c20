/* The machine as CUDA, NVML and the operating system describe it. */
#pragma once

#include "calib/cuda_gpu.h"

/* The name that all GPUs that this process sees have; CALIB_FAILED where they differ. */
CalibStatus calib_cuda_kind(int rank, char *ret, size_t size, CalibError *error);
/* All of CalibMachine but the processes of the run. */
CalibStatus calib_cuda_describe(CalibGpu *gpu, CalibMachine *ret, CalibError *error);
