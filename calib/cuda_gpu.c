/* Opens a GPU; hands out its memory; fills it with random numbers. */
#include "config.h"

#include "calib/cuda_gpu.h"

#include "calib/case.h"
#include "calib/cuda_error.h"
#include "calib/narrow.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 512
/* Random numbers of a block, which is repeated: a multiple of 64 bytes, so that copies stay aligned, and no power of two,
 * so that rows of a matrix differ. */
#define BLOCK ((size_t)(1 << 20) - 4160)
/* Twice 128 MB of the largest L2 cache are 64 KB so many times. */
#define MOST_COPIES 4096

/* --- open and close --------------------------------------------------------------------------- */

static CalibStatus
read_attributes(CalibGpu *gpu, CalibError *error)
{
    int major, minor, l2;
    CALIB_CUDA(gpu, cudaSetDevice(gpu->device));
    CALIB_CUDA(gpu, cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu->device));
    CALIB_CUDA(gpu, cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, gpu->device));
    CALIB_CUDA(gpu, cudaDeviceGetAttribute(&gpu->sms, cudaDevAttrMultiProcessorCount, gpu->device));
    CALIB_CUDA(gpu, cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, gpu->device));
    gpu->compute_capability = 10 * major + minor;
    gpu->l2_bytes = l2;
    return CALIB_OK;
}

static CalibStatus
make_streams(CalibGpu *gpu, CalibError *error)
{
    for (int i = 0; i < CALIB_GPU_STREAMS; i++) {
        CALIB_CUDA(gpu, cudaStreamCreateWithFlags(&gpu->streams[i], cudaStreamNonBlocking));
        CALIB_CUDA(gpu, cudaEventCreateWithFlags(&gpu->joins[i], cudaEventDisableTiming));
    }
    CALIB_CUDA(gpu, cudaEventCreateWithFlags(&gpu->fork, cudaEventDisableTiming));
    for (int i = 0; i < CALIB_MAX_SAMPLES; i++) {
        CALIB_CUDA(gpu, cudaEventCreate(&gpu->begins[i]));
        CALIB_CUDA(gpu, cudaEventCreate(&gpu->ends[i]));
    }
    return CALIB_OK;
}

CalibStatus
calib_gpu_open(int device, int rank, CalibGpu *ret, CalibError *error)
{
    CalibGpu *gpu = ret;
    const float one = 1;
    memset(gpu, 0, sizeof *gpu);
    gpu->device = device;
    gpu->rank = rank;
    CALIB_TRY(read_attributes(gpu, error));
    CALIB_TRY(make_streams(gpu, error));
    CALIB_CUBLAS(gpu, cublasLtCreate(&gpu->lt));
    CALIB_CUBLAS(gpu, cublasCreate(&gpu->cublas));
    CALIB_CUDA(gpu,
               cudaMalloc((void **)&gpu->workspaces, CALIB_GPU_STREAMS * CALIB_WORKSPACE_BYTES));
    CALIB_CUDA(gpu, cudaMalloc((void **)&gpu->one, sizeof one));
    CALIB_CUDA(gpu, cudaMemcpy(gpu->one, &one, sizeof one, cudaMemcpyHostToDevice));
    return CALIB_OK;
}

/* What fails now has no one to be told. */
void
calib_gpu_close(CalibGpu *gpu)
{
    for (int d = 0; d < CALIB_N_DTYPES; d++)
        cudaFree(gpu->random[d]);
    cudaFree(gpu->arena);
    cudaFree(gpu->workspaces);
    cudaFree(gpu->one);
    cudaFree(gpu->peer);
    cudaFreeHost(gpu->pinned);
    if (gpu->cublas != NULL)
        cublasDestroy(gpu->cublas);
    if (gpu->lt != NULL)
        cublasLtDestroy(gpu->lt);
    for (int i = 0; i < CALIB_MAX_SAMPLES; i++) {
        if (gpu->begins[i] != NULL)
            cudaEventDestroy(gpu->begins[i]);
        if (gpu->ends[i] != NULL)
            cudaEventDestroy(gpu->ends[i]);
    }
    if (gpu->fork != NULL)
        cudaEventDestroy(gpu->fork);
    for (int i = 0; i < CALIB_GPU_STREAMS; i++) {
        if (gpu->joins[i] != NULL)
            cudaEventDestroy(gpu->joins[i]);
        if (gpu->streams[i] != NULL)
            cudaStreamDestroy(gpu->streams[i]);
    }
}

/* --- memory ----------------------------------------------------------------------------------- */

CalibStatus
calib_gpu_reserve(CalibGpu *gpu, int64_t bytes, char **ret, CalibError *error)
{
    if (bytes > gpu->arena_bytes) {
        /* the old one first: both may not fit */
        CALIB_CUDA(gpu, cudaStreamSynchronize(gpu->streams[0]));
        CALIB_CUDA(gpu, cudaFree(gpu->arena));
        gpu->arena = NULL;
        gpu->arena_bytes = 0;
        CALIB_CUDA(gpu, cudaMalloc((void **)&gpu->arena, (size_t)bytes));
        gpu->arena_bytes = bytes;
    }
    *ret = gpu->arena;
    return CALIB_OK;
}

CalibStatus
calib_gpu_reserve_pinned(CalibGpu *gpu, int64_t bytes, void **ret, CalibError *error)
{
    if (bytes > gpu->pinned_bytes) {
        CALIB_CUDA(gpu, cudaFreeHost(gpu->pinned));
        gpu->pinned = NULL;
        gpu->pinned_bytes = 0;
        CALIB_CUDA(gpu, cudaMallocHost(&gpu->pinned, (size_t)bytes));
        gpu->pinned_bytes = bytes;
    }
    *ret = gpu->pinned;
    return CALIB_OK;
}

static CalibStatus
grow_peer(CalibGpu *gpu, int64_t bytes, CalibError *error)
{
    CALIB_CUDA(gpu, cudaFree(gpu->peer));
    gpu->peer = NULL;
    gpu->peer_bytes = 0;
    CALIB_CUDA(gpu, cudaMalloc(&gpu->peer, (size_t)bytes));
    gpu->peer_bytes = bytes;
    return CALIB_OK;
}

/* In exclusive mode (nvidia-smi -c) the other GPU is its own process' alone. */
static CalibStatus
enable_peer(CalibGpu *gpu, int device, CalibError *error)
{
    cudaError_t code = cudaDeviceEnablePeerAccess(device, 0);
    if (code == cudaErrorPeerAccessAlreadyEnabled)
        cudaGetLastError();
    if (code == cudaSuccess || code == cudaErrorPeerAccessAlreadyEnabled)
        return CALIB_OK;
    CalibStatus status =
        calib_cuda_failed(gpu->rank, "cudaDeviceEnablePeerAccess", code, __FILE__, __LINE__, error);
    return code == cudaErrorDevicesUnavailable || code == cudaErrorPeerAccessUnsupported ||
                   code == cudaErrorTooManyPeers
               ? CALIB_CANNOT
               : status;
}

CalibStatus
calib_gpu_reserve_peer(CalibGpu *gpu, int device, int64_t bytes, void **ret, CalibError *error)
{
    int reached = 0, n = 0;
    CALIB_CUDA(gpu, cudaGetDeviceCount(&n));
    if (device >= n)
        return calib_cannot(error, "this process sees %d GPU%s only", n, n == 1 ? "" : "s");
    CALIB_CUDA(gpu, cudaDeviceCanAccessPeer(&reached, gpu->device, device));
    if (!reached)
        return calib_cannot(error, "GPU %d cannot reach GPU %d's memory", gpu->device, device);
    CALIB_TRY(enable_peer(gpu, device, error));
    if (bytes > gpu->peer_bytes) {
        CALIB_CUDA(gpu, cudaSetDevice(device));
        CalibStatus status = grow_peer(gpu, bytes, error);
        CALIB_CUDA(gpu, cudaSetDevice(gpu->device));
        CALIB_TRY(status);
    }
    *ret = gpu->peer;
    return CALIB_OK;
}

int64_t
calib_gpu_after(int64_t at, int64_t bytes)
{
    return (at + bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

unsigned
calib_gpu_rotation(const CalibGpu *gpu, int64_t bytes)
{
    int64_t between = 2 * gpu->l2_bytes;
    if (bytes <= 0 || bytes >= between)
        return 1;
    int64_t copies = (between + bytes - 1) / bytes + 1;
    return copies < MOST_COPIES ? (unsigned)copies : MOST_COPIES;
}

/* --- random numbers --------------------------------------------------------------------------- */

/* 0..1, both excluded; Vigna's splitmix64. */
static double
uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return ((double)((z ^ (z >> 31)) >> 12) + 0.5) / 4503599627370496.0;
}

static void
put(CalibDtype dtype, float value, char *at)
{
    if (dtype == CALIB_BF16 || dtype == CALIB_FP16) {
        uint16_t bits = dtype == CALIB_BF16 ? calib_narrow_bf16(value) : calib_narrow_fp16(value);
        memcpy(at, &bits, sizeof bits);
    } else if (dtype == CALIB_FP8) {
        *at = (char)calib_narrow_e4m3(value);
    } else {
        memcpy(at, &value, sizeof value);
    }
}

/* Box and Muller's normal numbers, two at a time. */
static void
make_block(CalibDtype dtype, char *block)
{
    uint64_t state = 1;
    size_t each = (size_t)calib_dtype_bytes(dtype);
    for (size_t i = 0; i < BLOCK; i += 2) {
        double size = sqrt(-2 * log(uniform(&state))), angle = 6.283185307179586 * uniform(&state);
        put(dtype, (float)(size * cos(angle)), block + i * each);
        put(dtype, (float)(size * sin(angle)), block + (i + 1) * each);
    }
}

static CalibStatus
upload_block(CalibGpu *gpu, CalibDtype dtype, const char *block, size_t bytes, CalibError *error)
{
    CALIB_CUDA(gpu, cudaMalloc((void **)&gpu->random[dtype], bytes));
    CALIB_CUDA(gpu, cudaMemcpy(gpu->random[dtype], block, bytes, cudaMemcpyHostToDevice));
    return CALIB_OK;
}

CalibStatus
calib_gpu_fill(CalibGpu *gpu, void *at, int64_t bytes, CalibDtype dtype, CalibError *error)
{
    size_t all = (size_t)bytes, block_bytes = BLOCK * (size_t)calib_dtype_bytes(dtype);
    if (dtype == CALIB_TF32)
        dtype = CALIB_FP32;
    if (gpu->random[dtype] == NULL) {
        char *block = malloc(block_bytes);
        if (block == NULL)
            return calib_cannot(error, "no host memory for %zu bytes of random numbers",
                                block_bytes);
        make_block(dtype, block);
        CalibStatus status = upload_block(gpu, dtype, block, block_bytes, error);
        free(block);
        CALIB_TRY(status);
    }
    size_t have = all < block_bytes ? all : block_bytes;
    CALIB_CUDA(gpu, cudaMemcpyAsync(at, gpu->random[dtype], have, cudaMemcpyDeviceToDevice,
                                    gpu->streams[0]));
    while (have < all) { /* twice as much each time */
        size_t more = all - have < have ? all - have : have;
        CALIB_CUDA(gpu, cudaMemcpyAsync((char *)at + have, at, more, cudaMemcpyDeviceToDevice,
                                        gpu->streams[0]));
        have += more;
    }
    return CALIB_OK;
}
