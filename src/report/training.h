/* What a log of training says of the time of an iteration. */
#pragma once

#include "calibrate/steady.h"

/* All borrowed. */
typedef struct {
    const char *file;
    const char *plan; /* "64 GPUs, tp 4, pp 16, dp 1"; NULL: the log does not say */
    const CalibrateSteady *steady;
} ReportTraining;

extern const char report_training_columns[];
/* "text", "json" (an element of an array) or "tsv" (a line). */
void report_training(const GArray *runs, const char *format, GString *out); /* of ReportTraining */
