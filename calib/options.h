/* The command line of dtsim-calibrate. */
#pragma once

#include "calib/backend.h"

typedef struct {
    const char *directory, *shapes, *name; /* NULL: not given */
    double budget_s;
    bool kinds[CALIB_N_CASES];
    bool dtypes[CALIB_N_DTYPES];
    bool dtypes_given, resume, dry_run;
    CalibLaunch launch;
} CalibOptions;

typedef enum { CALIB_OPTIONS_RUN, CALIB_OPTIONS_SHOWN, CALIB_OPTIONS_WRONG } CalibOptionsStatus;

/* SHOWN: --help or --version was printed. WRONG: `error` says what and what to write. Texts are those of argv, whose
 * lists are cut up. */
CalibOptionsStatus calib_options_parse(int argc, char **argv, CalibOptions *ret, CalibError *error);
/* "10min", "1.5h", "90s", "500ms"; false: not a time. */
bool calib_options_seconds(const char *text, double *ret);
