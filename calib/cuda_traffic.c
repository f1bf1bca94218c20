/* Times what several GPUs do together. */
#include "config.h"

#include "calib/cuda_traffic.h"

#include "calib/cuda_error.h"
#include "calib/cuda_timing.h"

CalibStatus
calib_traffic_repeat(CalibTraffic *t, unsigned calls, CalibError *error)
{
    for (unsigned i = 0; i < calls; i++)
        CALIB_TRY(t->launch(t, error));
    return CALIB_OK;
}

CalibStatus
calib_traffic_finish(CalibTraffic *t, CalibError *error)
{
    for (unsigned i = 0; i < t->n; i++) {
        CALIB_CUDA(t->gpus[i], cudaSetDevice(t->gpus[i]->device));
        CALIB_CUDA(t->gpus[i], cudaStreamSynchronize(t->streams[i]));
    }
    return CALIB_OK;
}

static CalibStatus
record(CalibTraffic *t, bool end, unsigned sample, CalibError *error)
{
    for (unsigned i = 0; i < t->n; i++) {
        CalibGpu *gpu = t->gpus[i];
        CALIB_CUDA(gpu, cudaSetDevice(gpu->device));
        CALIB_CUDA(gpu,
                   cudaEventRecord(end ? gpu->ends[sample] : gpu->begins[sample], t->streams[i]));
    }
    return CALIB_OK;
}

/* One held GPU holds all: they meet in `align`. It is aligned behind the gate, so that ranks whose hosts were late are
 * waited for before a clock starts. */
static CalibStatus
enqueue(CalibTraffic *t, unsigned calls, unsigned sample, CalibError *error)
{
    CALIB_TRY(t->align(t, error));
    CALIB_TRY(record(t, false, sample, error));
    CALIB_TRY(calib_traffic_repeat(t, calls, error));
    return record(t, true, sample, error);
}

CalibStatus
calib_traffic_time(CalibTraffic *t, unsigned calls, unsigned samples, double *us, CalibError *error)
{
    for (unsigned sample = 0; sample < samples; sample++) {
        us[sample] = 0;
        if (t->n == 0)
            continue;
        CALIB_CUDA(t->gpus[0], cudaSetDevice(t->gpus[0]->device));
        CALIB_TRY(calib_cuda_hold(t->gpus[0], t->streams[0], sample, error));
        CalibStatus status = enqueue(t, calls, sample, error);
        calib_cuda_open(t->gpus[0], sample);
        CALIB_TRY(status);
    }
    CALIB_TRY(calib_traffic_finish(t, error));
    for (unsigned i = 0; i < t->n; i++)
        for (unsigned sample = 0; sample < samples; sample++) {
            float ms;
            CalibGpu *gpu = t->gpus[i];
            CALIB_CUDA(gpu, cudaEventElapsedTime(&ms, gpu->begins[sample], gpu->ends[sample]));
            double each = 1e3 * (double)ms / calls;
            if (each > us[sample])
                us[sample] = each;
        }
    return CALIB_OK;
}
