/* Reads a config.json: the family first, then its keys, then what the family itself implies. */
#include "config.h"

#include "llm/read.h"

#include "conf/complaint.h"
#include "llm/read_layers.h"
#include "llm/refuse.h"

#include <string.h>

/* --- overrides ------------------------------------------------------------------------------ */

/* VALUE as JSON would have it: number, true, false, null; anything else is text. Takes nothing. */
static JsonNode *
override_value(const char *text)
{
    JsonNode *node = json_node_alloc();
    char *end = NULL;
    gint64 integer = g_ascii_strtoll(text, &end, 10);
    if (*text != '\0' && *end == '\0') {
        return json_node_init_int(node, integer);
    }
    double real = g_ascii_strtod(text, &end);
    if (*text != '\0' && *end == '\0') {
        return json_node_init_double(node, real);
    }
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        return json_node_init_boolean(node, text[0] == 't');
    }
    if (strcmp(text, "null") == 0) {
        return json_node_init_null(node);
    }
    return json_node_init_string(node, text);
}

static gboolean
apply_override(const LlmSource *source, const char *assignment, GError **error)
{
    const char *equals = strchr(assignment, '=');
    if (!g_str_has_prefix(assignment, "model.") || equals == NULL || equals == assignment + 6) {
        g_set_error(error, LLM_ERROR, LLM_ERROR_SHAPE,
                    "'%s': not an override of the model; write model.KEY=VALUE", assignment);
        return FALSE;
    }
    g_autofree char *key = g_strndup(assignment + 6, (gsize)(equals - assignment - 6));
    g_autoptr(GPtrArray) known = llm_family_key_names(source->family);
    JsonObject *object = conf_json_root(source->text);
    if (!g_strv_contains((const char *const *)known->pdata, key) &&
        !json_object_has_member(object, key)) {
        g_autofree char *hint = conf_hint(key, (const char *const *)known->pdata);
        g_set_error(error, LLM_ERROR, LLM_ERROR_SHAPE,
                    "%s: model.%s: a %s config has no such key%s", conf_json_name(source->document),
                    key, source->family->model_type, hint);
        return FALSE;
    }
    LlmKey meaning = llm_family_key(source->family, key);
    if (meaning < LLM_N_KEYS) {
        const char *const *aliases = source->family->names[meaning];
        for (guint i = 0; i < LLM_N_ALIASES && aliases[i] != NULL; i++) {
            json_object_remove_member(object, aliases[i]);
        }
    }
    json_object_set_member(object, key, override_value(equals + 1));
    return TRUE;
}

/* Trained with dropout if any of the family's probabilities is above 0. */
static gboolean
read_dropout(const LlmSource *source, gboolean *ret, GError **error)
{
    gboolean any = FALSE;
    JsonObject *object = conf_json_root(source->text);
    for (guint i = 0; i < LLM_N_DROPOUTS && source->family->dropout[i] != NULL; i++) {
        const char *name = source->family->dropout[i];
        double probability = source->family->dropout_fallback;
        gboolean given = conf_json_has(source->text, name);
        if ((given && !llm_json_number(object, name, &probability)) || !(probability >= 0) ||
            probability >= 1) {
            conf_json_complain(source->text, name, error,
                               "expected a probability; write a number from 0 to below 1");
            return FALSE;
        }
        any |= probability > 0;
    }
    *ret = any;
    return TRUE;
}

/* --- groups of keys ------------------------------------------------------------------------- */

static gboolean
derive_sizes(const LlmSource *source, LlmShape *shape, GError **error)
{
    if (shape->kv_heads == 0) {
        shape->kv_heads = shape->heads;
    }
    if (shape->ffn == 0) {
        shape->ffn = 4 * shape->hidden;
    }
    if (shape->kv_lora > 0) { /* each query head has its own key and value, from the latent */
        shape->kv_heads = shape->heads;
        shape->head_dim = shape->qk_nope_dim + shape->qk_rope_dim;
    } else {
        shape->q_lora = shape->qk_nope_dim = shape->qk_rope_dim = shape->v_dim = 0;
    }
    if (shape->head_dim == 0 && shape->kv_lora == 0) {
        if (shape->hidden % shape->heads != 0) {
            conf_json_complain(source->text, source->family->names[LLM_KEY_HIDDEN][0], error,
                               "%" G_GINT64_FORMAT " is not a multiple of the %" G_GINT64_FORMAT
                               " heads; write a head count that divides it, or 'head_dim'",
                               shape->hidden, shape->heads);
            return FALSE;
        }
        shape->head_dim = shape->hidden / shape->heads;
    }
    if (shape->position == LLM_POSITION_LEARNED) {
        shape->position_rows = shape->max_positions + source->family->extra_position_rows;
    }
    return TRUE;
}

static gboolean
read_sizes(const LlmSource *source, LlmShape *shape, GError **error)
{
    const struct {
        LlmKey key;
        gint64 *value;
    } sizes[] = {
        {LLM_KEY_LAYERS, &shape->layers},       {LLM_KEY_HIDDEN, &shape->hidden},
        {LLM_KEY_HEADS, &shape->heads},         {LLM_KEY_KV_HEADS, &shape->kv_heads},
        {LLM_KEY_HEAD_DIM, &shape->head_dim},   {LLM_KEY_FFN, &shape->ffn},
        {LLM_KEY_VOCAB, &shape->vocab},         {LLM_KEY_POSITIONS, &shape->max_positions},
        {LLM_KEY_Q_LORA, &shape->q_lora},       {LLM_KEY_KV_LORA, &shape->kv_lora},
        {LLM_KEY_QK_NOPE, &shape->qk_nope_dim}, {LLM_KEY_QK_ROPE, &shape->qk_rope_dim},
        {LLM_KEY_V_DIM, &shape->v_dim},         {LLM_KEY_MTP, &shape->mtp_layers},
    };
    for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
        if (!llm_source_size(source, sizes[i].key, sizes[i].value, error)) {
            return FALSE;
        }
    }
    const char *equal = source->family->equals_hidden;
    gint64 other = shape->hidden;
    if (equal != NULL && !conf_json_int(source->text, equal, shape->hidden, &other, error)) {
        return FALSE;
    }
    if (other != shape->hidden) {
        g_set_error(error, LLM_ERROR, LLM_ERROR_UNSUPPORTED,
                    "%s: key %s: %" G_GINT64_FORMAT
                    " differs from the hidden size %" G_GINT64_FORMAT
                    ": projected embeddings are not supported yet; write them equal",
                    conf_json_name(source->document), equal, other, shape->hidden);
        return FALSE;
    }
    return derive_sizes(source, shape, error);
}

/* Biases: of attention and of QKV alone, of the MLP, of all linear layers, of the router. */
static gboolean
read_biases(const LlmSource *source, LlmShape *shape, GError **error)
{
    gboolean attention_bias = shape->out_bias;
    gboolean all_bias = TRUE;
    if (!llm_source_bool(source, LLM_KEY_ATTENTION_BIAS, &attention_bias, error) ||
        !llm_source_bool(source, LLM_KEY_MLP_BIAS, &shape->mlp_bias, error) ||
        !llm_source_bool(source, LLM_KEY_ALL_BIAS, &all_bias, error)) {
        return FALSE;
    }
    if (source->family->names[LLM_KEY_ATTENTION_BIAS][0] != NULL) {
        shape->qkv_bias = attention_bias;
        shape->out_bias = attention_bias;
    }
    shape->qkv_bias &= all_bias;
    shape->out_bias &= all_bias;
    shape->mlp_bias &= all_bias;
    shape->expert_bias &= all_bias;
    return llm_source_bool(source, LLM_KEY_QKV_BIAS, &shape->qkv_bias, error) &&
           llm_source_bool(source, LLM_KEY_ROUTER_BIAS, &shape->router_bias, error);
}

static gboolean
read_switches(const LlmSource *source, LlmShape *shape, GError **error)
{
    gboolean rms_norm = shape->norm == LLM_NORM_RMS;
    gboolean rotary = FALSE;
    if (!llm_source_bool(source, LLM_KEY_TIED, &shape->tied, error) ||
        !llm_source_bool(source, LLM_KEY_PARALLEL_RESIDUAL, &shape->parallel_residual, error) ||
        !llm_source_bool(source, LLM_KEY_NORM_BEFORE, &shape->final_norm, error) ||
        !llm_source_bool(source, LLM_KEY_GATED, &shape->gated, error) ||
        !llm_source_bool(source, LLM_KEY_QK_NORM, &shape->qk_norm, error) ||
        !llm_source_bool(source, LLM_KEY_RMS_NORM, &rms_norm, error) ||
        !llm_source_bool(source, LLM_KEY_ROTARY, &rotary, error) ||
        !read_biases(source, shape, error) || !read_dropout(source, &shape->dropout, error)) {
        return FALSE;
    }
    shape->norm = rms_norm ? LLM_NORM_RMS : LLM_NORM_LAYER;
    if (rotary) {
        shape->position = LLM_POSITION_ROPE;
    }
    /* Of a multimodal file the outer level may decide about tying. */
    if (source->text != source->document && !conf_json_has(source->text, "tie_word_embeddings")) {
        return conf_json_bool(source->document, "tie_word_embeddings", shape->tied, &shape->tied,
                              error);
    }
    return TRUE;
}

/* --- the document --------------------------------------------------------------------------- */

static gboolean
find_family(LlmSource *source, GError **error)
{
    const char *outer = NULL;
    if (!conf_json_text(source->document, "model_type", NULL, &outer, error)) {
        return FALSE;
    }
    const char *type = outer;
    if (source->text != source->document &&
        !conf_json_text(source->text, "model_type", outer, &type, error)) {
        return FALSE;
    }
    if (outer == NULL) {
        g_autofree char *supported = g_strjoinv(", ", (char **)llm_family_names());
        conf_json_complain(source->document, "model_type", error, "is missing; write one of %s",
                           supported);
        return FALSE;
    }
    JsonObject *text = conf_json_root(source->text);
    if (!llm_refuse_unsupported(source->document, text, outer, error) ||
        !llm_refuse_unsupported(source->document, text, type, error)) {
        return FALSE;
    }
    source->family = llm_family_find(type);
    return TRUE;
}

LlmShape *
llm_shape_read(const ConfJson *document, const char *name, const char *const *overrides,
               GError **error)
{
    GError *inner = NULL;
    g_autoptr(ConfJson) nested = conf_json_find_object(document, "text_config", &inner);
    if (inner != NULL) {
        g_propagate_error(error, inner);
        return NULL;
    }
    LlmSource source = {.document = document, .text = nested != NULL ? nested : document};
    if (!find_family(&source, error)) {
        return NULL;
    }
    for (guint i = 0; overrides != NULL && overrides[i] != NULL; i++) {
        if (!apply_override(&source, overrides[i], error)) {
            return NULL;
        }
    }
    /* An override may have changed the family, or turned an unsupported feature on. */
    if (!find_family(&source, error) ||
        !llm_refuse_misspelled(document, conf_json_root(source.text), source.family, error)) {
        return NULL;
    }
    g_autoptr(LlmShape) shape = g_new0(LlmShape, 1);
    *shape = source.family->traits;
    shape->name = g_strdup(name);
    shape->family = g_strdup(source.family->model_type);
    if (!read_switches(&source, shape, error) || !read_sizes(&source, shape, error) ||
        !llm_read_windows(&source, shape, error) || !llm_read_experts(&source, shape, error)) {
        return NULL;
    }
    if (!llm_shape_check(shape, error)) {
        g_prefix_error(error, "%s: ", conf_json_name(document));
        return NULL;
    }
    return g_steal_pointer(&shape);
}
