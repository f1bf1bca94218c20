/* A shape as a config.json of its family: what models/ hold, and a valid input again. */
#include "config.h"

#include "llm/family.h"

#include <string.h>

static void
print_dropout(JsonObject *object, const LlmFamily *family, const LlmShape *shape)
{
    double probability = family->dropout_fallback > 0 ? family->dropout_fallback : 0.1;
    for (guint i = 0; i < LLM_N_DROPOUTS && family->dropout[i] != NULL; i++) {
        json_object_set_double_member(object, family->dropout[i],
                                      shape->dropout ? probability : 0.0);
    }
}

/* A list is written only where no key says which layers are global and the family's rule is another. */
static void
print_layer_types(JsonObject *object, const LlmFamily *family, const LlmShape *shape)
{
    gboolean has_key = family->names[LLM_KEY_GLOBAL_EVERY][0] != NULL && shape->global_every > 0;
    if (shape->sliding_window == 0 || has_key ||
        shape->global_every == family->fallback[LLM_KEY_GLOBAL_EVERY]) {
        return;
    }
    const char *local = shape->window_is_chunk ? "chunked_attention" : "sliding_attention";
    JsonArray *types = json_array_new();
    for (gint64 i = 0; i < shape->layers; i++) {
        json_array_add_string_element(types,
                                      llm_shape_window(shape, i) > 0 ? local : "full_attention");
    }
    json_object_set_array_member(object, "layer_types", types);
}

static void
print_window(JsonObject *object, const LlmFamily *family, const LlmShape *shape)
{
    const char *name = family->names[LLM_KEY_WINDOW][0];
    if (name == NULL) {
        return;
    }
    if (shape->sliding_window > 0) {
        json_object_set_int_member(object, name, shape->sliding_window);
    } else {
        json_object_set_null_member(object, name);
    }
    if (family->window_switch != NULL) {
        json_object_set_boolean_member(object, family->window_switch, shape->sliding_window > 0);
    }
    print_layer_types(object, family, shape);
}

static void
print_dense_list(JsonObject *object, const LlmFamily *family, const LlmShape *shape)
{
    if (family->dense_list == NULL) {
        return;
    }
    JsonArray *dense = json_array_new();
    for (gint64 i = 0; i < shape->dense_layers; i++) {
        json_array_add_int_element(dense, i);
    }
    json_object_set_array_member(object, family->dense_list, dense);
}

static void
print_switches(JsonObject *object, const LlmFamily *family, const LlmShape *shape)
{
    const struct {
        LlmKey key;
        gboolean value;
    } switches[] = {
        {LLM_KEY_TIED, shape->tied},
        {LLM_KEY_ATTENTION_BIAS, shape->out_bias},
        {LLM_KEY_MLP_BIAS, shape->mlp_bias},
        {LLM_KEY_QKV_BIAS, shape->qkv_bias},
        {LLM_KEY_ROUTER_BIAS, shape->router_bias},
        {LLM_KEY_GATED, shape->gated},
        {LLM_KEY_RMS_NORM, shape->norm == LLM_NORM_RMS},
        {LLM_KEY_ROTARY, shape->position == LLM_POSITION_ROPE},
        {LLM_KEY_QK_NORM, shape->qk_norm},
        {LLM_KEY_ALL_BIAS, shape->out_bias},
        {LLM_KEY_PARALLEL_RESIDUAL, shape->parallel_residual},
        {LLM_KEY_NORM_BEFORE, shape->final_norm},
    };
    for (guint i = 0; i < G_N_ELEMENTS(switches); i++) {
        const char *name = family->names[switches[i].key][0];
        if (name != NULL) {
            json_object_set_boolean_member(object, name, switches[i].value);
        }
    }
}

char *
llm_shape_print(const LlmShape *shape)
{
    const LlmFamily *family = shape->family != NULL ? llm_family_find(shape->family) : NULL;
    if (family == NULL) {
        family = llm_family_find(shape->gated ? "llama" : "gpt");
    }
    const gint64 sizes[LLM_KEY_WINDOW] = {
        [LLM_KEY_LAYERS] = shape->layers,
        [LLM_KEY_HIDDEN] = shape->hidden,
        [LLM_KEY_HEADS] = shape->heads,
        [LLM_KEY_KV_HEADS] = shape->kv_heads,
        [LLM_KEY_HEAD_DIM] = shape->head_dim,
        [LLM_KEY_FFN] = shape->ffn,
        [LLM_KEY_VOCAB] = shape->vocab,
        [LLM_KEY_POSITIONS] = shape->max_positions,
        [LLM_KEY_GLOBAL_EVERY] =
            shape->global_every > 0 ? shape->global_every : family->fallback[LLM_KEY_GLOBAL_EVERY],
        [LLM_KEY_EXPERTS] = shape->experts,
        [LLM_KEY_EXPERTS_PER_TOKEN] = shape->experts_per_token,
        [LLM_KEY_EXPERT_FFN] = shape->expert_ffn,
        [LLM_KEY_SHARED_FFN] = shape->shared_ffn,
        [LLM_KEY_SHARED_EXPERTS] =
            shape->expert_ffn > 0 ? shape->shared_ffn / shape->expert_ffn : 0,
        [LLM_KEY_DENSE_LAYERS] = shape->dense_layers,
        [LLM_KEY_MOE_EVERY] = MAX(shape->moe_every, 1),
        [LLM_KEY_Q_LORA] = shape->q_lora,
        [LLM_KEY_KV_LORA] = shape->kv_lora,
        [LLM_KEY_QK_NOPE] = shape->qk_nope_dim,
        [LLM_KEY_QK_ROPE] = shape->qk_rope_dim,
        [LLM_KEY_V_DIM] = shape->v_dim,
        [LLM_KEY_MTP] = shape->mtp_layers,
        [LLM_KEY_ROUTE_GROUPS] = MAX(shape->route_groups, 1),
        [LLM_KEY_ROUTE_LIMIT] = MAX(shape->route_limit, 1),
    };
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "model_type", family->model_type);
    for (guint key = 0; key < LLM_KEY_WINDOW; key++) {
        if (family->names[key][0] != NULL) {
            json_object_set_int_member(object, family->names[key][0], sizes[key]);
        }
    }
    print_window(object, family, shape);
    print_dense_list(object, family, shape);
    print_switches(object, family, shape);
    print_dropout(object, family, shape);
    g_autoptr(JsonNode) root = json_node_alloc();
    json_node_init_object(root, object);
    json_object_unref(object);
    g_autofree char *text = json_to_string(root, TRUE);
    return g_strconcat(text, "\n", NULL);
}
