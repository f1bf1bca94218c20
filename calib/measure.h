/* One case, timed until its samples agree. */
#pragma once

#include "calib/backend.h"

/* Samples agree when their spread (calib_spread_frac) and their drift are below this. */
#define CALIB_STEADY_FRAC 0.02

typedef struct {
    double us[CALIB_OVERLAP_TIMES]; /* medians; calib_case_n_times of them */
    double spread_frac;             /* the largest of these times' */
    unsigned samples, calls;        /* behind each median */
    bool steady;                    /* false: it was given up */
} CalibTime;

/* `cold`: the GPU has idled, its clocks have to rise first. `limit_s`: after so long no further round is begun. `world`
 * ranks take part in shared cases. */
CalibStatus calib_measure(const CalibBackend *backend, int world, const CalibCase *what, bool cold,
                          double limit_s, CalibTime *ret, CalibError *error);
/* What calib_measure will take, with the time of one call (of all times of a sample, for an overlap) known. */
double calib_measure_estimate_s(double call_us);
