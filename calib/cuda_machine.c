/* Asks the CUDA runtime; then NVML and sysfs. */
#include "config.h"

#include "calib/cuda_machine.h"

#include "calib/cuda_error.h"
#include "calib/cuda_fused.h"
#include "calib/cuda_nvml.h"
#include "calib/cuda_work.h"
#include "calib/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CalibStatus
describe_gpu(CalibGpu *gpu, CalibMachine *m, CalibError *error)
{
    struct cudaDeviceProp properties;
    size_t free_bytes, all_bytes;
    int clock_khz = 0, memory_clock_khz = 0, direct = 1;
    CALIB_CUDA(gpu, cudaGetDeviceProperties(&properties, gpu->device));
    snprintf(m->gpu_name, sizeof m->gpu_name, "%.*s", (int)sizeof m->gpu_name - 1, properties.name);
    m->compute_capability = gpu->compute_capability;
    m->sms = gpu->sms;
    m->l2_bytes = gpu->l2_bytes;
    /* newer runtimes have no such fields in the properties, and drivers may not tell */
    cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, gpu->device);
    cudaDeviceGetAttribute(&memory_clock_khz, cudaDevAttrMemoryClockRate, gpu->device);
    cudaDeviceGetAttribute(&direct, cudaDevAttrGPUDirectRDMASupported, gpu->device);
    cudaGetLastError();
    m->clock_khz = clock_khz;
    m->memory_clock_khz = memory_clock_khz;
    m->nic_through_host = direct == 0;
    CALIB_CUDA(gpu, cudaDeviceGetAttribute(&m->memory_bus_bits, cudaDevAttrGlobalMemoryBusWidth,
                                           gpu->device));
    CALIB_CUDA(gpu, cudaMemGetInfo(&free_bytes, &all_bytes));
    m->memory_bytes = (int64_t)all_bytes;
    m->memory_free_bytes = (int64_t)free_bytes;
    return CALIB_OK;
}

static CalibStatus
describe_peers(CalibGpu *gpu, CalibMachine *m, CalibError *error)
{
    CALIB_CUDA(gpu, cudaGetDeviceCount(&m->gpus));
    m->peers = m->gpus > 1;
    for (int a = 0; a < m->gpus; a++)
        for (int b = 0; b < m->gpus; b++) {
            int reached = 1;
            if (a != b)
                CALIB_CUDA(gpu, cudaDeviceCanAccessPeer(&reached, a, b));
            m->peers = m->peers && reached;
        }
    return CALIB_OK;
}

static CalibStatus
describe_versions(CalibGpu *gpu, CalibMachine *m, CalibError *error)
{
    int driver, runtime;
    CALIB_CUDA(gpu, cudaDriverGetVersion(&driver));
    CALIB_CUDA(gpu, cudaRuntimeGetVersion(&runtime));
    char text[64];
    snprintf(text, sizeof text, "%d.%d (driver's %d.%d)", runtime / 1000, runtime % 1000 / 10,
             driver / 1000, driver % 1000 / 10);
    snprintf(m->cuda, sizeof m->cuda, "%.*s", (int)sizeof m->cuda - 1, text);
    /* 130001 is 13.0.1 */
    unsigned long lt = cublasLtGetVersion();
    snprintf(m->cublas, sizeof m->cublas, "%lu.%lu.%lu", lt / 10000, lt / 100 % 100, lt % 100);
    calib_fused_version(gpu, m->cudnn, sizeof m->cudnn);
    calib_cuda_attention_name(gpu, m->attention, sizeof m->attention);
    return CALIB_OK;
}

CalibStatus
calib_cuda_describe(CalibGpu *gpu, CalibMachine *ret, CalibError *error)
{
    char address[32] = "";
    CalibMachine m = {.nodes = 1, .world = 1};
    CALIB_TRY(describe_gpu(gpu, &m, error));
    CALIB_TRY(describe_peers(gpu, &m, error));
    CALIB_TRY(describe_versions(gpu, &m, error));
    CALIB_CUDA(gpu, cudaDeviceGetPCIBusId(address, sizeof address, gpu->device));
    calib_nvml_describe(address, &m);
    calib_host_describe("/sys", &m);
    const char *algo = getenv("NCCL_ALGO"), *proto = getenv("NCCL_PROTO");
    snprintf(m.nccl_algo, sizeof m.nccl_algo, "%s", algo != NULL ? algo : "");
    snprintf(m.nccl_proto, sizeof m.nccl_proto, "%s", proto != NULL ? proto : "");
    *ret = m;
    return CALIB_OK;
}
