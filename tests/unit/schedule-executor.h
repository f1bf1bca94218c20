/* A list executor for the tests of schedules, independent of the engine. */
#pragma once

#include "schedule/schedule.h"

/* Per-chunk times; `pair` is that of an overlapped pair, `comm` the latency between ranks. */
typedef struct {
    gint64 F, I, W, pair, comm;
} ScheduleTimes;

typedef struct {
    gint64 makespan, max_busy, max_span;
    gint64 *busy, *idle, *span; /* [pp] */
    gint64 **start, **end;      /* [pp][token] */
    guint n;
} ScheduleRun;

/* Each rank runs its list in order; an op starts when its rank is free and its inputs, `comm` later
 * when they come from another rank, are there; a pair when the inputs of both are. NULL when the
 * ranks wait for each other for ever. */
ScheduleRun *schedule_run(const Schedule *s, const ScheduleTimes *times);
void schedule_run_free(ScheduleRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ScheduleRun, schedule_run_free)
