/* What can be enqueued, made from a case: one maker a kind. Each lays out the arena anew, so that only the last one made
 * may be launched. */
#pragma once

#include "calib/cuda_gpu.h"

/* Of a GEMM, a kernel or attention, as below. */
CalibStatus calib_cuda_work_new(CalibGpu *gpu, const CalibCase *what, CalibCudaWork **ret,
                                CalibError *error);
/* The caller frees it (work->free) before it makes the next. */
CalibStatus calib_cuda_gemm_new(CalibGpu *gpu, const CalibGemm *gemm, CalibCudaWork **ret,
                                CalibError *error);
CalibStatus calib_cuda_memory_new(CalibGpu *gpu, const CalibMemory *memory, CalibCudaWork **ret,
                                  CalibError *error);
CalibStatus calib_cuda_copy_new(CalibGpu *gpu, const CalibMemory *memory, CalibCudaWork **ret,
                                CalibError *error);
/* Unfused; calib_fused_new where cuDNN is: never some of each. */
CalibStatus calib_cuda_attention_new(CalibGpu *gpu, const CalibAttention *attention,
                                     CalibCudaWork **ret, CalibError *error);
/* CALIB_SYNC, by the host's clock. */
CalibStatus calib_cuda_time_sync(CalibGpu *gpu, const CalibTiming *timing, double *us,
                                 CalibError *error);
/* What runs attention, as a table's head has it. */
void calib_cuda_attention_name(const CalibGpu *gpu, char *text, size_t size);
