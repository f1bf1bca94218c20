// What kernels bound by memory share: 8 elements at a time, sums over a block, and what a launch is told.
#pragma once

#include "calib/kernels.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef __nv_bfloat16 bf16;

constexpr int THREADS = 256;

// --- 8 elements ---------------------------------------------------------------------------------

struct Eight {
    float v[8];
};

__device__ inline float from(bf16 x) { return __bfloat162float(x); }
__device__ inline float from(__half x) { return __half2float(x); }
__device__ inline void to(float x, bf16 *at) { *at = __float2bfloat16(x); }
__device__ inline void to(float x, __half *at) { *at = __float2half(x); }

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

__device__ inline Eight load(const float *at)
{
    float4 low = reinterpret_cast<const float4 *>(at)[0];
    float4 high = reinterpret_cast<const float4 *>(at)[1];
    return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
}

__device__ inline void store(float *at, const Eight &e)
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

__device__ inline int64_t first_element() { return 8 * (int64_t(blockIdx.x) * THREADS + threadIdx.x); }

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

// Each launches the kernels of its file; false: this one is of another.
bool calib_kernels_elements(CalibKernel kernel, const Task &t);
bool calib_kernels_rows(CalibKernel kernel, const Task &t);
bool calib_kernels_entropy(CalibKernel kernel, const Task &t);
