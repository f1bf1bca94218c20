/* Kernels bound by memory, as training frameworks have them; compiled by nvcc (kernels*.cu). */
#pragma once

#include "calib/backend.h"

#include <cuda_runtime_api.h>

/* Blocks that share the rows of norm_backward: each leaves its part of the weight's gradient. */
#define CALIB_NORM_PARTS 512
/* Rows of norm, softmax and their backward passes are held in registers: at most so many elements. */
#define CALIB_MOST_WIDTH 4096
/* Elements of a head in rope; a row has whole ones. */
#define CALIB_ROPE_HEAD 128

#ifdef __cplusplus
extern "C" {
#endif

/* `arrays` as calib/cuda_memory.c lists them: `rows` of `width` elements, a multiple of 8 and at most
 * CALIB_MOST_WIDTH. CALIB_LAUNCH is an empty kernel, without arrays. */
cudaError_t calib_kernel_launch(CalibKernel kernel, void *const *arrays, int64_t rows,
                                int64_t width, cudaStream_t stream);

/* Softmax of unfused attention, in place: rows of `keys` scores, in which query r of a head, r = row modulo `queries`,
 * sees keys 0..r where `causal`. fp16 or bf16. */
cudaError_t calib_kernel_scores(void *scores, CalibDtype dtype, int64_t rows, int64_t queries,
                                int64_t keys, bool causal, float scale, cudaStream_t stream);
/* Its backward: gradient <- scale x probability x (gradient - sum over keys of probability x gradient). */
cudaError_t calib_kernel_scores_backward(const void *probability, void *gradient, CalibDtype dtype,
                                         int64_t rows, int64_t queries, int64_t keys, bool causal,
                                         float scale, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
