/* From a parsed config.json to a shape. */
#pragma once

#include "llm/shape.h"

/* Changes the document: the overrides ("model.KEY=VALUE", or NULL) are put into it first. */
LlmShape *llm_shape_read(const ConfJson *document, const char *name, const char *const *overrides,
                         GError **error);
