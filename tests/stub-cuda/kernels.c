/* Kernels of a GPU that computes nothing, and its NVML: calib/kernels.h without nvcc. */
#include "calib/kernels.h"

#include "device.h"

#include <stdio.h>
#include <string.h>

/* Bytes that each array of a kernel has, an element, a row and a column; and what an element's calls move. */
typedef struct {
    double moved;
    int n;
    struct {
        int element, row, column;
    } arrays[7];
} Kernel;

static const Kernel kernels[CALIB_N_KERNELS] = {
    [CALIB_COPY] = {4, 2, {{2, 0, 0}, {2, 0, 0}}},
    [CALIB_TRIAD] = {12, 3, {{4, 0, 0}, {4, 0, 0}, {4, 0, 0}}},
    [CALIB_NORM] = {4, 4, {{2, 0, 0}, {2, 0, 0}, {0, 0, 2}, {0, 4, 0}}},
    [CALIB_NORM_BACKWARD] =
        {6, 7, {{2, 0, 0}, {2, 0, 0}, {2, 0, 0}, {0, 0, 2}, {0, 4, 0}, {0, 0, 2048}, {0, 0, 4}}},
    [CALIB_SOFTMAX] = {4, 2, {{2, 0, 0}, {2, 0, 0}}},
    [CALIB_SOFTMAX_BACKWARD] = {6, 3, {{2, 0, 0}, {2, 0, 0}, {2, 0, 0}}},
    [CALIB_ACTIVATION] = {6, 3, {{2, 0, 0}, {2, 0, 0}, {2, 0, 0}}},
    [CALIB_ACTIVATION_BACKWARD] = {10, 5, {{2, 0, 0}, {2, 0, 0}, {2, 0, 0}, {2, 0, 0}, {2, 0, 0}}},
    [CALIB_ADD] = {6, 3, {{2, 0, 0}, {2, 0, 0}, {2, 0, 0}}},
    [CALIB_DROPOUT] = {5, 3, {{2, 0, 0}, {2, 0, 0}, {1, 0, 0}}},
    [CALIB_ROPE] = {4, 3, {{2, 0, 0}, {2, 0, 0}, {0, 512, 0}}},
    [CALIB_EMBEDDING] = {4, 3, {{2, 0, 0}, {2, 0, 0}, {0, 4, 0}}},
    [CALIB_EMBEDDING_BACKWARD] = {6, 3, {{2, 0, 0}, {4, 0, 0}, {0, 4, 0}}},
    [CALIB_CROSS_ENTROPY] = {38, 4, {{2, 0, 0}, {4, 0, 0}, {0, 4, 0}, {0, 4, 0}}},
    [CALIB_CROSS_ENTROPY_BACKWARD] = {14, 3, {{4, 0, 0}, {2, 0, 0}, {0, 4, 0}}},
    [CALIB_ADAM] = {30, 5, {{4, 0, 0}, {4, 0, 0}, {4, 0, 0}, {4, 0, 0}, {2, 0, 0}}},
    [CALIB_REDUCE] = {2, 2, {{2, 0, 0}, {0, 0, 4}}},
    [CALIB_PERMUTE] = {4, 3, {{2, 0, 0}, {2, 0, 0}, {0, 4, 0}}},
    [CALIB_CAST] = {3, 2, {{2, 0, 0}, {1, 0, 0}}},
};

cudaError_t
calib_kernel_launch(CalibKernel kernel, void *const *arrays, int64_t rows, int64_t width,
                    cudaStream_t stream)
{
    STUB_ENTER(cudaError_t);
    const Kernel *k = &kernels[kernel];
    if (k->n > 0 && (rows <= 0 || width <= 0 || width % 8 != 0 || width > CALIB_MOST_WIDTH))
        return cudaErrorInvalidValue;
    for (int i = 0; i < k->n; i++)
        stub_check(__func__, arrays[i],
                   (size_t)(k->arrays[i].element * rows * width + k->arrays[i].row * rows +
                            k->arrays[i].column * width));
    stub_spend(stream, STUB_FLOOR_US + k->moved * (double)(rows * width) / STUB_MEMORY_B_US);
    return cudaSuccess;
}

cudaError_t
calib_kernel_scores(void *scores, CalibDtype dtype, int64_t rows, int64_t queries, int64_t keys,
                    bool causal, float scale, cudaStream_t stream)
{
    (void)dtype;
    (void)causal;
    STUB_ENTER(cudaError_t);
    if (rows % queries != 0 || keys % 8 != 0 || !(scale > 0))
        return cudaErrorInvalidValue;
    stub_check(__func__, scores, (size_t)(rows * keys * 2));
    stub_spend(stream, STUB_FLOOR_US + 4.0 * (double)(rows * keys) / STUB_MEMORY_B_US);
    return cudaSuccess;
}

cudaError_t
calib_kernel_scores_backward(const void *probability, void *gradient, CalibDtype dtype,
                             int64_t rows, int64_t queries, int64_t keys, bool causal, float scale,
                             cudaStream_t stream)
{
    (void)dtype;
    (void)causal;
    STUB_ENTER(cudaError_t);
    if (rows % queries != 0 || keys % 8 != 0 || !(scale > 0))
        return cudaErrorInvalidValue;
    stub_check(__func__, probability, (size_t)(rows * keys * 2));
    stub_check(__func__, gradient, (size_t)(rows * keys * 2));
    stub_spend(stream, STUB_FLOOR_US + 6.0 * (double)(rows * keys) / STUB_MEMORY_B_US);
    return cudaSuccess;
}
