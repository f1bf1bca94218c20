/* A document under construction, by those who read a syntax. */
#pragma once

#include "conf/document.h"

#define CONF_TREE_DEPTH 64 /* maps and lists in each other: readers and json-glib's free recurse */

typedef struct ConfTree ConfTree;

ConfTree *conf_tree_new(ConfDocument *document); /* borrowed */
void conf_tree_free(ConfTree *tree);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ConfTree, conf_tree_free)

/* In the order of the text. A key is followed by a value: a scalar that is put, or a map or list that is opened and
 * closed. The first value is the root, and must be a map. */
gboolean conf_tree_open(ConfTree *tree, JsonNodeType type, guint line,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
JsonNode *conf_tree_close(ConfTree *tree); /* borrowed */
void conf_tree_key(ConfTree *tree, const char *key, gssize length, guint line);
/* Takes the node. */
gboolean conf_tree_put(ConfTree *tree, JsonNode *node, guint line,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean conf_tree_is_in_map(const ConfTree *tree);
/* Was the last thing a key, whose value is due? */
gboolean conf_tree_has_key(const ConfTree *tree);
gboolean conf_tree_is_done(const ConfTree *tree);

/* Without a tree: where nodes are not made in the order of the text. Takes the root. */
void conf_document_set_root(ConfDocument *document, JsonNode *root);
void conf_document_set_line(ConfDocument *document, JsonNode *node, guint line);
/* "FILE:LINE: ..." */
gboolean conf_document_refuse(const ConfDocument *document, guint line, GError **error,
                              const char *format, ...) G_GNUC_PRINTF(4, 5);
