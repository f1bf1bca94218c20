/* A GEMM, attention and a long copy, each beside traffic of several channel counts. */
#include "config.h"

#include "calib/sweep.h"

#define TRAFFIC_BYTES ((int64_t)1 << 28)
#define COPY_BYTES ((int64_t)1 << 30)

static CalibOverlap
work_of(const CalibSweepSpec *spec, CalibWork work)
{
    CalibDtype dtype = calib_sweep_dtype(spec);
    CalibOverlap o = {.work = work};
    if (work == CALIB_WORK_GEMM)
        o.gemm = (CalibGemm){dtype, CALIB_FORWARD, 8192, 8192, 8192, 1, 1};
    else if (work == CALIB_WORK_ATTENTION)
        o.attention = (CalibAttention){dtype, 2, 32, 32, 128, 8192, true, false};
    else
        o.memory = (CalibMemory){CALIB_COPY, COPY_BYTES};
    return o;
}

static void
list_traffic(const CalibSweepSpec *spec, CalibPoints *points, CalibOp op, int ranks, int nodes,
             int channels, CalibStage stage)
{
    int slices = 16 * ranks; /* whole elements for each rank, whatever the dtype */
    for (int work = CALIB_WORK_GEMM; work <= CALIB_WORK_MEMORY; work++) {
        CalibCase what = {.kind = CALIB_CASE_OVERLAP};
        what.overlap = work_of(spec, (CalibWork)work);
        what.overlap.traffic = (CalibCollective){.op = op,
                                                 .dtype = calib_sweep_dtype(spec),
                                                 .ranks = ranks,
                                                 .nodes = nodes,
                                                 .bytes = TRAFFIC_BYTES / slices * slices};
        what.overlap.channels = channels;
        calib_points_add(points, spec, what, stage);
    }
}

static void
list_group(const CalibSweepSpec *spec, CalibPoints *points, int ranks, int nodes)
{
    static const struct {
        int channels;
        CalibStage stage;
    } counts[] = {{16, CALIB_STAGE_COARSE}, {4, CALIB_STAGE_COARSE}, {24, CALIB_STAGE_MIDDLE},
                  {8, CALIB_STAGE_MIDDLE},  {2, CALIB_STAGE_FINE},   {32, CALIB_STAGE_FINE}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i].channels >= spec->machine->sms)
            continue;
        list_traffic(spec, points, CALIB_ALL_GATHER, ranks, nodes, counts[i].channels,
                     counts[i].stage);
        list_traffic(spec, points, CALIB_REDUCE_SCATTER, ranks, nodes, counts[i].channels,
                     CALIB_STAGE_FINE);
        list_traffic(spec, points, CALIB_ALL_REDUCE, ranks, nodes, counts[i].channels,
                     CALIB_STAGE_FINE);
    }
}

static void
list(const CalibSweepSpec *spec, CalibPoints *points)
{
    int gpus = spec->machine->gpus, nodes = spec->machine->nodes;
    list_traffic(spec, points, CALIB_COPY_ENGINE, 1, 1, 0, CALIB_STAGE_COARSE);
    if (gpus > 1) {
        list_group(spec, points, gpus, 1);
        list_traffic(spec, points, CALIB_SEND_RECV, 2, 1, 2, CALIB_STAGE_MIDDLE);
        list_traffic(spec, points, CALIB_SEND_RECV, 2, 1, 4, CALIB_STAGE_MIDDLE);
    }
    if (nodes > 1)
        list_group(spec, points, nodes * gpus, nodes);
}

const CalibSweep calib_sweep_overlap = {CALIB_CASE_OVERLAP, 0.05, list};
