/* Runs what may hang on another thread, and looks after it: a library that waits for a process that died never returns
 * by itself. */
#pragma once

#include "calib/backend.h"

typedef CalibStatus (*CalibJob)(void *data, CalibError *error);

/* A sample of the slowest: 8 GB through one network card of 1 GB/s, some times. */
#ifndef CALIB_PATIENCE_S
#define CALIB_PATIENCE_S 300
#endif
/* That what is in trouble has to return by itself. */
#define CALIB_GRACE_S 2

typedef struct {
    const char *name; /* of what jobs wait for, in complaints */
    double limit_s;   /* of a job */
    double grace_s;   /* that a job has to return by itself after trouble, and again after `stop` */
    bool (*is_well)(void *data, CalibError *error); /* asked while a job runs */
    void (*stop)(void *data); /* makes a job return that hangs; from another thread */
    void *data;
} CalibWatchSpec;

typedef struct CalibWatch CalibWatch;

CalibWatch *calib_watch_new(const CalibWatchSpec *spec); /* NULL: no thread is to be had */
/* Not while a job is stuck. */
void calib_watch_free(CalibWatch *watch);
/* What the job returns, or CALIB_FAILED where it was stopped. A job that does not even return then is stuck: it may still
 * touch `data`, and no other job can be run. */
CalibStatus calib_watch_run(CalibWatch *watch, CalibJob job, void *data, CalibError *error);
bool calib_watch_is_stuck(const CalibWatch *watch);
/* Ends the process with this status unless it has ended by itself by then: a driver may wait without limit for a GPU that
 * does not answer. */
void calib_watch_end_after(double limit_s, int status);
