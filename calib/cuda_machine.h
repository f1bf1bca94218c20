/* The machine as CUDA, NVML and the operating system describe it. */
#pragma once

#include "calib/cuda_gpu.h"

/* All of CalibMachine but the processes of the run. */
CalibStatus calib_cuda_describe(CalibGpu *gpu, CalibMachine *ret, CalibError *error);
