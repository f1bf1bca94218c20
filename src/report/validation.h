/* Predicted against measured: rows, sources, and the errors of each. */
#pragma once

#include "report/certainty.h"

typedef struct {
    const char *id, *source;        /* borrowed */
    double measured_s, predicted_s; /* NAN: not measured, not simulated */
    ReportCertainty certainty;      /* of what was predicted */
    double measured_gb, predicted_gb;
    gboolean fits, measured_oom;
    const char *skipped; /* borrowed; NULL: simulated */
} ReportValidated;

/* Of a set of rows: relative errors (predicted - measured)/measured. */
typedef struct {
    guint n;
    double mean_absolute, median_absolute, bias; /* NAN when n = 0 */
    guint within;                                /* rows whose error is at most a tenth */
} ReportErrors;

/* Measured times by their distance from what was predicted, in its own sigmas. */
typedef struct {
    guint n, within_one, within_two;
} ReportSigmas;

/* Runs that ran and runs that ended out of memory, by what was predicted. */
typedef struct {
    guint ran_fits, ran_not, oom_fits, oom_not;
} ReportFits;

/* `rows`: of ReportValidated. */
ReportErrors report_time_errors(const GArray *rows, const char *source_or_null);
ReportSigmas report_time_sigmas(const GArray *rows, const char *source_or_null);
ReportErrors report_memory_errors(const GArray *rows, const char *source_or_null);
ReportFits report_fit_counts(const GArray *rows, const char *source_or_null);
/* `worst`: how many rows the text shows. `format` as --format. */
void report_validation(const GArray *rows, guint worst, const char *format, GString *out);
