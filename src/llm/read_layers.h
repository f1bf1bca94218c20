/* What differs from layer to layer: which attend within a window, which have experts. */
#pragma once

#include "llm/source.h"

/* Both need the layers and the sizes of the dense part. A list in the file that no rule of ours gives is an
 * error that names it. */
gboolean llm_read_windows(const LlmSource *source, LlmShape *shape,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean llm_read_experts(const LlmSource *source, LlmShape *shape,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
