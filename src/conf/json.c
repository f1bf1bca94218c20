/* JSON in, every complaint with the path of its key. */
#include "config.h"

#include "conf/json.h"

#include "conf/complaint.h"

#include <math.h>
#include <string.h>

struct ConfJson {
    char *name;
    char *path;         /* "" for the root, else "a.b." */
    JsonNode *root;     /* keeps the document alive */
    JsonObject *object; /* borrowed from root */
};

#define MAX_DEPTH 64 /* json-glib reads nested values by recursion */

/* What json-glib takes silently: nesting without end and integers that do not fit 64 bits. */
static gboolean
check_limits(const char *name, const char *text, GError **error)
{
    guint depth = 0, line = 1;
    gboolean in_string = FALSE;
    for (const char *at = text; *at != '\0'; at++) {
        line += *at == '\n';
        if (in_string) {
            at += *at == '\\' && at[1] != '\0';
            in_string = *at != '"';
            continue;
        }
        in_string = *at == '"';
        depth += *at == '{' || *at == '[';
        depth -= depth > 0 && (*at == '}' || *at == ']');
        gsize digits = strspn(at, "0123456789");
        gboolean integer = digits > 0 && strchr(".eExX", at[digits]) == NULL;
        if (depth > MAX_DEPTH || (integer && digits > 18 && (at == text || at[-1] != '.'))) {
            g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX, "%s:%u: %s", name, line,
                        depth > MAX_DEPTH ? "nested too deep" : "an integer has over 18 digits");
            return FALSE;
        }
        at += digits > 1 ? digits - 1 : 0;
    }
    return TRUE;
}

static JsonNode *
parse(const char *name, const char *text, GError **error)
{
    g_autoptr(JsonParser) parser = json_parser_new();
    g_autoptr(GError) cause = NULL;
    if (!json_parser_load_from_data(parser, text, -1, &cause)) {
        /* "<data>:LINE:COLUMN: Parse error: REASON" */
        const char *place = strstr(cause->message, ">:");
        const char *reason = g_strrstr(cause->message, "error: ");
        g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX, "%s:%d: not JSON: %s", name,
                    place != NULL ? (int)g_ascii_strtoll(place + 2, NULL, 10) : 1,
                    reason != NULL ? reason + strlen("error: ") : cause->message);
        return NULL;
    }
    JsonNode *root = json_parser_steal_root(parser);
    if (root == NULL || !JSON_NODE_HOLDS_OBJECT(root)) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX,
                    "%s: not an object; write { \"key\": value, ... }", name);
        g_clear_pointer(&root, json_node_unref);
    }
    return root;
}

ConfJson *
conf_json_parse(const char *name, const char *text, GError **error)
{
    if (!conf_check_text(name, text, strlen(text), error) || !check_limits(name, text, error))
        return NULL;
    JsonNode *root = parse(name, text, error);
    if (root == NULL)
        return NULL;
    ConfJson *json = g_new0(ConfJson, 1);
    json->name = g_strdup(name);
    json->path = g_strdup("");
    json->root = root;
    json->object = json_node_get_object(root);
    return json;
}

ConfJson *
conf_json_load(const char *path, GError **error)
{
    g_autofree char *text = conf_read_text(path, NULL, error);
    return text == NULL ? NULL : conf_json_parse(path, text, error);
}

void
conf_json_free(ConfJson *json)
{
    if (json == NULL)
        return;
    g_clear_pointer(&json->root, json_node_unref);
    g_free(json->path);
    g_free(json->name);
    g_free(json);
}

JsonObject *
conf_json_root(const ConfJson *json)
{
    return json->object;
}

const char *
conf_json_name(const ConfJson *json)
{
    return json->name;
}

/* The value of a key, or NULL when it is absent or null. */
static JsonNode *
find(const ConfJson *json, const char *key)
{
    JsonNode *node = json_object_get_member(json->object, key);
    return node == NULL || JSON_NODE_HOLDS_NULL(node) ? NULL : node;
}

static gboolean
complain_type(const ConfJson *json, const char *key, JsonNode *node, const char *wanted,
              GError **error)
{
    g_autofree char *full = json_to_string(node, FALSE);
    g_autofree char *start = g_utf8_substring(full, 0, MIN(g_utf8_strlen(full, -1), 40));
    conf_json_complain(json, key, error, "expected %s, got %s%s", wanted, start,
                       strlen(start) < strlen(full) ? "..." : "");
    return FALSE;
}

ConfJson *
conf_json_find_object(const ConfJson *json, const char *key, GError **error)
{
    JsonNode *node = find(json, key);
    if (node == NULL)
        return NULL;
    if (!JSON_NODE_HOLDS_OBJECT(node)) {
        complain_type(json, key, node, "an object", error);
        return NULL;
    }
    ConfJson *inner = g_new0(ConfJson, 1);
    inner->name = g_strdup(json->name);
    inner->path = g_strconcat(json->path, key, ".", NULL);
    inner->root = json_node_ref(json->root);
    inner->object = json_node_get_object(node);
    return inner;
}

gboolean
conf_json_has(const ConfJson *json, const char *key)
{
    return find(json, key) != NULL;
}

/* Beyond 2^53 a double no longer holds every integer. */
static gboolean
integral(JsonNode *node, gint64 *ret)
{
    if (!JSON_NODE_HOLDS_VALUE(node))
        return FALSE;
    if (json_node_get_value_type(node) == G_TYPE_INT64) {
        *ret = json_node_get_int(node);
        return TRUE;
    }
    double value = json_node_get_double(node);
    if (json_node_get_value_type(node) != G_TYPE_DOUBLE || value != floor(value) ||
        fabs(value) > 0x1p53)
        return FALSE;
    *ret = (gint64)value;
    return TRUE;
}

gboolean
conf_json_int(const ConfJson *json, const char *key, gint64 fallback, gint64 *ret, GError **error)
{
    JsonNode *node = find(json, key);
    gint64 value = fallback;
    if (node != NULL && !integral(node, &value))
        return complain_type(json, key, node, "an integer", error);
    *ret = value;
    return TRUE;
}

gboolean
conf_json_bool(const ConfJson *json, const char *key, gboolean fallback, gboolean *ret,
               GError **error)
{
    JsonNode *node = find(json, key);
    if (node != NULL &&
        (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_BOOLEAN))
        return complain_type(json, key, node, "true or false", error);
    *ret = node == NULL ? fallback : json_node_get_boolean(node);
    return TRUE;
}

gboolean
conf_json_text(const ConfJson *json, const char *key, const char *fallback, const char **ret,
               GError **error)
{
    JsonNode *node = find(json, key);
    if (node != NULL &&
        (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_STRING))
        return complain_type(json, key, node, "a text in quotes", error);
    *ret = node == NULL ? fallback : json_node_get_string(node);
    return TRUE;
}

gboolean
conf_json_need_int(const ConfJson *json, const char *key, gint64 *ret, GError **error)
{
    if (find(json, key) != NULL)
        return conf_json_int(json, key, 0, ret, error);
    g_autoptr(GList) members = json_object_get_members(json->object);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (GList *at = members; at != NULL; at = at->next)
        g_ptr_array_add(names, at->data);
    g_ptr_array_add(names, NULL);
    g_autofree char *hint = conf_hint(key, (const char *const *)names->pdata);
    g_set_error(error, CONF_ERROR, CONF_ERROR_MISSING,
                "%s: key %s%s: is missing; write \"%s\": INTEGER%s", json->name, json->path, key,
                key, hint);
    return FALSE;
}

void
conf_json_complain(const ConfJson *json, const char *key, GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, CONF_ERROR, CONF_ERROR_VALUE, "%s: key %s%s: %s", json->name, json->path,
                key, what);
}
