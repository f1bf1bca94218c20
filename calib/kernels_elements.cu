// Kernels of elements, each of which depends on those at its own place alone. Each says what one ideal pass moves, in
// bytes an element.
#include "calib/kernels.cuh"

#include <cuda_fp8.h>

namespace {

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

} // namespace

bool
calib_kernels_elements(CalibKernel kernel, const Task &t)
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
    default:
        return false;
    }
}
