/* A profile of one rank: where the GPU's time went. */
#pragma once

#include "calibrate/profile.h"
#include "report/json_number.h"

void report_profile_text(const CalibrateTrace *trace, GString *out);
/* One object, into an array. */
void report_profile_json(JsonBuilder *b, const CalibrateTrace *trace);
/* Rows of report_profile_columns. */
void report_profile_tsv(const CalibrateTrace *trace, GString *out);
extern const char report_profile_columns[];
