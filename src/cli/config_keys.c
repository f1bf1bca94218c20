/* Single keys of a framework's configuration file, and the tables of them. */
#include "config.h"

#include "cli/config_file.h"

#include "cli/command.h"
#include "conf/complaint.h"

#include <math.h>
#include <string.h>

/* --- places ------------------------------------------------------------------------------------- */

static JsonNode *
node_of(const CliConfig *c, const char *path)
{
    return c->format->dashes ? conf_document_find_alike(c->document, path)
                             : conf_document_find(c->document, path);
}

/* As the file has it: under an older name where the newer one is not there. */
static const char *
path_in(const CliConfig *c, const char *path)
{
    const CliOlderKey *key = c->format->older;
    if (key == NULL || node_of(c, path) != NULL)
        return path;
    for (; key->path != NULL; key++)
        if (strcmp(key->path, path) == 0 && node_of(c, key->older) != NULL)
            return key->older;
    return path;
}

static JsonNode *
node_at(const CliConfig *c, const char *path)
{
    return node_of(c, path_in(c, path));
}

/* "FILE:12: a.b", or the file alone where there is no such key. */
static char *
place_of(const CliConfig *c, const char *path)
{
    const char *file = conf_document_name(c->document);
    JsonNode *node = path != NULL ? node_at(c, path) : NULL;
    if (node == NULL)
        return g_strdup(file);
    return g_strdup_printf("%s:%u: %s", file, conf_document_line(c->document, node),
                           path_in(c, path));
}

void
cli_config_warn(CliConfig *c, const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args);
    va_end(args);
    g_autofree char *place = place_of(c, path);
    g_ptr_array_add(c->warnings, g_strdup_printf("%s: %s", place, what));
}

gboolean
cli_config_refuse(const CliConfig *c, const char *path, GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args);
    va_end(args);
    g_autofree char *place = place_of(c, path);
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: %s", place, what);
    return FALSE;
}

void
cli_config_say(CliConfig *c, const char *path, const char *option, const char *value)
{
    CliSaying *saying = g_new0(CliSaying, 1);
    saying->option = g_strdup(option);
    saying->value = g_strdup(value);
    saying->place = place_of(c, path);
    g_ptr_array_add(c->sayings, saying);
}

void
cli_config_say_count(CliConfig *c, const char *path, const char *option, gint64 value)
{
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value);
    cli_config_say(c, path, option, text);
}

void
cli_config_say_flag(CliConfig *c, const char *path, const char *option, gboolean value)
{
    g_autofree char *no = g_strconcat("no-", option, NULL);
    cli_config_say(c, path, value ? option : no, "");
}

/* --- values ------------------------------------------------------------------------------------- */

static gboolean
is_auto(const CliConfig *c, JsonNode *node)
{
    return c->format->autos && JSON_NODE_HOLDS_VALUE(node) &&
           json_node_get_value_type(node) == G_TYPE_STRING &&
           strcmp(json_node_get_string(node), "auto") == 0;
}

JsonNode *
cli_config_find(const CliConfig *c, const char *path)
{
    JsonNode *node = node_at(c, path);
    return node == NULL || JSON_NODE_HOLDS_NULL(node) || is_auto(c, node) ? NULL : node;
}

gboolean
cli_config_is_open(const CliConfig *c, const char *path)
{
    JsonNode *node = node_at(c, path);
    return node != NULL && is_auto(c, node);
}

gboolean
cli_config_is_null(const CliConfig *c, const char *path)
{
    JsonNode *node = node_at(c, path);
    return node != NULL && JSON_NODE_HOLDS_NULL(node);
}

static gboolean
refuse_type(const CliConfig *c, const char *path, const char *wanted, GError **error)
{
    JsonNode *node = node_at(c, path);
    g_autofree char *full = json_to_string(node, FALSE);
    g_autofree char *start = g_utf8_substring(full, 0, MIN(g_utf8_strlen(full, -1), 40));
    return cli_config_refuse(c, path, error, "expected %s, got %s%s", wanted, start,
                             strlen(start) < strlen(full) ? "..." : "");
}

static gboolean
as_number(JsonNode *node, double *ret)
{
    GType type = JSON_NODE_HOLDS_VALUE(node) ? json_node_get_value_type(node) : G_TYPE_INVALID;
    if (type == G_TYPE_INT64)
        *ret = (double)json_node_get_int(node);
    else if (type == G_TYPE_DOUBLE)
        *ret = json_node_get_double(node);
    else
        return FALSE;
    return isfinite(*ret);
}

static gboolean
read_whole(const CliConfig *c, const char *path, gint64 least, double most, gint64 *ret,
           GError **error)
{
    JsonNode *node = cli_config_find(c, path);
    double value;
    if (node == NULL)
        return TRUE;
    g_autofree char *wanted = g_strdup_printf("a whole number from %" G_GINT64_FORMAT, least);
    if (!as_number(node, &value) || value != floor(value) || value < (double)least)
        return refuse_type(c, path, wanted, error);
    g_autofree char *limit = g_strdup_printf("at most %.0f", most);
    if (value > most)
        return refuse_type(c, path, limit, error);
    *ret = (gint64)value;
    return TRUE;
}

gboolean
cli_config_count(const CliConfig *c, const char *path, gint64 least, gint64 *ret, GError **error)
{
    return read_whole(c, path, least, CLI_MANY, ret, error);
}

gboolean
cli_config_elements(const CliConfig *c, const char *path, gint64 *ret, GError **error)
{
    return read_whole(c, path, 0, 0x1p53, ret, error);
}

gboolean
cli_config_flag(const CliConfig *c, const char *path, gboolean *ret, GError **error)
{
    JsonNode *node = cli_config_find(c, path);
    if (node == NULL)
        return TRUE;
    if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_BOOLEAN)
        return refuse_type(c, path, "true or false", error);
    *ret = json_node_get_boolean(node);
    return TRUE;
}

gboolean
cli_config_number(const CliConfig *c, const char *path, double *ret, GError **error)
{
    JsonNode *node = cli_config_find(c, path);
    double value;
    if (node == NULL)
        return TRUE;
    if (!as_number(node, &value) || value < 0)
        return refuse_type(c, path, "a number of 0 or more", error);
    *ret = fabs(value); /* of -0 */
    return TRUE;
}

gboolean
cli_config_text(const CliConfig *c, const char *path, const char **ret, GError **error)
{
    JsonNode *node = cli_config_find(c, path);
    if (node == NULL)
        return TRUE;
    if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_STRING)
        return refuse_type(c, path, "a word", error);
    *ret = json_node_get_string(node);
    return TRUE;
}

gboolean
cli_config_word(const CliConfig *c, const char *path, const char *const *words,
                const char *const *meanings, const char **ret, GError **error)
{
    const char *word = NULL;
    if (!cli_config_text(c, path, &word, error))
        return FALSE;
    for (guint i = 0; word != NULL && words[i] != NULL; i++) {
        if (g_ascii_strcasecmp(words[i], word) == 0) {
            *ret = meanings[i];
            return TRUE;
        }
    }
    if (word == NULL)
        return TRUE;
    g_autofree char *known = g_strjoinv(", ", (char **)words);
    g_autofree char *hint = conf_hint(word, words);
    return cli_config_refuse(c, path, error, "'%s' is not known%s; write one of %s", word, hint,
                             known);
}

gboolean
cli_config_say_word(CliConfig *c, const char *path, const char *option, const char *const *words,
                    const char *const *meanings, GError **error)
{
    const char *meaning = NULL;
    if (!cli_config_word(c, path, words, meanings, &meaning, error))
        return FALSE;
    if (meaning != NULL)
        cli_config_say(c, path, option, meaning);
    return TRUE;
}

gboolean
cli_config_holds(const CliConfig *c, const char *path, const char *word, gboolean *ret,
                 GError **error)
{
    JsonNode *node = cli_config_find(c, path);
    if (node == NULL)
        return TRUE;
    if (!JSON_NODE_HOLDS_ARRAY(node))
        return refuse_type(c, path, "a list of words", error);
    JsonArray *list = json_node_get_array(node);
    g_autofree char *dotted = g_strconcat(".", word, NULL);
    *ret = FALSE;
    for (guint i = 0; i < json_array_get_length(list); i++) {
        JsonNode *item = json_array_get_element(list, i);
        if (!JSON_NODE_HOLDS_VALUE(item) || json_node_get_value_type(item) != G_TYPE_STRING)
            return refuse_type(c, path, "a list of words", error);
        const char *text = json_node_get_string(item);
        *ret |= strcmp(text, word) == 0 || g_str_has_suffix(text, dotted);
    }
    return TRUE;
}

/* --- what was typed ----------------------------------------------------------------------------- */

gboolean
cli_config_is_typed(const CliConfig *c, const char *option)
{
    return cli_inputs_is_given(c->in, option);
}

gint64
cli_config_effective(const CliConfig *c, const char *option, gint64 of_file)
{
    const CliOption *o = cli_option_find(option);
    g_assert(o != NULL && o->type == CLI_OPTION_COUNT);
    return cli_inputs_is_given(c->in, option) ? G_STRUCT_MEMBER(gint64, c->in, o->offset) : of_file;
}

gint64
cli_config_replicas(const CliConfig *c, gint64 tp, gint64 pp, gint64 cp)
{
    tp = cli_config_effective(c, "tp", tp);
    pp = cli_config_effective(c, "pp", pp);
    cp = cli_config_effective(c, "cp", cp);
    if (cli_config_is_typed(c, "dp"))
        return cli_config_effective(c, "dp", 0);
    double model = (double)tp * (double)pp * (double)cp;
    if (!(model >= 1 && model <= PLAN_MAX_GPUS))
        return 0;
    return c->gpus % (tp * pp * cp) == 0 ? c->gpus / (tp * pp * cp) : 0;
}

/* --- tables ------------------------------------------------------------------------------------- */

/* Is the value what `usual` says in words, or, where that is NULL, nothing: false, 0, "none", empty? */
static gboolean
is_usual(JsonNode *node, const char *usual)
{
    if (JSON_NODE_HOLDS_OBJECT(node))
        return json_object_get_size(json_node_get_object(node)) == 0;
    if (JSON_NODE_HOLDS_ARRAY(node))
        return json_array_get_length(json_node_get_array(node)) == 0;
    gboolean text = json_node_get_value_type(node) == G_TYPE_STRING;
    g_autofree char *printed =
        text ? g_strdup(json_node_get_string(node)) : json_to_string(node, FALSE);
    static const char *const nothing[] = {"false", "0", "none", "", "0.0", NULL};
    return usual != NULL ? g_ascii_strcasecmp(printed, usual) == 0
                         : g_strv_contains(nothing, printed);
}

static gboolean
read_key(CliConfig *c, const CliConfigKey *key, GError **error)
{
    if (cli_config_is_open(c, key->path)) {
        if (key->what != NULL && key->kind != CLI_KEY_UNSAID &&
            !cli_config_is_typed(c, key->option))
            cli_config_warn(c, key->path, "'auto' is given elsewhere: %s; write --%s", key->what,
                            key->option);
        return TRUE;
    }
    if (cli_config_find(c, key->path) == NULL)
        return TRUE;
    gint64 count = 0;
    gboolean flag = FALSE;
    double number = 0;
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    switch (key->kind) {
    case CLI_KEY_COUNT:
        if (!cli_config_elements(c, key->path, &count, error))
            return FALSE;
        cli_config_say_count(c, key->path, key->option, count);
        return TRUE;
    case CLI_KEY_FLAG:
        if (!cli_config_flag(c, key->path, &flag, error))
            return FALSE;
        cli_config_say_flag(c, key->path, key->option, flag);
        return TRUE;
    case CLI_KEY_NUMBER:
        if (!cli_config_number(c, key->path, &number, error))
            return FALSE;
        cli_config_say(c, key->path, key->option,
                       g_ascii_formatd(text, sizeof text, "%.15g", number));
        return TRUE;
    case CLI_KEY_UNSAID:
        if (!is_usual(node_at(c, key->path), key->option))
            cli_config_warn(c, key->path, "not modelled: %s", key->what);
        return TRUE;
    case CLI_KEY_READ:
        break;
    }
    return TRUE;
}

/* A slip of the pen: in one place, one or two letters are missing, too many or others. */
static gboolean
is_slip(const char *word, const char *meant)
{
    gsize n = strlen(word), m = strlen(meant), head = 0, tail = 0;
    while (head < MIN(n, m) && word[head] == meant[head])
        head++;
    while (tail < MIN(n, m) - head && word[n - 1 - tail] == meant[m - 1 - tail])
        tail++;
    gsize differ = MAX(n, m) - head - tail;
    return differ >= 1 && differ <= (MIN(n, m) > 6 ? 2 : 1) && MIN(n, m) > 3;
}

/* A name in the map at `prefix`, held against the tables. */
typedef struct {
    const char *name, *prefix;
    gboolean known;
    char *meant; /* NULL: nothing is near */
} Look;

static void
look_at(const CliConfig *c, const char *path, Look *look)
{
    gsize n = strlen(look->prefix);
    if (strncmp(path, look->prefix, n) != 0)
        return;
    g_autofree char *part = g_strndup(path + n, strcspn(path + n, "."));
    g_autofree char *whole = g_strconcat(look->prefix, part, NULL);
    look->known |= strcmp(part, look->name) == 0;
    if (!is_slip(look->name, part) || node_at(c, whole) != NULL)
        return;
    g_free(look->meant);
    look->meant = g_steal_pointer(&part);
}

/* Keys of one map, at `prefix`, against those that the tables have there. */
static void
warn_of_slips(CliConfig *c, JsonObject *map, const char *prefix)
{
    g_autoptr(GList) members = json_object_get_members(map);
    for (GList *item = members; item != NULL; item = item->next) {
        const char *written = item->data;
        g_autofree char *name = g_strdup(written);
        if (c->format->dashes)
            g_strdelimit(name, "-", '_');
        Look look = {name, prefix, FALSE, NULL};
        for (const CliConfigKey *key = c->format->keys; key->path != NULL; key++)
            look_at(c, key->path, &look);
        for (const CliOlderKey *key = c->format->older; key != NULL && key->path != NULL; key++)
            look_at(c, key->older, &look);
        g_autofree char *meant = look.meant;
        if (look.known || meant == NULL)
            continue;
        g_ptr_array_add(
            c->warnings,
            g_strdup_printf("%s:%u: %s%s: not a key that is read; did you mean '%s'?",
                            conf_document_name(c->document),
                            conf_document_line(c->document, json_object_get_member(map, written)),
                            prefix, written, meant));
    }
}

/* The sections that a key is in, each once; `seen` (of char*) are those before. */
static gboolean
read_sections(CliConfig *c, const char *path, GPtrArray *seen, GError **error)
{
    for (const char *dot = strchr(path, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
        g_autofree char *section = g_strndup(path, (gsize)(dot - path));
        JsonNode *node = node_at(c, section);
        if (node == NULL || JSON_NODE_HOLDS_NULL(node) ||
            g_ptr_array_find_with_equal_func(seen, section, g_str_equal, NULL))
            continue;
        if (!JSON_NODE_HOLDS_OBJECT(node))
            return refuse_type(c, section, "keys and values", error);
        g_autofree char *prefix = g_strconcat(section, ".", NULL);
        warn_of_slips(c, json_node_get_object(node), prefix);
        g_ptr_array_add(seen, g_steal_pointer(&section));
    }
    return TRUE;
}

gboolean
cli_config_read_keys(CliConfig *c, GError **error)
{
    g_autoptr(GPtrArray) seen = g_ptr_array_new_with_free_func(g_free);
    warn_of_slips(c, conf_document_root(c->document), "");
    for (const CliConfigKey *key = c->format->keys; key->path != NULL; key++)
        if (!read_key(c, key, error) || !read_sections(c, key->path, seen, error))
            return FALSE;
    for (const CliOlderKey *key = c->format->older; key != NULL && key->path != NULL; key++)
        if (!read_sections(c, key->older, seen, error))
            return FALSE;
    return TRUE;
}
