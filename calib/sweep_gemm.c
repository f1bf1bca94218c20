/* GEMMs: a grid in steps of 4 of plain ones, and some batched and grouped ones. C and its transpose run alike: grids
 * have m >= n. */
#include "config.h"

#include "calib/sweep.h"

/* No powers of two but the last: those fill tiles and waves evenly, so that a grid of them makes other sizes look better
 * than they are. Median error of predictions from 150 rows that such a grid and refinement chose, and from as many of 128,
 * 512, ... and refinement: H100 3.9, 4.4 %; B200 4.6, 4.9 %; A100 5.2, 5.2 %; L40S 7.4, 9.0 % (calib/refine_gemm.c). */
static const int64_t steps[] = {192, 768, 3072, 12288, 32768};
enum { N_STEPS = sizeof steps / sizeof *steps };

static void
add(const CalibSweepSpec *spec, CalibPoints *points, CalibGemm gemm, CalibStage stage)
{
    CalibCase what = {.kind = CALIB_CASE_GEMM};
    what.gemm = gemm;
    if (calib_sweep_gemm_worth(spec, &gemm))
        calib_points_add(points, spec, what, stage);
}

/* Forward first: it is what the simulator interpolates between; of the other passes it takes the ratio to it. */
static void
list_plain(const CalibSweepSpec *spec, CalibPoints *points, CalibDtype dtype)
{
    for (int pass = 0; pass < CALIB_N_PASSES; pass++)
        for (int i = 0; i < N_STEPS; i++)
            for (int j = 0; j <= i; j++)
                for (int k = 0; k < N_STEPS; k++) {
                    bool edge = j == 0 || k == 0;
                    CalibStage stage = pass == CALIB_FORWARD ? CALIB_STAGE_COARSE
                                       : edge                ? CALIB_STAGE_FINE
                                                             : CALIB_STAGE_MIDDLE;
                    add(spec, points,
                        (CalibGemm){dtype, (CalibPass)pass, steps[i], steps[j], steps[k], 1, 1},
                        stage);
                }
}

/* Scores and values of unfused attention. */
static void
list_batched(const CalibSweepSpec *spec, CalibPoints *points, CalibDtype dtype)
{
    for (int64_t batch = 8; batch <= 128; batch *= 4)
        for (int64_t seq = 1024; seq <= 8192; seq *= 2)
            for (int64_t width = 64; width <= 128; width *= 2) {
                add(spec, points, (CalibGemm){dtype, CALIB_FORWARD, seq, seq, width, batch, 1},
                    CALIB_STAGE_FINE);
                add(spec, points, (CalibGemm){dtype, CALIB_FORWARD, seq, width, seq, batch, 1},
                    CALIB_STAGE_FINE);
            }
}

/* Experts of mixtures: up and down matrices of usual widths. */
static void
list_grouped(const CalibSweepSpec *spec, CalibPoints *points, CalibDtype dtype)
{
    static const int64_t widths[][2] = {{14336, 4096}, {4096, 7168}, {2048, 7168}};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int64_t groups = 4; groups <= 64; groups *= 4)
            for (int64_t rows = 4096; rows <= 65536; rows *= 4) {
                int64_t wide = widths[w][0], hidden = widths[w][1];
                add(spec, points, (CalibGemm){dtype, CALIB_FORWARD, rows, wide, hidden, 1, groups},
                    CALIB_STAGE_MIDDLE);
                add(spec, points, (CalibGemm){dtype, CALIB_FORWARD, rows, hidden, wide, 1, groups},
                    CALIB_STAGE_FINE);
                add(spec, points, (CalibGemm){dtype, CALIB_DGRAD, rows, hidden, wide, 1, groups},
                    CALIB_STAGE_FINE);
                add(spec, points, (CalibGemm){dtype, CALIB_WGRAD, wide, hidden, rows, 1, groups},
                    CALIB_STAGE_FINE);
            }
}

static void
list(const CalibSweepSpec *spec, CalibPoints *points)
{
    static const CalibDtype order[] = {CALIB_BF16, CALIB_FP16, CALIB_FP8, CALIB_TF32, CALIB_FP32};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (!spec->dtypes[order[i]])
            continue;
        list_plain(spec, points, order[i]);
        if (order[i] == calib_sweep_dtype(spec))
            list_batched(spec, points, order[i]);
        if (calib_dtype_bytes(order[i]) <= 2)
            list_grouped(spec, points, order[i]);
    }
}

const CalibSweep calib_sweep_gemm = {CALIB_CASE_GEMM, 0.50, list};
