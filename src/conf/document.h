/* A configuration file in JSON, YAML or TOML as one tree of JsonNodes, each with its line. */
#pragma once

#include <json-glib/json-glib.h>

typedef struct ConfDocument ConfDocument;

/* A way to write one: a file, a const struct, a line in the list of document.c. */
typedef struct {
    const char *name;
    const char *endings[3]; /* of file names, NULL-terminated */
    gboolean (*parse)(ConfDocument *document, const char *text, GError **error);
} ConfSyntax;
extern const ConfSyntax conf_json_syntax, conf_toml_syntax, conf_yaml_syntax;

/* By the ending of its name. NULL with *error: what is wrong, with its place. Freed by conf_document_free, as is the
 * next one's. */
ConfDocument *conf_document_load(const char *path, GError **error);
ConfDocument *conf_document_parse(const char *name, const ConfSyntax *syntax, const char *text,
                                  GError **error);
void conf_document_free(ConfDocument *document);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ConfDocument, conf_document_free)

const char *conf_document_name(const ConfDocument *document);
const ConfSyntax *conf_document_syntax(const ConfDocument *document);
JsonObject *conf_document_root(const ConfDocument *document);
/* "a.b.c": the value of a key of the root, or of a map in it; NULL when it is absent. A null is there. A key that has
 * a dot in itself is not found. Borrowed. */
JsonNode *conf_document_find(const ConfDocument *document, const char *path);
/* The same where - and _ are one letter in keys; as it is written comes first. */
JsonNode *conf_document_find_alike(const ConfDocument *document, const char *path);
/* Where the node, or the key before it, begins. */
guint conf_document_line(const ConfDocument *document, JsonNode *node);
/* Of char*, whole sentences with their places: keys that stand twice, of which the last counts. */
const GPtrArray *conf_document_remarks(const ConfDocument *document);
