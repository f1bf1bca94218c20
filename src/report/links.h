/* Links by how full they are. */
#pragma once

#include <json-glib/json-glib.h>

#include "report/run.h"

/* The member "network" of a run's JSON. */
void report_links_member(JsonBuilder *b, const ReportRun *run);
/* A section of the text reports: the busiest link of each kind. */
void report_append_links(const ReportRun *run, GString *out);
