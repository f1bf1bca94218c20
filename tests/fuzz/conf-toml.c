/* TOML from arbitrary bytes: an error iff it failed, and every value of what was read has a line of the text. */
#include "config.h"

#include "conf/document.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
walk(const ConfDocument *document, JsonNode *node, guint lines)
{
    guint line = conf_document_line(document, node);
    g_assert_true(line >= 1 && line <= lines);
    if (JSON_NODE_HOLDS_ARRAY(node)) {
        JsonArray *list = json_node_get_array(node);
        for (guint i = 0; i < json_array_get_length(list); i++)
            walk(document, json_array_get_element(list, i), lines);
    } else if (JSON_NODE_HOLDS_OBJECT(node)) {
        JsonObject *map = json_node_get_object(node);
        g_autoptr(GList) keys = json_object_get_members(map);
        for (GList *at = keys; at != NULL; at = at->next)
            walk(document, json_object_get_member(map, at->data), lines);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfDocument) document = conf_document_parse("fuzz", &conf_toml_syntax, text, &error);
    g_assert_true((document == NULL) == (error != NULL));
    if (document == NULL)
        return 0;
    guint lines = 1;
    for (const char *at = text; *at != '\0'; at++)
        lines += *at == '\n';
    g_autoptr(GList) keys = json_object_get_members(conf_document_root(document));
    for (GList *at = keys; at != NULL; at = at->next)
        walk(document, json_object_get_member(conf_document_root(document), at->data), lines);
    return 0;
}
