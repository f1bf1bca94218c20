/* Parts of the text reports that more than one report prints. */
#pragma once

#include "report/run.h"

void report_append_pipeline(const ReportRun *run, GString *out);
void report_append_memory(const ReportRun *run, GString *out);
void report_append_reasons(const ReportRun *run, GString *out);
/* `text` filled into lines of 96 columns; the first starts with `head`, the others as far in. */
void report_paragraph(GString *out, const char *head, const char *text);

/* Bytes of a stage by kind, in the order and with the names of the JSON result. */
#define REPORT_N_MEMORY_KINDS 7
extern const char *const report_memory_kinds[REPORT_N_MEMORY_KINDS];
void report_memory_by_kind(const StepStage *stage, gint64 ret_bytes[REPORT_N_MEMORY_KINDS]);
