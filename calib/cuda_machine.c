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

/* One GPU is measured, and stands for all. */
CalibStatus
calib_cuda_kind(int rank, char *ret, size_t size, CalibError *error)
{
    const struct {
        int rank;
    } gpu = {rank};
    struct cudaDeviceProp first, other;
    int n = 0;
    CALIB_CUDA(&gpu, cudaGetDeviceCount(&n));
    CALIB_CUDA(&gpu, cudaGetDeviceProperties(&first, 0));
    for (int i = 1; i < n; i++) {
        CALIB_CUDA(&gpu, cudaGetDeviceProperties(&other, i));
        if (strcmp(first.name, other.name) == 0)
            continue;
        snprintf(error->text, sizeof error->text,
                 "GPU 0 is a %.80s, GPU %d a %.80s; show those of one kind only "
                 "(CUDA_VISIBLE_DEVICES)",
                 first.name, i, other.name);
        return CALIB_FAILED;
    }
    snprintf(ret, size, "%.*s", (int)size - 1, first.name);
    return CALIB_OK;
}

static CalibStatus
describe_gpu(CalibGpu *gpu, CalibMachine *m, CalibError *error)
{
    size_t free_bytes, all_bytes;
    int clock_khz = 0, memory_clock_khz = 0, direct = 1;
    CALIB_TRY(calib_cuda_kind(gpu->rank, m->gpu_name, sizeof m->gpu_name, error));
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
describe_links(CalibGpu *gpu, CalibMachine *m, CalibError *error)
{
    char addresses[CALIB_MESH_GPUS][32];
    CALIB_CUDA(gpu, cudaGetDeviceCount(&m->gpus));
    for (int i = 0; i < m->gpus && i < CALIB_MESH_GPUS; i++)
        CALIB_CUDA(gpu, cudaDeviceGetPCIBusId(addresses[i], sizeof addresses[i], i));
    calib_nvml_describe_mesh(gpu->nvml, addresses, m->gpus, m);
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
    CalibMachine m = {.nodes = 1, .world = 1};
    CALIB_TRY(describe_gpu(gpu, &m, error));
    CALIB_TRY(describe_links(gpu, &m, error));
    CALIB_TRY(describe_versions(gpu, &m, error));
    calib_nvml_describe(gpu->nvml, &m);
    calib_host_describe("/sys", &m);
    const char *algo = getenv("NCCL_ALGO"), *proto = getenv("NCCL_PROTO");
    snprintf(m.nccl_algo, sizeof m.nccl_algo, "%s", algo != NULL ? algo : "");
    snprintf(m.nccl_proto, sizeof m.nccl_proto, "%s", proto != NULL ? proto : "");
    *ret = m;
    return CALIB_OK;
}
