/* The GPU that kernels were measured on, in people's words, as a shipped system with overrides. */
#include "config.h"

#include "cli/command.h"
#include "cli/kernel_rows.h"
#include "cluster/shipped.h"

#include <string.h>

typedef struct {
    const char
        *word; /* of the GPU's name in capitals, - for _ and blank; the first that is in it */
    const char *system;
    const char *overrides[9];
} Gpu;

/* What differs is of NVIDIA's data sheets, dense peaks. */
static const Gpu gpus[] = {
    {"GB300", "gb200-nvl72", {"gpu.name=GB300", NULL}},
    {"GB200", "gb200-nvl72", {NULL}},
    {"B300", "dgx-b200", {"gpu.name=B300", NULL}},
    {"B200", "dgx-b200", {NULL}},
    {"L40S", "l40s-pcie", {NULL}},
    {"RTX-PRO-6000",
     "l40s-pcie",
     {"gpu.name=RTX-PRO-6000", "gpu.peak-fp16=467.8TFLOPS", "gpu.peak-bf16=467.8TFLOPS",
      "gpu.peak-fp8=935.6TFLOPS", "gpu.memory-rate=1792GBps", "gpu.sms=188", "gpu.l2=128MiB",
      NULL}},
    {"GH200", "alps-gh200", {NULL}},
    {"H200", "dgx-h200", {NULL}},
    {"H100-SXM", "dgx-h100", {NULL}},
    {"H800-SXM", "dgx-h100", {"gpu.name=H800", NULL}},
    {"A100-PCIE", "a100-pcie", {NULL}},
    {"A100-SXM-40", "dgx-a100-40g", {NULL}},
    {"A100-SXM", "dgx-a100-80g", {NULL}},
    {"V100-SXM", "dgx1-v100-32g", {NULL}},
    {"H100", "dgx-h100", {NULL}},
    {"A100", "dgx-a100-80g", {NULL}},
};

static ClusterSystem *
system_by_name(const char *name, GError **error)
{
    g_autofree char *plain = g_ascii_strup(name, -1);
    g_strdelimit(plain, "_ ", '-');
    for (guint i = 0; i < G_N_ELEMENTS(gpus); i++)
        if (strstr(plain, gpus[i].word) != NULL)
            return cluster_system_load(gpus[i].system, gpus[i].overrides, error);
    return NULL;
}

ClusterSystem *
cli_kernel_system(const CliKernelGroup *group, const char *gpu, GError **error)
{
    if (group->gpu != NULL)
        return system_by_name(group->gpu, error);
    g_autofree char *folder = g_path_get_dirname(group->file);
    g_autofree char *conf = g_build_filename(folder, "system.conf", NULL);
    if (gpu == NULL && cluster_shipped_is_folder(folder))
        return cluster_system_load(conf, NULL, error);
    if (gpu != NULL)
        return system_by_name(gpu, error);
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "%s: no column gpu, and no system.conf beside it; write --gpu h200 or what it was "
                "measured on",
                group->file);
    return NULL;
}
