/* A middle and a spread that a few outliers do not move. */
#pragma once

#define CALIB_MAX_SAMPLES 64

/* Of 1 to CALIB_MAX_SAMPLES values: the middle one, or the mean of the two in the middle. */
double calib_median(const double *values, unsigned n);
/* 1.4826 x median |value - median| / median: of normal noise its standard deviation over its mean; up to half of the
 * values may be anything. 0 of a single value. */
double calib_spread_frac(const double *values, unsigned n);
/* Median of the last third over that of the first, less 1: clocks that rise or fall while samples are taken. 0 of fewer
 * than 6. */
double calib_drift_frac(const double *values, unsigned n);
