/* What `dtsim schedules` was asked for, and the two ways to answer it. */
#pragma once

#include "cli/format.h"
#include "cli/inputs.h"
#include "report/schedules.h"

typedef struct {
    CliInputs *in;
    CliFormat format;
    char *unit, *plot, *dump, *dump_comms; /* NULL: not given */
    guint order;
} CliComparison;

/* What came of it; `head` and `title` owned. */
typedef struct {
    ReportSchedules schedules;
    char *head, *title;
} CliCompared;

/* In units of time, without a model: textbook.c. */
gboolean cli_compare_units(const CliComparison *c, CliCompared *ret, GError **error);
/* On the layer times of a model on a machine: compare.c. */
gboolean cli_compare_real(const CliComparison *c, CliCompared *ret, GError **error);

/* What both need. Adds a row, empty but for its name; it stays the array's. */
ReportSchedule *cli_comparison_add(GPtrArray *rows, const char *name);
/* What follows from the order alone: peaks, replicas, weight versions. */
void cli_comparison_fill(ReportSchedule *row, const Schedule *schedule, const ScheduleType *type);
/* --dump-schedule and --dump-comms. */
gboolean cli_comparison_dump(const CliComparison *c, const Schedule *schedule, GError **error);
/* Counts that were asked for beside a schedule from a file must be the file's; of `many` schedules, each has its
 * own chunks. */
gboolean cli_comparison_agrees(const CliComparison *c, const char *path, const Schedule *schedule,
                               gboolean many, GError **error);
/* None ran: the error says why the first did not. */
gboolean cli_comparison_check(const GPtrArray *rows, GError **error);
/* A StepOptions.token or step_run_units callback; `user` is a ReportGantt. */
void cli_gantt_token(void *user, guint pp_rank, ScheduleToken token, gint64 start, gint64 end);
