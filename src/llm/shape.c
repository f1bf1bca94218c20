/* Shapes by name or path: finding the file, checking, printing. */
#include "config.h"

#include "llm/read.h"

#include "conf/complaint.h"
#include "conf/datadir.h"
#include "llm/family.h"
#include "llm/parameters.h"

#include <string.h>

G_DEFINE_QUARK(llm_error_quark, llm_error)

void
llm_shape_free(LlmShape *shape)
{
    if (shape != NULL) {
        g_free(shape->name);
        g_free(shape->family);
        g_free(shape);
    }
}

gboolean
llm_shape_is_moe(const LlmShape *shape, gint64 layer)
{
    return shape->experts > 0 && layer >= shape->dense_layers &&
           (shape->moe_every <= 1 || (layer + 1) % shape->moe_every == 0);
}

gint64
llm_shape_moe_layers(const LlmShape *shape)
{
    if (shape->experts == 0 || shape->dense_layers >= shape->layers) {
        return 0;
    }
    gint64 every = MAX(shape->moe_every, 1);
    return shape->layers / every - shape->dense_layers / every;
}

gint64
llm_shape_window(const LlmShape *shape, gint64 layer)
{
    gboolean global = shape->global_every > 0 && (layer + 1) % shape->global_every == 0;
    return global ? 0 : shape->sliding_window;
}

/* --- check ---------------------------------------------------------------------------------- */

/* Parameters in double: an upper bound that cannot overflow. */
static double
estimate_parameters(const LlmShape *s)
{
    double h = (double)s->hidden;
    double heads = (double)s->heads;
    double latents = (double)s->q_lora + (double)s->kv_lora + (double)s->qk_rope_dim;
    double widest = MAX(h, latents);
    double attention =
        h * (double)s->head_dim * 2.0 * (heads + (double)s->kv_heads) + h * latents +
        widest * heads *
            (2.0 * (double)s->qk_nope_dim + (double)s->qk_rope_dim + 2.0 * (double)s->v_dim);
    double mlp = 3.0 * h * ((double)s->ffn + (double)s->shared_ffn);
    double small =
        32.0 * (h + (double)s->ffn + (double)s->shared_ffn + latents + (double)s->head_dim * heads);
    double experts = (double)s->experts * (3.0 * h * (double)s->expert_ffn +
                                           3.0 * (double)s->expert_ffn + 2.0 * h + 1.0);
    double layer = attention + mlp + small + experts;
    return ((double)s->layers + (double)s->mtp_layers) * layer +
           (double)s->mtp_layers * (2.0 * h * h + 6.0 * h) +
           h * (2.0 * (double)s->vocab + (double)s->position_rows) + (double)s->vocab + 8.0 * h;
}

static gboolean
check_sizes(const LlmShape *shape, GError **error)
{
    const struct {
        const char *what;
        gint64 value;
        gint64 least;
    } sizes[] = {
        {"layers", shape->layers, 1},
        {"hidden size", shape->hidden, 1},
        {"attention heads", shape->heads, 1},
        {"key-value heads", shape->kv_heads, 1},
        {"head dimension", shape->head_dim, 1},
        {"feed-forward size", shape->ffn, 1},
        {"vocabulary", shape->vocab, 1},
        {"positions", shape->max_positions, 1},
        {"rows of the position table", shape->position_rows, 0},
        {"sliding window", shape->sliding_window, 0},
        {"layers from one global one to the next", shape->global_every, 0},
        {"experts", shape->experts, 0},
        {"experts per token", shape->experts_per_token, shape->experts > 0 ? 1 : 0},
        {"expert size", shape->expert_ffn, shape->experts > 0 ? 1 : 0},
        {"shared expert size", shape->shared_ffn, 0},
        {"dense layers", shape->dense_layers, 0},
        {"layers from one with experts to the next", shape->moe_every, 0},
        {"query latent", shape->q_lora, 0},
        {"key-value latent", shape->kv_lora, 0},
        {"head part without positions", shape->qk_nope_dim, 0},
        {"head part with positions", shape->qk_rope_dim, 0},
        {"value head dimension", shape->v_dim, shape->kv_lora > 0 ? 1 : 0},
        {"prediction modules", shape->mtp_layers, 0},
    };
    for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
        if (sizes[i].value < sizes[i].least || sizes[i].value > G_MAXINT32) {
            g_set_error(error, LLM_ERROR, LLM_ERROR_SHAPE,
                        "%s: %" G_GINT64_FORMAT
                        " is out of range; write a number from %" G_GINT64_FORMAT " to %d",
                        sizes[i].what, sizes[i].value, sizes[i].least, G_MAXINT32);
            return FALSE;
        }
    }
    return TRUE;
}

gboolean
llm_shape_check(const LlmShape *shape, GError **error)
{
    if (!check_sizes(shape, error)) {
        return FALSE;
    }
    if (shape->heads % shape->kv_heads != 0) {
        g_set_error(error, LLM_ERROR, LLM_ERROR_SHAPE,
                    "%" G_GINT64_FORMAT " attention heads are not a multiple of %" G_GINT64_FORMAT
                    " key-value heads; write a num_key_value_heads that divides them",
                    shape->heads, shape->kv_heads);
        return FALSE;
    }
    if (shape->experts_per_token > shape->experts) {
        g_set_error(error, LLM_ERROR, LLM_ERROR_SHAPE,
                    "%" G_GINT64_FORMAT " experts per token of %" G_GINT64_FORMAT
                    " experts; write at most as many as there are",
                    shape->experts_per_token, shape->experts);
        return FALSE;
    }
    if (shape->route_groups > 0 &&
        (shape->experts % shape->route_groups != 0 || shape->route_limit < 1 ||
         shape->experts / shape->route_groups * shape->route_limit < shape->experts_per_token)) {
        g_set_error(error, LLM_ERROR, LLM_ERROR_SHAPE,
                    "%" G_GINT64_FORMAT " experts of which a token's %" G_GINT64_FORMAT
                    " lie in %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                    " groups: that cannot be; write an n_group that divides the experts and a "
                    "topk_group with enough of them",
                    shape->experts, shape->experts_per_token, shape->route_limit,
                    shape->route_groups);
        return FALSE;
    }
    if (shape->kv_lora > 0 && (shape->kv_heads != shape->heads ||
                               shape->head_dim != shape->qk_nope_dim + shape->qk_rope_dim)) {
        g_set_error_literal(
            error, LLM_ERROR, LLM_ERROR_SHAPE,
            "latent attention has a key for each query head, as wide as both parts of a "
            "head together; write num_key_value_heads and head_dim so, or not at all");
        return FALSE;
    }
    double limit = (double)((gint64)1 << 62);
    if (estimate_parameters(shape) >= limit) {
        g_set_error(error, LLM_ERROR, LLM_ERROR_SHAPE,
                    "%.3g parameters are more than can be counted; write smaller sizes",
                    estimate_parameters(shape));
        return FALSE;
    }
    return TRUE;
}

/* --- finding -------------------------------------------------------------------------------- */

/* "x/llama3-8b.config.json", "x/llama3-8b.json" and "llama3-8b/config.json" are all llama3-8b. */
static char *
name_of_path(const char *path)
{
    g_autofree char *base = g_path_get_basename(path);
    if (strcmp(base, "config.json") == 0) {
        g_autofree char *folder = g_path_get_dirname(path);
        g_free(base);
        base = g_path_get_basename(folder);
    }
    static const char *const endings[] = {".json", ".config"};
    for (guint i = 0; i < G_N_ELEMENTS(endings); i++) {
        if (g_str_has_suffix(base, endings[i]) && strlen(base) > strlen(endings[i])) {
            base[strlen(base) - strlen(endings[i])] = '\0';
        }
    }
    return g_steal_pointer(&base);
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char **
llm_shape_names(void)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *folder = conf_datadir_find("models");
    g_autoptr(GDir) dir = folder != NULL ? g_dir_open(folder, 0, NULL) : NULL;
    for (const char *file = NULL; dir != NULL && (file = g_dir_read_name(dir)) != NULL;) {
        if (file[0] != '.' && g_str_has_suffix(file, ".json")) {
            g_ptr_array_add(names, g_strndup(file, strlen(file) - strlen(".json")));
        }
    }
    g_ptr_array_sort(names, compare_names);
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&names), FALSE);
}

static char *
find_path(const char *name_or_path, GError **error)
{
    gboolean is_path = strchr(name_or_path, '/') != NULL || g_str_has_suffix(name_or_path, ".json");
    if (!is_path && name_or_path[0] != '\0') {
        g_autofree char *relative = g_strdup_printf("models/%s.json", name_or_path);
        char *shipped = conf_datadir_find(relative);
        if (shipped != NULL) {
            return shipped;
        }
    }
    if (g_file_test(name_or_path, G_FILE_TEST_IS_DIR)) {
        return g_build_filename(name_or_path, "config.json", NULL);
    }
    if (is_path || g_file_test(name_or_path, G_FILE_TEST_EXISTS)) {
        return g_strdup(name_or_path);
    }
    g_auto(GStrv) names = llm_shape_names();
    g_autofree char *hint = conf_hint(name_or_path, (const char *const *)names);
    g_autofree char *list = names[0] != NULL ? g_strjoinv(", ", names) : g_strdup("(none found)");
    g_set_error(error, LLM_ERROR, LLM_ERROR_UNSUPPORTED,
                "model '%s': no such model or file%s; write a path or one of %s", name_or_path,
                hint, list);
    return NULL;
}

LlmShape *
llm_shape_load(const char *name_or_path, const char *const *overrides, GError **error)
{
    g_autofree char *path = find_path(name_or_path, error);
    if (path == NULL) {
        return NULL;
    }
    g_autoptr(ConfJson) json = conf_json_load(path, error);
    if (json == NULL) {
        return NULL;
    }
    g_autofree char *name = name_of_path(path);
    return llm_shape_read(json, name, overrides, error);
}

LlmShape *
llm_shape_parse(const char *name, const char *text, GError **error)
{
    g_autoptr(ConfJson) json = conf_json_parse(name, text, error);
    if (json == NULL) {
        return NULL;
    }
    g_autofree char *short_name = name_of_path(name);
    return llm_shape_read(json, short_name, NULL, error);
}
