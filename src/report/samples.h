/* Reports of many samples: how the iteration's time is distributed, what it is due to and to whom. */
#pragma once

#include "report/run.h"
#include "step/samples.h"

typedef struct {
    const Plan *plan;
    const Schedule *schedule;
    const StepSamples *samples;
    const StepNoise *noise;
    const char *wrong; /* what was asked for, in words: "--jitter 1% ..." */
} ReportSamples;

/* "text", "json", "tsv". */
void report_samples(const ReportSamples *r, const char *format, GString *out);
gboolean report_samples_plot(const ReportSamples *r, const char *path,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
