/* Trees of configuration files: what the syntaxes have in common. */
#include "config.h"

#include "conf/document.h"

#include "conf/complaint.h"
#include "conf/tree.h"

#include <string.h>

struct ConfDocument {
    char *name;
    const ConfSyntax *syntax;
    JsonNode *root;
    GHashTable *lines; /* JsonNode* -> line + 1; looked up, never listed */
    GPtrArray *remarks;
};

static const ConfSyntax *const syntaxes[] = {&conf_json_syntax, &conf_toml_syntax,
                                             &conf_yaml_syntax};

static ConfDocument *
document_new(const char *name, const ConfSyntax *syntax)
{
    ConfDocument *document = g_new0(ConfDocument, 1);
    document->name = g_strdup(name);
    document->syntax = syntax;
    document->lines = g_hash_table_new(NULL, NULL);
    document->remarks = g_ptr_array_new_with_free_func(g_free);
    return document;
}

void
conf_document_free(ConfDocument *document)
{
    if (document == NULL)
        return;
    g_clear_pointer(&document->root, json_node_unref);
    g_clear_pointer(&document->lines, g_hash_table_unref);
    g_clear_pointer(&document->remarks, g_ptr_array_unref);
    g_free(document->name);
    g_free(document);
}

ConfDocument *
conf_document_parse(const char *name, const ConfSyntax *syntax, const char *text, GError **error)
{
    g_autoptr(ConfDocument) document = document_new(name, syntax);
    if (!conf_check_text(name, text, strlen(text), error) || !syntax->parse(document, text, error))
        return NULL;
    g_assert(document->root != NULL && JSON_NODE_HOLDS_OBJECT(document->root));
    return g_steal_pointer(&document);
}

ConfDocument *
conf_document_load(const char *path, GError **error)
{
    const ConfSyntax *syntax = NULL;
    g_autoptr(GString) endings = g_string_new(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(syntaxes); i++) {
        for (guint k = 0; syntaxes[i]->endings[k] != NULL; k++) {
            const char *ending = syntaxes[i]->endings[k];
            if (g_str_has_suffix(path, ending))
                syntax = syntaxes[i];
            g_string_append_printf(endings, "%s%s", endings->len > 0 ? ", " : "", ending);
        }
    }
    g_autofree char *text = conf_read_text(path, NULL, error);
    if (text == NULL)
        return NULL;
    if (syntax == NULL) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX,
                    "%s: its ending says no syntax; name it with one of %s", path, endings->str);
        return NULL;
    }
    return conf_document_parse(path, syntax, text, error);
}

const char *
conf_document_name(const ConfDocument *document)
{
    return document->name;
}

const ConfSyntax *
conf_document_syntax(const ConfDocument *document)
{
    return document->syntax;
}

JsonObject *
conf_document_root(const ConfDocument *document)
{
    return json_node_get_object(document->root);
}

static gboolean
is_alike(const char *a, const char *b)
{
    g_autofree char *dashed_a = g_strdelimit(g_strdup(a), "_", '-');
    g_autofree char *dashed_b = g_strdelimit(g_strdup(b), "_", '-');
    return strcmp(dashed_a, dashed_b) == 0;
}

static JsonNode *
member(JsonObject *map, const char *key, gboolean alike)
{
    JsonNode *node = json_object_get_member(map, key);
    g_autoptr(GList) keys = alike && node == NULL ? json_object_get_members(map) : NULL;
    for (GList *item = keys; item != NULL && node == NULL; item = item->next)
        if (is_alike(item->data, key))
            node = json_object_get_member(map, item->data);
    return node;
}

static JsonNode *
find(const ConfDocument *document, const char *path, gboolean alike)
{
    JsonNode *node = document->root;
    g_auto(GStrv) parts = g_strsplit(path, ".", -1);
    for (guint i = 0; parts[i] != NULL && node != NULL; i++)
        node = JSON_NODE_HOLDS_OBJECT(node) ? member(json_node_get_object(node), parts[i], alike)
                                            : NULL;
    return node;
}

JsonNode *
conf_document_find(const ConfDocument *document, const char *path)
{
    return find(document, path, FALSE);
}

JsonNode *
conf_document_find_alike(const ConfDocument *document, const char *path)
{
    return find(document, path, TRUE);
}

guint
conf_document_line(const ConfDocument *document, JsonNode *node)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(document->lines, node));
}

const GPtrArray *
conf_document_remarks(const ConfDocument *document)
{
    return document->remarks;
}

void
conf_document_set_root(ConfDocument *document, JsonNode *root)
{
    g_assert(document->root == NULL);
    document->root = root;
}

void
conf_document_set_line(ConfDocument *document, JsonNode *node, guint line)
{
    g_hash_table_insert(document->lines, node, GUINT_TO_POINTER(line));
}

gboolean
conf_document_refuse(const ConfDocument *document, guint line, GError **error, const char *format,
                     ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX, "%s:%u: %s", document->name, line, what);
    return FALSE;
}

/* --- construction in the order of the text --------------------------------------------------------- */

typedef struct {
    JsonNode *node; /* a map or a list; not yet in the one around it */
    guint line;
    char *key; /* the one whose value is due; NULL: none */
    guint key_line;
} Level;

struct ConfTree {
    ConfDocument *document;
    GArray *levels;
};

static void
level_clear(gpointer level)
{
    g_clear_pointer(&((Level *)level)->node, json_node_unref);
    g_free(((Level *)level)->key);
}

ConfTree *
conf_tree_new(ConfDocument *document)
{
    ConfTree *tree = g_new0(ConfTree, 1);
    tree->document = document;
    tree->levels = g_array_new(FALSE, FALSE, sizeof(Level));
    g_array_set_clear_func(tree->levels, level_clear);
    return tree;
}

void
conf_tree_free(ConfTree *tree)
{
    if (tree == NULL)
        return;
    g_array_unref(tree->levels);
    g_free(tree);
}

static Level *
top(const ConfTree *tree)
{
    guint n = tree->levels->len;
    return n == 0 ? NULL : &g_array_index(tree->levels, Level, n - 1);
}

gboolean
conf_tree_is_in_map(const ConfTree *tree)
{
    return top(tree) != NULL && JSON_NODE_HOLDS_OBJECT(top(tree)->node);
}

gboolean
conf_tree_has_key(const ConfTree *tree)
{
    return top(tree) != NULL && top(tree)->key != NULL;
}

gboolean
conf_tree_is_done(const ConfTree *tree)
{
    return tree->document->root != NULL;
}

/* "a.b.c" of the key whose value is due. */
static char *
path_of(const ConfTree *tree)
{
    GString *path = g_string_new(NULL);
    for (guint i = 0; i < tree->levels->len; i++) {
        const char *key = g_array_index(tree->levels, Level, i).key;
        if (key != NULL)
            g_string_append_printf(path, "%s%s", path->len > 0 ? "." : "", key);
    }
    return g_string_free(path, FALSE);
}

/* Into the map or list that is open. Takes the node. */
static void
attach(ConfTree *tree, JsonNode *node, guint line)
{
    Level *level = top(tree);
    ConfDocument *document = tree->document;
    if (level == NULL) {
        conf_document_set_root(document, node);
    } else if (JSON_NODE_HOLDS_ARRAY(level->node)) {
        json_array_add_element(json_node_get_array(level->node), node);
    } else {
        g_assert(level->key != NULL);
        JsonObject *map = json_node_get_object(level->node);
        JsonNode *before = json_object_get_member(map, level->key);
        line = level->key_line;
        if (before != NULL) {
            g_autofree char *path = path_of(tree);
            g_ptr_array_add(document->remarks,
                            g_strdup_printf("%s:%u: key %s stands in line %u, too; the last one "
                                            "counts",
                                            document->name, line, path,
                                            conf_document_line(document, before)));
        }
        json_object_set_member(map, level->key, node);
        g_clear_pointer(&level->key, g_free);
    }
    conf_document_set_line(document, node, line);
}

gboolean
conf_tree_open(ConfTree *tree, JsonNodeType type, guint line, GError **error)
{
    if (tree->levels->len == 0 && type != JSON_NODE_OBJECT)
        return conf_document_refuse(tree->document, line, error,
                                    "a list, where keys and values are expected");
    if (tree->levels->len >= CONF_TREE_DEPTH)
        return conf_document_refuse(tree->document, line, error,
                                    "nested too deep; at most %d maps and lists in each other",
                                    CONF_TREE_DEPTH);
    Level level = {.node = json_node_new(type), .line = line};
    if (type == JSON_NODE_OBJECT)
        json_node_take_object(level.node, json_object_new());
    else
        json_node_take_array(level.node, json_array_new());
    g_array_append_val(tree->levels, level);
    return TRUE;
}

JsonNode *
conf_tree_close(ConfTree *tree)
{
    JsonNode *node = g_steal_pointer(&top(tree)->node);
    guint line = top(tree)->line;
    g_array_set_size(tree->levels, tree->levels->len - 1);
    attach(tree, node, line);
    return node;
}

void
conf_tree_key(ConfTree *tree, const char *key, gssize length, guint line)
{
    Level *level = top(tree);
    g_assert(level != NULL && level->key == NULL);
    level->key = length < 0 ? g_strdup(key) : g_strndup(key, (gsize)length);
    level->key_line = line;
}

gboolean
conf_tree_put(ConfTree *tree, JsonNode *node, guint line, GError **error)
{
    if (tree->levels->len == 0) {
        json_node_unref(node);
        return conf_document_refuse(tree->document, line, error,
                                    "a single value, where keys and values are expected");
    }
    attach(tree, node, line);
    return TRUE;
}
