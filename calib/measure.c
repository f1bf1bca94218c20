/* Rounds of samples. A pilot call says how many calls a sample needs; then rounds of more and longer samples, until one
 * is steady. Rounds are not pooled: the first ones may lie on a clock ramp. */
#include "config.h"

#include "calib/measure.h"

#include "calib/case.h"
#include "calib/follow.h"
#include "calib/statistics.h"

#include <math.h>

/* Events resolve 0.5 us: 0.1 % of the shortest sample. */
static const struct {
    unsigned samples;
    double sample_us, warm_us;
} rounds[] = {{9, 500, 2000}, {15, 1000, 20000}, {25, 3000, 50000}, {41, 5000, 50000}};
enum { N_ROUNDS = sizeof rounds / sizeof *rounds };
#define MOST_CALLS 1000
/* From idle to full clocks takes tenths of a second. */
#define COLD_WARM_US 500000
/* Buffers, random numbers, the search for a kernel: before a case is timed at all. */
#define PREPARE_S 0.004

/* Time of one call of everything that a sample times. */
static double
call_us(const CalibCase *what, const double *us, unsigned samples)
{
    double sum = 0;
    for (unsigned t = 0; t < calib_case_n_times(what); t++)
        sum += us[t * samples];
    return sum;
}

static unsigned
calls_for(double sample_us, double each_us)
{
    double calls = each_us > 0 ? ceil(sample_us / each_us) : MOST_CALLS;
    return calls < 1 ? 1 : calls > MOST_CALLS ? MOST_CALLS : (unsigned)calls;
}

static CalibTime
judge(const CalibCase *what, const CalibTiming *timing, const double *us)
{
    CalibTime time = {.samples = timing->samples, .calls = timing->calls, .steady = true};
    for (unsigned t = 0; t < calib_case_n_times(what); t++) {
        const double *samples = us + t * timing->samples;
        double spread = calib_spread_frac(samples, timing->samples);
        double drift = fabs(calib_drift_frac(samples, timing->samples));
        time.us[t] = calib_median(samples, timing->samples);
        if (spread > time.spread_frac)
            time.spread_frac = spread;
        if (spread > CALIB_STEADY_FRAC || drift > CALIB_STEADY_FRAC)
            time.steady = false;
    }
    return time;
}

CalibStatus
calib_measure(const CalibBackend *backend, int world, const CalibCase *what, bool cold,
              double limit_s, CalibTime *ret, CalibError *error)
{
    double us[CALIB_OVERLAP_TIMES * CALIB_MAX_SAMPLES];
    CalibTiming timing = {.calls = 1, .samples = 1, .warm_us = cold ? COLD_WARM_US : 0};
    double begin = backend->now_s(backend->state);
    CalibStatus status = calib_run(backend, world, what, &timing, us, error);
    if (status != CALIB_OK)
        return status;
    double each = call_us(what, us, 1);
    CalibTime best = {.spread_frac = HUGE_VAL};
    for (int round = 0; round < N_ROUNDS; round++) {
        timing.samples = rounds[round].samples;
        timing.calls = calls_for(rounds[round].sample_us, each);
        timing.warm_us = rounds[round].warm_us;
        double cost_s = 1e-6 * (timing.warm_us + each * timing.samples * timing.calls);
        if (round > 0 && backend->now_s(backend->state) - begin + cost_s > limit_s)
            break;
        status = calib_run(backend, world, what, &timing, us, error);
        if (status != CALIB_OK)
            return status;
        CalibTime time = judge(what, &timing, us);
        if (time.steady || time.spread_frac < best.spread_frac)
            best = time;
        if (time.steady)
            break;
        each = call_us(what, us, timing.samples);
    }
    *ret = best;
    return CALIB_OK;
}

double
calib_measure_estimate_s(double each_us)
{
    double calls = calls_for(rounds[0].sample_us, each_us);
    return PREPARE_S + 1e-6 * (rounds[0].warm_us + each_us * (2 + calls * rounds[0].samples));
}
