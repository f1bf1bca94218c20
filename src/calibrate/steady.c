/* Lines of a log by what disturbed them. */
#include "config.h"

#include "calibrate/steady.h"

#include "units/quantile.h"

#include <math.h>

#define SIGMA_PER_MAD 1.4826
#define LEAST_SPREAD 0.01
#define FENCE 3

const char *
calibrate_steady_verdict_name(CalibrateSteadyVerdict verdict)
{
    static const char *const names[CALIBRATE_N_VERDICTS] = {"steady",
                                                            "of another global batch",
                                                            "of warm-up",
                                                            "behind an evaluation or a checkpoint",
                                                            "whose step the loss scaler skipped",
                                                            "disturbed",
                                                            "torn"};
    g_assert(verdict < CALIBRATE_N_VERDICTS);
    return names[verdict];
}

static double
spread_of(const GArray *values, double median)
{
    g_autoptr(GArray) off = g_array_sized_new(FALSE, FALSE, sizeof(double), values->len);
    for (guint i = 0; i < values->len; i++) {
        double d = fabs(g_array_index(values, double, i) - median);
        g_array_append_val(off, d);
    }
    return SIGMA_PER_MAD * units_quantile_of(off, 0.5);
}

static double
fence_of(GArray *values)
{
    double median = units_quantile_of(values, 0.5);
    return median + FENCE * MAX(spread_of(values, median), LEAST_SPREAD * median);
}

static CalibrateIteration *
at(GArray *iterations, guint i)
{
    return &g_array_index(iterations, CalibrateIteration, i);
}

/* Times of the lines from..to that still count. */
static GArray *
times_of(GArray *iterations, guint from, guint to)
{
    GArray *times = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = from; i < to; i++)
        if (at(iterations, i)->verdict == CALIBRATE_STEADY)
            g_array_append_val(times, at(iterations, i)->s);
    return times;
}

/* --- rules -------------------------------------------------------------------------------------- */

/* The last that a line says; -1: none does. */
static gint64
last_batch(GArray *iterations)
{
    for (guint i = iterations->len; i > 0; i--)
        if (at(iterations, i - 1)->global_batch >= 0)
            return at(iterations, i - 1)->global_batch;
    return -1;
}

static void
leave_batches(GArray *iterations, gint64 batch)
{
    for (guint i = 0; i < iterations->len; i++) {
        CalibrateIteration *it = at(iterations, i);
        it->verdict = it->global_batch == batch ? CALIBRATE_STEADY
                      : it->global_batch < 0    ? CALIBRATE_TORN
                                                : CALIBRATE_OTHER_BATCH;
    }
}

static gboolean
is_paused(const CalibrateIteration *it)
{
    return it->after_pause;
}

static gboolean
is_skipped(const CalibrateIteration *it)
{
    return it->skipped > 0;
}

/* The fence of the later half of the lines from..to, those behind pauses and with skips left out where there are others;
 * NAN: there is but one line. */
static double
fence_of_later(GArray *iterations, guint from, guint to)
{
    g_autoptr(GArray) all = times_of(iterations, from, to);
    g_autoptr(GArray) quiet = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = from; i < to; i++) {
        const CalibrateIteration *it = at(iterations, i);
        if (it->verdict == CALIBRATE_STEADY && !is_paused(it) && !is_skipped(it))
            g_array_append_val(quiet, it->s);
    }
    GArray *of = quiet->len > 1 ? quiet : all;
    if (of->len < 2)
        return NAN;
    g_autoptr(GArray) later = g_array_new(FALSE, FALSE, sizeof(double));
    g_array_append_vals(later, &g_array_index(of, double, of->len / 2), of->len - of->len / 2);
    return fence_of(later);
}

/* Of one start of training, lines from..to. */
static void
leave_warm_up(GArray *iterations, guint from, guint to)
{
    double fence = fence_of_later(iterations, from, to);
    for (guint i = from; i < to && !isnan(fence); i++) {
        if (at(iterations, i)->verdict != CALIBRATE_STEADY)
            continue;
        if (at(iterations, i)->s <= fence)
            return;
        at(iterations, i)->verdict = CALIBRATE_WARM_UP;
    }
}

static guint
leave_warm_ups(GArray *iterations)
{
    guint n = 0;
    for (guint from = 0, to; from < iterations->len; from = to, n++) {
        for (to = from + 1;
             to < iterations->len && at(iterations, to)->start == at(iterations, from)->start; to++)
            ;
        leave_warm_up(iterations, from, to);
    }
    return n;
}

/* TRUE: all are so, and stay. */
static gboolean
leave_those(GArray *iterations, gboolean (*is)(const CalibrateIteration *),
            CalibrateSteadyVerdict verdict)
{
    gboolean others = FALSE;
    for (guint i = 0; i < iterations->len; i++)
        others |= at(iterations, i)->verdict == CALIBRATE_STEADY && !is(at(iterations, i));
    for (guint i = 0; others && i < iterations->len; i++)
        if (at(iterations, i)->verdict == CALIBRATE_STEADY && is(at(iterations, i)))
            at(iterations, i)->verdict = verdict;
    return !others;
}

static void
leave_disturbed(GArray *iterations)
{
    g_autoptr(GArray) times = times_of(iterations, 0, iterations->len);
    double fence = fence_of(times);
    for (guint i = 0; i < iterations->len; i++)
        if (at(iterations, i)->verdict == CALIBRATE_STEADY && at(iterations, i)->s > fence)
            at(iterations, i)->verdict = CALIBRATE_DISTURBED;
}

/* --- the result --------------------------------------------------------------------------------- */

static double
tflops_of(GArray *iterations)
{
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < iterations->len; i++)
        if (at(iterations, i)->verdict == CALIBRATE_STEADY && !isnan(at(iterations, i)->tflops))
            g_array_append_val(values, at(iterations, i)->tflops);
    return units_quantile_of(values, 0.5);
}

static void
count(GArray *iterations, CalibrateSteady *steady)
{
    for (guint i = 0; i < iterations->len; i++) {
        const CalibrateIteration *it = at(iterations, i);
        if (it->verdict == CALIBRATE_STEADY && steady->n[CALIBRATE_STEADY] == 0)
            steady->first = it->iteration;
        if (it->verdict == CALIBRATE_STEADY)
            steady->last = it->iteration;
        steady->n[it->verdict]++;
    }
}

/* --log-interval, without asking the arguments. */
static gint64
interval_of(GArray *iterations)
{
    gint64 least = 0;
    for (guint i = 1; i < iterations->len; i++) {
        gint64 step = at(iterations, i)->iteration - at(iterations, i - 1)->iteration;
        if (at(iterations, i)->start == at(iterations, i - 1)->start && step > 0 &&
            (least == 0 || step < least))
            least = step;
    }
    return least;
}

CalibrateSteady
calibrate_steady(GArray *iterations)
{
    g_assert(iterations->len > 0);
    CalibrateSteady steady = {.global_batch = last_batch(iterations)};
    leave_batches(iterations, steady.global_batch);
    steady.n_starts = leave_warm_ups(iterations);
    steady.all_paused = leave_those(iterations, is_paused, CALIBRATE_PAUSED);
    steady.all_skipped = leave_those(iterations, is_skipped, CALIBRATE_SKIPPED);
    leave_disturbed(iterations);
    g_autoptr(GArray) times = times_of(iterations, 0, iterations->len);
    steady.s = units_quantile_of(times, 0.5);
    steady.low_s = g_array_index(times, double, 0);
    steady.high_s = g_array_index(times, double, times->len - 1);
    steady.spread_frac = spread_of(times, steady.s) / steady.s;
    steady.tflops = tflops_of(iterations);
    steady.interval = interval_of(iterations);
    count(iterations, &steady);
    return steady;
}
