// Scores of unfused attention: softmax and its backward pass over what each query sees.
#include "calib/kernels.cuh"

namespace {

// Read twice, the second time from caches where the row fits; written once. What a query does not see becomes 0.
template <typename T>
__global__ void scores(T *x, int64_t queries, int64_t keys, bool causal, float scale)
{
    int64_t row = blockIdx.x, seen = causal ? row % queries + 1 : keys;
    T *at = x + row * keys;
    float most = Most::none, sum = 0;
    for (int64_t i = 8 * threadIdx.x; i < keys && i < seen; i += 8 * THREADS) {
        Eight e = load(at + i);
        for (int j = 0; j < 8; j++)
            most = i + j < seen ? fmaxf(most, e.v[j]) : most;
    }
    most = over_block<Most>(most);
    for (int64_t i = 8 * threadIdx.x; i < keys && i < seen; i += 8 * THREADS) {
        Eight e = load(at + i);
        for (int j = 0; j < 8; j++)
            sum += i + j < seen ? __expf(scale * (e.v[j] - most)) : 0;
    }
    float part = 1.0f / over_block<Add>(sum);
    for (int64_t i = 8 * threadIdx.x; i < keys; i += 8 * THREADS) {
        Eight e = load(at + i);
        for (int j = 0; j < 8; j++)
            e.v[j] = i + j < seen ? __expf(scale * (e.v[j] - most)) * part : 0;
        store(at + i, e);
    }
}

// Probability and gradient read twice, the second time from caches where rows fit; the gradient written once.
template <typename T>
__global__ void scores_backward(const T *probability, T *gradient, int64_t queries, int64_t keys,
                                bool causal, float scale)
{
    int64_t row = blockIdx.x, seen = causal ? row % queries + 1 : keys;
    const T *p = probability + row * keys;
    T *g = gradient + row * keys;
    float sum = 0;
    for (int64_t i = 8 * threadIdx.x; i < keys && i < seen; i += 8 * THREADS) {
        Eight a = load(p + i), b = load(g + i);
        for (int j = 0; j < 8; j++)
            sum += a.v[j] * b.v[j]; // the probability of what is not seen is 0
    }
    sum = over_block<Add>(sum);
    for (int64_t i = 8 * threadIdx.x; i < keys; i += 8 * THREADS) {
        Eight a = load(p + i), b = load(g + i);
        for (int j = 0; j < 8; j++)
            b.v[j] = scale * a.v[j] * (b.v[j] - sum);
        store(g + i, b);
    }
}

} // namespace

cudaError_t
calib_kernel_scores(void *x, CalibDtype dtype, int64_t rows, int64_t queries, int64_t keys,
                    bool causal, float scale, cudaStream_t stream)
{
    if (dtype == CALIB_FP16)
        scores<<<unsigned(rows), THREADS, 0, stream>>>(static_cast<__half *>(x), queries, keys,
                                                       causal, scale);
    else
        scores<<<unsigned(rows), THREADS, 0, stream>>>(static_cast<bf16 *>(x), queries, keys, causal,
                                                       scale);
    return cudaGetLastError();
}

cudaError_t
calib_kernel_scores_backward(const void *probability, void *gradient, CalibDtype dtype, int64_t rows,
                             int64_t queries, int64_t keys, bool causal, float scale,
                             cudaStream_t stream)
{
    if (dtype == CALIB_FP16)
        scores_backward<<<unsigned(rows), THREADS, 0, stream>>>(
            static_cast<const __half *>(probability), static_cast<__half *>(gradient), queries,
            keys, causal, scale);
    else
        scores_backward<<<unsigned(rows), THREADS, 0, stream>>>(
            static_cast<const bf16 *>(probability), static_cast<bf16 *>(gradient), queries, keys,
            causal, scale);
    return cudaGetLastError();
}
