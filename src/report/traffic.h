/* What one GPU of each pipeline rank sends in an iteration, by collective. */
#pragma once

#include "report/run.h"

#include <json-glib/json-glib.h>

/* The member "communication" of an open object. */
void report_traffic_member(JsonBuilder *b, const ReportRun *run);
/* A table of the pipeline rank that sends most; nothing when none sends anything. */
void report_append_traffic(const ReportRun *run, GString *out);
