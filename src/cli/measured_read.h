/* Parts of reading a published run, each of its columns: the model, the plan, what nanotron does with layers. */
#pragma once

#include "cli/measured.h"

/* Does the text have the word, in any case. */
gboolean cli_measured_has(const char *text, const char *word);
/* The whole number behind a key of the notes ("\"q-lora-rank\": 192", "q_lora 1536"), or the fallback. */
gint64 cli_measured_note(const char *notes, const char *key, gint64 fallback);
/* The number, which may have decimals ("moe-expert-capacity-factor: 1.25"). */
double cli_measured_decimal(const char *notes, const char *key, double fallback);
/* Does the key of the notes say true or an equal text. */
gboolean cli_measured_says(const char *notes, const char *key, const char *value);

/* Why the model of a row cannot be simulated, or NULL. */
const char *cli_measured_shape_refusal(const CliMeasurements *m, guint row);
/* NULL with LLM_ERROR: a shape that the simulator refuses; other errors: a cell that is not a number. */
LlmShape *cli_measured_shape(const CliMeasurements *m, guint row, GError **error);

/* Why the plan of a row cannot be simulated, or NULL. */
const char *cli_measured_plan_refusal(const CliMeasurements *m, guint row);
/* Its texts are static or of the table. */
gboolean cli_measured_plan(const CliMeasurements *m, guint row, const LlmShape *shape,
                           PlanSpec *ret_spec, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Layers of each stage as nanotron places them: "10,6"; NULL when it leaves stages empty that no layer can be
 * borrowed for. `ties`: a stage is also full when its cost is exactly its share. Caller frees. */
char *cli_measured_nanotron_layers(const LlmShape *shape, gint64 pp, gboolean ties);
