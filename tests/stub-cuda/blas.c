/* cuBLAS and cuBLASLt of a GPU that computes nothing: they hold shapes and addresses against each other. */
#include "device.h"

#include <cublasLt.h>
#include <stdlib.h>
#include <string.h>

struct StubOperation {
    cublasOperation_t a, b;
    cublasComputeType_t compute;
    const void *a_scale, *b_scale;
};
struct StubLayout {
    cudaDataType_t type;
    int64_t rows, columns, height, batch, stride;
};

static int
type_bytes(cudaDataType_t type)
{
    return type == CUDA_R_32F ? 4 : type == CUDA_R_8F_E4M3 ? 1 : 2;
}

/* --- the product ------------------------------------------------------------------------------ */

static void
check_matrix(const char *function, const void *at, const struct StubLayout *l)
{
    int64_t elements = (l->batch - 1) * l->stride + l->height * (l->columns - 1) + l->rows;
    stub_check(function, at, (size_t)(elements * type_bytes(l->type)));
}

/* Column-major: C is m x n, A m x k or its transpose, B k x n or its transpose. */
static bool
fits(const struct StubOperation *o, const struct StubLayout *a, const struct StubLayout *b,
     const struct StubLayout *c, int64_t *k)
{
    *k = o->a == CUBLAS_OP_T ? a->rows : a->columns;
    return (o->a == CUBLAS_OP_T ? a->columns : a->rows) == c->rows &&
           (o->b == CUBLAS_OP_T ? b->rows : b->columns) == c->columns &&
           (o->b == CUBLAS_OP_T ? b->columns : b->rows) == *k && a->batch == b->batch &&
           a->batch == c->batch && a->type == b->type && a->height >= a->rows &&
           b->height >= b->rows && c->height >= c->rows;
}

/* As cuBLASLt on Hopper: A transposed, B not, sizes in steps of 16, scales given. */
static bool
suits_fp8(const struct StubOperation *o, const struct StubLayout *a, const struct StubLayout *c)
{
    return o->a == CUBLAS_OP_T && o->b == CUBLAS_OP_N && a->rows % 16 == 0 && c->rows % 16 == 0 &&
           c->columns % 16 == 0;
}

static double
matrix_bytes(const struct StubLayout *l)
{
    return (double)l->rows * (double)l->columns * (double)l->batch * type_bytes(l->type);
}

/* Computing or moving, whichever takes longer; a C that is added to is read as well. */
static double
product_us(const struct StubOperation *o, const struct StubLayout *a, const struct StubLayout *b,
           const struct StubLayout *c, int64_t k, bool adds)
{
    double speed = a->type == CUDA_R_8F_E4M3                    ? 2
                   : a->type != CUDA_R_32F                      ? 1
                   : o->compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? 0.5
                                                                : 0.0625;
    double flops = 2.0 * (double)c->rows * (double)c->columns * (double)k * (double)c->batch;
    double compute_us = flops / (speed * STUB_PEAK_FLOP_US);
    double move_us =
        (matrix_bytes(a) + matrix_bytes(b) + matrix_bytes(c) * (adds ? 2 : 1)) / STUB_MEMORY_B_US;
    return STUB_FLOOR_US + (compute_us > move_us ? compute_us : move_us);
}

static cublasStatus_t
multiply(const char *function, const struct StubOperation *o, const void *a,
         const struct StubLayout *al, const void *b, const struct StubLayout *bl, const void *c,
         const struct StubLayout *cl, const void *beta, cudaStream_t stream)
{
    int64_t k;
    if (!fits(o, al, bl, cl, &k))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (al->type == CUDA_R_8F_E4M3) {
        if (!suits_fp8(o, al, cl))
            return CUBLAS_STATUS_NOT_SUPPORTED;
        stub_check(function, o->a_scale, sizeof(float));
        stub_check(function, o->b_scale, sizeof(float));
    }
    check_matrix(function, a, al);
    check_matrix(function, b, bl);
    check_matrix(function, c, cl);
    stub_spend(stream, product_us(o, al, bl, cl, k, *(const float *)beta != 0));
    return CUBLAS_STATUS_SUCCESS;
}

/* --- cuBLASLt --------------------------------------------------------------------------------- */

size_t
cublasLtGetVersion(void)
{
    return 130001;
}

cublasStatus_t
cublasLtCreate(cublasLtHandle_t *handle)
{
    STUB_ENTER(cublasStatus_t);
    *handle = malloc(1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtDestroy(cublasLtHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *operation, cublasComputeType_t compute,
                         cudaDataType_t scale)
{
    STUB_ENTER(cublasStatus_t);
    if (scale != CUDA_R_32F)
        return CUBLAS_STATUS_INVALID_VALUE;
    *operation = calloc(1, sizeof **operation);
    (*operation)->compute = compute;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation)
{
    free(operation);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t o, cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t size)
{
    STUB_ENTER(cublasStatus_t);
    struct {
        void *at;
        size_t size;
    } places[] = {
        [CUBLASLT_MATMUL_DESC_TRANSA] = {&o->a, sizeof o->a},
        [CUBLASLT_MATMUL_DESC_TRANSB] = {&o->b, sizeof o->b},
        [CUBLASLT_MATMUL_DESC_A_SCALE_POINTER] = {&o->a_scale, sizeof o->a_scale},
        [CUBLASLT_MATMUL_DESC_B_SCALE_POINTER] = {&o->b_scale, sizeof o->b_scale},
        [CUBLASLT_MATMUL_DESC_FAST_ACCUM] = {NULL, 1},
    };
    if (size != places[attribute].size)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (places[attribute].at != NULL)
        memcpy(places[attribute].at, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType_t type, uint64_t rows,
                           uint64_t columns, int64_t height)
{
    STUB_ENTER(cublasStatus_t);
    *layout = calloc(1, sizeof **layout);
    **layout = (struct StubLayout){type, (int64_t)rows, (int64_t)columns, height, 1, 0};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    free(layout);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t attribute, const void *value,
                                 size_t size)
{
    STUB_ENTER(cublasStatus_t);
    int32_t count = 0;
    if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && size == sizeof count) {
        memcpy(&count, value, size);
        layout->batch = count;
    } else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET &&
               size == sizeof layout->stride) {
        memcpy(&layout->stride, value, size);
    } else {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    STUB_ENTER(cublasStatus_t);
    *preference = malloc(1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    free(preference);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                     cublasLtMatmulPreferenceAttributes_t attribute,
                                     const void *value, size_t size)
{
    (void)preference;
    (void)attribute;
    (void)value;
    STUB_ENTER(cublasStatus_t);
    return size == sizeof(size_t) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

/* Two kernels for each product that suits it. */
cublasStatus_t
cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                               cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                               cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                               cublasLtMatmulPreference_t preference, int most,
                               cublasLtMatmulHeuristicResult_t *results, int *n)
{
    (void)handle;
    (void)d;
    (void)preference;
    STUB_ENTER(cublasStatus_t);
    int64_t k;
    if (!fits(operation, a, b, c, &k))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (a->type == CUDA_R_8F_E4M3 && !suits_fp8(operation, a, c))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *n = most < 2 ? most : 2;
    memset(results, 0, (size_t)*n * sizeof *results);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void *alpha,
               const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
               cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
               cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,
               const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspace_bytes,
               cudaStream_t stream)
{
    (void)handle;
    (void)alpha;
    (void)algo;
    STUB_ENTER(cublasStatus_t);
    stub_check(__func__, workspace, workspace_bytes);
    if (c != d || c_layout != d_layout)
        return CUBLAS_STATUS_INVALID_VALUE;
    return multiply(__func__, operation, a, a_layout, b, b_layout, c, c_layout, beta, stream);
}

/* --- cuBLAS ----------------------------------------------------------------------------------- */

struct StubBlas {
    cudaStream_t stream;
};

const char *
cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_NOT_SUPPORTED   ? "CUBLAS_STATUS_NOT_SUPPORTED"
           : status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
                                                   : "a failure that was asked for";
}

cublasStatus_t
cublasCreate(cublasHandle_t *handle)
{
    STUB_ENTER(cublasStatus_t);
    *handle = calloc(1, sizeof **handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasDestroy(cublasHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    STUB_ENTER(cublasStatus_t);
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t a_op, cublasOperation_t b_op,
                           int m, int n, int k, const void *alpha, const void *a,
                           cudaDataType_t a_type, int a_height, long long a_stride, const void *b,
                           cudaDataType_t b_type, int b_height, long long b_stride,
                           const void *beta, void *c, cudaDataType_t c_type, int c_height,
                           long long c_stride, int batch, cublasComputeType_t compute,
                           cublasGemmAlgo_t algo)
{
    (void)alpha;
    (void)algo;
    STUB_ENTER(cublasStatus_t);
    struct StubOperation o = {.a = a_op, .b = b_op, .compute = compute};
    struct StubLayout al = {
        a_type,  a_op == CUBLAS_OP_T ? k : m, a_op == CUBLAS_OP_T ? m : k, a_height, batch,
        a_stride};
    struct StubLayout bl = {
        b_type,  b_op == CUBLAS_OP_T ? n : k, b_op == CUBLAS_OP_T ? k : n, b_height, batch,
        b_stride};
    struct StubLayout cl = {c_type, m, n, c_height, batch, c_stride};
    return multiply(__func__, &o, a, &al, b, &bl, c, &cl, beta, handle->stream);
}
