/* What a process tells all others of itself when they have met. */
#pragma once

#include "calib/seats.h"

CalibStatus calib_hello_describe(int rank, CalibSeatsHello *ret, CalibError *error);
