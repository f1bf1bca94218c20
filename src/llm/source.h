/* A config.json under reading: single keys by what they mean in its family. */
#pragma once

#include "llm/family.h"

/* Where the keys of the text model are, and whose they are. */
typedef struct {
    const ConfJson *document; /* the whole file, for messages */
    const ConfJson *text;     /* the file itself, or its "text_config" */
    const LlmFamily *family;
} LlmSource;

/* The name under which the key stands in the file, or NULL. Two that disagree are an error. */
gboolean llm_source_find(const LlmSource *source, LlmKey key, const char **ret_name,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The family's fallback when the key is absent; 0 when it says that there is none. */
gboolean llm_source_size(const LlmSource *source, LlmKey key, gint64 *ret,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Leaves *value alone when the key is absent. */
gboolean llm_source_bool(const LlmSource *source, LlmKey key, gboolean *value,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A list of whole numbers, or NULL in *ret when it is absent, null or empty; g_array_unref. */
gboolean llm_source_numbers(const LlmSource *source, const char *name, GArray **ret,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
