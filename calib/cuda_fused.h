/* Attention in one kernel of cuDNN. */
#pragma once

#include "calib/cuda_gpu.h"

/* Leaves gpu->fused NULL where cuDNN, or what it needs of the GPU, is not there. */
CalibStatus calib_fused_open(CalibGpu *gpu, CalibError *error);
void calib_fused_close(CalibGpu *gpu);
/* "9.19.0"; empty where there is none. */
void calib_fused_version(const CalibGpu *gpu, char *text, size_t size);
/* Only where gpu->fused is set. */
CalibStatus calib_fused_new(CalibGpu *gpu, const CalibAttention *attention, CalibCudaWork **ret,
                            CalibError *error);
