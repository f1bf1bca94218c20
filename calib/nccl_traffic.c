/* Calls of NCCL, as PyTorch makes them: an all-to-all is sends and receives in one group. */
#include "config.h"

#include "calib/nccl_traffic.h"

#include "calib/case.h"
#include "calib/nccl_error.h"

#include <string.h>

/* --- sizes ------------------------------------------------------------------------------------ */

/* Eight-bit numbers are moved as bytes; not every NCCL adds them. */
static bool
find_type(const CalibCollective *c, ncclDataType_t *ret)
{
    bool adds = c->op == CALIB_ALL_REDUCE || c->op == CALIB_REDUCE_SCATTER;
    switch (c->dtype) {
    case CALIB_FP32:
    case CALIB_TF32:
        *ret = ncclFloat32;
        return true;
    case CALIB_FP16:
        *ret = ncclFloat16;
        return true;
    case CALIB_BF16:
        *ret = ncclBfloat16;
        return true;
    case CALIB_FP8:
#if NCCL_VERSION_CODE >= 22400
        *ret = adds ? ncclFloat8e4m3 : ncclUint8;
        return true;
#else
        *ret = ncclUint8;
        return !adds;
#endif
    case CALIB_N_DTYPES:
        break;
    }
    return false;
}

/* As nccl-tests: bytes that a rank sends from and receives into; counts are of a slice where ranks have slices. */
static CalibStatus
find_sizes(CalibNcclTraffic *t, int64_t *from, int64_t *to, CalibError *error)
{
    const CalibCollective *c = t->collective;
    int64_t slice = c->bytes / c->ranks, each = calib_dtype_bytes(c->dtype);
    bool sliced =
        c->op == CALIB_ALL_GATHER || c->op == CALIB_REDUCE_SCATTER || c->op == CALIB_ALL_TO_ALL;
    int64_t counted = sliced ? slice : c->bytes;
    if (counted <= 0 || counted % each != 0 || (sliced && c->bytes % c->ranks != 0))
        return calib_cannot(error, "not a whole number of elements for each rank");
    if (c->in_place && (c->op == CALIB_ALL_TO_ALL || c->op == CALIB_SEND_RECV))
        return calib_cannot(error, "NCCL has no %s in place", calib_op_name(c->op));
    if (!find_type(c, &t->type))
        return calib_cannot(error, "this NCCL does not add %s", calib_dtype_name(c->dtype));
    t->count = (size_t)(counted / each);
    *from = c->op == CALIB_ALL_GATHER ? slice : c->bytes;
    *to = c->op == CALIB_REDUCE_SCATTER ? slice : c->bytes;
    return CALIB_OK;
}

/* --- calls ------------------------------------------------------------------------------------ */

static CalibStatus
swap_slices(CalibNcclTraffic *t, unsigned i, ncclComm_t comm, cudaStream_t stream,
            CalibError *error)
{
    size_t bytes = t->count * (size_t)calib_dtype_bytes(t->collective->dtype);
    for (int peer = 0; peer < t->collective->ranks; peer++) {
        CALIB_NCCL_CALL(t->rank, ncclSend(t->members[i].from + (size_t)peer * bytes, t->count,
                                          t->type, peer, comm, stream));
        CALIB_NCCL_CALL(t->rank, ncclRecv(t->members[i].to + (size_t)peer * bytes, t->count,
                                          t->type, peer, comm, stream));
    }
    return CALIB_OK;
}

static CalibStatus
pass_on(CalibNcclTraffic *t, unsigned i, ncclComm_t comm, cudaStream_t stream, CalibError *error)
{
    int n = t->collective->ranks, rank = t->members[i].rank;
    CALIB_NCCL_CALL(t->rank,
                    ncclSend(t->members[i].from, t->count, t->type, (rank + 1) % n, comm, stream));
    CALIB_NCCL_CALL(
        t->rank, ncclRecv(t->members[i].to, t->count, t->type, (rank + n - 1) % n, comm, stream));
    return CALIB_OK;
}

static CalibStatus
call_one(CalibNcclTraffic *t, unsigned i, CalibError *error)
{
    ncclComm_t comm = t->group->comms[t->members[i].seat];
    cudaStream_t stream = t->traffic.streams[i];
    const char *from = t->members[i].from;
    char *to = t->members[i].to;
    switch (t->collective->op) {
    case CALIB_ALL_REDUCE:
        CALIB_NCCL_CALL(t->rank, ncclAllReduce(from, to, t->count, t->type, ncclSum, comm, stream));
        return CALIB_OK;
    case CALIB_ALL_GATHER:
        CALIB_NCCL_CALL(t->rank, ncclAllGather(from, to, t->count, t->type, comm, stream));
        return CALIB_OK;
    case CALIB_REDUCE_SCATTER:
        CALIB_NCCL_CALL(t->rank,
                        ncclReduceScatter(from, to, t->count, t->type, ncclSum, comm, stream));
        return CALIB_OK;
    case CALIB_BROADCAST:
        CALIB_NCCL_CALL(t->rank, ncclBroadcast(from, to, t->count, t->type, 0, comm, stream));
        return CALIB_OK;
    case CALIB_ALL_TO_ALL:
        return swap_slices(t, i, comm, stream, error);
    case CALIB_SEND_RECV:
        return pass_on(t, i, comm, stream, error);
    case CALIB_COPY_ENGINE:
        break;
    }
    return calib_cannot(error, "NCCL has no such collective");
}

/* On all GPUs of this process as one group of NCCL's, which must be ended whatever happens in it. */
static CalibStatus
call_all(CalibNcclTraffic *t, CalibStatus (*call)(CalibNcclTraffic *, unsigned, CalibError *),
         CalibError *error)
{
    CalibStatus status = CALIB_OK;
    CALIB_NCCL_CALL(t->rank, ncclGroupStart());
    for (unsigned i = 0; i < t->n && status == CALIB_OK; i++)
        status = call(t, i, error);
    ncclResult_t code = ncclGroupEnd();
    if (status == CALIB_OK && code != ncclSuccess)
        return calib_nccl_failed(t->rank, "ncclGroupEnd", code, __FILE__, __LINE__, error);
    return status;
}

static CalibStatus
launch(CalibTraffic *traffic, CalibError *error)
{
    return call_all(traffic->data, call_one, error);
}

/* One number summed over all: none has it before all have come. */
static CalibStatus
add_small(CalibNcclTraffic *t, unsigned i, CalibError *error)
{
    char *small = t->members[i].gpu->small;
    CALIB_NCCL_CALL(t->rank,
                    ncclAllReduce(small, small, 1, ncclFloat32, ncclSum,
                                  t->group->comms[t->members[i].seat], t->traffic.streams[i]));
    return CALIB_OK;
}

static CalibStatus
align(CalibTraffic *traffic, CalibError *error)
{
    return call_all(traffic->data, add_small, error);
}

/* --- buffers ---------------------------------------------------------------------------------- */

static CalibStatus
reserve_beside(CalibNcclGpu *g, int64_t bytes, char **ret, CalibError *error)
{
    if (bytes > g->buffer_bytes) {
        CALIB_CUDA(g->gpu, cudaFree(g->buffer));
        g->buffer = NULL;
        g->buffer_bytes = 0;
        CALIB_CUDA(g->gpu, cudaMalloc((void **)&g->buffer, (size_t)bytes));
        g->buffer_bytes = bytes;
    }
    *ret = g->buffer;
    return CALIB_OK;
}

/* In place: where a gather's slices end up, a scatter's come from. */
static void
place_buffers(CalibNcclTraffic *t, unsigned i, char *at, int64_t from_bytes, int64_t to_bytes)
{
    const CalibCollective *c = t->collective;
    char *from = at, *to = at + calib_gpu_after(0, from_bytes);
    if (c->in_place) {
        from = at + (c->op == CALIB_ALL_GATHER ? t->members[i].rank * from_bytes : 0);
        to = at + (c->op == CALIB_REDUCE_SCATTER ? t->members[i].rank * to_bytes : 0);
    }
    t->members[i].from = from;
    t->members[i].to = to;
}

static CalibStatus
add_member(CalibNcclTraffic *t, CalibNcclGpu *g, int seat, int rank, bool beside, CalibError *error)
{
    unsigned i = t->n;
    int64_t from = 0, to = 0;
    char *at = NULL;
    CALIB_TRY(find_sizes(t, &from, &to, error));
    int64_t larger = from > to ? from : to;
    int64_t bytes = t->collective->in_place ? larger : calib_gpu_after(0, from) + to;
    CALIB_CUDA(g->gpu, cudaSetDevice(g->gpu->device));
    if (beside)
        CALIB_TRY(reserve_beside(g, bytes, &at, error));
    else
        CALIB_TRY(calib_gpu_reserve(g->gpu, bytes, &at, error));
    CALIB_TRY(calib_gpu_fill(g->gpu, at, bytes, t->collective->dtype, error));
    CALIB_CUDA(g->gpu, cudaStreamSynchronize(g->gpu->streams[0]));
    t->members[i].gpu = g;
    t->members[i].seat = seat;
    t->members[i].rank = rank;
    place_buffers(t, i, at, from, to);
    t->traffic.gpus[i] = g->gpu;
    t->traffic.streams[i] = beside ? g->stream : g->gpu->streams[0];
    t->traffic.n = ++t->n;
    return CALIB_OK;
}

CalibStatus
calib_nccl_traffic_init(CalibNcclTraffic *t, const CalibCollective *collective, bool beside,
                        const CalibSeats *seats, CalibNcclGpu *gpus, int rank, CalibError *error)
{
    memset(t, 0, sizeof *t);
    t->collective = collective;
    t->rank = rank;
    t->traffic.data = t;
    t->traffic.launch = launch;
    t->traffic.align = align;
    for (int i = 0; i < seats->n; i++) {
        int member = calib_seats_rank(&seats->seats[i], collective->ranks, collective->nodes);
        if (member >= 0)
            CALIB_TRY(add_member(t, &gpus[i], i, member, beside, error));
    }
    return CALIB_OK;
}

void
calib_nccl_traffic_join(CalibNcclTraffic *t, const CalibGroup *group)
{
    t->group = group;
}
