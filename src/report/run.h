/* The reports of one simulated iteration: text, JSON, TSV. */
#pragma once

#include "step/step.h"

/* What they are made from; all borrowed. */
typedef struct {
    const Plan *plan;
    const Schedule *schedule;
    const StepResult *result;
    LlmFlopsConvention convention;
    const char *defaults; /* what was not said and so has its default, in words; NULL: nothing */
    double wall_s;        /* JSON only; < 0: not measured */
    const GArray *advice; /* of ReportAdvice, `dtsim memory` only; NULL: not asked for */
} ReportRun;

typedef struct {
    const char *name; /* as given to --format */
    void (*write)(const ReportRun *run, GString *out);
} ReportFormat;

extern const ReportFormat report_text, report_json, report_tsv;
extern const ReportFormat *const report_formats[]; /* NULL-terminated */
extern const char *const report_format_names[];    /* the same, for option parsing */

/* The same for memory alone, and for the tree of reasons. */
void report_memory_text(const ReportRun *run, GString *out);
void report_memory_json(const ReportRun *run, GString *out);
void report_memory_tsv(const ReportRun *run, GString *out);
void report_explain_text(const ReportRun *run, GString *out);
void report_explain_json(const ReportRun *run, GString *out);
void report_explain_tsv(const ReportRun *run, GString *out);

/* By PlanBarrier, as --optimizer-barrier has them; NULL-terminated. */
extern const char *const report_barrier_names[];
/* Ratios that several reports print. NAN where the GPU has no peak for the dtype. */
double report_mfu(const ReportRun *run);
double report_hfu(const ReportRun *run);
double report_tokens_per_s(const ReportRun *run);
gboolean report_fits(const StepResult *result);
/* Idle over total of equal stages by the schedule's closed form (forward 1, backward 2, no transfer
 * time); NAN when it has none. */
double report_closed_form_bubble(const Schedule *schedule);
