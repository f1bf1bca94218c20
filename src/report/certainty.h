/* How sure a time is, in the same words and under the same names in all reports. */
#pragma once

#include <json-glib/json-glib.h>

#include "step/step.h"

typedef struct {
    double error_s;  /* one sigma; NAN: nothing was simulated */
    double share[3]; /* of the time, by CostBasis */
} ReportCertainty;

extern const ReportCertainty report_no_certainty;
extern const char *const report_basis_names[]; /* by CostBasis */
ReportCertainty report_certainty(const StepResult *result);
ReportCertainty report_certainty_of_part(const Why *part);

/* JSON: time_error_s, measured_share, interpolated_share, modelled_share. */
void report_certainty_members(JsonBuilder *b, ReportCertainty c);
/* The same as columns of TSV, each after a tab; fields are empty where error_s is NAN. */
extern const char report_certainty_columns[], report_share_columns[];
void report_certainty_fields(ReportCertainty c, GString *out);
void report_share_fields(ReportCertainty c, GString *out);

/* "26.7 % measured, 71.6 % interpolated, 1.6 % modelled". Caller frees. */
char *report_certainty_words(ReportCertainty c);
/* The paragraph below a table whose column +- has the errors: what `n` times rest on, from the least to the most. */
void report_append_certainties(const ReportCertainty *of, guint n, GString *out);

/* Rests on models for more than half of its time. */
gboolean report_certainty_is_modelled(ReportCertainty c);

/* --- which of several is best ------------------------------------------------------------------- */

/* A row of a table. What is compared is time_s x scale, the less the better. */
typedef struct {
    const char *name; /* borrowed; only the block below reads it */
    double time_s, scale;
    const GArray
        *doubts; /* StepResult.doubts, borrowed; NULL: it did not run, and the rest is not read */
    ReportCertainty certainty;
    gboolean fits, stale; /* in memory; trains on stale weights (asynchronous) */
} ReportRival;

/* Which rows cannot be told from the best: the difference is below its own error (one sigma). TRUE for the best itself;
 * FALSE for those that do not fit where another does, and for those with stale weights beside others. Caller frees. */
gboolean *report_rivals_of_best(const ReportRival *rivals, guint n);
/* Below a table with a column +-: what the times rest on; "Best WHAT: zb_h1. Errors ... leave open ...", where two or
 * more can be compared; a warning where rows rest on models. */
void report_certainty_block(const ReportRival *rivals, guint n, const char *what, GString *out);
