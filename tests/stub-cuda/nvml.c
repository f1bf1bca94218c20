/* NVML of a GPU that computes nothing: 18 links to switches, which run at 26.562 GB/s, and a
 * clock that power limits to 1755 MHz. None of it where
 * DTSIM_STUB_NVML is set. */
#include "calib/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CalibNvmlDevice {
    int of_gpu;
};
static CalibNvmlDevice device;

int
nvmlInit_v2(void)
{
    return getenv("DTSIM_STUB_NVML") != NULL;
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
nvmlDeviceGetHandleByPciBusId_v2(const char *address, CalibNvmlDevice **ret)
{
    *ret = &device;
    return strcmp(address, "0000:18:00.0") != 0;
}

int
nvmlDeviceGetNvLinkState(CalibNvmlDevice *of, unsigned link, int *active)
{
    *active = 1;
    return of != &device || link >= 18;
}

int
nvmlDeviceGetNvLinkRemoteDeviceType(CalibNvmlDevice *of, unsigned link, int *type)
{
    *type = CALIB_NVML_TO_SWITCH;
    return of != &device || link >= 18;
}

int
nvmlDeviceGetFieldValues(CalibNvmlDevice *of, int n, CalibNvmlField *fields)
{
    for (int i = 0; i < n; i++) {
        fields[i].status = fields[i].id == CALIB_NVML_NVLINK_MBps ? 0 : 3;
        fields[i].value.number = 26562;
    }
    return of != &device;
}

int
nvmlDeviceGetMaxPcieLinkGeneration(CalibNvmlDevice *of, unsigned *generation)
{
    *generation = 5;
    return of != &device;
}

int
nvmlDeviceGetMaxPcieLinkWidth(CalibNvmlDevice *of, unsigned *width)
{
    *width = 16;
    return of != &device;
}

int
nvmlDeviceGetNvLinkRemotePciInfo_v2(CalibNvmlDevice *of, unsigned link, CalibNvmlPci *ret)
{
    ret->bus = 0xff; /* a switch */
    return of != &device || link >= 18;
}

int
nvmlDeviceGetGpuFabricInfoV(CalibNvmlDevice *of, CalibNvmlFabric *ret)
{
    if (of != &device || ret->version != ((unsigned)sizeof *ret | 2u << 24))
        return 1;
    ret->state = CALIB_NVML_FABRIC_JOINED; /* to this host's switches only */
    return 0;
}

int
nvmlDeviceGetClockInfo(CalibNvmlDevice *of, int which, unsigned *MHz)
{
    *MHz = 1755;
    return of != &device || which != CALIB_NVML_SM_CLOCK;
}

int
nvmlDeviceGetCurrentClocksThrottleReasons(CalibNvmlDevice *of, unsigned long long *seen)
{
    *seen = 4; /* power */
    return of != &device;
}
