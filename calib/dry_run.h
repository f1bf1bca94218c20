/* The plan in print. */
#pragma once

#include "calib/plan.h"

#include <stdio.h>

/* `assumed`: the machine is not there. */
void calib_dry_run_print(FILE *stream, const CalibPlan *plan, const CalibSweepSpec *spec,
                         double budget_s, bool assumed);
