/* The CUDA runtime of a GPU that computes nothing. */
#include "device.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FUNCTIONS = 128, MOST_BLOCKS = 256, MOST_WAITING = 256 };

struct StubStream {
    double clock_us;
    struct {
        cudaHostFn_t function;
        void *data;
    } waiting[MOST_WAITING];
    int n_waiting;
};
struct StubEvent {
    double clock_us;
    bool recorded;
};

static struct {
    const char *names[MOST_FUNCTIONS];
    int calls[MOST_FUNCTIONS], n_functions;
    struct {
        char *at;
        size_t bytes;
        bool of_host;
    } blocks[MOST_BLOCKS];
    size_t used_bytes;
    char *next; /* addresses that nothing stands behind */
    int n_streams, n_events, device;
    unsigned chance;
} device = {.next = (char *)0x100000000};

static double
setting(const char *name, double fallback)
{
    const char *text = getenv(name);
    return text != NULL ? atof(text) : fallback;
}

/* --- calls ------------------------------------------------------------------------------------ */

static void
trace(const char *function)
{
    const char *path = getenv("DTSIM_STUB_TRACE");
    FILE *file = path != NULL ? fopen(path, "a") : NULL;
    if (file == NULL)
        return;
    fprintf(file, "%s\n", function);
    fclose(file);
}

/* Another thread asks NCCL for errors meanwhile. */
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static int
count_call(const char *function)
{
    int i = 0;
    pthread_mutex_lock(&counting);
    while (i < device.n_functions && strcmp(device.names[i], function) != 0)
        i++;
    if (i == MOST_FUNCTIONS)
        abort();
    if (i == device.n_functions) {
        device.names[device.n_functions++] = function;
        trace(function);
    }
    int nth = ++device.calls[i];
    pthread_mutex_unlock(&counting);
    return nth;
}

/* What stands behind "FUNCTION:" in a variable; NULL: it is of another function, or not set. */
static const char *
asked_of(const char *variable, const char *function)
{
    const char *text = getenv(variable);
    size_t length = strlen(function);
    return text != NULL && strncmp(text, function, length) == 0 && text[length] == ':'
               ? text + length + 1
               : NULL;
}

int
stub_enter(const char *function)
{
    int nth = count_call(function), which = 0, code = 0;
    const char *hang = asked_of("DTSIM_STUB_HANG", function);
    const char *fail = asked_of("DTSIM_STUB_FAIL", function);
    while (hang != NULL && nth == atoi(hang))
        pause();
    if (fail != NULL && sscanf(fail, "%d:%d", &which, &code) != 2)
        abort();
    return nth == which ? code : 0;
}

void
stub_spend(cudaStream_t stream, double us)
{
    device.chance = device.chance * 1664525 + 1013904223;
    stream->clock_us += us * (0.995 + 0.01 * (device.chance >> 8) / 16777216.0);
}

static void
complain(const char *function, const char *what)
{
    fprintf(stderr, "stub: %s: %s\n", function, what);
    exit(3);
}

/* --- memory ----------------------------------------------------------------------------------- */

static int
find_block(const void *at, size_t bytes)
{
    for (int i = 0; i < MOST_BLOCKS; i++)
        if ((const char *)at >= device.blocks[i].at &&
            (const char *)at + bytes <= device.blocks[i].at + device.blocks[i].bytes)
            return i;
    return -1;
}

void
stub_check(const char *function, const void *at, size_t bytes)
{
    int i = find_block(at, bytes);
    if (i < 0 || device.blocks[i].of_host)
        complain(function, "an address outside of the GPU's memory");
}

static cudaError_t
take(void **at, size_t bytes, bool of_host)
{
    size_t all = (size_t)setting("DTSIM_STUB_MEMORY", 80e9);
    int i = 0;
    while (i < MOST_BLOCKS && device.blocks[i].bytes > 0)
        i++;
    if (i == MOST_BLOCKS || bytes == 0 || (!of_host && bytes > all - device.used_bytes))
        return cudaErrorMemoryAllocation;
    device.blocks[i].at = device.next;
    device.blocks[i].bytes = bytes;
    device.blocks[i].of_host = of_host;
    device.next += (bytes + 4095) / 4096 * 4096;
    device.used_bytes += of_host ? 0 : bytes;
    *at = device.blocks[i].at;
    return cudaSuccess;
}

static cudaError_t
give_back(void *at, bool of_host)
{
    for (int i = 0; i < MOST_BLOCKS && at != NULL; i++)
        if (device.blocks[i].at == at && device.blocks[i].of_host == of_host) {
            device.used_bytes -= of_host ? 0 : device.blocks[i].bytes;
            memset(&device.blocks[i], 0, sizeof device.blocks[i]);
            return cudaSuccess;
        }
    return at == NULL ? cudaSuccess : cudaErrorInvalidValue;
}

/* Runs when the program ends by itself. */
static void
look_for_leaks(void)
{
    int blocks = 0;
    for (int i = 0; i < MOST_BLOCKS; i++)
        blocks += device.blocks[i].bytes > 0;
    if (blocks > 0 || device.n_streams > 0 || device.n_events > 0)
        fprintf(stderr, "stub: left behind: %d allocations, %d streams, %d events\n", blocks,
                device.n_streams, device.n_events);
}

cudaError_t
cudaMalloc(void **at, size_t bytes)
{
    STUB_ENTER(cudaError_t);
    return take(at, bytes, false);
}

cudaError_t
cudaFree(void *at)
{
    STUB_ENTER(cudaError_t);
    return give_back(at, false);
}

cudaError_t
cudaMallocHost(void **at, size_t bytes)
{
    STUB_ENTER(cudaError_t);
    return take(at, bytes, true);
}

cudaError_t
cudaFreeHost(void *at)
{
    STUB_ENTER(cudaError_t);
    return give_back(at, true);
}

cudaError_t
cudaMemGetInfo(size_t *free_bytes, size_t *all_bytes)
{
    STUB_ENTER(cudaError_t);
    *all_bytes = (size_t)setting("DTSIM_STUB_MEMORY", 80e9);
    *free_bytes = *all_bytes - device.used_bytes;
    return cudaSuccess;
}

cudaError_t
cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    (void)from;
    STUB_ENTER(cudaError_t);
    if (kind != cudaMemcpyDeviceToHost)
        stub_check(__func__, to, bytes);
    return cudaSuccess;
}

/* Pinned memory is an allocation, too. */
static void
check_copy(const char *function, const void *to, const void *from, size_t bytes,
           cudaMemcpyKind kind)
{
    int t = find_block(to, bytes), f = find_block(from, bytes);
    if (t < 0 || f < 0 || device.blocks[t].of_host != (kind == cudaMemcpyDeviceToHost) ||
        device.blocks[f].of_host != (kind == cudaMemcpyHostToDevice))
        complain(function, "an address on the wrong side, or outside of memory");
}

cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    STUB_ENTER(cudaError_t);
    check_copy(__func__, to, from, bytes, kind);
    double rate = kind == cudaMemcpyDeviceToDevice ? STUB_MEMORY_B_US / 2 : STUB_HOST_B_US;
    stub_spend(stream, STUB_FLOOR_US + (double)bytes / rate);
    return cudaSuccess;
}

cudaError_t
cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                    cudaStream_t stream)
{
    STUB_ENTER(cudaError_t);
    if (to_device == from_device)
        return cudaErrorInvalidValue;
    check_copy(__func__, to, from, bytes, cudaMemcpyDeviceToDevice);
    stub_spend(stream, STUB_FLOOR_US + (double)bytes / STUB_PEER_B_US);
    return cudaSuccess;
}

cudaError_t
cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t stream)
{
    (void)value;
    STUB_ENTER(cudaError_t);
    stub_check(__func__, at, bytes);
    stub_spend(stream, STUB_FLOOR_US);
    return cudaSuccess;
}

/* --- device ----------------------------------------------------------------------------------- */

const char *
cudaGetErrorString(cudaError_t code)
{
    return code == cudaErrorMemoryAllocation ? "out of memory"
           : code == cudaErrorNoDevice       ? "no CUDA-capable device is detected"
                                             : "a failure that was asked for";
}

cudaError_t
cudaGetLastError(void)
{
    return cudaSuccess;
}

cudaError_t
cudaGetDeviceCount(int *n)
{
    STUB_ENTER(cudaError_t);
    *n = (int)setting("DTSIM_STUB_GPUS", 1);
    return *n > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t
cudaSetDevice(int which)
{
    STUB_ENTER(cudaError_t);
    device.device = which;
    return cudaSuccess;
}

cudaError_t
cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int which)
{
    (void)which;
    STUB_ENTER(cudaError_t);
    int capability = (int)setting("DTSIM_STUB_CAPABILITY", 90);
    const int values[] = {
        [cudaDevAttrClockRate] = 1980000,
        [cudaDevAttrMemoryClockRate] = 2619000,
        [cudaDevAttrGlobalMemoryBusWidth] = 5120,
        [cudaDevAttrGPUDirectRDMASupported] = 1,
        [cudaDevAttrL2CacheSize] = 50 << 20,
        [cudaDevAttrMultiProcessorCount] = 132,
        [cudaDevAttrComputeCapabilityMajor] = capability / 10,
        [cudaDevAttrComputeCapabilityMinor] = capability % 10,
    };
    *value = values[attribute];
    return cudaSuccess;
}

cudaError_t
cudaGetDeviceProperties(struct cudaDeviceProp *properties, int which)
{
    STUB_ENTER(cudaError_t);
    snprintf(properties->name, sizeof properties->name,
             which == (int)setting("DTSIM_STUB_OTHER", -1) ? "NVIDIA T400"
                                                           : "NVIDIA H100 80GB HBM3");
    return cudaSuccess;
}

cudaError_t
cudaDeviceGetPCIBusId(char *text, int size, int which)
{
    STUB_ENTER(cudaError_t);
    snprintf(text, (size_t)size, "0000:%02x:00.0", 0x18 + which);
    return cudaSuccess;
}

cudaError_t
cudaDeviceCanAccessPeer(int *can, int which, int peer)
{
    STUB_ENTER(cudaError_t);
    *can = which != peer;
    return cudaSuccess;
}

cudaError_t
cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)flags;
    STUB_ENTER(cudaError_t);
    static bool enabled;
    bool before = enabled;
    enabled = true;
    return peer == device.device ? cudaErrorInvalidValue
           : before              ? cudaErrorPeerAccessAlreadyEnabled
                                 : cudaSuccess;
}

cudaError_t
cudaDriverGetVersion(int *version)
{
    STUB_ENTER(cudaError_t);
    *version = 13000;
    return cudaSuccess;
}

cudaError_t
cudaRuntimeGetVersion(int *version)
{
    STUB_ENTER(cudaError_t);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

/* --- streams and events ----------------------------------------------------------------------- */

cudaError_t
cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    STUB_ENTER(cudaError_t);
    static bool watched;
    if (!watched)
        atexit(look_for_leaks);
    watched = true;
    *stream = calloc(1, sizeof **stream);
    device.n_streams++;
    return cudaSuccess;
}

cudaError_t
cudaStreamDestroy(cudaStream_t stream)
{
    STUB_ENTER(cudaError_t);
    device.n_streams--;
    free(stream);
    return cudaSuccess;
}

/* Host functions run late: what waits for the host in one must find that it has come. */
cudaError_t
cudaStreamSynchronize(cudaStream_t stream)
{
    STUB_ENTER(cudaError_t);
    for (int i = 0; i < stream->n_waiting; i++)
        stream->waiting[i].function(stream->waiting[i].data);
    stream->n_waiting = 0;
    return cudaSuccess;
}

cudaError_t
cudaDeviceSynchronize(void)
{
    STUB_ENTER(cudaError_t);
    return cudaSuccess;
}

cudaError_t
cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    STUB_ENTER(cudaError_t);
    if (stream->n_waiting == MOST_WAITING)
        return cudaErrorInvalidValue;
    stream->waiting[stream->n_waiting].function = function;
    stream->waiting[stream->n_waiting++].data = data;
    stub_spend(stream, 20);
    return cudaSuccess;
}

cudaError_t
cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    STUB_ENTER(cudaError_t);
    if (event->clock_us > stream->clock_us)
        stream->clock_us = event->clock_us;
    return cudaSuccess;
}

cudaError_t
cudaEventCreate(cudaEvent_t *event)
{
    STUB_ENTER(cudaError_t);
    *event = calloc(1, sizeof **event);
    device.n_events++;
    return cudaSuccess;
}

cudaError_t
cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    STUB_ENTER(cudaError_t);
    *event = calloc(1, sizeof **event);
    device.n_events++;
    return cudaSuccess;
}

cudaError_t
cudaEventDestroy(cudaEvent_t event)
{
    STUB_ENTER(cudaError_t);
    device.n_events--;
    free(event);
    return cudaSuccess;
}

cudaError_t
cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    STUB_ENTER(cudaError_t);
    event->clock_us = stream->clock_us;
    event->recorded = true;
    return cudaSuccess;
}

cudaError_t
cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
    STUB_ENTER(cudaError_t);
    if (!begin->recorded || !end->recorded)
        return cudaErrorInvalidValue;
    *ms = (float)((end->clock_us - begin->clock_us) / 1e3);
    return cudaSuccess;
}
