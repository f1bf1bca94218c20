/* PyTorch's list of process groups (torch/csrc/distributed/c10d: "## process_group:init ##"). A group without ranks is
 * of all of them. */
#include "config.h"

#include "calibrate/chakra_groups.h"

#include "conf/json_stream.h"

#include <string.h>

#define MOST_GROUPS 65536
#define MOST_RANKS 30 /* that are written down; a profile's list is as long */

typedef struct {
    GHashTable *groups;
    char key[16];
    char *name;
    GString *ranks;
    guint n_ranks;
    gint64 size;
} Reader;

static void
group_free(gpointer data)
{
    CalibrateChakraGroup *group = data;
    g_free(group->ranks);
    g_free(group);
}

GHashTable *
calibrate_chakra_groups_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, group_free);
}

gint64
calibrate_chakra_groups_world(const GHashTable *groups)
{
    const CalibrateChakraGroup *world = g_hash_table_lookup((GHashTable *)groups, "");
    return world != NULL ? world->size : -1;
}

static void
add_group(Reader *r, const char *name, gint64 size)
{
    CalibrateChakraGroup *group = g_new0(CalibrateChakraGroup, 1);
    group->size = size;
    group->ranks = g_strdup(r->n_ranks > 0 ? r->ranks->str : "0, 1");
    g_hash_table_insert(r->groups, g_strdup(name), group);
}

static void
end_group(Reader *r)
{
    gint64 size = r->size > 0 ? r->size : r->n_ranks;
    if (r->name != NULL && size > 0 && g_hash_table_size(r->groups) < MOST_GROUPS) {
        add_group(r, r->name, size);
        if (r->n_ranks == 0)
            add_group(r, "", size);
    }
    g_clear_pointer(&r->name, g_free);
    g_string_truncate(r->ranks, 0);
    r->n_ranks = 0;
    r->size = 0;
}

static void
take_member(Reader *r, const ConfJsonToken *t)
{
    g_autofree char *text = g_strndup(t->text, MIN(t->length, 64));
    gint64 value;
    if (strcmp(r->key, "pg_name") == 0 && t->kind == CONF_JSON_TEXT) {
        g_free(r->name);
        r->name = g_steal_pointer(&text);
    } else if (strcmp(r->key, "group_size") == 0 &&
               g_ascii_string_to_signed(text, 10, 1, 1 << 20, &value, NULL)) {
        r->size = value;
    }
}

static gboolean
take(const ConfJsonToken *t, gpointer user, G_GNUC_UNUSED GError **error)
{
    Reader *r = user;
    if (t->depth == 1 && t->kind == CONF_JSON_END_MAP)
        end_group(r);
    else if (t->depth == 2 && t->kind == CONF_JSON_KEY)
        conf_json_token_copy(t, r->key, sizeof r->key);
    else if (t->depth == 2 && t->kind >= CONF_JSON_TEXT)
        take_member(r, t);
    else if (t->depth == 3 && t->kind == CONF_JSON_NUMBER && strcmp(r->key, "ranks") == 0) {
        if (r->n_ranks < MOST_RANKS)
            g_string_append_printf(r->ranks, "%s%.*s", r->n_ranks > 0 ? ", " : "",
                                   (int)MIN(t->length, 10), t->text);
        r->n_ranks++;
    }
    return TRUE;
}

void
calibrate_chakra_groups_add(GHashTable *groups, const char *text)
{
    Reader r = {.groups = groups, .ranks = g_string_new(NULL)};
    g_autoptr(GError) refused = NULL;
    if (!conf_json_stream_parse("groups", text, strlen(text), take, &r, &refused))
        g_debug("list of groups: %s", refused->message);
    g_free(r.name);
    g_string_free(r.ranks, TRUE);
}
