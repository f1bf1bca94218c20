/* What an import read, and what it wrote. */
#pragma once

#include "calibrate/merge.h"

/* All borrowed. */
typedef struct {
    const GPtrArray *traces; /* of CalibrateTrace; may be empty */
    const CalibrateImport *import;
    const char *directory;         /* NULL: nothing was to be written */
    const CalibrateMerged *merged; /* one a table; NULL as well */
} ReportImported;

void report_imported(const ReportImported *r, const char *format, GString *out);
