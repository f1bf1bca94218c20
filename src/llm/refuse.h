/* What a config.json asks for that is not modelled, and keys that look like a slip of the pen. */
#pragma once

#include "llm/family.h"

/* FALSE when the model has linear attention, an encoder or the like, experts or latent attention in a family
 * that has none, or is of no family of ours; the message names what it is and what is supported. `text`
 * holds the keys of the text model. */
gboolean llm_refuse_unsupported(const ConfJson *document, JsonObject *text, const char *model_type,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* FALSE when a key is not one that the family reads but is 1 or 2 letters from one that is absent.
 * Other unknown keys are many in real files and harmless. */
gboolean llm_refuse_misspelled(const ConfJson *document, JsonObject *text, const LlmFamily *family,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* A number as it stands in the JSON; FALSE when it is absent, null or no number. */
gboolean llm_json_number(JsonObject *object, const char *key, double *ret);
