/* Compute and traffic, each alone and beside the other.
 *
 *     traffic  |align|cover ---------------------------------------|     what is timed begins after the
 *     compute               |begin| a calls |end|                        cover's first call, and ends before
 *                                                                        its last
 * and the same with the two exchanged. The traffic is of the streams' common priority, as PyTorch's is: its blocks take
 * their turn with those of the compute. */
#include "config.h"

#include "calib/cuda_traffic.h"

#include "calib/cuda_error.h"
#include "calib/cuda_timing.h"
#include "calib/cuda_work.h"

#include <math.h>
#include <stdlib.h>

/* Events of a GPU by what they mark here; each pair is one of a sample's. */
enum { TIMED, COVER, ORDER };
/* A cover's length over what it has to cover; doubled where that was too short. */
#define FIRST_COVER 2.0
#define MOST_COVER 32.0
#define MOST_CALLS 1000

struct CalibOverlapRun {
    CalibTraffic *traffic;
    CalibCudaWork *const *works;
    unsigned turn;
    unsigned work_calls, traffic_calls, work_cover, traffic_cover;
    unsigned work_warm, traffic_warm;
    double us[CALIB_OVERLAP_TIMES + 1]; /* and whether a cover was too short */
};

CalibOverlapRun *
calib_overlap_run_new(CalibTraffic *traffic, CalibCudaWork *const *works)
{
    CalibOverlapRun *run = calloc(1, sizeof *run);
    if (run == NULL)
        return NULL;
    run->traffic = traffic;
    run->works = works;
    return run;
}

void
calib_overlap_run_free(CalibOverlapRun *run)
{
    free(run);
}

/* --- on all GPUs of this process -------------------------------------------------------------- */

static CalibStatus
work(CalibOverlapRun *r, unsigned calls, CalibError *error)
{
    for (unsigned call = 0; call < calls; call++, r->turn++)
        for (unsigned i = 0; i < r->traffic->n; i++) {
            CalibGpu *gpu = r->traffic->gpus[i];
            CALIB_CUDA(gpu, cudaSetDevice(gpu->device));
            CALIB_TRY(r->works[i]->launch(r->works[i], r->turn, error));
        }
    return CALIB_OK;
}

typedef enum { ON_WORK, ON_TRAFFIC } Side;

static cudaStream_t
stream_of(const CalibOverlapRun *r, unsigned i, Side side)
{
    return side == ON_WORK ? r->traffic->gpus[i]->streams[0] : r->traffic->streams[i];
}

static CalibStatus
record(CalibOverlapRun *r, Side side, bool end, unsigned which, CalibError *error)
{
    for (unsigned i = 0; i < r->traffic->n; i++) {
        CalibGpu *gpu = r->traffic->gpus[i];
        CALIB_CUDA(gpu, cudaSetDevice(gpu->device));
        CALIB_CUDA(gpu, cudaEventRecord(end ? gpu->ends[which] : gpu->begins[which],
                                        stream_of(r, i, side)));
    }
    return CALIB_OK;
}

/* What comes next on `second` waits for what `first` has by now. */
static CalibStatus
order(CalibOverlapRun *r, Side first, Side second, bool end, CalibError *error)
{
    CALIB_TRY(record(r, first, end, ORDER, error));
    for (unsigned i = 0; i < r->traffic->n; i++) {
        CalibGpu *gpu = r->traffic->gpus[i];
        CALIB_CUDA(gpu, cudaSetDevice(gpu->device));
        CALIB_CUDA(gpu, cudaStreamWaitEvent(stream_of(r, i, second),
                                            end ? gpu->ends[ORDER] : gpu->begins[ORDER], 0));
    }
    return CALIB_OK;
}

static CalibStatus
finish(CalibOverlapRun *r, CalibError *error)
{
    for (unsigned i = 0; i < r->traffic->n; i++) {
        CalibGpu *gpu = r->traffic->gpus[i];
        CALIB_CUDA(gpu, cudaSetDevice(gpu->device));
        CALIB_CUDA(gpu, cudaStreamSynchronize(gpu->streams[0]));
        CALIB_CUDA(gpu, cudaStreamSynchronize(r->traffic->streams[i]));
    }
    return CALIB_OK;
}

static CalibStatus
repeat(CalibOverlapRun *r, Side side, unsigned calls, CalibError *error)
{
    return side == ON_WORK ? work(r, calls, error) : calib_traffic_repeat(r->traffic, calls, error);
}

/* --- one time --------------------------------------------------------------------------------- */

/* Enqueued while the traffic's stream is held; the compute's waits for it. A cover of 0 calls: alone. */
static CalibStatus
enqueue(CalibOverlapRun *r, Side timed, unsigned calls, unsigned cover, CalibError *error)
{
    Side other = timed == ON_WORK ? ON_TRAFFIC : ON_WORK;
    CALIB_TRY(order(r, ON_WORK, ON_TRAFFIC, false, error));
    CALIB_TRY(r->traffic->align(r->traffic, error));
    CALIB_TRY(order(r, ON_TRAFFIC, ON_WORK, false, error));
    if (cover > 0) {
        CALIB_TRY(repeat(r, other, 1, error));
        CALIB_TRY(order(r, other, timed, true, error));
    }
    CALIB_TRY(record(r, timed, false, TIMED, error));
    CALIB_TRY(repeat(r, timed, calls, error));
    CALIB_TRY(record(r, timed, true, TIMED, error));
    if (cover > 1)
        CALIB_TRY(repeat(r, other, cover - 1, error));
    return record(r, other, true, COVER, error);
}

static CalibStatus
read_times(CalibOverlapRun *r, unsigned calls, bool covered, double *us, CalibError *error)
{
    *us = 0;
    for (unsigned i = 0; i < r->traffic->n; i++) {
        CalibGpu *gpu = r->traffic->gpus[i];
        float ms;
        CALIB_CUDA(gpu, cudaEventElapsedTime(&ms, gpu->begins[TIMED], gpu->ends[TIMED]));
        *us = fmax(*us, 1e3 * (double)ms / calls);
        if (!covered)
            continue;
        CALIB_CUDA(gpu, cudaEventElapsedTime(&ms, gpu->ends[TIMED], gpu->ends[COVER]));
        if (ms < 0)
            r->us[CALIB_OVERLAP_TIMES] = 1;
    }
    return CALIB_OK;
}

static CalibStatus
time_side(CalibOverlapRun *r, Side timed, unsigned calls, unsigned cover, double *us,
          CalibError *error)
{
    CalibTraffic *t = r->traffic;
    if (t->n == 0) {
        *us = 0;
        return CALIB_OK;
    }
    CALIB_CUDA(t->gpus[0], cudaSetDevice(t->gpus[0]->device));
    CALIB_TRY(calib_cuda_hold(t->gpus[0], t->streams[0], 0, error));
    CalibStatus status = enqueue(r, timed, calls, cover, error);
    calib_cuda_open(t->gpus[0], 0);
    CALIB_TRY(status);
    CALIB_TRY(finish(r, error));
    return read_times(r, calls, cover > 0, us, error);
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* Each once, untimed, then each alone. */
static CalibStatus
pilot(void *data, CalibError *error)
{
    CalibOverlapRun *r = data;
    CALIB_TRY(work(r, 1, error));
    CALIB_TRY(calib_traffic_repeat(r->traffic, 1, error));
    CALIB_TRY(finish(r, error));
    CALIB_TRY(time_side(r, ON_WORK, 1, 0, &r->us[0], error));
    return time_side(r, ON_TRAFFIC, 1, 0, &r->us[1], error);
}

static CalibStatus
warm_up(void *data, CalibError *error)
{
    CalibOverlapRun *r = data;
    CALIB_TRY(work(r, r->work_warm, error));
    CALIB_TRY(finish(r, error));
    CALIB_TRY(calib_traffic_repeat(r->traffic, r->traffic_warm, error));
    return finish(r, error);
}

static CalibStatus
take_sample(void *data, CalibError *error)
{
    CalibOverlapRun *r = data;
    r->us[CALIB_OVERLAP_TIMES] = 0;
    CALIB_TRY(time_side(r, ON_WORK, r->work_calls, 0, &r->us[0], error));
    CALIB_TRY(time_side(r, ON_TRAFFIC, r->traffic_calls, 0, &r->us[1], error));
    CALIB_TRY(time_side(r, ON_WORK, r->work_calls, r->traffic_cover, &r->us[2], error));
    return time_side(r, ON_TRAFFIC, r->traffic_calls, r->work_cover, &r->us[3], error);
}

/* --- what all ranks do alike ------------------------------------------------------------------ */

static unsigned
ratio(double all_us, double each_us)
{
    double n = each_us > 0 ? ceil(all_us / each_us) : 1;
    return n < 1 ? 1 : n > MOST_CALLS ? MOST_CALLS : (unsigned)n;
}

static void
set_covers(CalibOverlapRun *r, double work_us, double traffic_us, double cover)
{
    r->traffic_cover = 1 + ratio(cover * r->work_calls * work_us, traffic_us);
    r->work_cover = 1 + ratio(cover * r->traffic_calls * traffic_us, work_us);
}

/* Spans of equal length, so that neither sees only a part of the other. */
static void
set_calls(CalibOverlapRun *r, const CalibTiming *timing, double work_us, double traffic_us)
{
    double span_us = timing->calls * fmax(work_us, traffic_us);
    r->work_calls = ratio(span_us, work_us);
    r->traffic_calls = ratio(span_us, traffic_us);
    r->work_warm = timing->warm_us > 0 ? ratio(timing->warm_us / 2, work_us) : 0;
    r->traffic_warm = timing->warm_us > 0 ? ratio(timing->warm_us / 2, traffic_us) : 0;
}

/* False `*ret_covered`: what was timed outlasted what was beside it, somewhere. */
static CalibStatus
sample_together(CalibOverlapRun *r, const CalibTogether *together, bool *ret_covered,
                CalibError *error)
{
    CALIB_TRY(together->run(together->data, take_sample, r, r->us, CALIB_OVERLAP_TIMES + 1, error));
    *ret_covered = r->us[CALIB_OVERLAP_TIMES] == 0;
    return CALIB_OK;
}

CalibStatus
calib_overlap_run(CalibOverlapRun *r, const CalibTogether *together, const CalibTiming *timing,
                  double *us, CalibError *error)
{
    CALIB_TRY(together->run(together->data, pilot, r, r->us, 2, error));
    double work_us = r->us[0], traffic_us = r->us[1], cover = FIRST_COVER;
    set_calls(r, timing, work_us, traffic_us);
    set_covers(r, work_us, traffic_us, cover);
    CALIB_TRY(together->run(together->data, warm_up, r, NULL, 0, error));
    for (unsigned i = 0; i < timing->samples;) {
        bool covered;
        CALIB_TRY(sample_together(r, together, &covered, error));
        if (!covered && cover >= MOST_COVER)
            return calib_cannot(error,
                                "one of the two lasts longer beside the other than %g times "
                                "as long as alone",
                                MOST_COVER);
        if (!covered) {
            cover *= 2;
            set_covers(r, work_us, traffic_us, cover);
            continue;
        }
        for (unsigned t = 0; t < CALIB_OVERLAP_TIMES; t++)
            us[t * timing->samples + i] = r->us[t];
        i++;
    }
    return CALIB_OK;
}

CalibStatus
calib_overlap_work_new(CalibGpu *gpu, const CalibOverlap *overlap, CalibCudaWork **ret,
                       CalibError *error)
{
    CalibCase what = {.kind = CALIB_CASE_MEMORY, .memory = overlap->memory};
    if (overlap->work == CALIB_WORK_GEMM)
        what = (CalibCase){.kind = CALIB_CASE_GEMM, .gemm = overlap->gemm};
    else if (overlap->work == CALIB_WORK_ATTENTION)
        what = (CalibCase){.kind = CALIB_CASE_ATTENTION, .attention = overlap->attention};
    CALIB_CUDA(gpu, cudaSetDevice(gpu->device));
    return calib_cuda_work_new(gpu, &what, ret, error);
}

/* --- beside the copy engine ------------------------------------------------------------------- */

typedef struct {
    CalibTraffic traffic;
    void *from, *to;
    size_t bytes;
    CalibCudaWork *works[1];
} Copies;

static CalibStatus
copy(CalibTraffic *traffic, CalibError *error)
{
    const Copies *c = traffic->data;
    CALIB_CUDA(traffic->gpus[0], cudaMemcpyAsync(c->to, c->from, c->bytes, cudaMemcpyDeviceToHost,
                                                 traffic->streams[0]));
    return CALIB_OK;
}

static CalibStatus
align_alone(CalibTraffic *traffic, CalibError *error)
{
    (void)traffic;
    (void)error;
    return CALIB_OK;
}

static CalibStatus
run_alone(void *data, CalibStatus (*job)(void *job_data, CalibError *error), void *job_data,
          double *worst, unsigned n, CalibError *error)
{
    (void)data;
    (void)worst;
    (void)n;
    return job(job_data, error);
}

static CalibStatus
make_copies(CalibGpu *gpu, const CalibOverlap *overlap, Copies *c, CalibError *error)
{
    c->bytes = (size_t)overlap->traffic.bytes;
    c->traffic.data = c;
    c->traffic.n = 1;
    c->traffic.gpus[0] = gpu;
    c->traffic.launch = copy;
    c->traffic.align = align_alone;
    CALIB_TRY(calib_gpu_reserve_pinned(gpu, overlap->traffic.bytes, &c->to, error));
    CALIB_CUDA(gpu, cudaMalloc(&c->from, c->bytes));
    CALIB_TRY(calib_gpu_fill(gpu, c->from, overlap->traffic.bytes, CALIB_BF16, error));
    CALIB_CUDA(gpu, cudaStreamCreateWithFlags(&c->traffic.streams[0], cudaStreamNonBlocking));
    return calib_overlap_work_new(gpu, overlap, &c->works[0], error);
}

static CalibStatus
measure_copies(Copies *c, const CalibTiming *timing, double *us, CalibError *error)
{
    const CalibTogether alone = {NULL, run_alone};
    CalibOverlapRun *run = calib_overlap_run_new(&c->traffic, c->works);
    if (run == NULL)
        return calib_cannot(error, "no host memory");
    CalibStatus status = calib_overlap_run(run, &alone, timing, us, error);
    calib_overlap_run_free(run);
    return status;
}

CalibStatus
calib_overlap_with_copy(CalibGpu *gpu, const CalibOverlap *overlap, const CalibTiming *timing,
                        double *us, CalibError *error)
{
    Copies c = {0};
    CalibStatus status = make_copies(gpu, overlap, &c, error);
    if (status == CALIB_OK)
        status = measure_copies(&c, timing, us, error);
    if (c.works[0] != NULL)
        c.works[0]->free(c.works[0]);
    if (c.traffic.streams[0] != NULL)
        cudaStreamDestroy(c.traffic.streams[0]);
    cudaFree(c.from);
    return status;
}
