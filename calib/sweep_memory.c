/* Kernels bound by memory, launches, copies. */
#include "config.h"

#include "calib/sweep.h"

#define LEAST_LOG2 16 /* 64 KiB */
#define MOST_LOG2 32

static void
add(const CalibSweepSpec *spec, CalibPoints *points, CalibKernel kernel, int64_t bytes,
    CalibStage stage)
{
    CalibCase what = {.kind = CALIB_CASE_MEMORY};
    what.memory = (CalibMemory){kernel, bytes};
    calib_points_add(points, spec, what, stage);
}

static void
list_device(const CalibSweepSpec *spec, CalibPoints *points)
{
    static const CalibKernel instants[] = {CALIB_LAUNCH, CALIB_EVENT, CALIB_SYNC};
    static const CalibKernel copies[] = {CALIB_H2D, CALIB_D2H, CALIB_P2P};
    for (int i = 0; i < 3; i++)
        add(spec, points, instants[i], 0, CALIB_STAGE_DEVICE);
    for (int log2 = 28; log2 <= 31; log2++) {
        add(spec, points, CALIB_COPY, (int64_t)1 << log2, CALIB_STAGE_DEVICE);
        add(spec, points, CALIB_TRIAD, (int64_t)1 << log2, CALIB_STAGE_DEVICE);
    }
    for (int i = 0; i < (spec->machine->gpus > 1 ? 3 : 2); i++)
        for (int log2 = 12; log2 <= 28; log2 += 4)
            add(spec, points, copies[i], (int64_t)1 << log2, CALIB_STAGE_DEVICE);
}

static void
list(const CalibSweepSpec *spec, CalibPoints *points)
{
    list_device(spec, points);
    for (int kernel = 0; kernel < CALIB_N_TABLE_KERNELS; kernel++)
        for (int log2 = LEAST_LOG2; log2 <= MOST_LOG2; log2++)
            add(spec, points, (CalibKernel)kernel, (int64_t)1 << log2,
                log2 % 4 == 0   ? CALIB_STAGE_COARSE
                : log2 % 2 == 0 ? CALIB_STAGE_MIDDLE
                                : CALIB_STAGE_FINE);
}

const CalibSweep calib_sweep_memory = {CALIB_CASE_MEMORY, 0.10, list};
