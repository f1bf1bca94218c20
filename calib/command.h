/* dtsim-calibrate from its command line to its exit status. */
#pragma once

#include "calib/backend.h"

typedef CalibOpened (*CalibOpener)(const CalibLaunch *launch, CalibBackend *ret, CalibError *error);
/* 0 done, 1 failed or interrupted, 2 bad usage, 77 no GPU. */
int calib_command(int argc, char **argv, CalibOpener opener);
