/* Peaks: SMs x clock x operations that an SM does in a clock. */
#include "config.h"

#include "calib/nominal.h"

#include <stdio.h>
#include <string.h>

/* Dense operations (a multiplication and an addition are two) of one SM in one clock, NVIDIA's white papers of each
 * generation; links of its SXM cards. A GPU newer than all takes the last row. */
static const struct {
    int capability;
    double per_clock[CALIB_N_DTYPES]; /* fp32 (vector units), tf32, fp16, bf16, fp8 */
    double nvlink_GBps, memory_GBps;  /* where the driver does not say */
    double floor_us;
} generations[] = {
    {60, {128, 0, 256, 0, 0}, 80, 732, 3},
    {70, {128, 0, 1024, 0, 0}, 150, 900, 3},
    {75, {128, 0, 1024, 0, 0}, 0, 320, 3},
    {80, {128, 1024, 2048, 2048, 0}, 300, 2039, 2.5},
    {86, {256, 512, 1024, 1024, 0}, 0, 696, 2.5},
    {89, {256, 512, 1024, 1024, 2048}, 0, 864, 2.5},
    {90, {256, 2048, 4096, 4096, 8192}, 450, 3350, 2.5},
    {100, {256, 4096, 8192, 8192, 16384}, 900, 8000, 2.5},
    {120, {256, 512, 1024, 1024, 2048}, 0, 1792, 2.5},
};
enum { N_GENERATIONS = sizeof generations / sizeof *generations };

/* Where the clock that data sheets count with is not the highest that the driver names. First match. */
static const struct {
    const char *part; /* of the product name */
    double MHz;
} sheets[] = {
    {"H100 PCIe", 1620}, {"H100 NVL", 1545}, {"H100", 1830}, {"H200", 1830}, {"H800", 1830},
};

static double
sheet_clock_Hz(const char *name)
{
    for (size_t i = 0; i < sizeof sheets / sizeof *sheets; i++)
        if (strstr(name, sheets[i].part) != NULL)
            return sheets[i].MHz * 1e6;
    return 0;
}

CalibNominal
calib_nominal(const CalibMachine *m)
{
    int g = 0;
    while (g + 1 < N_GENERATIONS && generations[g + 1].capability <= m->compute_capability)
        g++;
    double sheet = sheet_clock_Hz(m->gpu_name);
    CalibNominal gpu = {.memory_frac = 0.9, .floor_us = generations[g].floor_us};
    gpu.clock_of_sheet = sheet > 0;
    gpu.clock_Hz = sheet > 0 ? sheet : m->clock_khz > 0 ? (double)m->clock_khz * 1e3 : 1.5e9;
    gpu.sms = m->sms > 0 ? m->sms : 1;
    for (int d = 0; d < CALIB_N_DTYPES; d++)
        gpu.peak_flops[d] = gpu.sms * gpu.clock_Hz * generations[g].per_clock[d];
    /* two transfers a clock */
    gpu.memory_Bps = (double)m->memory_clock_khz * 1e3 * 2 * m->memory_bus_bits / 8;
    gpu.memory_known = gpu.memory_Bps > 0;
    if (!gpu.memory_known)
        gpu.memory_Bps = generations[g].memory_GBps * 1e9;
    gpu.nvlink_Bps = m->nvlinks * m->nvlink_GBps * 1e9;
    gpu.nvlink_sheet_Bps = generations[g].nvlink_GBps * 1e9;
    if (!(gpu.nvlink_Bps > 0) && (m->nvswitch || m->nvlinks > 0))
        gpu.nvlink_Bps = gpu.nvlink_sheet_Bps;
    /* 8 Gbit/s of a lane of generation 3 and twice as much in each later one; 0.85 gets through */
    int generation = m->pcie_generation > 2 ? m->pcie_generation : 3;
    int width = m->pcie_width > 0 ? m->pcie_width : 16;
    gpu.pcie_Bps = 0.85 * 1e9 * width * (double)(1 << (generation - 3));
    int gpus = m->gpus > 0 ? m->gpus : 1;
    gpu.nic_Bps = m->nics > 0
                      ? m->nics * (m->hosts > 1 ? m->hosts : 1) * m->nic_Gbps * 1e9 / 8 / gpus
                      : 12.5e9;
    return gpu;
}

CalibMachine
calib_nominal_machine(void)
{
    CalibMachine m = {.compute_capability = 90,
                      .gpus = 8,
                      .sms = 132,
                      .memory_bytes = 84900000000,
                      .memory_free_bytes = 82000000000,
                      .l2_bytes = 50000000,
                      .clock_khz = 1980000,
                      .memory_clock_khz = 2619000,
                      .memory_bus_bits = 5120,
                      .nvlinks = 18,
                      .nvlink_GBps = 25,
                      .nvswitch = true,
                      .pcie_generation = 5,
                      .pcie_width = 16,
                      .nics = 8,
                      .nic_Gbps = 400,
                      .nodes = 1,
                      .world = 1};
    snprintf(m.gpu_name, sizeof m.gpu_name, "NVIDIA H100 80GB HBM3");
    return m;
}
