/* One matrix product, plain or strided batched, by cuBLASLt; by cublasGemmStridedBatchedEx where that has no kernel. */
#pragma once

#include "calib/cuda_gpu.h"

/* Row-major C of m x n, dense, as are A and B. Which of them lie transposed is what the passes of a linear layer have:
 * forward A[m][k] B[n][k], dgrad A[m][k] B[k][n], wgrad A[k][m] B[k][n]. */
typedef struct {
    CalibDtype dtype;
    CalibPass layout;
    int64_t m, n, k, batch;
    bool accumulate; /* C += in fp32; else C = in the dtype, of fp8 in bf16 */
    bool fast_sums;  /* of fp8: fewer bits in sums, as Transformer Engine's forward pass has them */
} CalibProductSpec;

enum { CALIB_PRODUCT_KERNELS = 8 };
typedef struct {
    CalibProductSpec spec;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, c; /* cuBLAS' A and B: column-major, so B and A of the spec */
    cublasLtMatmulAlgo_t kernels[CALIB_PRODUCT_KERNELS];
    int n_kernels, kernel; /* the heuristic's order; the first that runs stays */
} CalibProduct;

/* Cleared by calib_product_clear, also after a failure. */
CalibStatus calib_product_init(CalibGpu *gpu, const CalibProductSpec *spec, CalibProduct *ret,
                               CalibError *error);
void calib_product_clear(CalibProduct *product);
/* `stream`: of the GPU's, whose workspace is used. */
CalibStatus calib_product_launch(CalibGpu *gpu, CalibProduct *product, const void *a, const void *b,
                                 void *c, int stream, CalibError *error);
int calib_product_output_bytes(const CalibProductSpec *spec);
