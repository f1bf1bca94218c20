/* Warm-up, samples, gates that hold the stream. */
#include "config.h"

#include "calib/cuda_timing.h"

#include "calib/cuda_error.h"
#include "calib/cuda_nvml.h"

#include <math.h>
#include <sched.h>
#include <time.h>

/* A stream's queue is finite (some thousand entries): when a sample does not fit, its gate must open by itself, or the
 * host would wait for the stream and the stream for the host. */
#define GATE_LIMIT_NS 20000000
#define MOST_WARM_CALLS 100000

static int64_t
now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Runs in CUDA's thread of this stream, which goes on when it returns. */
static void CUDART_CB
wait_at_gate(void *data)
{
    atomic_bool *open = data;
    int64_t limit = now_ns() + GATE_LIMIT_NS;
    while (!atomic_load_explicit(open, memory_order_acquire) && now_ns() < limit)
        sched_yield();
}

CalibStatus
calib_cuda_hold(CalibGpu *gpu, cudaStream_t stream, unsigned which, CalibError *error)
{
    atomic_store(&gpu->gates[which], false);
    CALIB_CUDA(gpu, cudaLaunchHostFunc(stream, wait_at_gate, &gpu->gates[which]));
    return CALIB_OK;
}

void
calib_cuda_open(CalibGpu *gpu, unsigned which)
{
    atomic_store_explicit(&gpu->gates[which], true, memory_order_release);
}

static CalibStatus
enqueue_sample(CalibGpu *gpu, CalibCudaWork *work, unsigned sample, unsigned calls,
               CalibError *error)
{
    cudaStream_t stream = gpu->streams[0];
    CALIB_CUDA(gpu, cudaEventRecord(gpu->begins[sample], stream));
    for (unsigned i = 0; i < calls; i++)
        CALIB_TRY(work->launch(work, sample * calls + i, error));
    CALIB_CUDA(gpu, cudaEventRecord(gpu->ends[sample], stream));
    return CALIB_OK;
}

static CalibStatus
take_samples(CalibGpu *gpu, CalibCudaWork *work, unsigned calls, unsigned samples, double *us,
             CalibError *error)
{
    for (unsigned i = 0; i < samples; i++) {
        CALIB_TRY(calib_cuda_hold(gpu, gpu->streams[0], i, error));
        CalibStatus status = enqueue_sample(gpu, work, i, calls, error);
        calib_cuda_open(gpu, i);
        CALIB_TRY(status);
    }
    calib_nvml_look(gpu->nvml); /* the last samples run meanwhile */
    CALIB_CUDA(gpu, cudaStreamSynchronize(gpu->streams[0]));
    for (unsigned i = 0; i < samples; i++) {
        float ms;
        CALIB_CUDA(gpu, cudaEventElapsedTime(&ms, gpu->begins[i], gpu->ends[i]));
        us[i] = 1e3 * (double)ms / calls;
    }
    return CALIB_OK;
}

static CalibStatus
warm_up(CalibGpu *gpu, CalibCudaWork *work, double warm_us, CalibError *error)
{
    double each = 0;
    if (!(warm_us > 0))
        return CALIB_OK;
    CALIB_TRY(take_samples(gpu, work, 1, 1, &each, error));
    double calls = each > 0 ? ceil(warm_us / each) : MOST_WARM_CALLS;
    if (calls > MOST_WARM_CALLS)
        calls = MOST_WARM_CALLS;
    for (unsigned i = 0; i < (unsigned)calls; i++)
        CALIB_TRY(work->launch(work, i, error));
    return CALIB_OK;
}

CalibStatus
calib_cuda_time(CalibGpu *gpu, CalibCudaWork *work, const CalibTiming *timing, double *us,
                CalibError *error)
{
    CALIB_TRY(warm_up(gpu, work, timing->warm_us, error));
    return take_samples(gpu, work, timing->calls, timing->samples, us, error);
}

CalibStatus
calib_cuda_run_once(CalibGpu *gpu, CalibCudaWork *work, CalibError *error)
{
    CALIB_TRY(work->launch(work, 0, error));
    CALIB_CUDA(gpu, cudaStreamSynchronize(gpu->streams[0]));
    return CALIB_OK;
}
