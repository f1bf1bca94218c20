/* How two systems differ: text, JSON, TSV. */
#pragma once

#include "calibrate/diff.h"

void report_diffed(const char *a, const char *b, const CalibrateDiff *diff, const char *format,
                   GString *out);
