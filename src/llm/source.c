/* Single keys of a config.json, whatever their names. */
#include "config.h"

#include "llm/source.h"

static gboolean
may_be_none(LlmKey key)
{
    return key >= LLM_KEY_EXPERTS && key < LLM_KEY_WINDOW;
}

gboolean
llm_source_find(const LlmSource *source, LlmKey key, const char **ret_name, GError **error)
{
    JsonObject *object = conf_json_root(source->text);
    const char *const *names = source->family->names[key];
    const char *found = NULL;
    for (guint i = 0; i < LLM_N_ALIASES && names[i] != NULL; i++) {
        if (!json_object_has_member(object, names[i])) {
            continue;
        }
        if (found == NULL || !conf_json_has(source->text, found)) {
            found = names[i];
        } else if (conf_json_has(source->text, names[i]) &&
                   !json_node_equal(json_object_get_member(object, found),
                                    json_object_get_member(object, names[i]))) {
            conf_json_complain(source->text, names[i], error,
                               "differs from '%s', which means the same; write only one of them",
                               found);
            return FALSE;
        }
    }
    *ret_name = found;
    return TRUE;
}

gboolean
llm_source_size(const LlmSource *source, LlmKey key, gint64 *ret, GError **error)
{
    const char *name = NULL;
    if (!llm_source_find(source, key, &name, error)) {
        return FALSE;
    }
    gint64 fallback = source->family->fallback[key];
    if (name == NULL || (fallback == LLM_FALLBACK_NEEDED && !conf_json_has(source->text, name))) {
        *ret = MAX(fallback, 0);
        const char *needed = source->family->names[key][0];
        return fallback != LLM_FALLBACK_NEEDED ||
               conf_json_need_int(source->text, needed, ret, error);
    }
    if (!conf_json_has(source->text, name)) {
        /* null says: none, as many as heads, hidden / heads; elsewhere the same as absent. */
        gboolean says = may_be_none(key) || key == LLM_KEY_WINDOW || key == LLM_KEY_KV_HEADS ||
                        key == LLM_KEY_HEAD_DIM;
        *ret = says ? 0 : fallback;
        return TRUE;
    }
    gint64 value = 0;
    if (!conf_json_need_int(source->text, name, &value, error)) {
        return FALSE;
    }
    gint64 least = may_be_none(key) ? 0 : 1;
    if (value < least || value > G_MAXINT32) {
        conf_json_complain(source->text, name, error,
                           "%" G_GINT64_FORMAT
                           " is out of range; write a whole number from %" G_GINT64_FORMAT " to %d",
                           value, least, G_MAXINT32);
        return FALSE;
    }
    *ret = value;
    return TRUE;
}

gboolean
llm_source_bool(const LlmSource *source, LlmKey key, gboolean *value, GError **error)
{
    const char *name = NULL;
    if (!llm_source_find(source, key, &name, error)) {
        return FALSE;
    }
    return name == NULL || conf_json_bool(source->text, name, *value, value, error);
}

gboolean
llm_source_numbers(const LlmSource *source, const char *name, GArray **ret, GError **error)
{
    *ret = NULL;
    if (!conf_json_has(source->text, name)) {
        return TRUE;
    }
    JsonNode *node = json_object_get_member(conf_json_root(source->text), name);
    if (!JSON_NODE_HOLDS_ARRAY(node)) {
        conf_json_complain(source->text, name, error,
                           "expected a list; write whole numbers in brackets, or null");
        return FALSE;
    }
    JsonArray *array = json_node_get_array(node);
    g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (guint i = 0; i < json_array_get_length(array); i++) {
        JsonNode *item = json_array_get_element(array, i);
        if (!JSON_NODE_HOLDS_VALUE(item) || json_node_get_value_type(item) != G_TYPE_INT64) {
            conf_json_complain(
                source->text, name, error,
                "item %u is no whole number; write whole numbers in brackets, or null", i);
            return FALSE;
        }
        gint64 value = json_node_get_int(item);
        g_array_append_val(numbers, value);
    }
    if (numbers->len > 0) {
        *ret = g_steal_pointer(&numbers);
    }
    return TRUE;
}
