/* nanotron's YAML (nanotron/config): the plan in `parallelism`, `tokens` and `optimizer`, the model in
 * `model.model_config` under Hugging Face's names, and its experts in a map of their own. */
#include "config.h"

#include "cli/config_file.h"
#include "cli/measured_read.h"

#include <string.h>

#define MODEL "model.model_config."
#define EXPERTS MODEL "moe_config."

static const CliConfigKey keys[] = {
    CLI_READ("parallelism.dp"),
    CLI_READ("parallelism.pp"),
    CLI_READ("parallelism.tp"),
    CLI_READ("parallelism.context_parallel_size"),
    CLI_READ("parallelism.expert_parallel_size"),
    CLI_READ("parallelism.pp_engine"),
    CLI_READ("parallelism.tp_mode"),
    CLI_READ("parallelism.recompute_layer"),
    CLI_READ("parallelism.tp_linear_async_communication"),
    CLI_READ("parallelism.tp_recompute_allgather"),
    CLI_UNSAID("parallelism.moe_layer_recompute", NULL,
               "write --recompute selective --recompute-modules moe"),
    {"tokens.micro_batch_size", CLI_KEY_COUNT, "micro-batch-size", NULL},
    {"tokens.batch_accumulation_per_replica", CLI_KEY_COUNT, "microbatches", NULL},
    {"tokens.sequence_length", CLI_KEY_COUNT, "seq-length", NULL},
    {"optimizer.zero_stage", CLI_KEY_COUNT, "zero", NULL},
    CLI_READ("optimizer.accumulate_grad_in_fp32"),
    CLI_READ("optimizer.clip_grad"),
    CLI_READ("optimizer.optimizer_factory.name"),
    CLI_READ("model.dtype"),
    CLI_READ("model.ddp_bucket_cap_mb"),
    CLI_READ(MODEL "is_llama_config"),
    CLI_READ(MODEL "is_qwen2_config"),
    CLI_READ(MODEL "is_starcoder2_config"),
    CLI_READ(MODEL "num_hidden_layers"),
    CLI_READ(MODEL "hidden_size"),
    CLI_READ(MODEL "intermediate_size"),
    CLI_READ(MODEL "num_attention_heads"),
    CLI_READ(MODEL "num_key_value_heads"),
    CLI_READ(MODEL "vocab_size"),
    CLI_READ(MODEL "max_position_embeddings"),
    CLI_READ(MODEL "tie_word_embeddings"),
    CLI_READ(MODEL "attention_bias"),
    CLI_READ(MODEL "sliding_window_size"),
    CLI_READ(MODEL "_attn_implementation"),
    CLI_READ(EXPERTS "num_experts"),
    CLI_READ(EXPERTS "top_k"),
    CLI_READ(EXPERTS "enable_shared_expert"),
    CLI_READ(EXPERTS "moe_intermediate_size"),
    CLI_READ(EXPERTS "shared_expert_intermediate_size"),
    CLI_READ(EXPERTS "token_dispatcher_type"),
    CLI_READ(EXPERTS "layers"),
    {NULL, CLI_KEY_READ, NULL, NULL},
};

/* --- plan --------------------------------------------------------------------------------------- */

/* Its defaults are all forwards before all backwards, and tensor parallelism without sequence parallelism. */
static gboolean
read_engine(CliConfig *c, gint64 tp, gint64 pp, GError **error)
{
    static const char *const engines[] = {"1f1b", "afab", NULL};
    static const char *const schedules[] = {"1f1b", "gpipe", NULL};
    static const char *const modes[] = {"reduce_scatter", "all_reduce", NULL};
    const char *schedule = "gpipe", *mode = "all_reduce";
    gboolean async = FALSE, again = TRUE;
    if (!cli_config_word(c, "parallelism.pp_engine", engines, schedules, &schedule, error) ||
        !cli_config_word(c, "parallelism.tp_mode", modes, modes, &mode, error) ||
        !cli_config_flag(c, "parallelism.tp_linear_async_communication", &async, error) ||
        !cli_config_flag(c, "parallelism.tp_recompute_allgather", &again, error))
        return FALSE;
    gboolean sequence = strcmp(mode, "reduce_scatter") == 0;
    if (pp > 1)
        cli_config_say(c, "parallelism.pp_engine", "schedule", schedule);
    if (tp > 1)
        cli_config_say_flag(c, "parallelism.tp_mode", "sequence-parallel", sequence);
    if (tp > 1 && async)
        cli_config_warn(c, "parallelism.tp_linear_async_communication",
                        "not modelled: exchanges of tensor parallelism are exposed; "
                        "--tp-comm-overlap is the nearest");
    if (tp > 1 && sequence && !again)
        cli_config_warn(c, "parallelism.tp_recompute_allgather",
                        "not modelled: inputs are gathered again in the backward");
    return TRUE;
}

static gboolean
read_degrees(CliConfig *c, GError **error)
{
    gint64 dp = 1, pp = 1, tp = 1, cp = 1, ep = 1;
    const struct {
        const char *path, *option;
        gint64 *value;
    } degrees[] = {{"parallelism.tp", "tp", &tp},
                   {"parallelism.pp", "pp", &pp},
                   {"parallelism.dp", "dp", &dp},
                   {"parallelism.context_parallel_size", "cp", &cp},
                   {"parallelism.expert_parallel_size", "ep", &ep}};
    for (guint i = 0; i < G_N_ELEMENTS(degrees); i++) {
        if (!cli_config_count(c, degrees[i].path, 1, degrees[i].value, error))
            return FALSE;
        cli_config_say_count(c, degrees[i].path, degrees[i].option, *degrees[i].value);
    }
    return read_engine(c, cli_config_effective(c, "tp", tp), cli_config_effective(c, "pp", pp),
                       error);
}

/* Reduction is in buckets of that many MiB of the model's type. */
static gboolean
read_numbers(CliConfig *c, GError **error)
{
    static const char *const types[] = {"bfloat16", "float16", "float32", NULL};
    static const char *const dtypes[] = {"bf16", "fp16", "fp32", NULL};
    static const char *const names[] = {"adamW", "adam", "sgd", NULL};
    static const char *const optimizers[] = {"adam", "adam", "sgd", NULL};
    const char *dtype = NULL;
    gboolean fp32 = TRUE, recompute = FALSE;
    gint64 bucket_mib = 0;
    if (!cli_config_word(c, "model.dtype", types, dtypes, &dtype, error) ||
        !cli_config_say_word(c, "optimizer.optimizer_factory.name", "optimizer", names, optimizers,
                             error) ||
        !cli_config_flag(c, "optimizer.accumulate_grad_in_fp32", &fp32, error) ||
        !cli_config_flag(c, "parallelism.recompute_layer", &recompute, error) ||
        !cli_config_count(c, "model.ddp_bucket_cap_mb", 1, &bucket_mib, error) ||
        !cli_config_read_clip(c, "optimizer.clip_grad", 0, error))
        return FALSE;
    if (dtype != NULL)
        cli_config_say(c, "model.dtype", "dtype", dtype);
    cli_config_say(c, "optimizer.accumulate_grad_in_fp32", "grad-dtype", fp32 ? "fp32" : "model");
    cli_config_say(c, "parallelism.recompute_layer", "recompute", recompute ? "full" : "none");
    if (bucket_mib > 0)
        cli_config_say_count(c, "model.ddp_bucket_cap_mb", "bucket-size",
                             bucket_mib * 1024 * 1024 / (g_strcmp0(dtype, "fp32") == 0 ? 4 : 2));
    return TRUE;
}

/* --- model -------------------------------------------------------------------------------------- */

/* Keys that a config.json has under the same name. */
static gboolean
copy_sizes(CliConfig *c, GError **error)
{
    static const char *const sizes[] = {
        "num_hidden_layers",   "hidden_size", "intermediate_size",      "num_attention_heads",
        "num_key_value_heads", "vocab_size",  "max_position_embeddings"};
    for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autofree char *path = g_strconcat(MODEL, sizes[i], NULL);
        gint64 value = 0;
        if (!cli_config_count(c, path, 1, &value, error))
            return FALSE;
        if (value == 0 && strcmp(sizes[i], "num_key_value_heads") == 0)
            continue; /* as many as heads */
        if (value == 0 && strcmp(sizes[i], "max_position_embeddings") != 0)
            return cli_config_refuse(c, "model.model_config", error,
                                     "has no %s; write it, or --model", sizes[i]);
        if (value > 0)
            cli_config_model_count(c, sizes[i], value);
    }
    gboolean tied = FALSE;
    if (!cli_config_flag(c, MODEL "tie_word_embeddings", &tied, error))
        return FALSE;
    cli_config_model_flag(c, "tie_word_embeddings", tied);
    return TRUE;
}

/* [-1], or nothing, is all of them. */
static gboolean
has_experts_everywhere(const CliConfig *c)
{
    JsonNode *node = cli_config_find(c, EXPERTS "layers");
    if (node == NULL)
        return TRUE;
    JsonArray *list = JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    JsonNode *only =
        list != NULL && json_array_get_length(list) == 1 ? json_array_get_element(list, 0) : NULL;
    return only != NULL && JSON_NODE_HOLDS_VALUE(only) && json_node_get_int(only) == -1;
}

/* Where the sizes of experts are not said, they are those of the dense layer, as in files before these keys. */
static gboolean
read_experts(CliConfig *c, GError **error)
{
    static const char *const dispatchers[] = {"alltoall", "allgather", NULL};
    gint64 experts = 8, top = 2, width = 0, wide = 0;
    gboolean shared = FALSE;
    if (!has_experts_everywhere(c))
        return cli_config_refuse(c, EXPERTS "layers", error,
                                 "experts in some layers alone are not read; write --model");
    if (!cli_config_count(c, MODEL "intermediate_size", 1, &width, error))
        return FALSE;
    wide = width;
    if (!cli_config_count(c, EXPERTS "num_experts", 1, &experts, error) ||
        !cli_config_count(c, EXPERTS "top_k", 1, &top, error) ||
        !cli_config_count(c, EXPERTS "moe_intermediate_size", 1, &width, error) ||
        !cli_config_count(c, EXPERTS "shared_expert_intermediate_size", 1, &wide, error) ||
        !cli_config_flag(c, EXPERTS "enable_shared_expert", &shared, error) ||
        !cli_config_say_word(c, EXPERTS "token_dispatcher_type", "moe-dispatcher", dispatchers,
                             dispatchers, error))
        return FALSE;
    cli_config_model_count(c, "num_experts", experts);
    cli_config_model_count(c, "num_experts_per_tok", top);
    cli_config_model_count(c, "moe_intermediate_size", width);
    cli_config_model_count(c, "shared_expert_intermediate_size", shared ? wide : 0);
    return TRUE;
}

/* The family whose layer it is: nanotron's Llama has no biases, its Qwen2 those of QKV where attention_bias is true,
 * and a window in every layer where it has a size. */
static gboolean
read_family(CliConfig *c, GError **error)
{
    gboolean qwen = FALSE, starcoder = FALSE, bias = FALSE;
    gint64 window = 0;
    if (!cli_config_flag(c, MODEL "is_qwen2_config", &qwen, error) ||
        !cli_config_flag(c, MODEL "is_starcoder2_config", &starcoder, error) ||
        !cli_config_flag(c, MODEL "attention_bias", &bias, error) ||
        !cli_config_count(c, MODEL "sliding_window_size", 1, &window, error))
        return FALSE;
    if (starcoder)
        return cli_config_refuse(c, MODEL "is_starcoder2_config", error,
                                 "its layer is not modelled; write --model");
    gboolean experts = cli_config_find(c, MODEL "moe_config") != NULL;
    const char *type = experts ? "qwen2_moe" : bias ? "qwen2" : window > 0 ? "mistral" : "llama";
    if (bias && !qwen)
        return cli_config_refuse(c, MODEL "attention_bias", error,
                                 "nanotron's Llama has no biases; leave it out");
    cli_config_model(c, "model_type", json_node_init_string(json_node_alloc(), type));
    if (experts)
        cli_config_model_flag(c, "qkv_bias", bias);
    if (window > 0)
        cli_config_model_count(c, "sliding_window", window);
    if (window > 0 && (experts || bias))
        cli_config_model_flag(c, "use_sliding_window", TRUE);
    else if (strcmp(type, "mistral") != 0 && type[0] == 'q')
        cli_config_model_flag(c, "use_sliding_window", FALSE);
    return copy_sizes(c, error) && (!experts || read_experts(c, error));
}

/* Stages by cost, as nanotron cuts them, once the model is known. */
static void
say_stages(CliConfig *c)
{
    gint64 pp = 1;
    const char *const path = "parallelism.pp";
    if (!cli_config_count(c, path, 1, &pp, NULL) || (pp = cli_config_effective(c, "pp", pp)) < 2)
        return;
    g_autoptr(LlmShape) shape = cli_config_shape(c, NULL);
    g_autofree char *layers =
        shape != NULL && pp <= shape->layers ? cli_measured_nanotron_layers(shape, pp, TRUE) : NULL;
    if (layers != NULL)
        cli_config_say(c, path, "stage-layers", layers);
}

static gboolean
nanotron_read(CliConfig *c, GError **error)
{
    static const char *const implementations[] = {"flash_attention_2", "flex_attention", "sdpa",
                                                  "llama3_ring_attention", NULL};
    static const char *const kinds[] = {"flash", "flash", "flash", "flash", NULL};
    cli_config_say(c, NULL, "framework", "nanotron");
    if (!read_degrees(c, error) || !read_numbers(c, error))
        return FALSE;
    if (cli_config_find(c, "model.model_config") == NULL) {
        if (c->in->model == NULL)
            cli_config_warn(c, NULL,
                            "has no model.model_config; " CLI_DEFAULT_MODEL " is taken; write "
                            "--model");
        return TRUE;
    }
    if (!cli_config_say_word(c, MODEL "_attn_implementation", "attention", implementations, kinds,
                             error) ||
        (c->in->model == NULL && !read_family(c, error)))
        return FALSE;
    say_stages(c);
    return TRUE;
}

const CliConfigFormat cli_config_nanotron = {
    .name = "nanotron",
    .syntax = &conf_yaml_syntax,
    .marks = {"parallelism", NULL},
    .keys = keys,
    .read = nanotron_read,
};
