/* Key files: a line scanner (GKeyFile would merge duplicate keys silently and names no line) and
 * checks driven by the caller's table of keys. */
#include "config.h"

#include "conf/keyfile.h"

#include "conf/complaint.h"

#include <string.h>

typedef struct {
    char *text;    /* owned; NULL until given or fallen back */
    guint line;    /* where it was given; 0 for a fallback or --set */
    gint64 number; /* quantity, boolean, or index of the choice */
    double fraction;
} Value;

struct ConfKeyfile {
    char *name;
    const ConfKey *keys; /* borrowed */
    guint n_keys;
    Value *values; /* one a key */
};

static ConfKeyfile *
keyfile_new(const char *name, const ConfKey *keys)
{
    ConfKeyfile *file = g_new0(ConfKeyfile, 1);
    file->name = g_strdup(name);
    file->keys = keys;
    while (keys[file->n_keys].section != NULL)
        file->n_keys++;
    file->values = g_new0(Value, file->n_keys);
    return file;
}

void
conf_keyfile_free(ConfKeyfile *file)
{
    if (file == NULL)
        return;
    for (guint i = 0; i < file->n_keys; i++)
        g_free(file->values[i].text);
    g_free(file->values);
    g_free(file->name);
    g_free(file);
}

static int
find_key(const ConfKeyfile *file, const char *section, const char *key)
{
    for (guint i = 0; i < file->n_keys; i++)
        if (strcmp(file->keys[i].section, section) == 0 && strcmp(file->keys[i].key, key) == 0)
            return (int)i;
    return -1;
}

static gboolean
has_section(const ConfKeyfile *file, const char *section)
{
    for (guint i = 0; i < file->n_keys; i++)
        if (strcmp(file->keys[i].section, section) == 0)
            return TRUE;
    return FALSE;
}

/* Names of sections, or (section given) of its keys; NULL-terminated, borrowed strings. */
static GPtrArray *
list_names(const ConfKeyfile *file, const char *section)
{
    GPtrArray *names = g_ptr_array_new();
    for (guint i = 0; i < file->n_keys; i++) {
        const ConfKey *key = &file->keys[i];
        if (section == NULL) {
            if (i == 0 || strcmp(key->section, file->keys[i - 1].section) != 0)
                g_ptr_array_add(names, (char *)key->section);
        } else if (strcmp(key->section, section) == 0) {
            g_ptr_array_add(names, (char *)key->key);
        }
    }
    g_ptr_array_add(names, NULL);
    return names;
}

static gboolean
complain_section(const ConfKeyfile *file, const char *place, const char *section, GError **error)
{
    g_autoptr(GPtrArray) names = list_names(file, NULL);
    g_autofree char *hint = conf_hint(section, (const char *const *)names->pdata);
    if (*hint == '\0') {
        g_autofree char *all = g_strjoinv(", ", (char **)names->pdata);
        g_free(hint);
        hint = g_strdup_printf("; sections are %s", all);
    }
    g_set_error(error, CONF_ERROR, CONF_ERROR_UNKNOWN, "%s: [%s]: unknown section%s", place,
                section, hint);
    return FALSE;
}

static gboolean
complain_key(const ConfKeyfile *file, const char *place, const char *section, const char *key,
             GError **error)
{
    g_autoptr(GPtrArray) names = list_names(file, section);
    g_autofree char *hint = conf_hint(key, (const char *const *)names->pdata);
    g_autofree char *all = g_strjoinv(", ", (char **)names->pdata);
    for (guint i = 0; *hint == '\0' && i < file->n_keys; i++) {
        if (strcmp(file->keys[i].key, key) != 0)
            continue;
        g_free(hint);
        hint = g_strdup_printf("; it belongs to [%s]", file->keys[i].section);
    }
    if (*hint == '\0') {
        g_free(hint);
        hint = g_strdup_printf("; keys are %s", all);
    }
    g_set_error(error, CONF_ERROR, CONF_ERROR_UNKNOWN, "%s: [%s] %s: unknown key%s", place, section,
                key, hint);
    return FALSE;
}

static gboolean
parse_bool(const char *text, gint64 *ret_number, GError **error)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
    for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
        if (strcmp(text, words[i]) == 0) {
            *ret_number = i % 2;
            return TRUE;
        }
    }
    g_set_error(error, CONF_ERROR, CONF_ERROR_VALUE, "'%s' is neither true nor false", text);
    return FALSE;
}

static gboolean
parse_choice(const ConfKey *key, const char *text, gint64 *ret_number, GError **error)
{
    for (int i = 0; key->choices[i] != NULL; i++) {
        if (strcmp(text, key->choices[i]) == 0) {
            *ret_number = i;
            return TRUE;
        }
    }
    g_autofree char *all = g_strjoinv(", ", (char **)key->choices);
    g_set_error(error, CONF_ERROR, CONF_ERROR_VALUE, "'%s' is not a choice; write one of %s", text,
                all);
    return FALSE;
}

/* `text` as the value of a key, checked; `value` is untouched on failure. */
static gboolean
assign(const ConfKey *key, const char *text, const char *place, Value *value, GError **error)
{
    Value parsed = {0};
    GError *cause = NULL;
    gboolean valid = TRUE;
    switch (key->type) {
    case CONF_KEY_TEXT:
        break;
    case CONF_KEY_QUANTITY:
        valid = units_parse(key->kind, text, &parsed.number, &cause);
        break;
    case CONF_KEY_FRACTION:
        valid = units_parse_fraction(text, &parsed.fraction, &cause);
        break;
    case CONF_KEY_BOOL:
        valid = parse_bool(text, &parsed.number, &cause);
        break;
    case CONF_KEY_CHOICE:
        valid = parse_choice(key, text, &parsed.number, &cause);
        break;
    }
    if (!valid) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_VALUE, "%s: [%s] %s: %s", place, key->section,
                    key->key, cause->message);
        g_error_free(cause);
        return FALSE;
    }
    parsed.text = g_strdup(text);
    g_free(value->text);
    *value = parsed;
    return TRUE;
}

/* Cuts a comment (`#` at the head, after a blank or after `=`) and the blanks around. */
static char *
strip_line(char *line)
{
    for (char *at = line; *at != '\0'; at++) {
        if (*at == '#' && (at == line || at[-1] == '=' || g_ascii_isspace(at[-1]))) {
            *at = '\0';
            break;
        }
    }
    return g_strstrip(line);
}

static gboolean
complain_line(const ConfKeyfile *file, guint line, const char *text, GError **error)
{
    g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX,
                "%s:%u: '%s' is neither a section nor a key; write [section] or key = value",
                file->name, line, text);
    return FALSE;
}

static gboolean
scan_assignment(ConfKeyfile *file, const char *section, char *text, guint line, GError **error)
{
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return complain_line(file, line, text, error);
    *equals = '\0';
    char *name = g_strstrip(text), *value = g_strstrip(equals + 1);
    if (section == NULL) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX,
                    "%s:%u: %s: stands before any section; write [section] above it", file->name,
                    line, name);
        return FALSE;
    }
    int i = find_key(file, section, name);
    if (i < 0)
        return complain_key(file, file->name, section, name, error);
    if (file->values[i].text != NULL) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX,
                    "%s: [%s] %s: given twice, in lines %u and %u; keep one", file->name, section,
                    name, file->values[i].line, line);
        return FALSE;
    }
    if (!assign(&file->keys[i], value, file->name, &file->values[i], error))
        return FALSE;
    file->values[i].line = line;
    return TRUE;
}

static gboolean
scan(ConfKeyfile *file, char *text, GError **error)
{
    const char *section = NULL;
    guint line = 0;
    for (char *next = text; next != NULL;) {
        char *at = next;
        next = strchr(at, '\n');
        if (next != NULL)
            *next++ = '\0';
        line++;
        at = strip_line(at);
        gsize length = strlen(at);
        if (length == 0)
            continue;
        if (at[0] != '[') {
            if (!scan_assignment(file, section, at, line, error))
                return FALSE;
            continue;
        }
        if (at[length - 1] != ']' || length < 3)
            return complain_line(file, line, at, error);
        at[length - 1] = '\0';
        section = g_strstrip(at + 1);
        if (!has_section(file, section))
            return complain_section(file, file->name, section, error);
    }
    return TRUE;
}

static gboolean
fill_fallbacks(ConfKeyfile *file, GError **error)
{
    for (guint i = 0; i < file->n_keys; i++) {
        const ConfKey *key = &file->keys[i];
        if (file->values[i].text != NULL)
            continue;
        if (key->fallback == NULL) {
            g_set_error(error, CONF_ERROR, CONF_ERROR_MISSING,
                        "%s: [%s] %s: is missing; write %s = VALUE (%s)", file->name, key->section,
                        key->key, key->key, key->what != NULL ? key->what : "required");
            return FALSE;
        }
        g_autoptr(GError) wrong = NULL;
        gboolean valid = assign(key, key->fallback, "fallback", &file->values[i], &wrong);
        g_assert_no_error(wrong); /* the table itself is wrong */
        g_assert(valid);
    }
    return TRUE;
}

ConfKeyfile *
conf_keyfile_parse(const char *name, const char *text, const ConfKey *keys, GError **error)
{
    g_autoptr(ConfKeyfile) file = keyfile_new(name, keys);
    g_autofree char *copy = g_strdup(text);
    if (!conf_check_text(name, text, strlen(text), error) || !scan(file, copy, error) ||
        !fill_fallbacks(file, error))
        return NULL;
    return g_steal_pointer(&file);
}

ConfKeyfile *
conf_keyfile_load(const char *path, const ConfKey *keys, GError **error)
{
    g_autofree char *text = conf_read_text(path, NULL, error);
    return text == NULL ? NULL : conf_keyfile_parse(path, text, keys, error);
}

gboolean
conf_keyfile_set(ConfKeyfile *file, const char *assignment, GError **error)
{
    const char *place = "--set";
    const char *equals = strchr(assignment, '=');
    const char *dot = strchr(assignment, '.');
    if (equals == NULL || dot == NULL || dot > equals || dot == assignment || dot + 1 == equals) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_SYNTAX,
                    "%s: '%s' is no assignment; write SECTION.KEY=VALUE", place, assignment);
        return FALSE;
    }
    g_autofree char *section = g_strstrip(g_strndup(assignment, (gsize)(dot - assignment)));
    g_autofree char *key = g_strstrip(g_strndup(dot + 1, (gsize)(equals - dot - 1)));
    g_autofree char *value = g_strstrip(g_strdup(equals + 1));
    if (!has_section(file, section))
        return complain_section(file, place, section, error);
    int i = find_key(file, section, key);
    if (i < 0)
        return complain_key(file, place, section, key, error);
    g_autofree char *as_line = g_strconcat("=", value, NULL);
    if (strchr(value, '\n') != NULL || strlen(strip_line(as_line)) != strlen(value) + 1) {
        g_set_error(error, CONF_ERROR, CONF_ERROR_VALUE,
                    "%s: [%s] %s: '%s' holds a line end or a comment; write the value alone", place,
                    section, key, value);
        return FALSE;
    }
    return assign(&file->keys[i], value, place, &file->values[i], error);
}

static const Value *
get(const ConfKeyfile *file, const char *section, const char *key, int type)
{
    int i = find_key(file, section, key);
    g_assert(i >= 0 && (type < 0 || (int)file->keys[i].type == type));
    return &file->values[i];
}

gint64
conf_keyfile_quantity(const ConfKeyfile *file, const char *section, const char *key)
{
    return get(file, section, key, CONF_KEY_QUANTITY)->number;
}

double
conf_keyfile_fraction(const ConfKeyfile *file, const char *section, const char *key)
{
    return get(file, section, key, CONF_KEY_FRACTION)->fraction;
}

gboolean
conf_keyfile_bool(const ConfKeyfile *file, const char *section, const char *key)
{
    return get(file, section, key, CONF_KEY_BOOL)->number != 0;
}

const char *
conf_keyfile_text(const ConfKeyfile *file, const char *section, const char *key)
{
    return get(file, section, key, -1)->text;
}

int
conf_keyfile_choice(const ConfKeyfile *file, const char *section, const char *key)
{
    return (int)get(file, section, key, CONF_KEY_CHOICE)->number;
}

char *
conf_keyfile_print(const ConfKeyfile *file)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < file->n_keys; i++) {
        const ConfKey *key = &file->keys[i];
        if (i == 0 || strcmp(key->section, file->keys[i - 1].section) != 0)
            g_string_append_printf(text, "%s[%s]\n", i == 0 ? "" : "\n", key->section);
        const char *value = file->values[i].text;
        g_string_append_printf(text, "%s =%s%s\n", key->key, *value != '\0' ? " " : "", value);
    }
    return g_string_free(text, FALSE);
}
