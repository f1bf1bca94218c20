/* Single keys of a framework's configuration file, and the tables of them. */
#include "config.h"

#include "cli/config_file.h"

#include "cli/command.h"
#include "conf/complaint.h"
#include "llm/read.h"

#include <math.h>
#include <string.h>

/* --- places ------------------------------------------------------------------------------------- */

static JsonNode *
node_at(const CliConfig *c, const char *path)
{
    JsonNode *node = conf_document_find(c->document, path);
    if (node != NULL || !c->format->dashes)
        return node;
    g_autofree char *dashed = g_strdelimit(g_strdup(path), "_", '-');
    return conf_document_find(c->document, dashed);
}

/* "FILE:12: a.b", or the file alone where there is no such key. */
static char *
place_of(const CliConfig *c, const char *path)
{
    const char *file = conf_document_name(c->document);
    JsonNode *node = path != NULL ? node_at(c, path) : NULL;
    if (node == NULL)
        return g_strdup(file);
    return g_strdup_printf("%s:%u: %s", file, conf_document_line(c->document, node), path);
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

/* --- what was typed ----------------------------------------------------------------------------- */

gboolean
cli_config_is_typed(const CliConfig *c, const char *option)
{
    return cli_inputs_is_given(c->in, option) || cli_inputs_is_axis(c->in, option);
}

gint64
cli_config_effective(const CliConfig *c, const char *option, gint64 of_file)
{
    const CliOption *o = cli_option_find(option);
    g_assert(o != NULL && o->type == CLI_OPTION_COUNT);
    if (cli_inputs_is_axis(c->in, option))
        return 0;
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

/* --- the model ---------------------------------------------------------------------------------- */

LlmShape *
cli_config_shape(const CliConfig *c, const char *name)
{
    g_autoptr(GPtrArray) sets = g_ptr_array_new();
    for (guint i = 0; i < c->in->sets->len; i++)
        if (g_str_has_prefix(c->in->sets->pdata[i], "model."))
            g_ptr_array_add(sets, c->in->sets->pdata[i]);
    g_ptr_array_add(sets, NULL);
    const char *const *overrides = (const char *const *)sets->pdata;
    if (c->in->model != NULL || name != NULL)
        return llm_shape_load(c->in->model != NULL ? c->in->model : name, overrides, NULL);
    if (c->model == NULL)
        return NULL;
    g_autoptr(JsonNode) root = json_node_init_object(json_node_alloc(), c->model);
    g_autofree char *text = json_to_string(root, FALSE);
    g_autoptr(ConfJson) json = conf_json_parse(conf_document_name(c->document), text, NULL);
    return json == NULL ? NULL : llm_shape_read(json, "model", overrides, NULL);
}

void
cli_config_model(CliConfig *c, const char *key, JsonNode *value)
{
    if (c->model == NULL)
        c->model = json_object_new();
    json_object_set_member(c->model, key, value);
}

void
cli_config_model_count(CliConfig *c, const char *key, gint64 value)
{
    cli_config_model(c, key, json_node_init_int(json_node_alloc(), value));
}

void
cli_config_model_flag(CliConfig *c, const char *key, gboolean value)
{
    cli_config_model(c, key, json_node_init_boolean(json_node_alloc(), value));
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
    JsonNode *node = node_at(c, key->path);
    if (node != NULL && is_auto(c, node)) {
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
        if (!is_usual(node, key->option))
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

/* Keys of one map, at `prefix`, against those that the table has there. */
static void
warn_of_slips(CliConfig *c, JsonObject *map, const char *prefix)
{
    gsize n = strlen(prefix);
    g_autoptr(GList) members = json_object_get_members(map);
    for (GList *item = members; item != NULL; item = item->next) {
        const char *meant = NULL;
        gboolean known = FALSE;
        g_autofree char *name = g_strdup(item->data);
        if (c->format->dashes)
            g_strdelimit(name, "-", '_');
        for (const CliConfigKey *key = c->format->keys; key->path != NULL && !known; key++) {
            if (strncmp(key->path, prefix, n) != 0)
                continue;
            g_autofree char *part = g_strndup(key->path + n, strcspn(key->path + n, "."));
            g_autofree char *path = g_strconcat(prefix, part, NULL);
            known = strcmp(part, name) == 0;
            if (is_slip(name, part) && node_at(c, path) == NULL)
                meant = key->path;
        }
        if (known || meant == NULL)
            continue;
        g_ptr_array_add(c->warnings,
                        g_strdup_printf("%s:%u: %s%s: not a key that is read; did you mean "
                                        "'%.*s'?",
                                        conf_document_name(c->document),
                                        conf_document_line(c->document,
                                                           json_object_get_member(map, item->data)),
                                        prefix, (const char *)item->data,
                                        (int)strcspn(meant + n, "."), meant + n));
    }
}

gboolean
cli_config_read_keys(CliConfig *c, GError **error)
{
    g_autoptr(GPtrArray) seen = g_ptr_array_new_with_free_func(g_free);
    warn_of_slips(c, conf_document_root(c->document), "");
    for (const CliConfigKey *key = c->format->keys; key->path != NULL; key++) {
        if (!read_key(c, key, error))
            return FALSE;
        for (const char *dot = strchr(key->path, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
            g_autofree char *section = g_strndup(key->path, (gsize)(dot - key->path));
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
    }
    return TRUE;
}
