/* The schedules that a command compares: all, or those that --schedule names. */
#pragma once

#include "cli/inputs.h"
#include "schedule/schedule.h"

typedef struct {
    char *name;               /* as given, or of the type; owned */
    const ScheduleType *type; /* NULL: `name` is a file */
} CliCandidate;

/* GArray of CliCandidate; NULL on error. `names`: separated by commas; NULL: all. */
GArray *cli_candidates_parse(const char *names, GError **error);
/* Chunks a rank that a candidate is run with when many are compared: `wanted` where it can, else the nearest
 * that it can; `wanted` 0 (not said): 2 for those that may have several, else 1. */
gint64 cli_candidate_chunks(const ScheduleType *type, gint64 wanted);
/* The reason in a refusal of `name`, without the place that the line already names. Caller frees. */
char *cli_candidate_reason(const GError *refusal);
