/* Attention that nothing fuses: products by cuBLASLt, softmax by a kernel of ours, scores in memory.
 *
 * Query heads that share a key head are rows of one product: Q is [batch, kv_heads][queries x seq][head_dim], where
 * queries = heads / kv_heads. Forward: S = Q K', P = softmax(S), O = P V. Backward, with P kept: dV = P' dO, dP = dO V',
 * dS = softmax'(P, dP), dQ = dS K, dK = dS' Q. */
#include "config.h"

#include "calib/cuda_work.h"

#include "calib/case.h"
#include "calib/cuda_error.h"
#include "calib/cuda_fused.h"
#include "calib/cuda_product.h"
#ifdef CALIB_KERNELS
#include "calib/kernels.h"
#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef CALIB_KERNELS

#define UNFUSED "unfused: cuBLASLt products and a softmax kernel"

typedef enum { Q, K, V, O, P, DQ, DK, DV, DO, DP, N_TENSORS } Tensor;
typedef enum {
    SCORES, /* rows x seq over head_dim: Q K', dO V' */
    VALUES, /* rows x head_dim over seq: P V, dS K */
    KEYS,   /* seq x head_dim over rows: P' dO, dS' Q */
    N_PRODUCTS
} Product;

typedef struct {
    CalibCudaWork work;
    CalibGpu *gpu;
    CalibAttention attention;
    CalibProduct products[N_PRODUCTS];
    int64_t at[N_TENSORS], copy_bytes;
    unsigned copies;
    char *arena;
} Attention;

static void
free_attention(CalibCudaWork *work)
{
    Attention *a = (Attention *)work;
    for (int i = 0; i < N_PRODUCTS; i++)
        calib_product_clear(&a->products[i]);
    free(a);
}

static int64_t
rows_of(const CalibAttention *a)
{
    return a->heads / a->kv_heads * a->seq;
}

/* --- launch ----------------------------------------------------------------------------------- */

static CalibStatus
multiply(Attention *a, Product product, Tensor left, Tensor right, Tensor result, char *copy,
         CalibError *error)
{
    return calib_product_launch(a->gpu, &a->products[product], copy + a->at[left],
                                copy + a->at[right], copy + a->at[result], 0, error);
}

static CalibStatus
launch_forward(Attention *a, char *copy, CalibError *error)
{
    const CalibAttention *t = &a->attention;
    float scale = 1 / sqrtf((float)t->head_dim);
    CALIB_TRY(multiply(a, SCORES, Q, K, P, copy, error));
    CALIB_CUDA(a->gpu, calib_kernel_scores(copy + a->at[P], t->dtype, t->batch * t->heads * t->seq,
                                           t->seq, t->seq, t->causal, scale, a->gpu->streams[0]));
    return multiply(a, VALUES, P, V, O, copy, error);
}

static CalibStatus
launch_backward(Attention *a, char *copy, CalibError *error)
{
    const CalibAttention *t = &a->attention;
    float scale = 1 / sqrtf((float)t->head_dim);
    CALIB_TRY(multiply(a, KEYS, P, DO, DV, copy, error));
    CALIB_TRY(multiply(a, SCORES, DO, V, DP, copy, error));
    CALIB_CUDA(a->gpu, calib_kernel_scores_backward(copy + a->at[P], copy + a->at[DP], t->dtype,
                                                    t->batch * t->heads * t->seq, t->seq, t->seq,
                                                    t->causal, scale, a->gpu->streams[0]));
    CALIB_TRY(multiply(a, VALUES, DP, K, DQ, copy, error));
    return multiply(a, KEYS, DP, Q, DK, copy, error);
}

static CalibStatus
launch(CalibCudaWork *work, unsigned turn, CalibError *error)
{
    Attention *a = (Attention *)work;
    char *copy = a->arena + turn % a->copies * a->copy_bytes;
    return a->attention.backward ? launch_backward(a, copy, error) : launch_forward(a, copy, error);
}

/* --- make ------------------------------------------------------------------------------------- */

static CalibStatus
make_products(Attention *a, CalibError *error)
{
    const CalibAttention *t = &a->attention;
    CalibProductSpec same = {.dtype = t->dtype, .batch = t->batch * t->kv_heads};
    CalibProductSpec specs[N_PRODUCTS] = {same, same, same};
    specs[SCORES].layout = CALIB_FORWARD;
    specs[SCORES].m = rows_of(t);
    specs[SCORES].n = t->seq;
    specs[SCORES].k = t->head_dim;
    specs[VALUES].layout = CALIB_DGRAD;
    specs[VALUES].m = rows_of(t);
    specs[VALUES].n = t->head_dim;
    specs[VALUES].k = t->seq;
    specs[KEYS].layout = CALIB_WGRAD;
    specs[KEYS].m = t->seq;
    specs[KEYS].n = t->head_dim;
    specs[KEYS].k = rows_of(t);
    for (int i = 0; i < (t->backward ? N_PRODUCTS : KEYS); i++)
        CALIB_TRY(calib_product_init(a->gpu, &specs[i], &a->products[i], error));
    return CALIB_OK;
}

static int64_t
tensor_bytes(const CalibAttention *t, Tensor tensor)
{
    int64_t each = calib_dtype_bytes(t->dtype), tokens = t->batch * t->seq;
    if (!t->backward && tensor > P)
        return 0;
    if (tensor == P || tensor == DP)
        return tokens * t->heads * t->seq * each;
    bool keys = tensor == K || tensor == V || tensor == DK || tensor == DV;
    return tokens * (keys ? t->kv_heads : t->heads) * t->head_dim * each;
}

static CalibStatus
make_buffers(Attention *a, CalibError *error)
{
    for (int i = 0; i < N_TENSORS; i++) {
        a->at[i] = a->copy_bytes;
        a->copy_bytes = calib_gpu_after(a->copy_bytes, tensor_bytes(&a->attention, (Tensor)i));
    }
    a->copies = calib_gpu_rotation(a->gpu, a->copy_bytes);
    CALIB_TRY(calib_gpu_reserve(a->gpu, a->copies * a->copy_bytes, &a->arena, error));
    return calib_gpu_fill(a->gpu, a->arena, a->copies * a->copy_bytes, a->attention.dtype, error);
}

static CalibStatus
check(const CalibAttention *t, CalibError *error)
{
    if (t->dtype != CALIB_FP16 && t->dtype != CALIB_BF16)
        return calib_cannot(error, "unfused attention: fp16 and bf16 only");
    if (t->seq % 8 != 0)
        return calib_cannot(error, "unfused attention: 8 has to divide the sequence");
    return CALIB_OK;
}

CalibStatus
calib_cuda_attention_new(CalibGpu *gpu, const CalibAttention *attention, CalibCudaWork **ret,
                         CalibError *error)
{
    CALIB_TRY(check(attention, error));
    Attention *a = calloc(1, sizeof *a);
    if (a == NULL)
        return calib_cannot(error, "no host memory");
    a->work.launch = launch;
    a->work.free = free_attention;
    a->gpu = gpu;
    a->attention = *attention;
    CalibStatus status = make_products(a, error);
    if (status == CALIB_OK)
        status = make_buffers(a, error);
    if (status != CALIB_OK) {
        free_attention(&a->work);
        return status;
    }
    *ret = &a->work;
    return CALIB_OK;
}

#else

#define UNFUSED "none: built without nvcc"

CalibStatus
calib_cuda_attention_new(CalibGpu *gpu, const CalibAttention *attention, CalibCudaWork **ret,
                         CalibError *error)
{
    (void)gpu;
    (void)attention;
    (void)ret;
    return calib_cannot(error, "attention: built without nvcc, which compiles its softmax");
}

#endif

void
calib_cuda_attention_name(const CalibGpu *gpu, char *text, size_t size)
{
    char version[32];
    calib_fused_version(gpu, version, sizeof version);
    if (*version != '\0')
        snprintf(text, size, "cuDNN %s fused", version);
    else
        snprintf(text, size, UNFUSED);
}
