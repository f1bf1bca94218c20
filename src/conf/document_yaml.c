/* YAML as a document: libyaml's events, scalars as PyYAML's SafeLoader resolves them (YAML 1.1), for that is what
 * the frameworks read with. So `yes` is true and `1e9`, without a dot, is text. Not read: merge keys, tags of other
 * programs, keys that are no scalars, several documents. Dates and numbers to base 60 stay text. */
#include "config.h"

#include "conf/tree.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <yaml.h>

#define NODES_MOST 200000 /* with what aliases repeat */

/* What has an anchor, from when it is whole. */
typedef struct {
    char *name;
    JsonNode *node; /* borrowed from the tree */
    guint size;     /* nodes in it */
} Anchor;

/* A map or list that is open: its anchor, and how many nodes there were before it. */
typedef struct {
    char *anchor;
    guint nodes_before;
} Room;

typedef struct {
    ConfDocument *document;
    ConfTree *tree;
    GArray *anchors; /* of Anchor */
    GArray *rooms;   /* of Room */
    guint nodes;
} Reader;

static void
anchor_clear(gpointer anchor)
{
    g_free(((Anchor *)anchor)->name);
    json_node_unref(((Anchor *)anchor)->node);
}

static void
room_clear(gpointer room)
{
    g_free(((Room *)room)->anchor);
}

static void
remember(Reader *r, const char *name, JsonNode *node, guint size)
{
    if (name == NULL)
        return;
    Anchor anchor = {g_strdup(name), json_node_ref(node), size};
    g_array_append_val(r->anchors, anchor);
}

/* --- scalars ------------------------------------------------------------------------------------ */

static gboolean
is_one_of(const char *text, const char *lower)
{
    g_autofree char *upper = g_ascii_strup(lower, -1);
    g_autofree char *title = g_strdup(lower);
    title[0] = g_ascii_toupper(title[0]);
    return strcmp(text, lower) == 0 || strcmp(text, upper) == 0 || strcmp(text, title) == 0;
}

/* Without its underscores. */
static char *
digits_of(const char *text)
{
    GString *digits = g_string_new(NULL);
    for (; *text != '\0'; text++)
        if (*text != '_')
            g_string_append_c(digits, *text);
    return g_string_free(digits, FALSE);
}

static gboolean
is_only(const char *text, const char *of)
{
    return text[0] != '\0' && text[strspn(text, of)] == '\0';
}

/* [-+] and 0b101, 0x1f, 017 or 15, with underscores; larger than 64 bits become floats. */
static JsonNode *
whole_number(const char *text)
{
    const char *bare = text + (*text == '-' || *text == '+');
    gboolean zero = bare[0] == '0' && bare[1] != '\0';
    gboolean binary = zero && bare[1] == 'b' && is_only(bare + 2, "01_");
    gboolean hex = zero && bare[1] == 'x' && is_only(bare + 2, "0123456789abcdefABCDEF_");
    gboolean octal = zero && is_only(bare + 1, "01234567_");
    gboolean decimal = !zero && g_ascii_isdigit(bare[0]) && is_only(bare, "0123456789_");
    if (!binary && !hex && !octal && !decimal)
        return NULL;
    g_autofree char *digits = digits_of(bare + (binary || hex ? 2 : 0));
    char *end = NULL;
    errno = 0;
    guint64 value = g_ascii_strtoull(digits, &end, binary ? 2 : hex ? 16 : octal ? 8 : 10);
    if (end == digits)
        return NULL;
    JsonNode *node = json_node_alloc();
    if (errno == 0 && value <= G_MAXINT64)
        return json_node_init_int(node, *text == '-' ? -(gint64)value : (gint64)value);
    double large = g_ascii_strtod(digits, NULL);
    return json_node_init_double(node, *text == '-' ? -large : large);
}

/* [-+] and 1.5, 1., .5, 1.5e+9 (the sign of the exponent must stand), .inf or .nan. */
static JsonNode *
real_number(const char *text)
{
    const char *bare = text + (*text == '-' || *text == '+');
    const char *whole = bare + strspn(bare, "0123456789_");
    if (*whole != '.' || bare[0] == '_')
        return NULL;
    const char *after = whole + 1 + strspn(whole + 1, "0123456789_");
    const char *end = after;
    if ((*end == 'e' || *end == 'E') && (end[1] == '-' || end[1] == '+') && g_ascii_isdigit(end[2]))
        end += 2 + strspn(end + 2, "0123456789");
    gboolean any = whole > bare || g_ascii_isdigit(whole[1]);
    if (any && *end == '\0') {
        g_autofree char *digits = digits_of(text);
        return json_node_init_double(json_node_alloc(), g_ascii_strtod(digits, NULL));
    }
    if (whole > bare)
        return NULL;
    if (is_one_of(whole + 1, "inf"))
        return json_node_init_double(json_node_alloc(), *text == '-' ? -INFINITY : INFINITY);
    if (bare == text && (is_one_of(whole + 1, "nan") || strcmp(whole, ".NaN") == 0))
        return json_node_init_double(json_node_alloc(), NAN);
    return NULL;
}

static JsonNode *
plain_scalar(const char *text)
{
    static const char *const yes[] = {"true", "yes", "on"}, *const no[] = {"false", "no", "off"};
    if (text[0] == '\0' || strcmp(text, "~") == 0 || is_one_of(text, "null"))
        return json_node_init_null(json_node_alloc());
    for (guint i = 0; i < G_N_ELEMENTS(yes); i++)
        if (is_one_of(text, yes[i]) || is_one_of(text, no[i]))
            return json_node_init_boolean(json_node_alloc(), is_one_of(text, yes[i]));
    JsonNode *node = whole_number(text);
    return node != NULL ? node : real_number(text);
}

static gboolean
scalar_node(Reader *r, const yaml_event_t *event, guint line, JsonNode **ret, GError **error)
{
    const char *text = (const char *)event->data.scalar.value;
    const char *tag = (const char *)event->data.scalar.tag;
    gboolean plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (strlen(text) != event->data.scalar.length)
        return conf_document_refuse(r->document, line, error, "a NUL byte in a text");
    if (tag != NULL && strcmp(tag, "!") != 0 && strcmp(tag, YAML_STR_TAG) != 0 &&
        strcmp(tag, YAML_INT_TAG) != 0 && strcmp(tag, YAML_FLOAT_TAG) != 0 &&
        strcmp(tag, YAML_BOOL_TAG) != 0 && strcmp(tag, YAML_NULL_TAG) != 0)
        return conf_document_refuse(r->document, line, error, "tag '%s' is not known; leave it out",
                                    tag);
    gboolean is_text =
        tag != NULL ? strcmp(tag, "!") == 0 || strcmp(tag, YAML_STR_TAG) == 0 : !plain;
    JsonNode *node = is_text ? NULL : plain_scalar(text);
    *ret = node != NULL ? node : json_node_init_string(json_node_alloc(), text);
    return TRUE;
}

/* --- events ------------------------------------------------------------------------------------- */

static gboolean
count(Reader *r, guint n, guint line, GError **error)
{
    r->nodes += n;
    return r->nodes <= NODES_MOST ||
           conf_document_refuse(r->document, line, error, "more than %d values", NODES_MOST);
}

static gboolean
on_scalar(Reader *r, const yaml_event_t *event, guint line, GError **error)
{
    const char *text = (const char *)event->data.scalar.value;
    if (conf_tree_is_in_map(r->tree) && !conf_tree_has_key(r->tree)) {
        if (strlen(text) != event->data.scalar.length)
            return conf_document_refuse(r->document, line, error, "a NUL byte in a key");
        if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strcmp(text, "<<") == 0)
            return conf_document_refuse(r->document, line, error,
                                        "merge keys are not read; write the keys themselves");
        conf_tree_key(r->tree, text, -1, line);
        return TRUE;
    }
    JsonNode *node = NULL;
    if (!count(r, 1, line, error) || !scalar_node(r, event, line, &node, error) ||
        !conf_tree_put(r->tree, node, line, error))
        return FALSE;
    remember(r, (const char *)event->data.scalar.anchor, node, 1);
    return TRUE;
}

static gboolean
on_open(Reader *r, JsonNodeType type, const yaml_char_t *anchor, guint line, GError **error)
{
    if (conf_tree_is_in_map(r->tree) && !conf_tree_has_key(r->tree))
        return conf_document_refuse(r->document, line, error,
                                    "a map or list as a key; write a word");
    Room room = {g_strdup((const char *)anchor), r->nodes};
    g_array_append_val(r->rooms, room);
    return count(r, 1, line, error) && conf_tree_open(r->tree, type, line, error);
}

static void
on_close(Reader *r)
{
    JsonNode *node = conf_tree_close(r->tree);
    const Room *room = &g_array_index(r->rooms, Room, r->rooms->len - 1);
    remember(r, room->anchor, node, r->nodes - room->nodes_before);
    g_array_set_size(r->rooms, r->rooms->len - 1);
}

static gboolean
on_alias(Reader *r, const char *name, guint line, GError **error)
{
    const Anchor *anchor = NULL;
    for (guint i = r->anchors->len; i-- > 0 && anchor == NULL;)
        if (strcmp(g_array_index(r->anchors, Anchor, i).name, name) == 0)
            anchor = &g_array_index(r->anchors, Anchor, i);
    if (anchor == NULL)
        return conf_document_refuse(r->document, line, error, "*%s: there is no &%s before it",
                                    name, name);
    if (conf_tree_is_in_map(r->tree) && !conf_tree_has_key(r->tree))
        return conf_document_refuse(r->document, line, error, "*%s as a key; write a word", name);
    return count(r, anchor->size, line, error) &&
           conf_tree_put(r->tree, json_node_copy(anchor->node), line, error);
}

/* *ret_more: FALSE at the end. */
static gboolean
on_event(Reader *r, const yaml_event_t *event, gboolean *ret_more, GError **error)
{
    guint line = (guint)event->start_mark.line + 1;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return on_scalar(r, event, line, error);
    case YAML_MAPPING_START_EVENT:
        return on_open(r, JSON_NODE_OBJECT, event->data.mapping_start.anchor, line, error);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(r, JSON_NODE_ARRAY, event->data.sequence_start.anchor, line, error);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        on_close(r);
        return TRUE;
    case YAML_ALIAS_EVENT:
        return on_alias(r, (const char *)event->data.alias.anchor, line, error);
    case YAML_DOCUMENT_START_EVENT:
        return !conf_tree_is_done(r->tree) ||
               conf_document_refuse(r->document, line, error,
                                    "a second document begins; write one in a file");
    case YAML_STREAM_END_EVENT:
        *ret_more = FALSE;
        return conf_tree_is_done(r->tree) ||
               conf_document_refuse(r->document, line, error, "is empty; write key: value");
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return TRUE;
}

static gboolean
read_events(Reader *r, yaml_parser_t *parser, GError **error)
{
    for (gboolean more = TRUE; more;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event)) {
            gboolean context = parser->context != NULL && parser->problem_mark.line == 0;
            gsize line = context ? parser->context_mark.line : parser->problem_mark.line;
            return conf_document_refuse(r->document, (guint)line + 1, error, "not YAML: %s",
                                        parser->problem != NULL ? parser->problem
                                                                : "it cannot be read");
        }
        gboolean ok = on_event(r, &event, &more, error);
        yaml_event_delete(&event);
        if (!ok)
            return FALSE;
    }
    return TRUE;
}

static gboolean
yaml_parse(ConfDocument *document, const char *text, GError **error)
{
    g_autoptr(ConfTree) tree = conf_tree_new(document);
    g_autoptr(GArray) anchors = g_array_new(FALSE, FALSE, sizeof(Anchor));
    g_autoptr(GArray) rooms = g_array_new(FALSE, FALSE, sizeof(Room));
    g_array_set_clear_func(anchors, anchor_clear);
    g_array_set_clear_func(rooms, room_clear);
    Reader reader = {.document = document, .tree = tree, .anchors = anchors, .rooms = rooms};
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        g_error("out of memory");
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
    gboolean done = read_events(&reader, &parser, error);
    yaml_parser_delete(&parser);
    return done;
}

const ConfSyntax conf_yaml_syntax = {"YAML", {".yml", ".yaml", NULL}, yaml_parse};
