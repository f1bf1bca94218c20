/* Fused attention: 16k tokens and a hidden size of 2048, as published measurements have them, and what differs. */
#include "config.h"

#include "calib/sweep.h"

#define TOKENS 16384
#define HIDDEN 2048

static void
add(const CalibSweepSpec *spec, CalibPoints *points, CalibAttention attention, CalibStage stage)
{
    CalibCase what = {.kind = CALIB_CASE_ATTENTION};
    what.attention = attention;
    calib_points_add(points, spec, what, stage);
}

static void
list_lengths(const CalibSweepSpec *spec, CalibPoints *points, CalibDtype dtype)
{
    int step = 0;
    for (int64_t seq = 512; seq <= 65536; seq *= 2, step++)
        for (int64_t width = 64; width <= 256; width *= 2)
            for (int causal = 1; causal >= 0; causal--) {
                int64_t batch = seq < TOKENS ? TOKENS / seq : 1, heads = HIDDEN / width;
                bool usual = width <= 128 && seq <= 32768;
                add(spec, points,
                    (CalibAttention){dtype, batch, heads, heads, width, seq, causal == 1, false},
                    !usual          ? CALIB_STAGE_FINE
                    : step % 2 == 1 ? CALIB_STAGE_COARSE
                                    : CALIB_STAGE_MIDDLE);
            }
}

/* Grouped queries; few heads, as tensor parallelism leaves them. */
static void
list_heads(const CalibSweepSpec *spec, CalibPoints *points, CalibDtype dtype)
{
    for (int64_t seq = 2048; seq <= 8192; seq *= 2)
        for (int64_t heads = 4; heads <= 64; heads *= 2) {
            int64_t keys = heads / 8 > 0 ? heads / 8 : 1;
            add(spec, points, (CalibAttention){dtype, 1, heads, keys, 128, seq, true, false},
                CALIB_STAGE_MIDDLE);
            add(spec, points, (CalibAttention){dtype, 1, heads, heads, 128, seq, true, false},
                CALIB_STAGE_FINE);
        }
}

static void
list(const CalibSweepSpec *spec, CalibPoints *points)
{
    list_lengths(spec, points, calib_sweep_dtype(spec));
    list_heads(spec, points, calib_sweep_dtype(spec));
}

const CalibSweep calib_sweep_attention = {CALIB_CASE_ATTENTION, 0.15, list};
