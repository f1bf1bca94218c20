/* NVML by dlopen. */
#include "config.h"

#include "calib/cuda_nvml.h"

#include "calib/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_NVLINKS = 18 };
/* A question takes the driver up to a millisecond. */
#define LOOK_EVERY_S 0.25

/* Bits of what NVML calls reasons of throttling (events of clocks, in newer drivers). */
#define IDLE 0x1ull
static const struct {
    unsigned long long bits;
    const char *name;
} reasons[] = {
    {0x4, "the power limit"},
    {0x20 | 0x40, "heat"},
    {0x8 | 0x80, "the power supply or another fault of the machine"},
    {0x2 | 0x100, "a clock that was set"},
};
enum { N_REASONS = sizeof reasons / sizeof *reasons };

struct CalibNvml {
    void *library; /* NULL: linked in */
    CalibNvmlDevice *device;
    double looked_s;
    unsigned looks, slowed[N_REASONS], least_MHz;
    double sum_MHz;

    __typeof__(nvmlInit_v2) *init;
    __typeof__(nvmlShutdown) *shutdown;
    __typeof__(nvmlSystemGetDriverVersion) *driver;
    __typeof__(nvmlDeviceGetHandleByPciBusId_v2) *find;
    __typeof__(nvmlDeviceGetNvLinkState) *link_state;
    __typeof__(nvmlDeviceGetNvLinkRemoteDeviceType) *link_end; /* newer drivers' */
    __typeof__(nvmlDeviceGetNvLinkRemotePciInfo_v2) *link_address;
    __typeof__(nvmlDeviceGetGpuFabricInfoV) *fabric; /* newer drivers' */
    __typeof__(nvmlDeviceGetFieldValues) *fields;
    __typeof__(nvmlDeviceGetMaxPcieLinkGeneration) *pcie_generation;
    __typeof__(nvmlDeviceGetMaxPcieLinkWidth) *pcie_width;
    __typeof__(nvmlDeviceGetClockInfo) *clock;
    __typeof__(nvmlDeviceGetCurrentClocksThrottleReasons) *throttled;
};

/* --- open and close --------------------------------------------------------------------------- */

/* ISO C has no conversion from what dlsym returns to a function. */
static void
find(void *library, const char *name, void *ret_function)
{
    void *found = dlsym(library, name);
    memcpy(ret_function, &found, sizeof found);
}

static void
find_all(void *library, CalibNvml *n)
{
    find(library, "nvmlInit_v2", &n->init);
    find(library, "nvmlShutdown", &n->shutdown);
    find(library, "nvmlSystemGetDriverVersion", &n->driver);
    find(library, "nvmlDeviceGetHandleByPciBusId_v2", &n->find);
    find(library, "nvmlDeviceGetNvLinkState", &n->link_state);
    find(library, "nvmlDeviceGetNvLinkRemoteDeviceType", &n->link_end);
    find(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", &n->link_address);
    find(library, "nvmlDeviceGetGpuFabricInfoV", &n->fabric);
    find(library, "nvmlDeviceGetFieldValues", &n->fields);
    find(library, "nvmlDeviceGetMaxPcieLinkGeneration", &n->pcie_generation);
    find(library, "nvmlDeviceGetMaxPcieLinkWidth", &n->pcie_width);
    find(library, "nvmlDeviceGetClockInfo", &n->clock);
    find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &n->throttled);
}

CalibNvml *
calib_nvml_open(const char *address)
{
    CalibNvml *n = calloc(1, sizeof *n);
    if (n == NULL)
        return NULL;
    find_all(RTLD_DEFAULT, n); /* linked in */
    if (n->init == NULL) {
        n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        if (n->library != NULL)
            find_all(n->library, n);
    }
    if (n->init != NULL && n->shutdown != NULL && n->find != NULL && n->init() == 0) {
        if (n->find(address, &n->device) == 0)
            return n;
        n->shutdown();
    }
    if (n->library != NULL)
        dlclose(n->library);
    free(n);
    return NULL;
}

void
calib_nvml_close(CalibNvml *n)
{
    if (n == NULL)
        return;
    n->shutdown();
    if (n->library != NULL)
        dlclose(n->library);
    free(n);
}

/* --- links ------------------------------------------------------------------------------------ */

/* Lines run up to 1/16 faster than links are counted, for framing (NVLink 2: 25.78, 4: 26.56, 5: 53.13 GB/s): links of 25
 * GB/s and its multiples are meant. The first generation's 20 stay. */
static double
counted_GBps(double line_GBps)
{
    return line_GBps >= 25 ? 25 * floor(line_GBps / 25) : line_GBps;
}

static bool
is_active(const CalibNvml *n, CalibNvmlDevice *device, unsigned link)
{
    int state = 0;
    return n->link_state != NULL && n->link_state(device, link, &state) == 0 && state != 0;
}

static void
describe_links(const CalibNvml *n, CalibMachine *m)
{
    int active = 0, switched = 0;
    for (unsigned link = 0; link < MOST_NVLINKS; link++) {
        int end = 0;
        if (!is_active(n, n->device, link))
            continue;
        active++;
        if (n->link_end != NULL && n->link_end(n->device, link, &end) == 0)
            switched += end == CALIB_NVML_TO_SWITCH;
    }
    m->nvlinks = active;
    m->nvswitch = active > 0 && switched == active;
    CalibNvmlField rate = {.id = CALIB_NVML_NVLINK_MBps};
    if (active > 0 && n->fields != NULL && n->fields(n->device, 1, &rate) == 0 && rate.status == 0)
        m->nvlink_GBps = counted_GBps(rate.value.number / 1e3);
}

void
calib_nvml_describe(const CalibNvml *n, CalibMachine *m)
{
    unsigned generation = 0, width = 0;
    if (n == NULL)
        return;
    if (n->driver != NULL && n->driver(m->driver, sizeof m->driver) != 0)
        m->driver[0] = '\0';
    describe_links(n, m);
    /* the most it can: an idle card lowers its generation */
    if (n->pcie_generation != NULL && n->pcie_generation(n->device, &generation) == 0)
        m->pcie_generation = (int)generation;
    if (n->pcie_width != NULL && n->pcie_width(n->device, &width) == 0)
        m->pcie_width = (int)width;
}

static int
find_address(const CalibNvmlPci *pci, const char (*addresses)[32], int n)
{
    for (int i = 0; i < n; i++) {
        unsigned domain, bus, device;
        if (sscanf(addresses[i], "%x:%x:%x", &domain, &bus, &device) == 3 &&
            domain == pci->domain && bus == pci->bus && device == pci->device)
            return i;
    }
    return -1;
}

void
calib_nvml_describe_mesh(const CalibNvml *n, const char (*addresses)[32], int n_gpus,
                         CalibMachine *m)
{
    if (n == NULL || n->link_address == NULL || n_gpus > CALIB_MESH_GPUS)
        return;
    for (int i = 0; i < n_gpus; i++) {
        CalibNvmlDevice *device;
        if (n->find(addresses[i], &device) != 0)
            continue;
        for (unsigned link = 0; link < MOST_NVLINKS; link++) {
            CalibNvmlPci end = {.domain = 0};
            if (!is_active(n, device, link) || n->link_address(device, link, &end) != 0)
                continue;
            int j = find_address(&end, addresses, n_gpus);
            if (j >= 0)
                m->mesh[i][j]++;
        }
    }
}

/* Switches within one host have no domain's number. */
void
calib_nvml_links_name(const CalibNvml *n, char *text, size_t size)
{
    CalibNvmlFabric fabric = {.version = (unsigned)sizeof fabric | 2u << 24};
    static const unsigned char none[sizeof fabric.domain];
    *text = '\0';
    if (n == NULL || n->fabric == NULL || n->fabric(n->device, &fabric) != 0 ||
        fabric.state != CALIB_NVML_FABRIC_JOINED || fabric.status != 0 ||
        memcmp(fabric.domain, none, sizeof none) == 0)
        return;
    int length = 0;
    for (size_t i = 0; i < sizeof fabric.domain && (size_t)length < size; i++)
        length += snprintf(text + length, size - (size_t)length, "%02x", fabric.domain[i]);
    if ((size_t)length < size)
        snprintf(text + length, size - (size_t)length, " clique %u", fabric.clique);
}

/* --- clocks ----------------------------------------------------------------------------------- */

void
calib_nvml_look(CalibNvml *n)
{
    struct timespec t;
    unsigned MHz = 0;
    unsigned long long seen = 0;
    if (n == NULL || n->clock == NULL || n->throttled == NULL)
        return;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double now_s = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    if (now_s - n->looked_s < LOOK_EVERY_S)
        return;
    n->looked_s = now_s;
    if (n->throttled(n->device, &seen) != 0 || (seen & IDLE) != 0 ||
        n->clock(n->device, CALIB_NVML_SM_CLOCK, &MHz) != 0)
        return;
    n->looks++;
    n->sum_MHz += MHz;
    if (n->looks == 1 || MHz < n->least_MHz)
        n->least_MHz = MHz;
    for (int i = 0; i < N_REASONS; i++)
        n->slowed[i] += (seen & reasons[i].bits) != 0;
}

void
calib_nvml_tell(const CalibNvml *n, char *text, size_t size)
{
    *text = '\0';
    if (n == NULL || n->looks == 0)
        return;
    int length = snprintf(text, size, "%.0f MHz on average while kernels ran, %u at least",
                          n->sum_MHz / n->looks, n->least_MHz);
    for (int i = 0; i < N_REASONS && length > 0 && (size_t)length < size; i++)
        if (n->slowed[i] > 0)
            length += snprintf(text + length, size - (size_t)length, "; slowed by %s at %.0f %%",
                               reasons[i].name, 100.0 * n->slowed[i] / n->looks);
}
