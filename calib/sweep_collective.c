/* Collectives: 8 B to 8 GiB in steps of 2, over every number of GPUs of a node, and over nodes with one or all GPUs of
 * each. */
#include "config.h"

#include "calib/sweep.h"

#define LEAST_LOG2 3
#define MOST_LOG2 33

/* Whole elements for each rank, where each has a slice. */
static int64_t
whole_bytes(CalibOp op, CalibDtype dtype, int ranks, int64_t bytes)
{
    bool sliced = op == CALIB_ALL_GATHER || op == CALIB_REDUCE_SCATTER || op == CALIB_ALL_TO_ALL;
    int64_t unit = (int64_t)calib_dtype_bytes(dtype) * (sliced ? ranks : 1);
    return (bytes + unit - 1) / unit * unit;
}

static CalibStage
stage_of(int log2, bool usual)
{
    int stage = log2 % 4 == 0   ? CALIB_STAGE_COARSE
                : log2 % 2 == 0 ? CALIB_STAGE_MIDDLE
                                : CALIB_STAGE_FINE;
    if (!usual && stage < CALIB_STAGE_FINE)
        stage++;
    return (CalibStage)stage;
}

static void
list_group(const CalibSweepSpec *spec, CalibPoints *points, int ranks, int nodes, bool usual)
{
    CalibDtype dtype = calib_sweep_dtype(spec);
    for (int op = 0; op < CALIB_N_OPS; op++)
        for (int log2 = LEAST_LOG2; log2 <= MOST_LOG2; log2++) {
            CalibCase what = {.kind = CALIB_CASE_COLLECTIVE};
            what.collective = (CalibCollective){
                .op = (CalibOp)op,
                .dtype = dtype,
                .ranks = ranks,
                .nodes = nodes,
                .bytes = whole_bytes((CalibOp)op, dtype, ranks, (int64_t)1 << log2)};
            calib_points_add(points, spec, what, stage_of(log2, usual));
        }
}

static bool
is_power_of_2(int n)
{
    return (n & (n - 1)) == 0;
}

static void
list(const CalibSweepSpec *spec, CalibPoints *points)
{
    int gpus = spec->machine->gpus, all = spec->machine->nodes;
    for (int ranks = 2; ranks <= gpus; ranks++)
        list_group(spec, points, ranks, 1, ranks == gpus || is_power_of_2(ranks));
    for (int nodes = 2; nodes <= all; nodes++) {
        if (nodes != all && !is_power_of_2(nodes))
            continue;
        list_group(spec, points, nodes * gpus, nodes, true);
        if (gpus > 1)
            list_group(spec, points, nodes, nodes, false);
    }
}

const CalibSweep calib_sweep_collective = {CALIB_CASE_COLLECTIVE, 0.20, list};
