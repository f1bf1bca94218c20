/* JSON of any length in bounded memory: its tokens one after the other, from a file (gzip or not) or from bytes. */
#pragma once

#include <glib.h>
#include <string.h>

typedef enum {
    CONF_JSON_MAP,
    CONF_JSON_END_MAP,
    CONF_JSON_ARRAY,
    CONF_JSON_END_ARRAY,
    CONF_JSON_KEY,
    CONF_JSON_TEXT,
    CONF_JSON_NUMBER, /* as it is written */
    CONF_JSON_BOOL,   /* "true" or "false" */
    CONF_JSON_NULL,
} ConfJsonKind;

typedef struct {
    ConfJsonKind kind;
    guint depth; /* of maps and arrays around it; both brackets of one have the same */
    const char *
        text; /* of a key, text, number or bool: `length` bytes, no NUL after them, until the next token */
    gsize length;
} ConfJsonToken;

/* For names, which most tokens are not: the first letter tells. */
static inline gboolean
conf_json_is(const ConfJsonToken *token, const char *word)
{
    return token->length > 0 && word[0] == token->text[0] && strlen(word) == token->length &&
           memcmp(word, token->text, token->length) == 0;
}

/* Its text with a NUL, as much of it as there is room for: a longer one is none of those that are looked for. */
void conf_json_token_copy(const ConfJsonToken *token, char *text, gsize size);

/* FALSE with *error set stops the reading. */
typedef gboolean (*ConfJsonFunc)(const ConfJsonToken *token, gpointer user, GError **error);

/* Complaints of what is no JSON say the line, or the byte where lines are very long. A text that ends in the middle
 * is an error, too. */
gboolean conf_json_stream_load(const char *path, ConfJsonFunc func, gpointer user,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
gboolean conf_json_stream_parse(const char *name, const char *text, gsize length, ConfJsonFunc func,
                                gpointer user, GError **error) G_GNUC_WARN_UNUSED_RESULT;
