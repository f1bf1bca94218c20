/* NVML as far as it is used. The library is the driver's: it is found when the program runs, and its own header is seldom
 * on a node. All functions return 0 when they succeed. */
#pragma once

typedef struct CalibNvmlDevice CalibNvmlDevice;

enum { CALIB_NVML_NVLINK_MBps = 90 }; /* a field: of one link */
enum { CALIB_NVML_TO_SWITCH = 2 };    /* what a link leads to */
enum { CALIB_NVML_SM_CLOCK = 1 };

typedef struct {
    unsigned id, scope;
    long long timestamp, latency_us;
    int type, status;
    union {
        double real;
        unsigned number;
        unsigned long long number_64;
    } value;
} CalibNvmlField;

enum { CALIB_NVML_FABRIC_JOINED = 3 }; /* a state */
typedef struct {
    unsigned version; /* the struct's size, and 2 << 24 */
    unsigned char domain[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned health;
} CalibNvmlFabric;

typedef struct {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char address[32];
} CalibNvmlPci;

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *text, unsigned size);
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, CalibNvmlDevice **ret);
int nvmlDeviceGetNvLinkState(CalibNvmlDevice *device, unsigned link, int *ret_active);
int nvmlDeviceGetNvLinkRemoteDeviceType(CalibNvmlDevice *device, unsigned link, int *ret);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(CalibNvmlDevice *device, unsigned link, CalibNvmlPci *ret);
int nvmlDeviceGetGpuFabricInfoV(CalibNvmlDevice *device, CalibNvmlFabric *ret);
int nvmlDeviceGetFieldValues(CalibNvmlDevice *device, int n, CalibNvmlField *fields);
int nvmlDeviceGetMaxPcieLinkGeneration(CalibNvmlDevice *device, unsigned *ret);
int nvmlDeviceGetMaxPcieLinkWidth(CalibNvmlDevice *device, unsigned *ret);
int nvmlDeviceGetClockInfo(CalibNvmlDevice *device, int which, unsigned *ret_MHz);
int nvmlDeviceGetCurrentClocksThrottleReasons(CalibNvmlDevice *device, unsigned long long *ret);
