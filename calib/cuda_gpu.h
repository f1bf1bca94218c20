/* One GPU as it is measured: its stream, libraries and memory.
 *
 * Device memory is one arena that each case lays out anew, so that nothing is fragmented and a case that does not fit
 * says so at once. Whoever needs more takes what is there and grows it; its content is then lost. */
#pragma once

#include "calib/backend.h"
#include "calib/statistics.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdatomic.h>

/* Streams on which the GEMMs of one group run side by side, as Transformer Engine has them; the first is the main one. */
enum { CALIB_GPU_STREAMS = 4 };
/* What PyTorch gives cuBLASLt on Hopper and later. */
#define CALIB_WORKSPACE_BYTES ((size_t)32 << 20)

struct CalibFused; /* cuDNN (calib/cuda_fused.c) */
struct CalibNvml;  /* calib/cuda_nvml.c */

typedef struct {
    int device, rank; /* rank: for complaints */
    int sms, compute_capability;
    int64_t l2_bytes;
    cudaStream_t streams[CALIB_GPU_STREAMS];
    cudaEvent_t fork, joins[CALIB_GPU_STREAMS];
    cudaEvent_t begins[CALIB_MAX_SAMPLES], ends[CALIB_MAX_SAMPLES]; /* of samples */
    atomic_bool gates[CALIB_MAX_SAMPLES];
    cublasLtHandle_t lt;
    cublasHandle_t cublas;
    char *workspaces; /* one a stream */
    float *one;       /* 1.0 in device memory: the scale of 8-bit operands */
    char *arena;
    int64_t arena_bytes;
    char *random[CALIB_N_DTYPES]; /* a block of random numbers, once asked for */
    void *pinned, *peer;          /* host memory; memory of another GPU */
    int64_t pinned_bytes, peer_bytes;
    struct CalibFused *fused; /* NULL: none */
    struct CalibNvml *nvml;   /* NULL: none, or not looked at */
} CalibGpu;

/* Anything that can be enqueued again and again. */
typedef struct CalibCudaWork CalibCudaWork;
struct CalibCudaWork {
    /* Enqueues one call in the GPU's first stream. Buffers rotate with `turn`, so that no call finds its operands in
     * the L2 cache. */
    CalibStatus (*launch)(CalibCudaWork *work, unsigned turn, CalibError *error);
    void (*free)(CalibCudaWork *work);
};

/* Device `device` becomes the current one. On failure `ret` is to be closed, too. */
CalibStatus calib_gpu_open(int device, int rank, CalibGpu *ret, CalibError *error);
void calib_gpu_close(CalibGpu *gpu);

/* The arena with at least so many bytes. */
CalibStatus calib_gpu_reserve(CalibGpu *gpu, int64_t bytes, char **ret, CalibError *error);
CalibStatus calib_gpu_reserve_pinned(CalibGpu *gpu, int64_t bytes, void **ret, CalibError *error);
/* On GPU `device`, which then can be reached from this one. */
CalibStatus calib_gpu_reserve_peer(CalibGpu *gpu, int device, int64_t bytes, void **ret,
                                   CalibError *error);
/* Where the next buffer begins after `bytes` more: aligned as cuBLASLt likes it. */
int64_t calib_gpu_after(int64_t at, int64_t bytes);
/* Copies of buffers of `bytes`, so that between two calls on the same one twice the L2 cache was touched. */
unsigned calib_gpu_rotation(const CalibGpu *gpu, int64_t bytes);
/* Normal random numbers, in stream order. Zeros and constants run too fast: they switch few transistors, and clocks
 * stay up. */
CalibStatus calib_gpu_fill(CalibGpu *gpu, void *at, int64_t bytes, CalibDtype dtype,
                           CalibError *error);
