/* Copies by copy engines; what events and synchronisation themselves take. */
#include "config.h"

#include "calib/cuda_work.h"

#include "calib/case.h"
#include "calib/cuda_error.h"
#ifdef CALIB_KERNELS
#include "calib/kernels.h"
#endif

#include <stdlib.h>
#include <time.h>

typedef struct {
    CalibCudaWork work;
    CalibGpu *gpu;
    CalibKernel kernel;
    size_t bytes;
    char *near; /* of this GPU */
    void *far;
} Copy;

enum { PEER = 1 };

static void
free_copy(CalibCudaWork *work)
{
    free(work);
}

/* CALIB_EVENT enqueues nothing: a sample is two events, one after the other. */
static CalibStatus
launch(CalibCudaWork *work, unsigned turn, CalibError *error)
{
    (void)turn;
    Copy *c = (Copy *)work;
    cudaStream_t stream = c->gpu->streams[0];
    if (c->kernel == CALIB_H2D)
        CALIB_CUDA(c->gpu,
                   cudaMemcpyAsync(c->near, c->far, c->bytes, cudaMemcpyHostToDevice, stream));
    else if (c->kernel == CALIB_D2H)
        CALIB_CUDA(c->gpu,
                   cudaMemcpyAsync(c->far, c->near, c->bytes, cudaMemcpyDeviceToHost, stream));
    else if (c->kernel == CALIB_P2P)
        CALIB_CUDA(c->gpu,
                   cudaMemcpyPeerAsync(c->far, PEER, c->near, c->gpu->device, c->bytes, stream));
    return CALIB_OK;
}

static CalibStatus
make_buffers(Copy *c, int64_t bytes, CalibError *error)
{
    if (c->kernel == CALIB_EVENT)
        return CALIB_OK;
    CALIB_TRY(calib_gpu_reserve(c->gpu, bytes, &c->near, error));
    CALIB_TRY(calib_gpu_fill(c->gpu, c->near, bytes, CALIB_BF16, error));
    if (c->kernel == CALIB_P2P)
        return calib_gpu_reserve_peer(c->gpu, PEER, bytes, &c->far, error);
    CALIB_TRY(calib_gpu_reserve_pinned(c->gpu, bytes, &c->far, error));
    /* its pages are touched, and hold random numbers, too */
    CALIB_CUDA(c->gpu, cudaMemcpyAsync(c->far, c->near, c->bytes, cudaMemcpyDeviceToHost,
                                       c->gpu->streams[0]));
    return CALIB_OK;
}

CalibStatus
calib_cuda_copy_new(CalibGpu *gpu, const CalibMemory *memory, CalibCudaWork **ret,
                    CalibError *error)
{
    Copy *c = calloc(1, sizeof *c);
    if (c == NULL)
        return calib_cannot(error, "no host memory");
    c->work.launch = launch;
    c->work.free = free_copy;
    c->gpu = gpu;
    c->kernel = memory->kernel;
    c->bytes = (size_t)memory->bytes;
    CalibStatus status = make_buffers(c, memory->bytes, error);
    if (status != CALIB_OK) {
        free_copy(&c->work);
        return status;
    }
    *ret = &c->work;
    return CALIB_OK;
}

static double
now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

#ifdef CALIB_KERNELS
static CalibStatus
sync_once(CalibGpu *gpu, CalibError *error)
{
    CALIB_CUDA(gpu, calib_kernel_launch(CALIB_LAUNCH, NULL, 0, 0, gpu->streams[0]));
    CALIB_CUDA(gpu, cudaDeviceSynchronize());
    return CALIB_OK;
}
#else
/* Without kernels of ours: setting 4 bytes is the least that can be enqueued. */
static CalibStatus
sync_once(CalibGpu *gpu, CalibError *error)
{
    CALIB_CUDA(gpu, cudaMemsetAsync(gpu->workspaces, 0, 4, gpu->streams[0]));
    CALIB_CUDA(gpu, cudaDeviceSynchronize());
    return CALIB_OK;
}
#endif

CalibStatus
calib_cuda_time_sync(CalibGpu *gpu, const CalibTiming *timing, double *us, CalibError *error)
{
    CALIB_TRY(sync_once(gpu, error));
    for (unsigned i = 0; i < timing->samples; i++) {
        double begin = now_us();
        for (unsigned call = 0; call < timing->calls; call++)
            CALIB_TRY(sync_once(gpu, error));
        us[i] = (now_us() - begin) / timing->calls;
    }
    return CALIB_OK;
}
