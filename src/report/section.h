/* Parts of the text reports that more than one report prints. */
#pragma once

#include "report/run.h"

void report_append_pipeline(const ReportRun *run, GString *out);
void report_append_memory(const ReportRun *run, GString *out);
void report_append_reasons(const ReportRun *run, GString *out);
/* `text` filled into lines of 96 columns; the first starts with `head`, the others as far in. */
void report_paragraph(GString *out, const char *head, const char *text);

/* Does it fit, by how much, and what of it is certain: one paragraph. */
void report_append_verdict(const ReportRun *run, GString *out);
/* What would help, best first. */
void report_append_advice(const ReportRun *run, GString *out);
