/* The time of an iteration out of a log's: which of its lines count.
 *
 * 1. Batches: those of another global batch than the last one said are left out (--rampup-batch-size); and where lines
 *    say one, those that do not, which are torn.
 * 2. Warm-up: at each start of training the first lines, as long as they are slower than the later half of that start
 *    by its fence: the median plus three times the larger of the spread (1.4826 times the median absolute deviation,
 *    which is sigma of a normal distribution) and 1 % of the median. That half is of lines that rules 3 and 4 do not
 *    touch, where there are two of them. No number of iterations is fixed.
 * 3. Pauses: those behind an evaluation or a checkpoint, whose time some versions add to the next line, unless none
 *    is left without them.
 * 4. Skips: those in which the loss scaler skipped a step, which saves the optimizer's part, unless none is left.
 * 5. Disturbed: those beyond the fence of what is left by then.
 * The median of the rest is the time. */
#pragma once

#include "calibrate/megatron_log.h"

typedef enum {
    CALIBRATE_STEADY,
    CALIBRATE_OTHER_BATCH,
    CALIBRATE_WARM_UP,
    CALIBRATE_PAUSED,
    CALIBRATE_SKIPPED,
    CALIBRATE_DISTURBED,
    CALIBRATE_TORN,
    CALIBRATE_N_VERDICTS
} CalibrateSteadyVerdict;
/* "of warm-up" */
const char *calibrate_steady_verdict_name(CalibrateSteadyVerdict verdict);

typedef struct {
    double s, low_s, high_s;       /* median, least and most of those that count */
    double spread_frac;            /* 1.4826 MAD / median */
    double tflops;                 /* median of theirs; NAN: none is printed */
    guint n[CALIBRATE_N_VERDICTS]; /* lines by verdict */
    guint n_starts;
    gint64 first, last; /* iterations of the lines that count */
    gint64 interval; /* iterations of a line, by the least step between two; 0: there is one line */
    gint64 global_batch;              /* -1: lines do not say */
    gboolean all_paused, all_skipped; /* no line was without */
} CalibrateSteady;

/* Of CalibrateIteration, at least one; sets their verdicts. */
CalibrateSteady calibrate_steady(GArray *iterations);
