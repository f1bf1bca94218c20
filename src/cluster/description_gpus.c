/* GPUs that a description or --gpu may name, and the shipped system of each. Where another GPU is close to one that
 * ships, what differs: peaks are dense; figures are of NVIDIA's data sheets and of
 * https://github.com/stas00/ml-engineering (compute/accelerator) at 744d01e1; memory that a process can allocate is
 * what torch reports. Efficiencies and host times that are not said are of the base. */
#include "config.h"

#include "cluster/description.h"

static const ClusterDescribedGpu gpus[] = {
    {"a100", "dgx-a100-80g", {NULL}, 8, 8, FALSE},
    {"a100-40g", "dgx-a100-40g", {NULL}, 8, 8, FALSE},
    {"a100-pcie", "a100-pcie", {NULL}, 2, 4, TRUE},
    {"a800",
     "dgx-a100-80g",
     {"gpu.name=A800-SXM4-80GB", "node.nvlink-rate=200GBps", NULL},
     8,
     8,
     FALSE},
    {"b200", "dgx-b200", {NULL}, 8, 8, FALSE},
    {"gb200", "gb200-nvl72", {NULL}, 4, 4, FALSE},
    {"gh200", "alps-gh200", {NULL}, 4, 4, FALSE},
    {"h100", "dgx-h100", {NULL}, 8, 8, FALSE},
    {"h20",
     "dgx-h100",
     {"gpu.name=H20-SXM5-96GB", "gpu.peak-fp32=44TFLOPS", "gpu.peak-tf32=74TFLOPS",
      "gpu.peak-fp16=148TFLOPS", "gpu.peak-bf16=148TFLOPS", "gpu.peak-fp8=296TFLOPS",
      "gpu.memory=96GiB", "gpu.memory-usable=95GiB", "gpu.memory-rate=4000GBps", "gpu.l2=60MB",
      "gpu.sms=78", NULL},
     8,
     8,
     FALSE},
    {"h200", "dgx-h200", {NULL}, 8, 8, FALSE},
    {"h800",
     "dgx-h100",
     {"gpu.name=H800-SXM5-80GB", "node.nvlink-rate=200GBps", NULL},
     8,
     8,
     FALSE},
    {"l40s", "l40s-pcie", {NULL}, 2, 4, TRUE},
    {"v100", "dgx1-v100-32g", {NULL}, 4, 8, FALSE},
    {"v100-16g",
     "dgx1-v100-32g",
     {"gpu.name=V100-SXM2-16GB", "gpu.memory=16GiB", "gpu.memory-usable=15.7GiB", NULL},
     4,
     8,
     FALSE},
};

const ClusterDescribedGpu *
cluster_described_gpu_find(const char *word)
{
    for (guint i = 0; i < G_N_ELEMENTS(gpus); i++)
        if (g_ascii_strcasecmp(gpus[i].word, word) == 0)
            return &gpus[i];
    return NULL;
}

char *
cluster_described_gpu_names(void)
{
    GString *names = g_string_new(gpus[0].word);
    for (guint i = 1; i < G_N_ELEMENTS(gpus); i++)
        g_string_append_printf(names, ", %s", gpus[i].word);
    return g_string_free(names, FALSE);
}
