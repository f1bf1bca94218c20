/* Predicted against measured: rows, sources, and the errors of each. */
#pragma once

#include <glib.h>

typedef struct {
    const char *id, *source;        /* borrowed */
    double measured_s, predicted_s; /* NAN: not measured, not simulated */
    double measured_gb, predicted_gb;
    gboolean fits, measured_oom;
    const char *skipped; /* borrowed; NULL: simulated */
} ReportValidated;

/* Of a set of rows: relative errors (predicted - measured)/measured. */
typedef struct {
    guint n;
    double mean_absolute, median_absolute, bias; /* NAN when n = 0 */
} ReportErrors;

/* `rows`: of ReportValidated. */
ReportErrors report_time_errors(const GArray *rows, const char *source_or_null);
ReportErrors report_memory_errors(const GArray *rows, const char *source_or_null);
/* `worst`: how many rows the text shows. `format` as --format. */
void report_validation(const GArray *rows, guint worst, const char *format, GString *out);
