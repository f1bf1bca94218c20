/* Refusals by name: features that are not modelled, and misspelt keys. */
#include "config.h"

#include "llm/refuse.h"

#include "conf/complaint.h"

#include <string.h>

typedef enum {
    MOE,
    MLA,
    LINEAR,
    SPARSE,
    ENCODER,
    PER_LAYER,
    BESIDE,
    SHARED_KV,
    N_FEATURES
} Feature;

static const char *const feature_names[N_FEATURES] = {
    [MOE] = "mixture of experts",
    [MLA] = "multi-head latent attention",
    [SPARSE] = "sparse attention",
    [LINEAR] = "linear attention (or a state space, recurrent or hybrid layer)",
    [ENCODER] = "an encoder-decoder",
    [PER_LAYER] = "a size that differs from layer to layer",
    [BESIDE] = "experts beside a dense MLP in one layer",
    [SHARED_KV] = "keys that serve as values or for several layers",
};

/* A key whose value says that the feature is there: a number above `above`, true, or text. Experts and
 * latent attention are modelled in the families that read the key. */
static const struct {
    const char *key;
    Feature feature;
    double above;
} markers[] = {
    {"num_experts", MOE, 1},
    {"num_local_experts", MOE, 1},
    {"n_routed_experts", MOE, 1},
    {"moe_num_experts", MOE, 1},
    {"num_moe_experts", MOE, 1},
    {"moe_intermediate_size", MOE, 0},
    {"num_experts_per_tok", MOE, 1},
    {"n_shared_experts", MOE, 0},
    {"enable_moe_block", BESIDE, 0},
    {"kv_lora_rank", MLA, 0},
    {"q_lora_rank", MLA, 0},
    {"qk_rope_head_dim", MLA, 0},
    {"linear_num_key_heads", LINEAR, 0},
    {"linear_num_value_heads", LINEAR, 0},
    {"full_attention_interval", LINEAR, 1},
    {"linear_conv_kernel_dim", LINEAR, 0},
    {"attn_layer_period", LINEAR, 1},
    {"mamba_d_state", LINEAR, 0},
    {"mamba_n_heads", LINEAR, 0},
    {"ssm_state_size", LINEAR, 0},
    {"ssm_cfg", LINEAR, 0},
    {"state_size", LINEAR, 0},
    {"time_mix_extra_dim", LINEAR, 0},
    {"lru_width", LINEAR, 0},
    {"is_encoder_decoder", ENCODER, 0},
    {"encoder_layers", ENCODER, 0},
    {"num_decoder_layers", ENCODER, 0},
    {"add_cross_attention", ENCODER, 0},
    {"block_configs", PER_LAYER, 0},
    {"global_head_dim", PER_LAYER, 0},
    {"num_global_key_value_heads", PER_LAYER, 0},
    {"attention_k_eq_v", SHARED_KV, 0},
    {"num_kv_shared_layers", SHARED_KV, 0},
    {"index_topk", SPARSE, 0},
};

gboolean
llm_json_number(JsonObject *object, const char *key, double *ret)
{
    JsonNode *node = json_object_get_member(object, key);
    if (node == NULL || !JSON_NODE_HOLDS_VALUE(node)) {
        return FALSE;
    }
    GType type = json_node_get_value_type(node);
    if (type == G_TYPE_INT64) {
        *ret = (double)json_node_get_int(node);
        return TRUE;
    }
    if (type == G_TYPE_DOUBLE) {
        *ret = json_node_get_double(node);
        return TRUE;
    }
    return FALSE;
}

static gboolean
says_more_than(JsonObject *object, const char *key, double above)
{
    JsonNode *node = json_object_get_member(object, key);
    if (node == NULL || JSON_NODE_HOLDS_NULL(node)) {
        return FALSE;
    }
    double number = 0;
    if (llm_json_number(object, key, &number)) {
        return number > above;
    }
    if (JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_BOOLEAN) {
        return json_node_get_boolean(node);
    }
    return TRUE;
}

/* "layer_types" and "layers_block_type" list what each layer is; only softmax attention is
 * modelled. */
static gboolean
has_other_layers(JsonObject *object, const char *key)
{
    JsonNode *node = json_object_get_member(object, key);
    if (node == NULL || !JSON_NODE_HOLDS_ARRAY(node)) {
        return FALSE;
    }
    JsonArray *array = json_node_get_array(node);
    for (guint i = 0; i < json_array_get_length(array); i++) {
        JsonNode *item = json_array_get_element(array, i);
        gboolean is_text =
            JSON_NODE_HOLDS_VALUE(item) && json_node_get_value_type(item) == G_TYPE_STRING;
        const char *what = is_text ? json_node_get_string(item) : "";
        if (strcmp(what, "full_attention") != 0 && strcmp(what, "sliding_attention") != 0 &&
            strcmp(what, "chunked_attention") != 0 && strcmp(what, "attention") != 0) {
            return TRUE;
        }
    }
    return FALSE;
}

/* A size given as a list, one entry a layer ("num_key_value_heads": [4, 8, ...]). */
static gboolean
has_listed_size(JsonObject *object)
{
    static const char *const sizes[] = {"intermediate_size", "num_key_value_heads",
                                        "num_attention_heads", "ffn_dim"};
    for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
        JsonNode *node = json_object_get_member(object, sizes[i]);
        if (node != NULL && JSON_NODE_HOLDS_ARRAY(node)) {
            return TRUE;
        }
    }
    return FALSE;
}

static double
count_experts(JsonObject *object)
{
    static const char *const counts[] = {"num_local_experts", "num_experts", "n_routed_experts",
                                         "moe_num_experts", "num_moe_experts"};
    double most = 0;
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
        double n = 0;
        if (llm_json_number(object, counts[i], &n)) {
            most = MAX(most, n);
        }
    }
    return most;
}

/* A model of no family of ours is not refused for its experts or latent attention: others have them. */
static gboolean
says_feature(JsonObject *object, guint marker, const LlmFamily *family)
{
    gboolean modelled = markers[marker].feature == MOE || markers[marker].feature == MLA;
    if (modelled && (family == NULL || llm_family_key(family, markers[marker].key) != LLM_N_KEYS)) {
        return FALSE;
    }
    return says_more_than(object, markers[marker].key, markers[marker].above);
}

/* The names of the features that are not modelled, joined by "and"; how many in *ret_n. */
static GString *
name_features(const ConfJson *document, JsonObject *text, const LlmFamily *family, guint *ret_n,
              gboolean *ret_experts)
{
    gboolean found[N_FEATURES] = {FALSE};
    JsonObject *const levels[] = {conf_json_root(document), text};
    for (guint level = 0; level < G_N_ELEMENTS(levels); level++) {
        for (guint i = 0; i < G_N_ELEMENTS(markers); i++) {
            if (says_feature(levels[level], i, family)) {
                found[markers[i].feature] = TRUE;
            }
        }
        found[LINEAR] |= has_other_layers(levels[level], "layer_types") ||
                         has_other_layers(levels[level], "layers_block_type");
        found[PER_LAYER] |= has_listed_size(levels[level]);
    }
    *ret_n = 0;
    *ret_experts = found[MOE];
    GString *what = g_string_new(NULL);
    for (guint i = 0; i < N_FEATURES; i++) {
        if (found[i]) {
            ++*ret_n;
            g_string_append_printf(what, "%s%s", what->len > 0 ? " and " : "", feature_names[i]);
        }
    }
    return what;
}

gboolean
llm_refuse_unsupported(const ConfJson *document, JsonObject *text, const char *model_type,
                       GError **error)
{
    const LlmFamily *family = llm_family_find(model_type);
    guint n_found = 0;
    gboolean has_experts = FALSE;
    g_autoptr(GString) what = name_features(document, text, family, &n_found, &has_experts);
    if (what->len == 0 && family != NULL) {
        return TRUE;
    }
    const char *const *names = llm_family_names();
    g_autofree char *supported = g_strjoinv(", ", (char **)names);
    if (what->len == 0) {
        g_autofree char *hint = conf_hint(model_type, names);
        g_set_error(error, LLM_ERROR, LLM_ERROR_UNSUPPORTED,
                    "%s: model_type '%s' is not supported yet; supported: %s%s",
                    conf_json_name(document), model_type, supported, hint);
        return FALSE;
    }
    double experts = has_experts ? count_experts(text) : 0;
    g_autofree char *detail =
        experts > 1 ? g_strdup_printf(" (%.0f experts)", experts) : g_strdup("");
    g_set_error(error, LLM_ERROR, LLM_ERROR_UNSUPPORTED,
                "%s: model_type '%s'%s: %s %s not supported yet; supported: %s",
                conf_json_name(document), model_type, detail, what->str, n_found > 1 ? "are" : "is",
                supported);
    return FALSE;
}

/* Levenshtein distance, with a cap on the lengths that are looked at. */
static guint
edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 40 };
    guint row[LONGEST + 1];
    gsize n = strlen(a);
    gsize m = strlen(b);
    if (n > LONGEST || m > LONGEST) {
        return LONGEST;
    }
    for (guint j = 0; j <= m; j++) {
        row[j] = j;
    }
    for (guint i = 1; i <= n; i++) {
        guint diagonal = row[0];
        row[0] = i;
        for (guint j = 1; j <= m; j++) {
            guint substitute = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = MIN(substitute, MIN(row[j], row[j - 1]) + 1);
        }
    }
    return row[m];
}

static gboolean
same_value(JsonObject *text, const char *a, const char *b)
{
    JsonNode *first = json_object_get_member(text, a);
    JsonNode *second = json_object_get_member(text, b);
    return second != NULL && json_node_equal(first, second);
}

/* The key that `name` was probably meant to be, if that key is absent, or if it says something else and differs
 * in one letter of a long name. In short names two letters are half the word (n_ctx, n_embd), so there only one
 * may differ. */
static const char *
find_meant(const char *name, JsonObject *text, const LlmFamily *family, const GPtrArray *known)
{
    const char *best = NULL;
    guint nearest = G_MAXUINT;
    for (guint i = 0; known->pdata[i] != NULL; i++) {
        const char *candidate = known->pdata[i];
        guint allowed = strlen(candidate) <= 7 ? 1 : 2;
        guint distance = edit_distance(name, candidate);
        if (distance > allowed || distance >= nearest) {
            continue;
        }
        gboolean given = json_object_has_member(text, candidate);
        LlmKey key = llm_family_key(family, candidate);
        for (guint j = 0; key < LLM_N_KEYS && j < LLM_N_ALIASES && family->names[key][j] != NULL;
             j++) {
            given |= json_object_has_member(text, family->names[key][j]);
        }
        if (distance == 1 && allowed > 1 && json_object_has_member(text, candidate)) {
            given = same_value(text, name, candidate);
        }
        if (!given) {
            nearest = distance;
            best = candidate;
        }
    }
    return best;
}

gboolean
llm_refuse_misspelled(const ConfJson *document, JsonObject *text, const LlmFamily *family,
                      GError **error)
{
    g_autoptr(GPtrArray) known = llm_family_key_names(family);
    g_autoptr(GList) members = json_object_get_members(text);
    for (GList *item = members; item != NULL; item = item->next) {
        const char *name = item->data;
        if (name[0] == '_' || g_strv_contains((const char *const *)known->pdata, name)) {
            continue;
        }
        const char *meant = find_meant(name, text, family, known);
        if (meant != NULL) {
            g_set_error(error, LLM_ERROR, LLM_ERROR_SHAPE,
                        "%s: key %s: no such key in a %s config; did you mean '%s'?",
                        conf_json_name(document), name, family->model_type, meant);
            return FALSE;
        }
    }
    return TRUE;
}
