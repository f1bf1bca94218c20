/* What rows near a place say that a row there takes, and how surely, by their own scatter.
 *
 * y = ln(value / (nominal + base)) is taken for a plane over log2 of the sizes x, through the rows nearest to the place.
 * A row at the distance d octaves lies off the plane by noise, and by what the surface does on the way, which grows
 * with d:
 *
 *     variance(d) = tau^2 (1 + d^2)
 *
 * tau is what the rows themselves show, with the degrees of freedom that the plane leaves them; so rows that are few, far,
 * or all on one side say little, and no limit of distance is needed. No slope is steeper than that of a time which is in
 * proportion to one size, against a nominal time that is not (ln 2 an octave): half of that is its prior sigma. Surfaces
 * bend, too: a + b x does by at most (ln 2)^2 / 4 = 0.12 of ln an octave squared where both terms are equal. */
#pragma once

#include "calibrate/observations.h"

typedef struct {
    double y;        /* ln of the value over nominal + base of the series */
    double error;    /* one sigma of what a row there may be off, ln */
    double bend;     /* what it may be off because the surface bends, ln */
    double freedom;  /* degrees of it in the error; may be 0 or less: they say nothing */
    double distance; /* octaves to the nearest */
    guint n;
} CalibrateNearby;

/* Outliers among the rows do not pull (Huber's weights, then Tukey's). FALSE: there are fewer than four. `left_out`: of each
 * row of all series, those that are not asked; NULL: all are. */
gboolean calibrate_nearby(const CalibrateObservations *observations, const CalibrateSeries *series,
                          const double x[CALIBRATE_AXES], const gboolean *left_out,
                          CalibrateNearby *ret);

/* How many sigmas of a normal distribution are as rare as being off by so much: 5 are one in 1.7 million. */
double calibrate_nearby_sigmas(const CalibrateNearby *near, double off);
