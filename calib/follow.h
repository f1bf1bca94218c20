/* Rank 0 leads, all other ranks follow: what is run everywhere at once, and when it is over. */
#pragma once

#include "calib/backend.h"

/* CalibBackend.run, after telling the others (`world` - 1) when the case is shared. Rank 0 only. */
CalibStatus calib_run(const CalibBackend *backend, int world, const CalibCase *what,
                      const CalibTiming *timing, double *us, CalibError *error);
/* Sends the other ranks home; with `failure`, where rank 0 has failed alone: they end as it does. */
CalibStatus calib_dismiss(const CalibBackend *backend, int world, const CalibError *failure,
                          CalibError *error);
/* What all ranks but 0 do: join in until they are dismissed (CALIB_OK). */
CalibStatus calib_follow(const CalibBackend *backend, CalibError *error);
