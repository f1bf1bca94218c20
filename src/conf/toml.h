/* A TOML text under reading: what tables and values share. */
#pragma once

#include "conf/tree.h"

typedef struct {
    ConfDocument *document;
    const char *at;
    guint line;
    JsonNode *root;    /* borrowed */
    GHashTable *kinds; /* how tables and lists came to be; looked up, never listed */
} ConfToml;

gboolean conf_toml_refuse(const ConfToml *t, GError **error, const char *what);
void conf_toml_skip_blanks(ConfToml *t);
gboolean conf_toml_newline(ConfToml *t); /* FALSE: there is none here */
/* To the end of the line, if one begins here. */
gboolean conf_toml_comment(ConfToml *t, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A map or list, with its line; closed ones are whole as they are written. */
JsonNode *conf_toml_new(ConfToml *t, JsonNodeType type, gboolean closed);
/* "a.b = value" into the table. */
gboolean conf_toml_assign(ConfToml *t, JsonNode *table, guint depth,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Of these NULL comes with *error, the complaint with its line; else the caller frees. */
/* "a.b.c" and the blanks behind it: of char*. */
GPtrArray *conf_toml_key(ConfToml *t, GError **error);
/* In any of the four quotes. */
char *conf_toml_text(ConfToml *t, GError **error);
JsonNode *conf_toml_value(ConfToml *t, guint depth, GError **error);
