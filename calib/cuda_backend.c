/* The backend of a GPU with CUDA: makes what a case asks for, and times it. */
#include "config.h"

#include "calib/backend.h"

#include "calib/case.h"
#include "calib/cuda_error.h"
#include "calib/cuda_fused.h"
#include "calib/cuda_machine.h"
#include "calib/cuda_nvml.h"
#include "calib/cuda_timing.h"
#include "calib/cuda_traffic.h"
#include "calib/cuda_work.h"
#include "calib/watch.h"
#ifdef CALIB_NCCL
#include "calib/nccl_team.h"
#else
#include "calib/launch.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    CalibGpu gpu;
    CalibCase made; /* what `work` is of; rounds of one case follow each other */
    CalibCudaWork *work;
    CalibWatch *watch; /* over what this GPU does alone */
    char name[48];     /* the GPU's, for its complaints */
    struct {           /* that, where a job that hangs finds it, however long that lasts */
        CalibCase what;
        CalibTiming timing;
        double us[CALIB_OVERLAP_TIMES * CALIB_MAX_SAMPLES];
    } job;
#ifdef CALIB_NCCL
    CalibTeam *team;
#endif
} State;

static CalibStatus
describe(void *data, CalibMachine *ret, CalibError *error)
{
    State *s = data;
    CALIB_TRY(calib_cuda_describe(&s->gpu, ret, error));
#ifdef CALIB_NCCL
    calib_team_describe(s->team, ret);
#endif
    return CALIB_OK;
}

/* --- measuring -------------------------------------------------------------------------------- */

static CalibStatus
make_memory(CalibGpu *gpu, const CalibMemory *memory, CalibCudaWork **ret, CalibError *error)
{
    switch (memory->kernel) {
    case CALIB_EVENT:
    case CALIB_H2D:
    case CALIB_D2H:
    case CALIB_P2P:
        return calib_cuda_copy_new(gpu, memory, ret, error);
    default:
        return calib_cuda_memory_new(gpu, memory, ret, error);
    }
}

CalibStatus
calib_cuda_work_new(CalibGpu *gpu, const CalibCase *what, CalibCudaWork **ret, CalibError *error)
{
    switch (what->kind) {
    case CALIB_CASE_GEMM:
        return calib_cuda_gemm_new(gpu, &what->gemm, ret, error);
    case CALIB_CASE_MEMORY:
        return make_memory(gpu, &what->memory, ret, error);
    case CALIB_CASE_ATTENTION:
        return gpu->fused != NULL ? calib_fused_new(gpu, &what->attention, ret, error)
                                  : calib_cuda_attention_new(gpu, &what->attention, ret, error);
    default:
        return calib_cannot(error, "not of one kernel");
    }
}

static void
drop_work(State *s)
{
    if (s->work != NULL)
        s->work->free(s->work);
    s->work = NULL;
}

static CalibStatus
prepare(State *s, const CalibCase *what, CalibError *error)
{
    if (s->work != NULL && calib_case_compare(&s->made, what) == 0)
        return CALIB_OK;
    drop_work(s);
    CALIB_TRY(calib_cuda_work_new(&s->gpu, what, &s->work, error));
    s->made = *what;
    CalibStatus status = calib_cuda_run_once(&s->gpu, s->work, error);
    if (status != CALIB_OK)
        drop_work(s);
    return status;
}

static CalibStatus
run_alone(State *s, const CalibCase *what, const CalibTiming *timing, double *us, CalibError *error)
{
    if (what->kind == CALIB_CASE_OVERLAP)
        return calib_overlap_with_copy(&s->gpu, &what->overlap, timing, us, error);
    if (what->kind == CALIB_CASE_MEMORY && what->memory.kernel == CALIB_SYNC)
        return calib_cuda_time_sync(&s->gpu, timing, us, error);
    CALIB_TRY(prepare(s, what, error));
    if (what->kind != CALIB_CASE_MEMORY || what->memory.kernel != CALIB_EVENT)
        return calib_cuda_time(&s->gpu, s->work, timing, us, error);
    /* one pair of events a sample, whatever is asked for */
    CalibTiming pairs = {.calls = 1, .samples = timing->samples};
    return calib_cuda_time(&s->gpu, s->work, &pairs, us, error);
}

/* On the watch's thread, whose device has to be chosen, too. */
static CalibStatus
run_job(void *data, CalibError *error)
{
    State *s = data;
    CALIB_CUDA(&s->gpu, cudaSetDevice(s->gpu.device));
    return run_alone(s, &s->job.what, &s->job.timing, s->job.us, error);
}

/* A GPU that does not answer (a fault of the card, a driver that waits for it) would keep this process for good, and all
 * others that wait for it. */
static CalibStatus
run_watched(State *s, const CalibCase *what, const CalibTiming *timing, double *us,
            CalibError *error)
{
    s->job.what = *what;
    s->job.timing = *timing;
    CALIB_TRY(calib_watch_run(s->watch, run_job, s, error));
    memcpy(us, s->job.us, calib_case_n_times(what) * timing->samples * sizeof *us);
    return CALIB_OK;
}

static CalibStatus
run(void *data, const CalibCase *what, const CalibTiming *timing, double *us, CalibError *error)
{
    State *s = data;
    if (what->kind == CALIB_CASE_COLLECTIVE || what->kind == CALIB_CASE_OVERLAP)
        drop_work(s); /* arenas are laid out anew */
    if (!calib_case_is_shared(what))
        return run_watched(s, what, timing, us, error);
#ifdef CALIB_NCCL
    return calib_team_run(s->team, &s->gpu, what, timing, us, error);
#else
    return calib_cannot(error, "built without NCCL");
#endif
}

/* --- open and close --------------------------------------------------------------------------- */

static CalibStatus
share(void *data, void *bytes, size_t size, CalibError *error)
{
#ifdef CALIB_NCCL
    State *s = data;
    return calib_team_share(s->team, bytes, size, error);
#else
    (void)data;
    (void)bytes;
    (void)size;
    snprintf(error->text, sizeof error->text, "one process shares with no one");
    return CALIB_FAILED;
#endif
}

static double
now_s(void *data)
{
    (void)data;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
conclude(void *data, CalibMachine *machine)
{
    State *s = data;
    calib_nvml_tell(s->gpu.nvml, machine->clocks, sizeof machine->clocks);
}

static void
close_state(void *data)
{
    State *s = data;
    if (s->watch != NULL && calib_watch_is_stuck(s->watch)) {
        fflush(NULL);
        _exit(1);
    }
#ifdef CALIB_NCCL
    calib_team_give_up(s->team);
#endif
    calib_watch_free(s->watch);
    drop_work(s);
#ifdef CALIB_NCCL
    calib_team_close(s->team);
#endif
    calib_nvml_close(s->gpu.nvml);
    calib_fused_close(&s->gpu);
    calib_gpu_close(&s->gpu);
    free(s);
}

/* Whatever keeps the runtime from naming a GPU (no driver, one too old, none visible) leaves nothing to measure on. */
static bool
has_gpu(CalibError *error)
{
    int n = 0;
    cudaError_t code = cudaGetDeviceCount(&n);
    if (code == cudaSuccess && n > 0)
        return true;
    snprintf(error->text, sizeof error->text, "no GPU: %s",
             code != cudaSuccess ? cudaGetErrorString(code) : "CUDA sees none");
    return false;
}

static bool
is_well(void *data, CalibError *error)
{
#ifdef CALIB_NCCL
    State *s = data;
    return calib_team_is_whole(s->team, error);
#else
    (void)data;
    (void)error;
    return true;
#endif
}

/* Nothing makes a GPU give up what it does. */
static void
stop(void *data)
{
    (void)data;
}

static CalibStatus
start_watch(State *s, CalibError *error)
{
    snprintf(s->name, sizeof s->name, "rank %d's GPU %d", s->gpu.rank, s->gpu.device);
    const CalibWatchSpec spec = {.name = s->name,
                                 .limit_s = CALIB_PATIENCE_S,
                                 .grace_s = CALIB_GRACE_S,
                                 .is_well = is_well,
                                 .stop = stop,
                                 .data = s};
    s->watch = calib_watch_new(&spec);
    return s->watch != NULL ? CALIB_OK : calib_cannot(error, "no thread is to be had");
}

/* Who takes part, and this process' first GPU. */
static CalibStatus
open_state(State *s, const CalibLaunch *launch, CalibError *error)
{
#ifdef CALIB_NCCL
    CALIB_TRY(calib_team_open(launch, &s->team, error));
    CALIB_TRY(calib_gpu_open(calib_team_device(s->team), calib_team_rank(s->team), &s->gpu, error));
#else
    CalibPlace place;
    if (!calib_launch_find(launch, false, calib_launch_getenv, NULL, &place, error))
        return CALIB_FAILED;
    if (place.world > 1)
        return calib_cannot(error, "%d processes: built without NCCL, which joins them",
                            place.world);
    CALIB_TRY(calib_gpu_open(0, 0, &s->gpu, error));
#endif
    char address[32] = "";
    CALIB_TRY(calib_fused_open(&s->gpu, error));
    CALIB_CUDA(&s->gpu, cudaDeviceGetPCIBusId(address, sizeof address, s->gpu.device));
    s->gpu.nvml = calib_nvml_open(address);
    return start_watch(s, error);
}

CalibOpened
calib_backend_open(const CalibLaunch *launch, CalibBackend *ret, CalibError *error)
{
    if (!has_gpu(error))
        return CALIB_NO_GPU;
    State *s = calloc(1, sizeof *s);
    if (s == NULL) {
        snprintf(error->text, sizeof error->text, "no host memory");
        return CALIB_OPEN_FAILED;
    }
    if (open_state(s, launch, error) != CALIB_OK) {
        close_state(s);
        return CALIB_OPEN_FAILED;
    }
    *ret = (CalibBackend){.name = "CUDA",
                          .state = s,
                          .describe = describe,
                          .run = run,
                          .share = share,
                          .now_s = now_s,
                          .conclude = conclude,
                          .close = close_state};
    return CALIB_OPENED;
}
