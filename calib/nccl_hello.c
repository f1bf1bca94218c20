/* Names of this host, of what NVLink joins it to, and of its GPUs. */
#include "config.h"

#include "calib/nccl_hello.h"

#include "calib/cuda_error.h"
#include "calib/cuda_machine.h"
#include "calib/cuda_nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Containers of one node may have names of their own; those of several nodes may share one. */
static void
name_host(char *ret, size_t size, const char *host)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    char text[64] = "";
    if (file != NULL) {
        if (fgets(text, sizeof text, file) == NULL)
            text[0] = '\0';
        fclose(file);
    }
    text[strcspn(text, "\n")] = '\0';
    snprintf(ret, size, "%s", *text != '\0' ? text : host);
}

/* NCCL may be told to use the network all the same. */
static void
name_links(CalibSeatsHello *hello)
{
    const char *enabled = getenv("NCCL_MNNVL_ENABLE");
    if (hello->n_gpus == 0 || (enabled != NULL && strcmp(enabled, "0") == 0))
        return;
    CalibNvml *nvml = calib_nvml_open(hello->gpus[0]);
    calib_nvml_links_name(nvml, hello->links, sizeof hello->links);
    calib_nvml_close(nvml);
}

CalibStatus
calib_hello_describe(int rank, CalibSeatsHello *ret, CalibError *error)
{
    const struct {
        int rank;
    } me = {rank};
    CalibSeatsHello *hello = ret;
    memset(hello, 0, sizeof *hello); /* padding, too: it is sent */
    gethostname(hello->host, sizeof hello->host - 1);
    name_host(hello->boot, sizeof hello->boot, hello->host);
    CALIB_TRY(calib_cuda_kind(rank, hello->kind, sizeof hello->kind, error));
    CALIB_CUDA(&me, cudaGetDeviceCount(&hello->n_gpus));
    if (hello->n_gpus > CALIB_MOST_GPUS)
        hello->n_gpus = CALIB_MOST_GPUS;
    for (int i = 0; i < hello->n_gpus; i++)
        CALIB_CUDA(&me, cudaDeviceGetPCIBusId(hello->gpus[i], sizeof hello->gpus[i], i));
    name_links(hello);
    return CALIB_OK;
}
