/* What a check of a system's tables found: text, JSON, TSV. */
#pragma once

#include "calibrate/check.h"

/* `all`: text has every odd row; else the oddest of each table and rule. */
void report_checked(const char *system, const CalibrateCheck *check, gboolean all,
                    const char *format, GString *out);
