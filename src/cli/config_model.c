/* The model of a framework's configuration file: as far as it was read, and what stands in its place. */
#include "config.h"

#include "cli/config_file.h"

#include "llm/read.h"

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
