/* PyTorch's observer writes ops without times (schema 1.0.1, 1.0.2-chakra.0.0.4); chakra_trace_link adds "exclusive_dur"
 * of a profile. */
#include "config.h"

#include "calibrate/chakra_json.h"

#include "calibrate/error.h"
#include "conf/json_stream.h"

#include <string.h>

typedef struct {
    char *schema;
    char key[24];
    gboolean in_nodes, is_schema;
    guint64 n_nodes, n_collectives, n_timed;
} Counter;

static gboolean
is_more_than_zero(const ConfJsonToken *t)
{
    g_autofree char *text = g_strndup(t->text, MIN(t->length, 40));
    return t->kind == CONF_JSON_NUMBER && g_ascii_strtod(text, NULL) > 0;
}

/* Depths: 1 what stands at the top, 2 a node, 3 its members. */
static gboolean
take(const ConfJsonToken *t, gpointer user, G_GNUC_UNUSED GError **error)
{
    Counter *c = user;
    if (t->depth == 1 && t->kind == CONF_JSON_KEY) {
        c->in_nodes = conf_json_is(t, "nodes");
        c->is_schema = conf_json_is(t, "schema");
    } else if (t->depth == 1 && c->is_schema && t->kind == CONF_JSON_TEXT && c->schema == NULL) {
        c->schema = g_strndup(t->text, MIN(t->length, 40));
    } else if (!c->in_nodes) {
        return TRUE;
    } else if (t->depth == 2 && t->kind == CONF_JSON_MAP) {
        c->n_nodes++;
    } else if (t->depth == 3 && t->kind == CONF_JSON_KEY) {
        conf_json_token_copy(t, c->key, sizeof c->key);
    } else if (t->depth == 3 && strcmp(c->key, "name") == 0) {
        c->n_collectives += t->length > 5 && memcmp(t->text, "nccl:", 5) == 0;
    } else if (t->depth == 3 && strcmp(c->key, "exclusive_dur") == 0) {
        c->n_timed += is_more_than_zero(t);
    }
    return TRUE;
}

static void
refuse(const char *name, Counter *c, gboolean read, GError **error)
{
    if (read && (c->n_nodes == 0 || c->schema == NULL))
        g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_KIND,
                    "%s: is JSON and no execution trace; write a Chakra trace (.et), or import it "
                    "as kineto where it is a profile",
                    name);
    else if (read)
        g_set_error(error, CALIBRATE_ERROR, CALIBRATE_ERROR_EMPTY,
                    "%s: is a PyTorch execution trace in JSON (schema %s) of %" G_GUINT64_FORMAT
                    " node%s, %" G_GUINT64_FORMAT " of them collectives, %s",
                    name, c->schema, c->n_nodes, c->n_nodes == 1 ? "" : "s", c->n_collectives,
                    c->n_timed > 0 ? "with times; write the .et that chakra_converter makes of it"
                                   : "and no node has a duration; write the .et that "
                                     "chakra_trace_link and chakra_converter make of it and of "
                                     "the profile of that run");
    g_free(c->schema);
}

void
calibrate_chakra_json_load(const char *path, GError **error)
{
    Counter c = {0};
    refuse(path, &c, conf_json_stream_load(path, take, &c, error), error);
}

void
calibrate_chakra_json_parse(const char *name, const char *text, gsize n, GError **error)
{
    Counter c = {0};
    refuse(name, &c, conf_json_stream_parse(name, text, n, take, &c, error), error);
}
