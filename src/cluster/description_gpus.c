/* GPUs that a description may name. Peaks are dense; figures are of NVIDIA's data sheets and of
 * https://github.com/stas00/ml-engineering (compute/accelerator, network) at 744d01e1, https://chipsandcheese.com on
 * B200; memory that a process can allocate is what torch reports. NVLink achieves what ring collectives of 8 level off
 * at: 682 of 900 GB/s on B200. Efficiencies and host times that are not said are of the base. */
#include "config.h"

#include "cluster/description.h"

#define BLACKWELL                                                                                  \
    "gpu.memory-rate=8000GBps", "gpu.memory-efficiency=0.78", "gpu.l2=126MB", "gpu.sms=148",       \
        "node.nvlink-rate=900GBps", "node.nvlink-efficiency=0.76"

static const ClusterDescribedGpu gpus[] = {
    {"a100", "dgx-a100-80g", {NULL}, 8, 8, FALSE},
    {"a100-40g",
     "dgx-a100-80g",
     {"gpu.name=A100-SXM4-40GB", "gpu.memory=40GiB", "gpu.memory-usable=39.4GiB",
      "gpu.memory-rate=1555GBps", NULL},
     8,
     8,
     FALSE},
    {"a800",
     "dgx-a100-80g",
     {"gpu.name=A800-SXM4-80GB", "node.nvlink-rate=200GBps", NULL},
     8,
     8,
     FALSE},
    {"b200",
     "dgx-h100",
     {"gpu.name=B200-SXM-180GB", "gpu.peak-fp32=80TFLOPS", "gpu.peak-tf32=1125TFLOPS",
      "gpu.peak-fp16=2250TFLOPS", "gpu.peak-bf16=2250TFLOPS", "gpu.peak-fp8=4500TFLOPS",
      "gpu.memory=180GiB", "gpu.memory-usable=178GiB", BLACKWELL, NULL},
     8,
     8,
     FALSE},
    {"gb200",
     "dgx-h100",
     {"gpu.name=GB200", "gpu.peak-fp32=80TFLOPS", "gpu.peak-tf32=1250TFLOPS",
      "gpu.peak-fp16=2500TFLOPS", "gpu.peak-bf16=2500TFLOPS", "gpu.peak-fp8=5000TFLOPS",
      "gpu.memory=186GiB", "gpu.memory-usable=184GiB", BLACKWELL, NULL},
     4,
     4,
     FALSE},
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
    {"h200",
     "dgx-h100",
     {"gpu.name=H200-SXM5-141GB", "gpu.memory=140.4GiB", "gpu.memory-usable=139.8GiB",
      "gpu.memory-rate=4800GBps", "gpu.memory-efficiency=0.84", NULL},
     8,
     8,
     FALSE},
    {"h800",
     "dgx-h100",
     {"gpu.name=H800-SXM5-80GB", "node.nvlink-rate=200GBps", NULL},
     8,
     8,
     FALSE},
    {"l40s",
     "dgx-a100-80g",
     {"gpu.name=L40S", "gpu.peak-fp32=91.6TFLOPS", "gpu.peak-tf32=183TFLOPS",
      "gpu.peak-fp16=362TFLOPS", "gpu.peak-bf16=362TFLOPS", "gpu.peak-fp8=733TFLOPS",
      "gpu.memory=48GB", "gpu.memory-usable=47GB", "gpu.memory-rate=864GBps",
      "gpu.memory-efficiency=0.89", "gpu.sms=142", "gpu.clock=2520MHz", NULL},
     2,
     8,
     TRUE},
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
