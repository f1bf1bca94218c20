/* What a log of training says of the time of an iteration. */
#pragma once

#include "calibrate/steady.h"

/* All borrowed. */
typedef struct {
    const char *file;
    const char *plan; /* "64 GPUs, tp 4, pp 16, dp 1"; NULL: the log does not say */
    const CalibrateSteady *steady;
} ReportTraining;

/* Of ReportTraining, as "text", "json" (an element of an array) or "tsv" (a line). A plan, global_batch or tflops that the
 * log does not say is null in JSON and empty in TSV. */
void report_training(const GArray *runs, const char *format, GString *out);
