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
/* A warning where any of `of` rows does. */
void report_append_modelled(guint n, guint of, GString *out);

/* --- which of several is best ------------------------------------------------------------------- */

/* What is compared is time_s x scale, the less the better. */
typedef struct {
    double time_s, scale;
    const GArray *doubts; /* StepResult.doubts; NULL: it does not take part */
} ReportRival;

/* What the table cannot tell from its best: the difference is below its own error (one sigma), which is that of the
 * kernels and collectives that the two have not in common. TRUE for the best itself. NULL: none takes part. Caller
 * frees. */
gboolean *report_rivals_of_best(const ReportRival *rivals, guint n, guint *ret_best);
/* "Best WHAT: zb_h1. Errors of kernels ... leave open ...": the rivals by their names. */
void report_append_best(const ReportRival *rivals, const char *const *names, guint n,
                        const char *what, GString *out);
