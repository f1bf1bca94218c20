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

static void
print_window(JsonObject *object, const LlmFamily *family, const LlmShape *shape)
{
    const char *name = family->names[LLM_KEY_WINDOW][0];
    if (name == NULL || family->window_in_some_layers) {
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
        [LLM_KEY_LAYERS] = shape->layers,     [LLM_KEY_HIDDEN] = shape->hidden,
        [LLM_KEY_HEADS] = shape->heads,       [LLM_KEY_KV_HEADS] = shape->kv_heads,
        [LLM_KEY_HEAD_DIM] = shape->head_dim, [LLM_KEY_FFN] = shape->ffn,
        [LLM_KEY_VOCAB] = shape->vocab,       [LLM_KEY_POSITIONS] = shape->max_positions,
    };
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "model_type", family->model_type);
    for (guint key = 0; key < LLM_KEY_WINDOW; key++) {
        if (family->names[key][0] != NULL) {
            json_object_set_int_member(object, family->names[key][0], sizes[key]);
        }
    }
    print_window(object, family, shape);
    print_switches(object, family, shape);
    print_dropout(object, family, shape);
    g_autoptr(JsonNode) root = json_node_alloc();
    json_node_init_object(root, object);
    json_object_unref(object);
    g_autofree char *text = json_to_string(root, TRUE);
    return g_strconcat(text, "\n", NULL);
}
