/* What there is: transformer shapes as text, JSON, TSV. */
#pragma once

#include "llm/parameters.h"

#include <json-glib/json-glib.h>

/* Keys and values of one shape, into an object that the caller began. */
void report_model_members(JsonBuilder *b, const LlmShape *shape);
/* `shapes`: of LlmShape*; of one alone also what a table has no room for. `format` as --format. */
void report_models(const GPtrArray *shapes, const char *format, GString *out);
