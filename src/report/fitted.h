/* Constants that were fitted to a system directory: text, JSON, TSV. */
#pragma once

#include "calibrate/fit.h"

/* All borrowed. */
typedef struct {
    const char *system;
    const CalibrateFit *fit;
    const char *written; /* path of the system.conf that took the keys; NULL: none was to */
    guint n_written;
} ReportFitted;

void report_fitted(const ReportFitted *r, const char *format, GString *out);
