/* NVML by dlopen: the library is the driver's, so that it is on nodes with GPUs only, and its header not even there. */
#include "config.h"

#include "calib/cuda_nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of NVML's API; all functions return 0 when they succeed. */
typedef struct NvmlDevice *NvmlDevice;
typedef struct {
    unsigned id, scope;
    long long timestamp, latency_us;
    int type, status;
    union {
        double real;
        unsigned number;
        unsigned long long number_64;
    } value;
} NvmlField;
enum { FIELD_NVLINK_MBps = 90, NVLINK_TO_SWITCH = 2, MOST_NVLINKS = 18 };

typedef struct {
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver)(char *text, unsigned size);
    int (*find)(const char *address, NvmlDevice *ret);
    int (*link_state)(NvmlDevice, unsigned link, int *ret_active);
    int (*link_end)(NvmlDevice, unsigned link, int *ret_type); /* newer drivers' */
    int (*fields)(NvmlDevice, int n, NvmlField *fields);
    int (*pcie_generation)(NvmlDevice, unsigned *ret);
    int (*pcie_width)(NvmlDevice, unsigned *ret);
} Nvml;

/* ISO C has no conversion from what dlsym returns to a function. */
static void
find(void *library, const char *name, void *ret_function)
{
    void *found = dlsym(library, name);
    memcpy(ret_function, &found, sizeof found);
}

static void
find_all(void *library, Nvml *nvml)
{
    find(library, "nvmlInit_v2", &nvml->init);
    find(library, "nvmlShutdown", &nvml->shutdown);
    find(library, "nvmlSystemGetDriverVersion", &nvml->driver);
    find(library, "nvmlDeviceGetHandleByPciBusId_v2", &nvml->find);
    find(library, "nvmlDeviceGetNvLinkState", &nvml->link_state);
    find(library, "nvmlDeviceGetNvLinkRemoteDeviceType", &nvml->link_end);
    find(library, "nvmlDeviceGetFieldValues", &nvml->fields);
    find(library, "nvmlDeviceGetMaxPcieLinkGeneration", &nvml->pcie_generation);
    find(library, "nvmlDeviceGetMaxPcieLinkWidth", &nvml->pcie_width);
}

/* Lines run up to 1/16 faster than links are counted, for framing (NVLink 2: 25.78, 4: 26.56, 5: 53.13 GB/s): links of 25
 * GB/s and its multiples are meant. The first generation's 20 stay. */
static double
counted_GBps(double line_GBps)
{
    return line_GBps >= 25 ? 25 * floor(line_GBps / 25) : line_GBps;
}

static void
describe_links(const Nvml *nvml, NvmlDevice device, CalibMachine *m)
{
    int active = 0, switched = 0;
    for (unsigned link = 0; nvml->link_state != NULL && link < MOST_NVLINKS; link++) {
        int state = 0, end = 0;
        if (nvml->link_state(device, link, &state) != 0 || state == 0)
            continue;
        active++;
        if (nvml->link_end != NULL && nvml->link_end(device, link, &end) == 0)
            switched += end == NVLINK_TO_SWITCH;
    }
    m->nvlinks = active;
    m->nvswitch = active > 0 && switched == active;
    NvmlField rate = {.id = FIELD_NVLINK_MBps};
    if (active > 0 && nvml->fields != NULL && nvml->fields(device, 1, &rate) == 0 &&
        rate.status == 0)
        m->nvlink_GBps = counted_GBps(rate.value.number / 1e3);
}

static void
describe_device(const Nvml *nvml, NvmlDevice device, CalibMachine *m)
{
    unsigned generation = 0, width = 0;
    describe_links(nvml, device, m);
    /* the most it can: an idle card lowers its generation */
    if (nvml->pcie_generation != NULL && nvml->pcie_generation(device, &generation) == 0)
        m->pcie_generation = (int)generation;
    if (nvml->pcie_width != NULL && nvml->pcie_width(device, &width) == 0)
        m->pcie_width = (int)width;
}

void
calib_nvml_describe(const char *address, CalibMachine *machine)
{
    Nvml nvml;
    NvmlDevice device;
    void *library = NULL;
    find_all(RTLD_DEFAULT, &nvml); /* linked in */
    if (nvml.init == NULL) {
        library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == NULL)
            return;
        find_all(library, &nvml);
    }
    if (nvml.init != NULL && nvml.init() == 0) {
        if (nvml.driver != NULL && nvml.driver(machine->driver, sizeof machine->driver) != 0)
            machine->driver[0] = '\0';
        if (nvml.find != NULL && nvml.find(address, &device) == 0)
            describe_device(&nvml, device, machine);
        if (nvml.shutdown != NULL)
            nvml.shutdown();
    }
    if (library != NULL)
        dlclose(library);
}
