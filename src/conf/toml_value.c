/* Values of TOML: texts in four quotes, numbers, lists, tables in a line. */
#include "config.h"

#include "conf/toml.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* --- texts -------------------------------------------------------------------------------------- */

/* \u00e9 and \U0001f600, behind the letter. */
static gboolean
code_point(ConfToml *t, guint n_digits, GString *text, GError **error)
{
    gunichar code = 0;
    for (guint i = 0; i < n_digits; i++) {
        if (!g_ascii_isxdigit(t->at[i]))
            return conf_toml_refuse(t, error, "\\u has four hexadecimal digits, \\U eight");
        code = code * 16 + (gunichar)g_ascii_xdigit_value(t->at[i]);
    }
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return conf_toml_refuse(t, error, "\\u stands for no character");
    g_string_append_unichar(text, code);
    t->at += n_digits;
    return TRUE;
}

/* Behind a backslash; in three quotes it may also end a line and swallow what is blank after it. */
static gboolean
escape(ConfToml *t, gboolean lines, GString *text, GError **error)
{
    static const char letters[] = "btnfr\"\\", meant[] = "\b\t\n\f\r\"\\";
    gsize blanks = strspn(t->at, " \t");
    gboolean ends = t->at[blanks] == '\n' || strncmp(t->at + blanks, "\r\n", 2) == 0;
    if (lines && ends) {
        while (t->at += strspn(t->at, " \t"), conf_toml_newline(t))
            ;
        return TRUE;
    }
    char letter = *t->at;
    const char *at = letter != '\0' ? strchr(letters, letter) : NULL;
    if (at != NULL) {
        g_string_append_c(text, meant[at - letters]);
        t->at++;
        return TRUE;
    }
    if (letter != 'u' && letter != 'U')
        return conf_toml_refuse(
            t, error, "a backslash before something else than b t n f r \" \\ u U; write two");
    t->at++;
    return code_point(t, letter == 'u' ? 4 : 8, text, error);
}

/* One character, or one escape. */
static gboolean
character(ConfToml *t, char quote, gboolean lines, GString *text, GError **error)
{
    if (*t->at == '\0')
        return conf_toml_refuse(t, error, "a text is not closed");
    if (*t->at == '\\' && quote == '"') {
        t->at++;
        return escape(t, lines, text, error);
    }
    const char *from = t->at;
    if (!lines && (*t->at == '\n' || strncmp(t->at, "\r\n", 2) == 0))
        return conf_toml_refuse(t, error, "a text is not closed in its line");
    if (conf_toml_newline(t)) {
        g_string_append_len(text, from, t->at - from);
        return TRUE;
    }
    if ((*t->at < ' ' && *t->at >= 0 && *t->at != '\t') || *t->at == 0x7f)
        return conf_toml_refuse(t, error,
                                "a control character in a text; write \\u and four digits");
    g_string_append_c(text, *t->at++);
    return TRUE;
}

char *
conf_toml_text(ConfToml *t, GError **error)
{
    char quote = *t->at;
    gboolean lines = t->at[1] == quote && t->at[2] == quote;
    g_autoptr(GString) text = g_string_new(NULL);
    t->at += lines ? 3 : 1;
    if (lines)
        conf_toml_newline(t); /* the first line break is not in it */
    const char three[] = {quote, quote, quote, '\0'};
    while (lines ? !g_str_has_prefix(t->at, three) : *t->at != quote)
        if (!character(t, quote, lines, text, error))
            return NULL;
    if (lines) /* up to two quotes more are in it */
        for (guint i = 0; i < 2 && t->at[3] == quote; i++)
            g_string_append_c(text, *t->at++);
    t->at += lines ? 3 : 1;
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* --- numbers ------------------------------------------------------------------------------------ */

/* Digits with single underscores between them; *ret: the digits alone, appended. */
static gboolean
take_digits(const char **at, const char *allowed, GString *ret)
{
    gboolean digit = FALSE;
    for (; **at != '\0'; (*at)++) {
        if (**at == '_') {
            if (!digit || (*at)[1] == '\0' || strchr(allowed, (*at)[1]) == NULL)
                return FALSE;
            continue;
        }
        if (strchr(allowed, **at) == NULL)
            break;
        g_string_append_c(ret, **at);
        digit = TRUE;
    }
    return digit;
}

static JsonNode *
whole_number(ConfToml *t, const char *digits, guint base, GError **error)
{
    errno = 0;
    gint64 value = g_ascii_strtoll(digits, NULL, base);
    if (errno == ERANGE) {
        conf_toml_refuse(t, error, "a whole number of more than 64 bits");
        return NULL;
    }
    return json_node_init_int(json_node_alloc(), value);
}

/* 0x1f, 0o17, 0b101 */
static JsonNode *
other_base(ConfToml *t, const char *word, GError **error)
{
    guint base = word[1] == 'x' ? 16 : word[1] == 'o' ? 8 : 2;
    const char *allowed = base == 16 ? "0123456789abcdefABCDEF" : base == 8 ? "01234567" : "01";
    const char *at = word + 2;
    g_autoptr(GString) digits = g_string_new(NULL);
    if (take_digits(&at, allowed, digits) && *at == '\0')
        return whole_number(t, digits->str, base, error);
    conf_toml_refuse(t, error, "a number with wrong digits");
    return NULL;
}

static gboolean
is_date(const char *word)
{
    gsize n = strspn(word, "0123456789");
    return (n == 4 && word[4] == '-') || (n == 2 && word[2] == ':');
}

/* The fraction and the exponent of what may be a float; FALSE: it is none. */
static gboolean
take_rest(const char **at, GString *digits)
{
    static const char decimal[] = "0123456789";
    if (**at == '.') {
        g_string_append_c(digits, *(*at)++);
        if (!take_digits(at, decimal, digits))
            return FALSE;
    }
    if (**at == 'e' || **at == 'E') {
        g_string_append_c(digits, *(*at)++);
        if (**at == '+' || **at == '-')
            g_string_append_c(digits, *(*at)++);
        if (!take_digits(at, decimal, digits))
            return FALSE;
    }
    return **at == '\0';
}

static JsonNode *
number(ConfToml *t, const char *word, GError **error)
{
    gboolean sign = word[0] == '+' || word[0] == '-';
    if (word[0] == '0' && word[1] != '\0' && strchr("xob", word[1]) != NULL)
        return other_base(t, word, error);
    if (strcmp(word + sign, "inf") == 0 || strcmp(word + sign, "nan") == 0) {
        double value = word[sign] == 'i' ? INFINITY : NAN;
        return json_node_init_double(json_node_alloc(), word[0] == '-' ? -value : value);
    }
    g_autoptr(GString) digits = g_string_new(word[0] == '-' ? "-" : NULL);
    const char *at = word + sign;
    gboolean zero = at[0] == '0' && (g_ascii_isdigit(at[1]) || at[1] == '_');
    gboolean whole = take_digits(&at, "0123456789", digits) && *at == '\0';
    if (is_date(word))
        conf_toml_refuse(t, error, "dates and times are not read; write them in quotes");
    else if (zero)
        conf_toml_refuse(t, error, "a number that begins with 0; leave that out");
    else if (whole)
        return whole_number(t, digits->str, 10, error);
    else if (at > word + sign && at[-1] != '_' && take_rest(&at, digits))
        return json_node_init_double(json_node_alloc(), g_ascii_strtod(digits->str, NULL));
    else
        conf_document_refuse(t->document, t->line, error,
                             "not TOML: '%s' is no value; write texts in quotes", word);
    return NULL;
}

/* --- lists and tables --------------------------------------------------------------------------- */

/* Blanks, lines and comments. */
static gboolean
skip_lines(ConfToml *t, GError **error)
{
    do {
        conf_toml_skip_blanks(t);
        if (!conf_toml_comment(t, error))
            return FALSE;
    } while (conf_toml_newline(t));
    return TRUE;
}

static gboolean
fill_list(ConfToml *t, JsonNode *list, guint depth, GError **error)
{
    if (!skip_lines(t, error))
        return FALSE;
    while (*t->at != ']') {
        guint line = t->line;
        JsonNode *value = conf_toml_value(t, depth + 1, error);
        if (value == NULL)
            return FALSE;
        conf_document_set_line(t->document, value, line);
        json_array_add_element(json_node_get_array(list), value);
        if (!skip_lines(t, error))
            return FALSE;
        if (*t->at == ']')
            break;
        if (*t->at != ',')
            return conf_toml_refuse(t, error, "',' or ']' is expected in a list");
        t->at++;
        if (!skip_lines(t, error))
            return FALSE;
    }
    t->at++;
    return TRUE;
}

/* In one line, without a comma at the end. */
static gboolean
fill_table(ConfToml *t, JsonNode *table, guint depth, GError **error)
{
    conf_toml_skip_blanks(t);
    if (*t->at == '}') {
        t->at++;
        return TRUE;
    }
    for (;;) {
        if (!conf_toml_assign(t, table, depth + 1, error))
            return FALSE;
        conf_toml_skip_blanks(t);
        char next = *t->at;
        if (next != ',' && next != '}')
            return conf_toml_refuse(t, error, "',' or '}' is expected in a table of one line");
        t->at++;
        if (next == '}')
            return TRUE;
    }
}

static JsonNode *
inside(ConfToml *t, guint depth, GError **error)
{
    gboolean list = *t->at == '[';
    if (depth >= CONF_TREE_DEPTH) {
        conf_toml_refuse(t, error, "lists and tables nested too deep");
        return NULL;
    }
    g_autoptr(JsonNode) node = conf_toml_new(t, list ? JSON_NODE_ARRAY : JSON_NODE_OBJECT, TRUE);
    t->at++;
    gboolean ok = list ? fill_list(t, node, depth, error) : fill_table(t, node, depth, error);
    return ok ? g_steal_pointer(&node) : NULL;
}

JsonNode *
conf_toml_value(ConfToml *t, guint depth, GError **error)
{
    if (*t->at == '[' || *t->at == '{')
        return inside(t, depth, error);
    if (*t->at == '"' || *t->at == '\'') {
        g_autofree char *text = conf_toml_text(t, error);
        return text == NULL ? NULL : json_node_init_string(json_node_alloc(), text);
    }
    gsize n = strcspn(t->at, " \t\r\n,]}#");
    g_autofree char *word = g_strndup(t->at, n);
    t->at += n;
    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
        return json_node_init_boolean(json_node_alloc(), word[0] == 't');
    if (n > 0)
        return number(t, word, error);
    conf_toml_refuse(t, error, "a value is expected behind '='");
    return NULL;
}
