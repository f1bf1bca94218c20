/* Matrix products by cuBLASLt.
 *
 * The kernel is the heuristic's first one that runs, as in PyTorch and Transformer Engine: the best of several would be
 * faster than what a training step gets. cuBLAS is column-major, where row-major C = A B is C' = B' A': its A is our B. */
#include "config.h"

#include "calib/cuda_product.h"

#include "calib/cuda_error.h"

#include <string.h>

/* --- types ------------------------------------------------------------------------------------ */

static cudaDataType_t
input_type(CalibDtype dtype)
{
    switch (dtype) {
    case CALIB_FP16:
        return CUDA_R_16F;
    case CALIB_BF16:
        return CUDA_R_16BF;
#if CUDART_VERSION >= 11080
    case CALIB_FP8:
        return CUDA_R_8F_E4M3;
#endif
    default:
        return CUDA_R_32F;
    }
}

static cudaDataType_t
output_type(const CalibProductSpec *spec)
{
    if (spec->accumulate)
        return CUDA_R_32F;
    return spec->dtype == CALIB_FP8 ? CUDA_R_16BF : input_type(spec->dtype);
}

int
calib_product_output_bytes(const CalibProductSpec *spec)
{
    return output_type(spec) == CUDA_R_32F ? 4 : 2;
}

static cublasComputeType_t
compute_type(CalibDtype dtype)
{
    return dtype == CALIB_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/* Kernels of 8 bits exist for k contiguous in both operands only; who trains in fp8 transposes before (or keeps both). */
static CalibPass
layout_of(const CalibProductSpec *spec)
{
    return spec->dtype == CALIB_FP8 ? CALIB_FORWARD : spec->layout;
}

/* cuBLAS' view: its A is n x k, or k x n where `transposed`. */
static bool
is_a_transposed(const CalibProductSpec *spec)
{
    return layout_of(spec) == CALIB_FORWARD;
}

static bool
is_b_transposed(const CalibProductSpec *spec)
{
    return layout_of(spec) == CALIB_WGRAD;
}

/* --- descriptors ------------------------------------------------------------------------------ */

/* Column-major and dense: rows x columns, or the other way round where transposed. */
static CalibStatus
make_layout(const CalibGpu *gpu, cudaDataType_t type, int64_t rows, int64_t columns,
            bool transposed, int64_t batch, cublasLtMatrixLayout_t *ret, CalibError *error)
{
    int64_t height = transposed ? columns : rows, width = transposed ? rows : columns;
    CALIB_CUBLAS(gpu,
                 cublasLtMatrixLayoutCreate(ret, type, (uint64_t)height, (uint64_t)width, height));
    if (batch > 1) {
        int32_t count = (int32_t)batch;
        int64_t stride = rows * columns;
        CALIB_CUBLAS(gpu, cublasLtMatrixLayoutSetAttribute(*ret, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                           &count, sizeof count));
        CALIB_CUBLAS(
            gpu, cublasLtMatrixLayoutSetAttribute(*ret, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                  &stride, sizeof stride));
    }
    return CALIB_OK;
}

static CalibStatus
make_operation(const CalibGpu *gpu, const CalibProductSpec *spec, cublasLtMatmulDesc_t *ret,
               CalibError *error)
{
    cublasOperation_t a = is_a_transposed(spec) ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t b = is_b_transposed(spec) ? CUBLAS_OP_T : CUBLAS_OP_N;
    CALIB_CUBLAS(gpu, cublasLtMatmulDescCreate(ret, compute_type(spec->dtype), CUDA_R_32F));
    CALIB_CUBLAS(gpu,
                 cublasLtMatmulDescSetAttribute(*ret, CUBLASLT_MATMUL_DESC_TRANSA, &a, sizeof a));
    CALIB_CUBLAS(gpu,
                 cublasLtMatmulDescSetAttribute(*ret, CUBLASLT_MATMUL_DESC_TRANSB, &b, sizeof b));
#if CUDART_VERSION >= 11080
    if (spec->dtype == CALIB_FP8) {
        const void *scale = gpu->one;
        int8_t fast = spec->fast_sums;
        CALIB_CUBLAS(gpu, cublasLtMatmulDescSetAttribute(*ret, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                                                         &scale, sizeof scale));
        CALIB_CUBLAS(gpu, cublasLtMatmulDescSetAttribute(*ret, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                                                         &scale, sizeof scale));
        CALIB_CUBLAS(gpu, cublasLtMatmulDescSetAttribute(*ret, CUBLASLT_MATMUL_DESC_FAST_ACCUM,
                                                         &fast, sizeof fast));
    }
#endif
    return CALIB_OK;
}

static CalibStatus
ask_heuristic(const CalibGpu *gpu, CalibProduct *p, cublasLtMatmulPreference_t preference,
              CalibError *error)
{
    size_t workspace = CALIB_WORKSPACE_BYTES;
    cublasLtMatmulHeuristicResult_t found[CALIB_PRODUCT_KERNELS];
    int n = 0;
    CALIB_CUBLAS(gpu, cublasLtMatmulPreferenceSetAttribute(preference,
                                                           CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                           &workspace, sizeof workspace));
    cublasStatus_t code =
        cublasLtMatmulAlgoGetHeuristic(gpu->lt, p->operation, p->a, p->b, p->c, p->c, preference,
                                       CALIB_PRODUCT_KERNELS, found, &n);
    if (code == CUBLAS_STATUS_NOT_SUPPORTED || code == CUBLAS_STATUS_INVALID_VALUE)
        return CALIB_OK; /* no kernel: the fall-back says more */
    if (code != CUBLAS_STATUS_SUCCESS)
        return calib_cublas_failed(gpu->rank, "cublasLtMatmulAlgoGetHeuristic", code, __FILE__,
                                   __LINE__, error);
    for (int i = 0; i < n; i++)
        if (found[i].state == CUBLAS_STATUS_SUCCESS)
            p->kernels[p->n_kernels++] = found[i].algo;
    return CALIB_OK;
}

static CalibStatus
choose_kernels(const CalibGpu *gpu, CalibProduct *p, CalibError *error)
{
    cublasLtMatmulPreference_t preference;
    CALIB_CUBLAS(gpu, cublasLtMatmulPreferenceCreate(&preference));
    CalibStatus status = ask_heuristic(gpu, p, preference, error);
    cublasLtMatmulPreferenceDestroy(preference);
    return status;
}

static CalibStatus
check_dtype(const CalibGpu *gpu, CalibDtype dtype, CalibError *error)
{
    if (dtype != CALIB_FP8)
        return CALIB_OK;
#if CUDART_VERSION < 11080
    (void)gpu;
    return calib_cannot(error, "fp8: built with a CUDA older than 11.8");
#else
    if (gpu->compute_capability >= 89)
        return CALIB_OK;
    return calib_cannot(error, "fp8: compute capability %d.%d has none",
                        gpu->compute_capability / 10, gpu->compute_capability % 10);
#endif
}

CalibStatus
calib_product_init(CalibGpu *gpu, const CalibProductSpec *spec, CalibProduct *ret,
                   CalibError *error)
{
    CalibProduct *p = ret;
    cudaDataType_t type = input_type(spec->dtype);
    memset(p, 0, sizeof *p);
    p->spec = *spec;
    CALIB_TRY(check_dtype(gpu, spec->dtype, error));
    CALIB_TRY(make_operation(gpu, spec, &p->operation, error));
    CALIB_TRY(
        make_layout(gpu, type, spec->n, spec->k, is_a_transposed(spec), spec->batch, &p->a, error));
    CALIB_TRY(
        make_layout(gpu, type, spec->k, spec->m, is_b_transposed(spec), spec->batch, &p->b, error));
    CALIB_TRY(
        make_layout(gpu, output_type(spec), spec->n, spec->m, false, spec->batch, &p->c, error));
    return choose_kernels(gpu, p, error);
}

void
calib_product_clear(CalibProduct *p)
{
    if (p->a != NULL)
        cublasLtMatrixLayoutDestroy(p->a);
    if (p->b != NULL)
        cublasLtMatrixLayoutDestroy(p->b);
    if (p->c != NULL)
        cublasLtMatrixLayoutDestroy(p->c);
    if (p->operation != NULL)
        cublasLtMatmulDescDestroy(p->operation);
    memset(p, 0, sizeof *p);
}

/* --- launch ----------------------------------------------------------------------------------- */

static CalibStatus
launch_fallback(CalibGpu *gpu, const CalibProduct *p, const void *a, const void *b, void *c,
                int stream, CalibError *error)
{
    const CalibProductSpec *s = &p->spec;
    const float alpha = 1, beta = s->accumulate ? 1 : 0;
    bool a_transposed = is_a_transposed(s), b_transposed = is_b_transposed(s);
    if (s->dtype == CALIB_FP8)
        return calib_cannot(error, "cuBLASLt has no fp8 kernel for this shape (sizes that 16 does "
                                   "not divide?)");
    cudaDataType_t type = input_type(s->dtype);
    CALIB_CUBLAS(gpu, cublasSetStream(gpu->cublas, gpu->streams[stream]));
    CALIB_CUBLAS(gpu, cublasGemmStridedBatchedEx(
                          gpu->cublas, a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                          b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, (int)s->n, (int)s->m, (int)s->k,
                          &alpha, b, type, (int)(a_transposed ? s->k : s->n), s->n * s->k, a, type,
                          (int)(b_transposed ? s->m : s->k), s->m * s->k, &beta, c, output_type(s),
                          (int)s->n, s->m * s->n, (int)s->batch, compute_type(s->dtype),
                          CUBLAS_GEMM_DEFAULT));
    return CALIB_OK;
}

CalibStatus
calib_product_launch(CalibGpu *gpu, CalibProduct *p, const void *a, const void *b, void *c,
                     int stream, CalibError *error)
{
    const float alpha = 1, beta = p->spec.accumulate ? 1 : 0;
    void *workspace = gpu->workspaces + (size_t)stream * CALIB_WORKSPACE_BYTES;
    for (; p->kernel < p->n_kernels; p->kernel++) {
        cublasStatus_t code = cublasLtMatmul(gpu->lt, p->operation, &alpha, b, p->a, a, p->b, &beta,
                                             c, p->c, c, p->c, &p->kernels[p->kernel], workspace,
                                             CALIB_WORKSPACE_BYTES, gpu->streams[stream]);
        if (code == CUBLAS_STATUS_SUCCESS)
            return CALIB_OK;
        if (code != CUBLAS_STATUS_NOT_SUPPORTED && code != CUBLAS_STATUS_INVALID_VALUE)
            return calib_cublas_failed(gpu->rank, "cublasLtMatmul", code, __FILE__, __LINE__,
                                       error);
    }
    return launch_fallback(gpu, p, a, b, c, stream, error);
}
