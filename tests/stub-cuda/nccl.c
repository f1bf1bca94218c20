/* NCCL of GPUs that compute nothing. Ranks of a communicator meet when it is made, and in each all-reduce of one number, in
 * all processes: one that does not come keeps the others there until they are aborted. Of other calls it is held that all
 * GPUs of the process make the same, and that what is sent is received.
 *
 * A call takes 20 us and its bytes at 300 GB/s, or 18.75 GB/s a channel where channels are set. */
#include "device.h"

#include <fcntl.h>
#include <nccl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CALL_US 20
#define BYTES_US 3e5
#define CHANNEL_BYTES_US 18.75e3

struct StubComm {
    char name[160];
    int n, rank, channels, splits;
    bool is_member;
    unsigned parent_ranks; /* of a split that is not over: who must come */
    unsigned epoch;
    struct {
        atomic_uint times; /* that a rank has come */
        atomic_uint split; /* ranks of the parent that have come to split it, and members << 16 */
    } * arrived;           /* in memory that all processes share */
    atomic_bool aborted;
};

typedef enum { REDUCE, GATHER, SCATTER, BROADCAST, SEND, RECEIVE } Kind;
typedef struct {
    Kind kind;
    ncclComm_t comm;
    size_t bytes;
    int peer;
    cudaStream_t stream;
} Call;

enum { MOST_CALLS = 4096, MOST_COMMS = 512 };
static Call calls[MOST_CALLS];
static int n_calls, depth;
static ncclComm_t comms[MOST_COMMS], joins[MOST_COMMS];
static int n_comms, n_joins;

static void
complain(const char *what)
{
    fprintf(stderr, "stub: nccl: %s\n", what);
    exit(3);
}

static size_t
type_bytes(ncclDataType_t type)
{
    return type == ncclFloat32 ? 4 : type == ncclFloat16 || type == ncclBfloat16 ? 2 : 1;
}

/* --- meeting ---------------------------------------------------------------------------------- */

static void *
open_meeting(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/nccl-%s", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp",
             name);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, 2 * sizeof(atomic_uint)) != 0)
        complain("no shared memory");
    void *at = mmap(NULL, 2 * sizeof(atomic_uint), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        complain("no shared memory");
    return at;
}

static bool
wait_a_moment(ncclComm_t comm)
{
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    return !atomic_load(&comm->aborted);
}

static ncclResult_t
wait_for_all(ncclComm_t comm)
{
    while (atomic_load(&comm->arrived->times) < comm->epoch * (unsigned)comm->n)
        if (!wait_a_moment(comm))
            return ncclRemoteError;
    return ncclSuccess;
}

static void
come(ncclComm_t comm)
{
    comm->epoch++;
    atomic_fetch_add(&comm->arrived->times, 1);
}

static ncclComm_t
comm_new(const char *name, int rank, int channels)
{
    if (n_comms == MOST_COMMS || n_joins == MOST_COMMS)
        complain("too many communicators");
    ncclComm_t comm = calloc(1, sizeof *comm);
    snprintf(comm->name, sizeof comm->name, "%s", name);
    comm->rank = rank;
    comm->channels = channels;
    comm->is_member = true;
    comm->arrived = open_meeting(name);
    comms[n_comms++] = comm;
    joins[n_joins++] = comm;
    return comm;
}

/* --- groups of calls -------------------------------------------------------------------------- */

static int
n_of_comm(const ncclComm_t comm)
{
    int n = 0;
    for (int i = 0; i < n_comms; i++)
        n += strcmp(comms[i]->name, comm->name) == 0;
    return n;
}

static bool
pairs(const Call *a, const Call *b)
{
    return a->kind == SEND && b->kind == RECEIVE && a->bytes == b->bytes &&
           a->peer == b->comm->rank && b->peer == a->comm->rank &&
           strcmp(a->comm->name, b->comm->name) == 0;
}

static void
check_call(const Call *call)
{
    int same = 0, partners = 0;
    for (int i = 0; i < n_calls; i++) {
        if (strcmp(calls[i].comm->name, call->comm->name) != 0)
            continue;
        same += calls[i].kind == call->kind && calls[i].bytes == call->bytes;
        partners += pairs(call, &calls[i]) || pairs(&calls[i], call);
    }
    int here = n_of_comm(call->comm);
    if (call->kind < SEND && same != here)
        complain("GPUs of one process do not make the same call");
    if (call->kind >= SEND && here == call->comm->n && partners != 1)
        complain("what is sent is not received");
}

static double
call_us(const Call *call)
{
    if (call->kind == RECEIVE)
        return 0;
    double rate = call->comm->channels > 0 ? call->comm->channels * CHANNEL_BYTES_US : BYTES_US;
    return CALL_US + (double)call->bytes / rate;
}

static bool
is_meeting(const Call *call)
{
    return call->kind == REDUCE && call->bytes == 4;
}

static ncclResult_t
meet(void)
{
    ncclResult_t code = ncclSuccess;
    for (int i = 0; i < n_calls; i++)
        if (is_meeting(&calls[i]))
            come(calls[i].comm);
    for (int i = 0; i < n_calls && code == ncclSuccess; i++)
        if (is_meeting(&calls[i]))
            code = wait_for_all(calls[i].comm);
    return code;
}

/* New communicators: first those that come of a split learn how many they are. */
static ncclResult_t
meet_first(void)
{
    ncclResult_t code = ncclSuccess;
    for (int i = 0; i < n_joins; i++)
        if (joins[i]->parent_ranks > 0)
            atomic_fetch_add(&joins[i]->arrived->split, joins[i]->is_member ? 0x10001u : 1u);
    for (int i = 0; i < n_joins; i++) {
        ncclComm_t comm = joins[i];
        while (comm->parent_ranks > 0 &&
               (atomic_load(&comm->arrived->split) & 0xffff) < comm->parent_ranks)
            wait_a_moment(comm);
        if (comm->parent_ranks > 0)
            comm->n = (int)(atomic_load(&comm->arrived->split) >> 16);
        if (comm->is_member)
            come(comm);
    }
    for (int i = 0; i < n_joins; i++) {
        if (joins[i]->is_member && joins[i]->rank >= joins[i]->n)
            complain("a rank that there is not");
        if (joins[i]->is_member && code == ncclSuccess)
            code = wait_for_all(joins[i]);
        else if (!joins[i]->is_member)
            ncclCommDestroy(joins[i]);
    }
    n_joins = 0;
    return code;
}

/* None is over before all have begun. */
static void
spend(void)
{
    cudaEvent_t begin;
    cudaEventCreate(&begin);
    for (int i = 0; i < n_calls; i++) {
        cudaEventRecord(begin, calls[i].stream);
        for (int j = 0; j < n_calls; j++)
            cudaStreamWaitEvent(calls[j].stream, begin, 0);
    }
    cudaEventDestroy(begin);
    for (int i = 0; i < n_calls; i++)
        stub_spend(calls[i].stream, call_us(&calls[i]));
}

ncclResult_t
ncclGroupStart(void)
{
    STUB_ENTER(ncclResult_t);
    if (depth++ > 0)
        complain("a group within a group");
    n_calls = 0;
    return ncclSuccess;
}

ncclResult_t
ncclGroupEnd(void)
{
    depth--;
    STUB_ENTER(ncclResult_t);
    for (int i = 0; i < n_calls; i++)
        check_call(&calls[i]);
    spend();
    ncclResult_t code = meet_first();
    return code == ncclSuccess ? meet() : code;
}

/* --- communicators ---------------------------------------------------------------------------- */

const char *
ncclGetErrorString(ncclResult_t code)
{
    return code == ncclRemoteError ? "remote process exited" : "a failure that was asked for";
}

const char *
ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return "";
}

ncclResult_t
ncclGetVersion(int *version)
{
    STUB_ENTER(ncclResult_t);
    *version = getenv("DTSIM_STUB_NCCL") != NULL ? atoi(getenv("DTSIM_STUB_NCCL")) : 22809;
    return ncclSuccess;
}

ncclResult_t
ncclGetUniqueId(ncclUniqueId *id)
{
    STUB_ENTER(ncclResult_t);
    static int n;
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "%ld-%d", (long)getpid(), n++);
    return ncclSuccess;
}

ncclResult_t
ncclCommInitRankConfig(ncclComm_t *comm, int n, ncclUniqueId id, int rank, ncclConfig_t *config)
{
    STUB_ENTER(ncclResult_t);
    if (config->minCTAs != config->maxCTAs)
        complain("a range of channels");
    *comm = comm_new(id.internal, rank, config->maxCTAs);
    (*comm)->n = n;
    return depth > 0 ? ncclSuccess : ncclInvalidUsage;
}

/* Who takes part is known when all ranks of the parent have come: at the group's end. */
ncclResult_t
ncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t *ret, ncclConfig_t *config)
{
    STUB_ENTER(ncclResult_t);
    if (config->minCTAs != config->maxCTAs)
        complain("a range of channels");
    char name[160];
    snprintf(name, sizeof name, "%.100s-%d", parent->name, parent->splits++);
    ncclComm_t comm = comm_new(name, key, config->maxCTAs);
    comm->parent_ranks = (unsigned)parent->n;
    comm->is_member = color != NCCL_SPLIT_NOCOLOR;
    *ret = comm->is_member ? comm : NULL;
    return depth > 0 ? ncclSuccess : ncclInvalidUsage;
}

ncclResult_t
ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *code)
{
    (void)comm;
    *code = (ncclResult_t)stub_enter(__func__);
    return ncclSuccess;
}

ncclResult_t
ncclCommAbort(ncclComm_t comm)
{
    STUB_ENTER(ncclResult_t);
    atomic_store(&comm->aborted, true);
    return ncclSuccess;
}

ncclResult_t
ncclCommDestroy(ncclComm_t comm)
{
    STUB_ENTER(ncclResult_t);
    for (int i = 0; i < n_comms; i++)
        if (comms[i] == comm)
            comms[i--] = comms[--n_comms];
    munmap(comm->arrived, sizeof *comm->arrived);
    free(comm);
    return ncclSuccess;
}

/* --- collectives ------------------------------------------------------------------------------ */

static ncclResult_t
add(Kind kind, ncclComm_t comm, size_t bytes, int peer, cudaStream_t stream)
{
    if (n_calls == MOST_CALLS || depth == 0)
        return ncclInvalidUsage;
    calls[n_calls++] = (Call){kind, comm, bytes, peer, stream};
    return ncclSuccess;
}

ncclResult_t
ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
              ncclComm_t comm, cudaStream_t stream)
{
    (void)op;
    STUB_ENTER(ncclResult_t);
    stub_check(__func__, from, count * type_bytes(type));
    stub_check(__func__, to, count * type_bytes(type));
    return add(REDUCE, comm, count * type_bytes(type), 0, stream);
}

ncclResult_t
ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
              cudaStream_t stream)
{
    STUB_ENTER(ncclResult_t);
    size_t bytes = count * type_bytes(type);
    stub_check(__func__, from, bytes);
    stub_check(__func__, to, bytes * (size_t)comm->n);
    return add(GATHER, comm, bytes * (size_t)comm->n, 0, stream);
}

ncclResult_t
ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                  ncclComm_t comm, cudaStream_t stream)
{
    (void)op;
    STUB_ENTER(ncclResult_t);
    size_t bytes = count * type_bytes(type);
    stub_check(__func__, from, bytes * (size_t)comm->n);
    stub_check(__func__, to, bytes);
    return add(SCATTER, comm, bytes * (size_t)comm->n, 0, stream);
}

ncclResult_t
ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root,
              ncclComm_t comm, cudaStream_t stream)
{
    STUB_ENTER(ncclResult_t);
    if (root != 0)
        return ncclInvalidArgument;
    stub_check(__func__, from, count * type_bytes(type));
    stub_check(__func__, to, count * type_bytes(type));
    return add(BROADCAST, comm, count * type_bytes(type), 0, stream);
}

ncclResult_t
ncclSend(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
         cudaStream_t stream)
{
    STUB_ENTER(ncclResult_t);
    stub_check(__func__, from, count * type_bytes(type));
    return peer < comm->n ? add(SEND, comm, count * type_bytes(type), peer, stream)
                          : ncclInvalidArgument;
}

ncclResult_t
ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
         cudaStream_t stream)
{
    STUB_ENTER(ncclResult_t);
    stub_check(__func__, to, count * type_bytes(type));
    return peer < comm->n ? add(RECEIVE, comm, count * type_bytes(type), peer, stream)
                          : ncclInvalidArgument;
}
