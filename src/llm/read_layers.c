/* Windows and experts. Configs say with a rule or with a list which layers have them; lists are held against
 * the rules of LlmShape. */
#include "config.h"

#include "llm/read_layers.h"

#include <string.h>

static gboolean
refuse_list(const LlmSource *source, const char *name, const char *what, GError **error)
{
    g_set_error(error, LLM_ERROR, LLM_ERROR_UNSUPPORTED,
                "%s: key %s: not supported yet: %s; write null for the rule of a %s",
                conf_json_name(source->document), name, what, source->family->model_type);
    return FALSE;
}

static gboolean
complain_length(const LlmSource *source, const char *name, guint length, gint64 layers,
                GError **error)
{
    conf_json_complain(source->text, name, error,
                       "has %u entries for %" G_GINT64_FORMAT
                       " layers; write one for each layer, or null",
                       length, layers);
    return FALSE;
}

/* --- windows -------------------------------------------------------------------------------- */

static gboolean
is_global(JsonArray *types, guint i)
{
    JsonNode *item = json_array_get_element(types, i);
    gboolean is_text =
        JSON_NODE_HOLDS_VALUE(item) && json_node_get_value_type(item) == G_TYPE_STRING;
    const char *what = is_text ? json_node_get_string(item) : "";
    return strcmp(what, "sliding_attention") != 0 && strcmp(what, "chunked_attention") != 0;
}

/* "layer_types" decides where it is given: all of one kind, or every n-th layer global. */
static gboolean
read_layer_types(const LlmSource *source, LlmShape *shape, GError **error)
{
    static const char *const key = "layer_types";
    if (!conf_json_has(source->text, key)) {
        return TRUE;
    }
    JsonNode *node = json_object_get_member(conf_json_root(source->text), key);
    if (!JSON_NODE_HOLDS_ARRAY(node)) {
        conf_json_complain(source->text, key, error,
                           "expected a list; write one text for each layer, or null");
        return FALSE;
    }
    JsonArray *types = json_node_get_array(node);
    guint n = json_array_get_length(types);
    guint first = 0; /* the first global layer */
    while (first < n && is_global(types, first) == FALSE) {
        first++;
    }
    guint n_global = 0;
    gboolean periodic = TRUE;
    for (guint i = 0; i < n; i++) {
        n_global += is_global(types, i);
        periodic &= is_global(types, i) == ((i + 1) % (first + 1) == 0);
    }
    if (n_global == n) {
        shape->sliding_window = 0;
        return TRUE;
    }
    if (shape->sliding_window == 0) {
        conf_json_complain(
            source->text, key, error,
            "says that layer %u has a window, but none is given; write '%s', or null",
            first > 0 ? 0 : 1,
            source->family->names[LLM_KEY_WINDOW][0] != NULL
                ? source->family->names[LLM_KEY_WINDOW][0]
                : "full_attention");
        return FALSE;
    }
    if (n != shape->layers) {
        return complain_length(source, key, n, shape->layers, error);
    }
    if (!periodic) {
        return refuse_list(source, key, "a window in layers that are not all but every n-th",
                           error);
    }
    shape->global_every = n_global > 0 ? (gint64)first + 1 : 0;
    return TRUE;
}

/* Llama 4: 1 for layers with rotary positions, which attend within a chunk; 0 for those that see all. */
static gboolean
check_local_list(const LlmSource *source, const LlmShape *shape, GError **error)
{
    const char *key = source->family->local_list;
    g_autoptr(GArray) list = NULL;
    if (key == NULL || shape->sliding_window == 0) {
        return TRUE;
    }
    if (!llm_source_numbers(source, key, &list, error)) {
        return FALSE;
    }
    if (list != NULL && list->len != shape->layers) {
        return complain_length(source, key, list->len, shape->layers, error);
    }
    for (guint i = 0; list != NULL && i < list->len; i++) {
        if ((g_array_index(list, gint64, i) != 0) != (llm_shape_window(shape, i) > 0)) {
            return refuse_list(source, key,
                               "rotary positions in layers that are not all but every n-th", error);
        }
    }
    return TRUE;
}

/* Qwen: layers from max_window_layers on have the window. */
static gboolean
read_window_switch(const LlmSource *source, LlmShape *shape, GError **error)
{
    const char *window_switch = source->family->window_switch;
    gboolean in_use = FALSE;
    gint64 first = 0;
    if (window_switch == NULL) {
        return TRUE;
    }
    if (!conf_json_bool(source->text, window_switch, FALSE, &in_use, error) ||
        !conf_json_int(source->text, "max_window_layers", 0, &first, error)) {
        return FALSE;
    }
    if (!in_use || first >= shape->layers) {
        shape->sliding_window = 0;
    } else if (first > 0 && shape->sliding_window > 0 &&
               !conf_json_has(source->text, "layer_types")) {
        g_set_error(error, LLM_ERROR, LLM_ERROR_UNSUPPORTED,
                    "%s: key max_window_layers: a window from layer %" G_GINT64_FORMAT
                    " on is not supported yet; write 0 (all layers) or %" G_GINT64_FORMAT " (none)",
                    conf_json_name(source->document), first, shape->layers);
        return FALSE;
    }
    return TRUE;
}

gboolean
llm_read_windows(const LlmSource *source, LlmShape *shape, GError **error)
{
    if (source->family->names[LLM_KEY_WINDOW][0] != NULL &&
        (!llm_source_size(source, LLM_KEY_WINDOW, &shape->sliding_window, error) ||
         !llm_source_size(source, LLM_KEY_GLOBAL_EVERY, &shape->global_every, error) ||
         !read_window_switch(source, shape, error))) {
        return FALSE;
    }
    if (!read_layer_types(source, shape, error) || !check_local_list(source, shape, error)) {
        return FALSE;
    }
    if (shape->sliding_window == 0) {
        shape->global_every = 0;
        shape->window_is_chunk = FALSE;
    }
    return TRUE;
}

/* --- experts -------------------------------------------------------------------------------- */

/* Qwen's list of dense layers: the first so many. */
static gboolean
read_dense_list(const LlmSource *source, LlmShape *shape, GError **error)
{
    const char *key = source->family->dense_list;
    g_autoptr(GArray) list = NULL;
    if (key == NULL) {
        return TRUE;
    }
    if (!llm_source_numbers(source, key, &list, error)) {
        return FALSE;
    }
    for (guint i = 0; list != NULL && i < list->len; i++) {
        if (g_array_index(list, gint64, i) != i) {
            return refuse_list(source, key, "dense layers that are not the first ones in order",
                               error);
        }
    }
    shape->dense_layers = list != NULL ? list->len : 0;
    return TRUE;
}

/* Llama 4's list of layers with experts. */
static gboolean
check_moe_list(const LlmSource *source, const LlmShape *shape, GError **error)
{
    const char *key = source->family->moe_list;
    g_autoptr(GArray) list = NULL;
    if (key == NULL || !conf_json_has(source->text, key)) {
        return TRUE;
    }
    if (!llm_source_numbers(source, key, &list, error)) {
        return FALSE;
    }
    gboolean same = list != NULL && list->len == llm_shape_moe_layers(shape);
    for (guint i = 0; same && i < list->len; i++) {
        same = g_array_index(list, gint64, i) == (i + 1) * shape->moe_every - 1;
    }
    return same || refuse_list(source, key, "experts in layers that are not every n-th", error);
}

static gboolean
check_equals_one(const LlmSource *source, GError **error)
{
    const char *key = source->family->equals_one;
    gint64 value = 1;
    if (key == NULL) {
        return TRUE;
    }
    JsonNode *node = json_object_get_member(conf_json_root(source->text), key);
    if (node != NULL && JSON_NODE_HOLDS_ARRAY(node)) {
        return refuse_list(source, key, "a list of layers with experts", error);
    }
    if (!conf_json_int(source->text, key, 1, &value, error)) {
        return FALSE;
    }
    return value == 1 || refuse_list(source, key, "experts in every n-th layer", error);
}

static gboolean
read_shared(const LlmSource *source, LlmShape *shape, GError **error)
{
    gint64 n = 0;
    if (!llm_source_size(source, LLM_KEY_SHARED_FFN, &shape->shared_ffn, error) ||
        !llm_source_size(source, LLM_KEY_SHARED_EXPERTS, &n, error)) {
        return FALSE;
    }
    shape->shared_ffn += n * shape->expert_ffn;
    shape->shared_gate &= shape->shared_ffn > 0;
    return TRUE;
}

gboolean
llm_read_experts(const LlmSource *source, LlmShape *shape, GError **error)
{
    if (!llm_source_size(source, LLM_KEY_EXPERTS, &shape->experts, error)) {
        return FALSE;
    }
    if (shape->experts == 0) {
        shape->router_bias = shape->expert_bias = shape->shared_gate = FALSE;
        return TRUE;
    }
    if (!llm_source_size(source, LLM_KEY_EXPERTS_PER_TOKEN, &shape->experts_per_token, error) ||
        !llm_source_size(source, LLM_KEY_EXPERT_FFN, &shape->expert_ffn, error) ||
        !llm_source_size(source, LLM_KEY_DENSE_LAYERS, &shape->dense_layers, error) ||
        !llm_source_size(source, LLM_KEY_MOE_EVERY, &shape->moe_every, error)) {
        return FALSE;
    }
    if (shape->expert_ffn == 0) {
        shape->expert_ffn = shape->ffn;
    }
    if (!llm_source_size(source, LLM_KEY_ROUTE_GROUPS, &shape->route_groups, error) ||
        !llm_source_size(source, LLM_KEY_ROUTE_LIMIT, &shape->route_limit, error)) {
        return FALSE;
    }
    if (shape->route_groups <= 1 || shape->route_limit >= shape->route_groups) {
        shape->route_groups = shape->route_limit = 0; /* every expert may be chosen */
    }
    return read_shared(source, shape, error) && check_equals_one(source, error) &&
           read_dense_list(source, shape, error) && check_moe_list(source, shape, error);
}
