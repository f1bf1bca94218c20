/* From an open backend to a full directory. */
#pragma once

#include "calib/plan.h"
#include "calib/store.h"

typedef enum {
    CALIB_SESSION_DONE,        /* nothing is left to measure */
    CALIB_SESSION_BUDGET,      /* the time is up */
    CALIB_SESSION_INTERRUPTED, /* by a signal; rows are kept in .part files */
    CALIB_SESSION_FAILED       /* the device, a rank or the disk; as well */
} CalibSessionEnd;

typedef struct {
    const CalibBackend *backend;
    const CalibMachine *machine;
    CalibPlan *plan;
    CalibStore *store;
    double budget_s;
} CalibSession;

typedef struct {
    CalibSessionEnd end;
    unsigned n_measured, n_unsteady, n_left_out;
    double seconds;
} CalibSessionResult;

/* Measures what the plan asks for and the store has not, and writes each row. Finishes tables and system.conf when it
 * is done or the time is up. */
CalibSessionResult calib_session_run(const CalibSession *session, CalibError *error);
