/* What to measure next.
 *
 * First all that belongs to the device, then named shapes, the costliest of a step first. From then on kinds take turns
 * by the shares of the time that they have had, each through its grid from coarse to fine; GEMMs go on after theirs
 * where interpolation is worst. What is asked depends on earlier answers and times only, so that a run that begins with
 * the rows of an earlier one asks the same again. */
#pragma once

#include "calib/row.h"
#include "calib/sweep.h"

typedef struct CalibPlan CalibPlan;

/* Borrows what the spec points to. */
CalibPlan *calib_plan_new(const CalibSweepSpec *spec);
void calib_plan_free(CalibPlan *plan);

/* False: nothing is left that is worth its time. */
bool calib_plan_next(CalibPlan *plan, CalibPoint *ret);
/* What the last point came to: its row, or NULL where it cannot be measured; and the time it took. */
void calib_plan_tell(CalibPlan *plan, const CalibRow *row, double seconds);

/* Of the points that are listed (refinement is not), and their estimated time. */
typedef struct {
    unsigned n;
    double seconds;
} CalibPlanSum;
CalibPlanSum calib_plan_sum(const CalibPlan *plan, CalibKind kind, CalibStage stage);
/* What of them has not been asked for. */
CalibPlanSum calib_plan_left(const CalibPlan *plan);
unsigned calib_plan_n_named_left(const CalibPlan *plan);
/* Whether refinement follows, which takes what time there is. */
bool calib_plan_refines(const CalibPlan *plan);
