/* JSON as a document: strict, with the line of each value. What stands in for a value of a template is named. */
#include "config.h"

#include "conf/complaint.h"
#include "conf/json_stream.h"
#include "conf/tree.h"

#include <errno.h>
#include <string.h>

/* The text is walked beside the stream of tokens, which say no lines. */
typedef struct {
    ConfTree *tree;
    const char *at;
    guint line;
} Reader;

static const char *
string_end(const char *at)
{
    for (at++; *at != '\0' && *at != '"'; at++)
        at += *at == '\\' && at[1] != '\0';
    return *at == '"' ? at + 1 : at;
}

#define WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.+-"

/* To behind the next token, whose line is given. */
static guint
step(Reader *r)
{
    for (; *r->at != '\0' && strchr(" \t\r\n,:", *r->at) != NULL; r->at++)
        r->line += *r->at == '\n';
    guint line = r->line;
    gsize word = strspn(r->at, WORD);
    r->at = *r->at == '"' ? string_end(r->at) : r->at + MAX(word, *r->at != '\0');
    return line;
}

static JsonNode *
number(const char *text)
{
    char *end = NULL;
    errno = 0;
    gint64 whole = g_ascii_strtoll(text, &end, 10);
    JsonNode *node = json_node_alloc();
    if (*end == '\0' && errno == 0)
        return json_node_init_int(node, whole);
    return json_node_init_double(node, g_ascii_strtod(text, NULL));
}

static gboolean
on_token(const ConfJsonToken *token, gpointer user, GError **error)
{
    Reader *r = user;
    guint line = step(r);
    g_autofree char *text = g_strndup(token->text, token->length);
    switch (token->kind) {
    case CONF_JSON_MAP:
        return conf_tree_open(r->tree, JSON_NODE_OBJECT, line, error);
    case CONF_JSON_ARRAY:
        return conf_tree_open(r->tree, JSON_NODE_ARRAY, line, error);
    case CONF_JSON_END_MAP:
    case CONF_JSON_END_ARRAY:
        conf_tree_close(r->tree);
        return TRUE;
    case CONF_JSON_KEY:
        conf_tree_key(r->tree, text, -1, line);
        return TRUE;
    case CONF_JSON_TEXT:
        return conf_tree_put(r->tree, json_node_init_string(json_node_alloc(), text), line, error);
    case CONF_JSON_NUMBER:
        return conf_tree_put(r->tree, number(text), line, error);
    case CONF_JSON_BOOL:
        return conf_tree_put(r->tree, json_node_init_boolean(json_node_alloc(), text[0] == 't'),
                             line, error);
    case CONF_JSON_NULL:
        break;
    }
    return conf_tree_put(r->tree, json_node_init_null(json_node_alloc()), line, error);
}

/* A bare word where a value belongs: a template that was not filled in, or Python. */
static gboolean
check_words(const ConfDocument *document, const char *text, GError **error)
{
    static const char *const words[] = {"true", "false", "null", NULL};
    guint line = 1;
    for (const char *at = text; *at != '\0';) {
        gsize n = strspn(at, WORD);
        g_autofree char *word = g_strndup(at, n);
        if (n > 0 && (g_ascii_isalpha(word[0]) || word[0] == '_') &&
            !g_strv_contains(words, word)) {
            g_autofree char *lower = g_ascii_strdown(word, -1);
            gboolean python = strcmp(lower, "true") == 0 || strcmp(lower, "false") == 0;
            return conf_document_refuse(
                document, line, error, "not JSON: %s %s; write %s%s", word,
                python ? "is Python's" : "stands for a value that was not put in",
                python ? lower : "the value", python ? "" : ", in quotes where it is text");
        }
        line += *at == '\n';
        const char *next = *at == '"' ? string_end(at) : at + MAX(n, 1);
        for (; *at == '"' && at < next; at++)
            line += *at == '\n';
        at = next;
    }
    return TRUE;
}

static gboolean
json_parse(ConfDocument *document, const char *text, GError **error)
{
    g_autoptr(ConfTree) tree = conf_tree_new(document);
    Reader reader = {.tree = tree, .at = text, .line = 1};
    gsize length = strlen(text);
    if (!check_words(document, text, error))
        return FALSE;
    if (text[strspn(text, " \t\r\n")] == '\0')
        return conf_document_refuse(document, 1, error, "is empty; write { \"key\": value, ... }");
    return conf_json_stream_parse(conf_document_name(document), text, length, on_token, &reader,
                                  error);
}

const ConfSyntax conf_json_syntax = {"JSON", {".json", NULL}, json_parse};
