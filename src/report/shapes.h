/* The shapes that a run looks up, as a list for `dtsim-calibrate --shapes`, a table or JSON; and which of them are worth
 * measuring. */
#pragma once

#include <json-glib/json-glib.h>

#include "report/run.h"

/* "gemm bf16 forward 2048 4608 12288 1 1", as calib/shapes.h has it, with `between` between the words. */
char *report_shape_words(const StepShape *shape, const char *between);
/* At most `most` indices in StepResult.shapes: what can be measured and was not, the largest error of the iteration
 * first. */
GArray *report_shapes_worth(const StepResult *result, guint most);
/* More than half of the time rests on shapes whose times are modelled. */
gboolean report_rests_on_models(const StepResult *result);

/* Where it does: a warning, and the ten that are most worth measuring. */
void report_append_unmeasured(const StepResult *result, GString *out);

/* JSON's "rests_on_models" and "worth_measuring" of a run. */
void report_worth_members(JsonBuilder *b, const ReportRun *run);

typedef struct {
    const ReportRun *run;
    guint worth; /* only so many, those worth measuring; 0: all shapes */
} ReportShapes;
/* `format`: one of report_format_names. */
void report_shapes(const ReportShapes *shapes, const char *format, GString *out);
