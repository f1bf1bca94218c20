/* What would take less memory, what it costs in time, and what to write: simulated, each change alone; and, where none
 * alone is enough, two together. */
#pragma once

#include "report/json_number.h"
#include "report/run.h"

typedef struct {
    char *what;         /* "full recompute"; owned */
    char *options;      /* "--recompute full"; owned */
    gint64 saves_bytes; /* on the GPU with the largest peak, before and after */
    gint64 peak_bytes;
    double cost_frac; /* of the iteration's time; < 0: it is faster */
    StepVerdict verdict;
    gint64 host_bytes;
    guint n_changes; /* 1, or 2 together */
} ReportAdvice;

void report_advice_clear(gpointer advice);
/* Single changes before two together; of each those that fit first, the cheapest first among them; then the others, those that save most first; ties as
 * they stood. */
void report_advice_sort(GArray *advice);
/* The member "advice" of an object. */
void report_advice_json(JsonBuilder *b, const GArray *advice);
