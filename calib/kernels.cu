// Kernels bound by memory. Each says what one ideal pass moves, in bytes an element; what is read once a row or column is
// left out. A thread moves 16 bytes at a time; numbers in registers are fp32.
#include "calib/kernels.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

typedef __nv_bfloat16 bf16;

namespace {

constexpr int THREADS = 256;
constexpr int CHUNKS = CALIB_MOST_WIDTH / (8 * THREADS); // of 8 elements, of one row in one thread

// --- 8 elements ---------------------------------------------------------------------------------

struct Eight {
    float v[8];
};

__device__ float from(bf16 x) { return __bfloat162float(x); }
__device__ float from(__half x) { return __half2float(x); }
__device__ void to(float x, bf16 *at) { *at = __float2bfloat16(x); }
__device__ void to(float x, __half *at) { *at = __float2half(x); }

template <typename T>
__device__ Eight load(const T *at)
{
    uint4 raw = *reinterpret_cast<const uint4 *>(at);
    const T *x = reinterpret_cast<const T *>(&raw);
    Eight e;
#pragma unroll
    for (int i = 0; i < 8; i++)
        e.v[i] = from(x[i]);
    return e;
}

template <typename T>
__device__ void store(T *at, const Eight &e)
{
    uint4 raw;
    T *x = reinterpret_cast<T *>(&raw);
#pragma unroll
    for (int i = 0; i < 8; i++)
        to(e.v[i], &x[i]);
    *reinterpret_cast<uint4 *>(at) = raw;
}

__device__ Eight load(const float *at)
{
    float4 low = reinterpret_cast<const float4 *>(at)[0];
    float4 high = reinterpret_cast<const float4 *>(at)[1];
    return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
}

__device__ void store(float *at, const Eight &e)
{
    reinterpret_cast<float4 *>(at)[0] = make_float4(e.v[0], e.v[1], e.v[2], e.v[3]);
    reinterpret_cast<float4 *>(at)[1] = make_float4(e.v[4], e.v[5], e.v[6], e.v[7]);
}

// --- sums and maxima over a block ---------------------------------------------------------------

struct Add {
    static __device__ float of(float a, float b) { return a + b; }
    static constexpr float none = 0;
};
struct Most {
    static __device__ float of(float a, float b) { return fmaxf(a, b); }
    static constexpr float none = -3.0e38f;
};

template <typename Op>
__device__ float over_block(float value)
{
    __shared__ float warps[32];
    for (int step = 16; step > 0; step /= 2)
        value = Op::of(value, __shfl_xor_sync(0xffffffffu, value, step));
    __syncthreads(); // the last use of `warps` is over
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < blockDim.x / 32 ? warps[threadIdx.x % 32] : Op::none;
    for (int step = 16; step > 0; step /= 2)
        value = Op::of(value, __shfl_xor_sync(0xffffffffu, value, step));
    return value;
}

// --- elements -----------------------------------------------------------------------------------

__device__ int64_t first_element() { return 8 * (int64_t(blockIdx.x) * THREADS + threadIdx.x); }

__global__ void empty() {}

// 2 read, 2 written
__global__ void copy(const bf16 *x, bf16 *y, int64_t n)
{
    int64_t i = first_element();
    if (i < n)
        *reinterpret_cast<uint4 *>(y + i) = *reinterpret_cast<const uint4 *>(x + i);
}

// 8 read, 4 written
__global__ void triad(float *a, const float *b, const float *c, int64_t n)
{
    int64_t i = first_element();
    if (i >= n)
        return;
    Eight x = load(b + i), y = load(c + i);
    for (int j = 0; j < 8; j++)
        x.v[j] += 3.0f * y.v[j];
    store(a + i, x);
}

// 4 read, 2 written
__global__ void add(const bf16 *a, const bf16 *b, bf16 *c, int64_t n)
{
    int64_t i = first_element();
    if (i >= n)
        return;
    Eight x = load(a + i), y = load(b + i);
    for (int j = 0; j < 8; j++)
        x.v[j] += y.v[j];
    store(c + i, x);
}

// SwiGLU, c = silu(a) b: 4 read, 2 written
__global__ void activation(const bf16 *a, const bf16 *b, bf16 *c, int64_t n)
{
    int64_t i = first_element();
    if (i >= n)
        return;
    Eight x = load(a + i), y = load(b + i);
    for (int j = 0; j < 8; j++)
        x.v[j] = x.v[j] / (1.0f + __expf(-x.v[j])) * y.v[j];
    store(c + i, x);
}

// a, b and the gradient dc read, 6; da and db written, 4
__global__ void activation_backward(const bf16 *a, const bf16 *b, const bf16 *dc, bf16 *da, bf16 *db,
                                    int64_t n)
{
    int64_t i = first_element();
    if (i >= n)
        return;
    Eight x = load(a + i), y = load(b + i), g = load(dc + i);
    for (int j = 0; j < 8; j++) {
        float sigmoid = 1.0f / (1.0f + __expf(-x.v[j])), silu = x.v[j] * sigmoid;
        x.v[j] = g.v[j] * y.v[j] * (sigmoid + silu * (1.0f - sigmoid));
        y.v[j] = g.v[j] * silu;
    }
    store(da + i, x);
    store(db + i, y);
}

// Philox 4x32 with 10 rounds (Salmon et al., 2011), what PyTorch draws dropout from.
__device__ uint4 philox(uint64_t counter, uint32_t seed)
{
    uint32_t k0 = seed, k1 = 0x1234567u;
    uint4 c = make_uint4(uint32_t(counter), uint32_t(counter >> 32), 0, 0);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        uint32_t h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
        uint32_t h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
        c = make_uint4(h1 ^ c.y ^ k0, l1, h0 ^ c.w ^ k1, l0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}

// 2 read, 2 written, and a mask of 1
__global__ void dropout(const bf16 *x, bf16 *y, uint8_t *mask, int64_t n)
{
    int64_t i = first_element();
    if (i >= n)
        return;
    uint4 low = philox(uint64_t(i) / 4, 7), high = philox(uint64_t(i) / 4 + 1, 7);
    uint32_t draws[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    Eight e = load(x + i);
    uint2 kept = make_uint2(0, 0);
    for (int j = 0; j < 8; j++) {
        bool keep = draws[j] >= 429496730u; // 0.1 are dropped
        e.v[j] = keep ? e.v[j] * (1.0f / 0.9f) : 0.0f;
        (j < 4 ? kept.x : kept.y) |= uint32_t(keep) << (8 * (j % 4));
    }
    store(y + i, e);
    *reinterpret_cast<uint2 *>(mask + i) = kept;
}

// bf16 to e4m3 by a scale: 2 read, 1 written
__global__ void cast(const bf16 *x, __nv_fp8_storage_t *y, float scale, int64_t n)
{
    int64_t i = first_element();
    if (i >= n)
        return;
    Eight e = load(x + i);
    uint2 packed = make_uint2(0, 0);
    for (int j = 0; j < 8; j++)
        (j < 4 ? packed.x : packed.y) |=
            uint32_t(__nv_cvt_float_to_fp8(e.v[j] * scale, __NV_SATFINITE, __NV_E4M3))
            << (8 * (j % 4));
    *reinterpret_cast<uint2 *>(y + i) = packed;
}

// fp32: gradient, master weight and two moments read, 16; the last three and the bf16 weight written, 14
__global__ void adam(const float *gradient, float *master, float *first, float *second, bf16 *weight,
                     int64_t n)
{
    int64_t i = first_element();
    if (i >= n)
        return;
    Eight g = load(gradient + i), p = load(master + i), m = load(first + i), v = load(second + i);
    for (int j = 0; j < 8; j++) {
        m.v[j] = 0.9f * m.v[j] + 0.1f * g.v[j];
        v.v[j] = 0.999f * fabsf(v.v[j]) + 0.001f * g.v[j] * g.v[j]; // begins as random numbers here
        p.v[j] -= 1e-6f * (m.v[j] / (sqrtf(v.v[j]) + 1e-8f) + 0.01f * p.v[j]);
    }
    store(first + i, m);
    store(second + i, v);
    store(master + i, p);
    store(weight + i, p);
}

// --- rows in registers: a block a row ------------------------------------------------------------

// RMSNorm: 2 read, 2 written
__global__ void norm(const bf16 *x, bf16 *y, const bf16 *weight, float *inverse, int width)
{
    int64_t row = blockIdx.x;
    Eight e[CHUNKS];
    float sum = 0;
    for (int c = 0; c < CHUNKS; c++) {
        int column = 8 * (c * THREADS + threadIdx.x);
        if (column < width) {
            e[c] = load(x + row * width + column);
            for (int j = 0; j < 8; j++)
                sum += e[c].v[j] * e[c].v[j];
        }
    }
    float scale = rsqrtf(over_block<Add>(sum) / width + 1e-5f);
    if (threadIdx.x == 0)
        inverse[row] = scale;
    for (int c = 0; c < CHUNKS; c++) {
        int column = 8 * (c * THREADS + threadIdx.x);
        if (column < width) {
            Eight w = load(weight + column);
            for (int j = 0; j < 8; j++)
                e[c].v[j] *= scale * w.v[j];
            store(y + row * width + column, e[c]);
        }
    }
}

// x and dy read, 4, dx written, 2; each block keeps its rows' part of the weight's gradient in registers
__global__ void norm_backward(const bf16 *x, const bf16 *dy, bf16 *dx, const bf16 *weight,
                              const float *inverse, float *parts, int64_t rows, int width)
{
    Eight part[CHUNKS] = {}, e[CHUNKS], g[CHUNKS];
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float scale = inverse[row], sum = 0;
        for (int c = 0; c < CHUNKS; c++) {
            int column = 8 * (c * THREADS + threadIdx.x);
            if (column >= width)
                continue;
            e[c] = load(x + row * width + column);
            g[c] = load(dy + row * width + column);
            Eight w = load(weight + column);
            for (int j = 0; j < 8; j++) {
                e[c].v[j] *= scale; // the normalised x
                part[c].v[j] += g[c].v[j] * e[c].v[j];
                g[c].v[j] *= w.v[j];
                sum += g[c].v[j] * e[c].v[j];
            }
        }
        float mean = over_block<Add>(sum) / width;
        for (int c = 0; c < CHUNKS; c++) {
            int column = 8 * (c * THREADS + threadIdx.x);
            if (column >= width)
                continue;
            for (int j = 0; j < 8; j++)
                g[c].v[j] = scale * (g[c].v[j] - e[c].v[j] * mean);
            store(dx + row * width + column, g[c]);
        }
    }
    for (int c = 0; c < CHUNKS; c++) {
        int column = 8 * (c * THREADS + threadIdx.x);
        if (column < width)
            store(parts + int64_t(blockIdx.x) * width + column, part[c]);
    }
}

// The parts of all blocks, added up: threads of (32 columns, 8 rows).
__global__ void add_parts(const float *parts, float *sums, int n, int width)
{
    __shared__ float seen[8][33];
    int column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    for (int i = threadIdx.y; i < n && column < width; i += 8)
        sum += parts[int64_t(i) * width + column];
    seen[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || column >= width)
        return;
    for (int i = 1; i < 8; i++)
        sum += seen[i][threadIdx.x];
    sums[column] = sum;
}

// 2 read, 2 written
__global__ void softmax(const bf16 *x, bf16 *y, int width)
{
    int64_t row = blockIdx.x;
    Eight e[CHUNKS];
    float most = Most::none, sum = 0;
    for (int c = 0; c < CHUNKS; c++) {
        int column = 8 * (c * THREADS + threadIdx.x);
        if (column < width) {
            e[c] = load(x + row * width + column);
            for (int j = 0; j < 8; j++)
                most = fmaxf(most, e[c].v[j]);
        }
    }
    most = over_block<Most>(most);
    for (int c = 0; c < CHUNKS; c++)
        if (8 * (c * THREADS + threadIdx.x) < width)
            for (int j = 0; j < 8; j++) {
                e[c].v[j] = __expf(e[c].v[j] - most);
                sum += e[c].v[j];
            }
    float scale = 1.0f / over_block<Add>(sum);
    for (int c = 0; c < CHUNKS; c++) {
        int column = 8 * (c * THREADS + threadIdx.x);
        if (column < width) {
            for (int j = 0; j < 8; j++)
                e[c].v[j] *= scale;
            store(y + row * width + column, e[c]);
        }
    }
}

// y and dy read, 4, dx written, 2
__global__ void softmax_backward(const bf16 *y, const bf16 *dy, bf16 *dx, int width)
{
    int64_t row = blockIdx.x;
    Eight p[CHUNKS], g[CHUNKS];
    float sum = 0;
    for (int c = 0; c < CHUNKS; c++) {
        int column = 8 * (c * THREADS + threadIdx.x);
        if (column < width) {
            p[c] = load(y + row * width + column);
            g[c] = load(dy + row * width + column);
            for (int j = 0; j < 8; j++)
                sum += p[c].v[j] * g[c].v[j];
        }
    }
    sum = over_block<Add>(sum);
    for (int c = 0; c < CHUNKS; c++) {
        int column = 8 * (c * THREADS + threadIdx.x);
        if (column < width) {
            for (int j = 0; j < 8; j++)
                g[c].v[j] = p[c].v[j] * (g[c].v[j] - sum);
            store(dx + row * width + column, g[c]);
        }
    }
}

// Rotates the halves of each head by angles of the row, the cosines and sines of which lie in `angles`: 2 read, 2
// written. A thread takes 8 elements of both halves.
__global__ void rope(const bf16 *x, bf16 *y, const float *angles, int width)
{
    constexpr int HALF = CALIB_ROPE_HEAD / 2;
    int64_t row = blockIdx.x;
    for (int i = 8 * threadIdx.x; i < width / 2; i += 8 * THREADS) {
        int at = i % HALF;
        int64_t low = row * width + i / HALF * CALIB_ROPE_HEAD + at;
        Eight a = load(x + low), b = load(x + low + HALF);
        Eight cosine = load(angles + row * CALIB_ROPE_HEAD + at);
        Eight sine = load(angles + row * CALIB_ROPE_HEAD + HALF + at);
        for (int j = 0; j < 8; j++) {
            float first = a.v[j] * cosine.v[j] - b.v[j] * sine.v[j];
            b.v[j] = b.v[j] * cosine.v[j] + a.v[j] * sine.v[j];
            a.v[j] = first;
        }
        store(y + low, a);
        store(y + low + HALF, b);
    }
}

// Rows from where `index` says: 2 read, 2 written
__global__ void gather(const bf16 *x, bf16 *y, const int *index, int width)
{
    int64_t row = blockIdx.x, source = index[row];
    for (int i = 8 * threadIdx.x; i < width; i += 8 * THREADS)
        *reinterpret_cast<uint4 *>(y + row * width + i) =
            *reinterpret_cast<const uint4 *>(x + source * width + i);
}

// Gradients added into an fp32 table with atomics: 2 read, 4 added
__global__ void scatter_add(const bf16 *gradient, float *table, const int *index, int width)
{
    int64_t row = blockIdx.x, target = index[row];
    for (int i = 8 * threadIdx.x; i < width; i += 8 * THREADS) {
        Eight g = load(gradient + row * width + i);
        for (int j = 0; j < 8; j++)
            atomicAdd(table + target * width + i + j, g.v[j]);
    }
}

// Sums of the columns, as a bias' gradient: 2 read. Threads of (32 x 8 columns, 8 rows); 64 rows a block.
__global__ void reduce(const bf16 *x, float *sums, int64_t rows, int width)
{
    __shared__ Eight seen[8][32];
    int column = 8 * (blockIdx.x * 32 + threadIdx.x);
    int64_t row = int64_t(blockIdx.y) * 64 + threadIdx.y, end = int64_t(blockIdx.y) * 64 + 64;
    Eight sum = {};
    for (; row < rows && row < end && column < width; row += 8) {
        Eight e = load(x + row * width + column);
        for (int j = 0; j < 8; j++)
            sum.v[j] += e.v[j];
    }
    seen[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || column >= width)
        return;
    for (int i = 1; i < 8; i++)
        for (int j = 0; j < 8; j++)
            sum.v[j] += seen[i][threadIdx.x].v[j];
    for (int j = 0; j < 8; j++)
        atomicAdd(sums + column + j, sum.v[j]);
}

// --- cross entropy: unfused, as Megatron has it: each line of its code is a kernel -----------------

// logits.float(): 2 read, 4 written
__global__ void widen(const bf16 *x, float *y, int64_t n)
{
    int64_t i = first_element();
    if (i < n)
        store(y + i, load(x + i));
}

// amax(dim): 4 read
template <typename Op>
__global__ void over_row(const float *x, float *result, int width)
{
    int64_t row = blockIdx.x;
    float value = Op::none;
    for (int i = 8 * threadIdx.x; i < width; i += 8 * THREADS) {
        Eight e = load(x + row * width + i);
        for (int j = 0; j < 8; j++)
            value = Op::of(value, e.v[j]);
    }
    value = over_block<Op>(value);
    if (threadIdx.x == 0)
        result[row] = value;
}

enum Step { SUBTRACT, EXPONENTIATE, DIVIDE, MULTIPLY };

// x op= row's value, in place: 4 read, 4 written
template <Step step>
__global__ void each_element(float *x, const float *values, int64_t n, int width)
{
    int64_t i = first_element();
    if (i >= n)
        return;
    float value = step == EXPONENTIATE ? 0 : values[i / width];
    Eight e = load(x + i);
    for (int j = 0; j < 8; j++)
        e.v[j] = step == SUBTRACT       ? e.v[j] - value
                 : step == EXPONENTIATE ? __expf(e.v[j])
                 : step == DIVIDE       ? __fdividef(e.v[j], value)
                                        : e.v[j] * value;
    store(x + i, e);
}

// gradient.bfloat16(): 4 read, 2 written
__global__ void shorten(const float *x, bf16 *y, int64_t n)
{
    int64_t i = first_element();
    if (i < n)
        store(y + i, load(x + i));
}

// --- scores of unfused attention ------------------------------------------------------------------

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

// --- launches -----------------------------------------------------------------------------------

struct Task {
    void *const *arrays;
    int64_t rows, n;
    int width;
    unsigned elements; // blocks of element kernels
    cudaStream_t stream;

    template <typename T>
    T *array(int i) const { return static_cast<T *>(arrays[i]); }
};

void launch_norms(CalibKernel kernel, const Task &t)
{
    unsigned rows = unsigned(t.rows), parts = rows < CALIB_NORM_PARTS ? rows : CALIB_NORM_PARTS;
    if (kernel == CALIB_NORM) {
        norm<<<rows, THREADS, 0, t.stream>>>(t.array<bf16>(0), t.array<bf16>(1), t.array<bf16>(2),
                                             t.array<float>(3), t.width);
        return;
    }
    norm_backward<<<parts, THREADS, 0, t.stream>>>(
        t.array<bf16>(0), t.array<bf16>(1), t.array<bf16>(2), t.array<bf16>(3), t.array<float>(4),
        t.array<float>(5), t.rows, t.width);
    add_parts<<<unsigned(t.width + 31) / 32, dim3(32, 8), 0, t.stream>>>(
        t.array<float>(5), t.array<float>(6), int(parts), t.width);
}

void launch_cross_entropy(const Task &t)
{
    unsigned rows = unsigned(t.rows);
    float *x = t.array<float>(1), *most = t.array<float>(2), *sum = t.array<float>(3);
    widen<<<t.elements, THREADS, 0, t.stream>>>(t.array<bf16>(0), x, t.n);
    over_row<Most><<<rows, THREADS, 0, t.stream>>>(x, most, t.width);
    each_element<SUBTRACT><<<t.elements, THREADS, 0, t.stream>>>(x, most, t.n, t.width);
    each_element<EXPONENTIATE><<<t.elements, THREADS, 0, t.stream>>>(x, most, t.n, t.width);
    over_row<Add><<<rows, THREADS, 0, t.stream>>>(x, sum, t.width);
    each_element<DIVIDE><<<t.elements, THREADS, 0, t.stream>>>(x, sum, t.n, t.width);
}

void launch_rows(CalibKernel kernel, const Task &t)
{
    unsigned rows = unsigned(t.rows);
    switch (kernel) {
    case CALIB_SOFTMAX:
        softmax<<<rows, THREADS, 0, t.stream>>>(t.array<bf16>(0), t.array<bf16>(1), t.width);
        return;
    case CALIB_SOFTMAX_BACKWARD:
        softmax_backward<<<rows, THREADS, 0, t.stream>>>(t.array<bf16>(0), t.array<bf16>(1),
                                                         t.array<bf16>(2), t.width);
        return;
    case CALIB_ROPE:
        rope<<<rows, THREADS, 0, t.stream>>>(t.array<bf16>(0), t.array<bf16>(1), t.array<float>(2),
                                             t.width);
        return;
    case CALIB_EMBEDDING:
    case CALIB_PERMUTE:
        gather<<<rows, THREADS, 0, t.stream>>>(t.array<bf16>(0), t.array<bf16>(1), t.array<int>(2),
                                               t.width);
        return;
    case CALIB_EMBEDDING_BACKWARD:
        scatter_add<<<rows, THREADS, 0, t.stream>>>(t.array<bf16>(0), t.array<float>(1),
                                                    t.array<int>(2), t.width);
        return;
    case CALIB_REDUCE:
        reduce<<<dim3(unsigned(t.width + 255) / 256, unsigned(t.rows + 63) / 64), dim3(32, 8), 0,
                 t.stream>>>(t.array<bf16>(0), t.array<float>(1), t.rows, t.width);
        return;
    default:
        return;
    }
}

bool launch_elements(CalibKernel kernel, const Task &t)
{
    switch (kernel) {
    case CALIB_LAUNCH:
        empty<<<1, 32, 0, t.stream>>>();
        return true;
    case CALIB_COPY:
        copy<<<t.elements, THREADS, 0, t.stream>>>(t.array<bf16>(0), t.array<bf16>(1), t.n);
        return true;
    case CALIB_TRIAD:
        triad<<<t.elements, THREADS, 0, t.stream>>>(t.array<float>(2), t.array<float>(0),
                                                    t.array<float>(1), t.n);
        return true;
    case CALIB_ADD:
        add<<<t.elements, THREADS, 0, t.stream>>>(t.array<bf16>(0), t.array<bf16>(1),
                                                  t.array<bf16>(2), t.n);
        return true;
    case CALIB_ACTIVATION:
        activation<<<t.elements, THREADS, 0, t.stream>>>(t.array<bf16>(0), t.array<bf16>(1),
                                                         t.array<bf16>(2), t.n);
        return true;
    case CALIB_ACTIVATION_BACKWARD:
        activation_backward<<<t.elements, THREADS, 0, t.stream>>>(
            t.array<bf16>(0), t.array<bf16>(1), t.array<bf16>(2), t.array<bf16>(3),
            t.array<bf16>(4), t.n);
        return true;
    case CALIB_DROPOUT:
        dropout<<<t.elements, THREADS, 0, t.stream>>>(t.array<bf16>(0), t.array<bf16>(1),
                                                      t.array<uint8_t>(2), t.n);
        return true;
    case CALIB_CAST:
        cast<<<t.elements, THREADS, 0, t.stream>>>(
            t.array<bf16>(0), t.array<__nv_fp8_storage_t>(1), 8.0f, t.n);
        return true;
    case CALIB_ADAM:
        adam<<<t.elements, THREADS, 0, t.stream>>>(t.array<float>(0), t.array<float>(1),
                                                   t.array<float>(2), t.array<float>(3),
                                                   t.array<bf16>(4), t.n);
        return true;
    case CALIB_CROSS_ENTROPY_BACKWARD: // softmax x gradient of the loss in place, 8; cast, 6
        each_element<MULTIPLY><<<t.elements, THREADS, 0, t.stream>>>(
            t.array<float>(0), t.array<float>(2), t.n, t.width);
        shorten<<<t.elements, THREADS, 0, t.stream>>>(t.array<float>(0), t.array<bf16>(1), t.n);
        return true;
    default:
        return false;
    }
}

} // namespace

cudaError_t
calib_kernel_launch(CalibKernel kernel, void *const *arrays, int64_t rows, int64_t width,
                    cudaStream_t stream)
{
    int64_t n = rows * width;
    Task t = {arrays, rows, n, int(width), unsigned((n / 8 + THREADS - 1) / THREADS), stream};
    if (kernel == CALIB_NORM || kernel == CALIB_NORM_BACKWARD)
        launch_norms(kernel, t);
    else if (kernel == CALIB_CROSS_ENTROPY)
        launch_cross_entropy(t);
    else if (!launch_elements(kernel, t))
        launch_rows(kernel, t);
    return cudaGetLastError();
}

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
