/* JSON in: json-glib under precise complaints ("FILE: key a.b.c: expected an integer, got 'x'"). */
#pragma once

#include <json-glib/json-glib.h>

typedef struct ConfJson ConfJson; /* one object of a document, with its path for messages */

ConfJson *conf_json_load(const char *path, GError **error);
ConfJson *conf_json_parse(const char *name, const char *text, GError **error);
void conf_json_free(ConfJson *json);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ConfJson, conf_json_free)

JsonObject *conf_json_root(const ConfJson *json); /* borrowed */
const char *conf_json_name(const ConfJson *json);
/* A nested object as its own ConfJson (keeps the document alive), or NULL when the key is absent. */
ConfJson *conf_json_find_object(const ConfJson *json, const char *key, GError **error);

gboolean conf_json_has(const ConfJson *json, const char *key); /* present and not null */
/* A key that is absent or null gives `fallback`; a wrong type is an error. Integers may be written
 * as 1e3 or 32.0 when integral. */
gboolean conf_json_int(const ConfJson *json, const char *key, gint64 fallback, gint64 *ret,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean conf_json_bool(const ConfJson *json, const char *key, gboolean fallback, gboolean *ret,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean conf_json_text(const ConfJson *json, const char *key, const char *fallback,
                        const char **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The same, but the key must be there. */
gboolean conf_json_need_int(const ConfJson *json, const char *key, gint64 *ret,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
void conf_json_complain(const ConfJson *json, const char *key, GError **error, const char *format,
                        ...) G_GNUC_PRINTF(4, 5);
