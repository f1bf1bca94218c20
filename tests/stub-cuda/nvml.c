/* NVML of a GPU that computes nothing: 18 links to switches, which run at 26.562 GB/s. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    unsigned id, scope;
    long long timestamp, latency_us;
    int type, status;
    union {
        double real;
        unsigned number;
        unsigned long long number_64;
    } value;
} Field;

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *text, unsigned size);
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device);
int nvmlDeviceGetNvLinkState(void *device, unsigned link, int *active);
int nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned link, int *type);
int nvmlDeviceGetFieldValues(void *device, int n, Field *fields);
int nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *generation);
int nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned *width);

static int device;

int
nvmlInit_v2(void)
{
    return 0;
}

int
nvmlShutdown(void)
{
    return 0;
}

int
nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    snprintf(text, size, "580.65.06");
    return 0;
}

int
nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **ret)
{
    *ret = &device;
    return strcmp(address, "0000:18:00.0") != 0;
}

int
nvmlDeviceGetNvLinkState(void *of, unsigned link, int *active)
{
    *active = 1;
    return of != &device || link >= 18;
}

int
nvmlDeviceGetNvLinkRemoteDeviceType(void *of, unsigned link, int *type)
{
    *type = 2;
    return of != &device || link >= 18;
}

int
nvmlDeviceGetFieldValues(void *of, int n, Field *fields)
{
    for (int i = 0; i < n; i++) {
        fields[i].status = fields[i].id == 90 ? 0 : 3;
        fields[i].value.number = 26562;
    }
    return of != &device;
}

int
nvmlDeviceGetMaxPcieLinkGeneration(void *of, unsigned *generation)
{
    *generation = 5;
    return of != &device;
}

int
nvmlDeviceGetMaxPcieLinkWidth(void *of, unsigned *width)
{
    *width = 16;
    return of != &device;
}
