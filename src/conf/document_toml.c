/* TOML 1.0 as a document: lines, keys and tables. Of TOML 1.0 it refuses dates and times, \u0000 in a text, and
 * what lies deeper than 64 tables; all else that the specification has is read, and what it calls invalid is
 * an error with its line. Values are in toml_value.c. */
#include "config.h"

#include "conf/toml.h"

#include <string.h>

/* How a table came to be, which decides what may still be added. */
typedef enum {
    ON_THE_WAY = 1, /* [a.b] makes a */
    HEADED,         /* [a] */
    DOTTED,         /* a.b = 1 makes a */
    CLOSED,         /* a = { ... } or a = [ ... ] */
    LISTED,         /* [[a]] makes the list a */
} Kind;

static Kind
kind_of(const ConfToml *t, JsonNode *node)
{
    return (Kind)GPOINTER_TO_UINT(g_hash_table_lookup(t->kinds, node));
}

static void
set_kind(ConfToml *t, JsonNode *node, Kind kind)
{
    g_hash_table_insert(t->kinds, node, GUINT_TO_POINTER(kind));
}

gboolean
conf_toml_refuse(const ConfToml *t, GError **error, const char *what)
{
    return conf_document_refuse(t->document, t->line, error, "not TOML: %s", what);
}

void
conf_toml_skip_blanks(ConfToml *t)
{
    t->at += strspn(t->at, " \t");
}

gboolean
conf_toml_newline(ConfToml *t)
{
    gsize n = t->at[0] == '\n' ? 1 : t->at[0] == '\r' && t->at[1] == '\n' ? 2 : 0;
    t->at += n;
    t->line += n > 0;
    return n > 0;
}

gboolean
conf_toml_comment(ConfToml *t, GError **error)
{
    if (*t->at != '#')
        return TRUE;
    for (; *t->at != '\0' && *t->at != '\n' && strncmp(t->at, "\r\n", 2) != 0; t->at++)
        if ((*t->at < ' ' && *t->at >= 0 && *t->at != '\t') || *t->at == 0x7f)
            return conf_toml_refuse(t, error, "a control character in a comment");
    return TRUE;
}

JsonNode *
conf_toml_new(ConfToml *t, JsonNodeType type, gboolean closed)
{
    JsonNode *node = json_node_new(type);
    if (type == JSON_NODE_OBJECT)
        json_node_take_object(node, json_object_new());
    else
        json_node_take_array(node, json_array_new());
    conf_document_set_line(t->document, node, t->line);
    if (closed)
        set_kind(t, node, CLOSED);
    return node;
}

/* --- keys --------------------------------------------------------------------------------------- */

#define BARE "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

/* One part of a key: bare, or in quotes of one line. */
static char *
part(ConfToml *t, GError **error)
{
    if (*t->at == '"' || *t->at == '\'') {
        if (strncmp(t->at, "\"\"\"", 3) == 0 || strncmp(t->at, "'''", 3) == 0) {
            conf_toml_refuse(t, error, "a key in three quotes; write one on each side");
            return NULL;
        }
        return conf_toml_text(t, error);
    }
    gsize n = strspn(t->at, BARE);
    if (n == 0) {
        conf_toml_refuse(t, error, "a key is expected; write letters, digits, _ and -, or quotes");
        return NULL;
    }
    char *key = g_strndup(t->at, n);
    t->at += n;
    return key;
}

GPtrArray *
conf_toml_key(ConfToml *t, GError **error)
{
    g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func(g_free);
    for (gboolean more = TRUE; more;) {
        conf_toml_skip_blanks(t);
        char *key = part(t, error);
        if (key == NULL)
            return NULL;
        g_ptr_array_add(parts, key);
        if (parts->len > CONF_TREE_DEPTH) {
            conf_toml_refuse(t, error, "a key with too many dots");
            return NULL;
        }
        conf_toml_skip_blanks(t);
        more = *t->at == '.';
        t->at += more;
    }
    return g_steal_pointer(&parts);
}

static gboolean
refuse_twice(const ConfToml *t, const GPtrArray *key, guint n, JsonNode *before, GError **error)
{
    g_autoptr(GString) path = g_string_new(key->pdata[0]);
    for (guint i = 1; i < n; i++)
        g_string_append_printf(path, ".%s", (const char *)key->pdata[i]);
    return conf_document_refuse(t->document, t->line, error,
                                "not TOML: %s is there since line %u, and cannot be given again",
                                path->str, conf_document_line(t->document, before));
}

/* The table that a part of a dotted key or header names, made where it is not there. NULL: it is something else. */
static JsonNode *
descend(ConfToml *t, JsonNode *table, const char *name, gboolean header)
{
    JsonObject *map = json_node_get_object(table);
    JsonNode *node = json_object_get_member(map, name);
    if (node == NULL) {
        node = conf_toml_new(t, JSON_NODE_OBJECT, FALSE);
        set_kind(t, node, header ? ON_THE_WAY : DOTTED);
        json_object_set_member(map, name, node);
        return node;
    }
    Kind kind = kind_of(t, node);
    if (header && kind == LISTED) {
        JsonArray *list = json_node_get_array(node);
        return json_array_get_element(list, json_array_get_length(list) - 1);
    }
    if (kind == CLOSED || !JSON_NODE_HOLDS_OBJECT(node))
        return NULL;
    if (header)
        return node;
    if (kind != DOTTED && kind != ON_THE_WAY)
        return NULL;
    set_kind(t, node, DOTTED);
    return node;
}

static JsonNode *
descend_all(ConfToml *t, JsonNode *table, const GPtrArray *key, gboolean header, GError **error)
{
    for (guint i = 0; i + 1 < key->len; i++) {
        JsonNode *next = descend(t, table, key->pdata[i], header);
        if (next == NULL) {
            refuse_twice(t, key, i + 1,
                         json_object_get_member(json_node_get_object(table), key->pdata[i]), error);
            return NULL;
        }
        table = next;
    }
    return table;
}

/* Takes the value. */
static gboolean
put(ConfToml *t, JsonNode *table, const GPtrArray *key, JsonNode *value, GError **error)
{
    g_autoptr(JsonNode) owned = value;
    JsonNode *inner = descend_all(t, table, key, FALSE, error);
    if (inner == NULL)
        return FALSE;
    JsonObject *map = json_node_get_object(inner);
    const char *name = key->pdata[key->len - 1];
    if (json_object_has_member(map, name))
        return refuse_twice(t, key, key->len, json_object_get_member(map, name), error);
    json_object_set_member(map, name, g_steal_pointer(&owned));
    return TRUE;
}

gboolean
conf_toml_assign(ConfToml *t, JsonNode *table, guint depth, GError **error)
{
    g_autoptr(GPtrArray) key = conf_toml_key(t, error);
    if (key == NULL)
        return FALSE;
    if (*t->at != '=')
        return conf_toml_refuse(t, error, "'=' is expected behind the key");
    t->at++;
    conf_toml_skip_blanks(t);
    guint line = t->line;
    JsonNode *value = conf_toml_value(t, depth, error);
    if (value == NULL)
        return FALSE;
    conf_document_set_line(t->document, value, line);
    return put(t, table, key, value, error);
}

/* --- headers ------------------------------------------------------------------------------------ */

/* The table of [key]. */
static JsonNode *
open_table(ConfToml *t, const GPtrArray *key, GError **error)
{
    JsonNode *outer = descend_all(t, t->root, key, TRUE, error);
    if (outer == NULL)
        return NULL;
    const char *name = key->pdata[key->len - 1];
    JsonNode *node = json_object_get_member(json_node_get_object(outer), name);
    if (node != NULL && kind_of(t, node) != ON_THE_WAY) {
        refuse_twice(t, key, key->len, node, error);
        return NULL;
    }
    node = descend(t, outer, name, TRUE);
    conf_document_set_line(t->document, node, t->line);
    set_kind(t, node, HEADED);
    return node;
}

/* One more table of [[key]]. */
static JsonNode *
open_element(ConfToml *t, const GPtrArray *key, GError **error)
{
    JsonNode *outer = descend_all(t, t->root, key, TRUE, error);
    if (outer == NULL)
        return NULL;
    JsonObject *map = json_node_get_object(outer);
    const char *name = key->pdata[key->len - 1];
    JsonNode *list = json_object_get_member(map, name);
    if (list != NULL && kind_of(t, list) != LISTED) {
        refuse_twice(t, key, key->len, list, error);
        return NULL;
    }
    if (list == NULL) {
        list = conf_toml_new(t, JSON_NODE_ARRAY, FALSE);
        set_kind(t, list, LISTED);
        json_object_set_member(map, name, list);
    }
    JsonNode *table = conf_toml_new(t, JSON_NODE_OBJECT, FALSE);
    set_kind(t, table, HEADED);
    json_array_add_element(json_node_get_array(list), table);
    return table;
}

static gboolean
header(ConfToml *t, JsonNode **ret_table, GError **error)
{
    gboolean listed = t->at[1] == '[';
    t->at += listed ? 2 : 1;
    g_autoptr(GPtrArray) key = conf_toml_key(t, error);
    if (key == NULL)
        return FALSE;
    if (!g_str_has_prefix(t->at, listed ? "]]" : "]"))
        return conf_toml_refuse(t, error,
                                listed ? "']]' is expected behind the name of the tables"
                                       : "']' is expected behind the name of the table");
    t->at += listed ? 2 : 1;
    *ret_table = listed ? open_element(t, key, error) : open_table(t, key, error);
    return *ret_table != NULL;
}

static gboolean
toml_parse(ConfDocument *document, const char *text, GError **error)
{
    g_autoptr(GHashTable) kinds = g_hash_table_new(NULL, NULL);
    ConfToml t = {.document = document, .at = text, .line = 1, .kinds = kinds};
    t.root = conf_toml_new(&t, JSON_NODE_OBJECT, FALSE);
    conf_document_set_root(document, t.root);
    for (JsonNode *table = t.root; *t.at != '\0';) {
        conf_toml_skip_blanks(&t);
        gboolean empty = strchr("#\r\n", *t.at) != NULL; /* or the end */
        gboolean ok = empty          ? TRUE
                      : *t.at == '[' ? header(&t, &table, error)
                                     : conf_toml_assign(&t, table, 0, error);
        if (!ok)
            return FALSE;
        conf_toml_skip_blanks(&t);
        if (!conf_toml_comment(&t, error))
            return FALSE;
        if (!conf_toml_newline(&t) && *t.at != '\0')
            return conf_toml_refuse(&t, error, "a line ends after its value; write one a line");
    }
    return TRUE;
}

const ConfSyntax conf_toml_syntax = {"TOML", {".toml", NULL}, toml_parse};
