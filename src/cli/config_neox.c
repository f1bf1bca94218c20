/* GPT-NeoX's YAML (megatron/neox_arguments): Megatron's model and degrees in flat keys, DeepSpeed's own beside them.
 * The number of GPUs is the launcher's, and the vocabulary the tokenizer's; neither stands in the file. */
#include "config.h"

#include "cli/config_file.h"

#include <string.h>

static const CliConfigKey keys[] = {
    CLI_DEEPSPEED_KEYS,
    CLI_READ("pipe_parallel_size"),
    CLI_READ("model_parallel_size"),
    CLI_READ("sequence_parallel"),
    {"seq_length", CLI_KEY_COUNT, "seq-length", NULL},
    CLI_READ("num_layers"),
    CLI_READ("hidden_size"),
    CLI_READ("intermediate_size"),
    CLI_READ("num_attention_heads"),
    CLI_READ("num_kv_heads"),
    CLI_READ("max_position_embeddings"),
    CLI_READ("padded_vocab_size"),
    CLI_READ("norm"),
    CLI_READ("pos_emb"),
    CLI_READ("activation"),
    CLI_READ("mlp_type"),
    CLI_READ("no_weight_tying"),
    CLI_READ("gpt_j_residual"),
    CLI_READ("use_bias_in_attn_linear"),
    CLI_READ("use_bias_in_mlp"),
    CLI_READ("hidden_dropout"),
    CLI_READ("attention_dropout"),
    CLI_READ("attention_config"),
    CLI_READ("checkpoint_activations"),
    CLI_READ("checkpoint_num_layers"),
    CLI_READ("precision"),
    CLI_READ("fp16.fp16"),
    CLI_READ("fp16.type"),
    CLI_READ("bf16.enabled"),
    CLI_READ("use_bnb_optimizer"),
    CLI_READ("model_arch"),
    CLI_READ("moe_num_experts"),
    CLI_UNSAID("partition_activations", NULL,
               "what is recomputed from is kept whole by every tensor-parallel rank"),
    CLI_UNSAID("pipe_partition_method", "type:transformer|mlp",
               "stages have the same number of layers; write --stage-layers"),
    CLI_UNSAID("fp16_lm_cross_entropy", NULL, "the loss is computed in fp32"),
    CLI_UNSAID("num_unique_layers", NULL, "every layer has its own weights"),
    CLI_UNSAID("sliding_window_width", NULL, "attention sees the whole sequence"),
    CLI_UNSAID("soft_prompt_tuning.enabled", NULL, "all weights are trained"),
    {NULL, CLI_KEY_READ, NULL, NULL},
};

/* --- model -------------------------------------------------------------------------------------- */

/* What decides the family: GPT-NeoX's own layer, or Megatron's in all its forms. */
typedef struct {
    gboolean rms, rotary, gated, llama, parallel, attention_bias, mlp_bias;
    gint64 heads, kv_heads;
} Layer;

static gboolean
read_words(CliConfig *c, Layer *l, GError **error)
{
    static const char *const norms[] = {"layernorm", "rmsnorm", "te_layernorm", "te_rmsnorm", NULL};
    static const char *const norm_of[] = {"layer", "rms", "layer", "rms", NULL};
    static const char *const positions[] = {"learned", "rotary", NULL};
    static const char *const activations[] = {"gelu",  "relu",     "softsign", "swish",
                                              "mish",  "silu",     "geglu",    "swiglu",
                                              "reglu", "bilinear", "glu",      NULL};
    static const char *const gates[] = {"plain", "plain", "plain", "plain", "plain", "plain",
                                        "gated", "gated", "gated", "gated", "gated", NULL};
    static const char *const mlps[] = {"regular", "llama", NULL};
    static const char *const mlp_of[] = {"plain", "gated", NULL};
    const char *norm = "layer", *position = "learned", *activation = "plain", *mlp = "plain";
    if (!cli_config_word(c, "norm", norms, norm_of, &norm, error) ||
        !cli_config_word(c, "pos_emb", positions, positions, &position, error) ||
        !cli_config_word(c, "activation", activations, gates, &activation, error) ||
        !cli_config_word(c, "mlp_type", mlps, mlp_of, &mlp, error))
        return FALSE;
    l->rms = strcmp(norm, "rms") == 0;
    l->rotary = strcmp(position, "rotary") == 0;
    l->gated = strcmp(activation, "gated") == 0 || strcmp(mlp, "gated") == 0;
    l->llama = strcmp(mlp, "gated") == 0; /* it has no biases */
    l->attention_bias = TRUE;
    l->mlp_bias = !l->llama;
    return cli_config_flag(c, "gpt_j_residual", &l->parallel, error) &&
           cli_config_flag(c, "use_bias_in_attn_linear", &l->attention_bias, error) &&
           cli_config_flag(c, "use_bias_in_mlp", &l->mlp_bias, error);
}

/* Under the names of the family; the first three must be there. */
static gboolean
read_sizes(CliConfig *c, Layer *l, gboolean neox, GError **error)
{
    const struct {
        const char *path, *neox, *gpt;
        gboolean needed;
    } sizes[] = {{"num_layers", "num_hidden_layers", "n_layer", TRUE},
                 {"hidden_size", "hidden_size", "n_embd", TRUE},
                 {"num_attention_heads", "num_attention_heads", "n_head", TRUE},
                 {"max_position_embeddings", "max_position_embeddings", "n_positions", TRUE},
                 {"intermediate_size", "intermediate_size", "n_inner", l->gated && !l->llama}};
    for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
        gint64 value = 0;
        if (!cli_config_count(c, sizes[i].path, 1, &value, error))
            return FALSE;
        if (value == 0 && sizes[i].needed)
            return cli_config_refuse(c, NULL, error, "has no %s; write it, or --model",
                                     sizes[i].path);
        if (value > 0)
            cli_config_model_count(c, neox ? sizes[i].neox : sizes[i].gpt, value);
    }
    gint64 hidden = 0, inner = 0;
    if (!cli_config_count(c, "hidden_size", 1, &hidden, error) ||
        !cli_config_count(c, "intermediate_size", 1, &inner, error))
        return FALSE;
    if (inner == 0 && neox)
        cli_config_model_count(c, "intermediate_size", 4 * hidden);
    if (inner == 0 && l->llama) /* two thirds of 4 h, rounded up to 256 */
        cli_config_model_count(c, "n_inner", (8 * hidden / 3 + 255) / 256 * 256);
    return TRUE;
}

/* GPT-2's tokenizer is the default of its defaults. */
static gboolean
read_vocabulary(CliConfig *c, GError **error)
{
    gint64 rows = 0;
    if (!cli_config_count(c, "padded_vocab_size", 1, &rows, error))
        return FALSE;
    for (guint i = 0; i < c->in->sets->len; i++)
        if (g_str_has_prefix(c->in->sets->pdata[i], "model.vocab_size="))
            rows = 1; /* is replaced */
    if (rows == 0)
        cli_config_warn(c, NULL,
                        "says no vocabulary, which is its tokenizer's; GPT-2's 50257 are taken; "
                        "write --set model.vocab_size=N");
    cli_config_model_count(c, "vocab_size", rows > 0 ? rows : 50257);
    return TRUE;
}

static gboolean
read_dropout(CliConfig *c, gboolean neox, GError **error)
{
    double hidden = 0, attention = 0;
    if (!cli_config_number(c, "hidden_dropout", &hidden, error) ||
        !cli_config_number(c, "attention_dropout", &attention, error))
        return FALSE;
    static const char *const names[][3] = {
        {"resid_pdrop", "embd_pdrop", "attn_pdrop"},
        {"hidden_dropout", "hidden_dropout", "attention_dropout"}};
    for (guint i = 0; i < 3; i++) {
        double value = i < 2 ? hidden : attention;
        cli_config_model(c, names[neox][i], json_node_init_double(json_node_alloc(), value));
    }
    return TRUE;
}

/* The key by which the two parts of a layer differ in their biases. */
static const char *
deciding_bias(const CliConfig *c)
{
    static const char *const keys_of_it[] = {"use_bias_in_attn_linear", "use_bias_in_mlp"};
    for (guint i = 0; i < G_N_ELEMENTS(keys_of_it); i++)
        if (cli_config_find(c, keys_of_it[i]) != NULL)
            return keys_of_it[i];
    return "mlp_type";
}

static void
say_layer(CliConfig *c, const Layer *l, gboolean neox)
{
    cli_config_model(c, "model_type",
                     json_node_init_string(json_node_alloc(), neox ? "gpt_neox" : "gpt"));
    if (neox) {
        cli_config_model_flag(c, "use_parallel_residual", l->parallel);
        return;
    }
    cli_config_model_flag(c, "rms_norm", l->rms);
    cli_config_model_flag(c, "rotary", l->rotary);
    cli_config_model_flag(c, "swiglu", l->gated);
    cli_config_model_flag(c, "add_bias_linear", l->mlp_bias && l->attention_bias);
    if (l->kv_heads > 0)
        cli_config_model_count(c, "num_key_value_heads", l->kv_heads);
    if (l->mlp_bias != l->attention_bias)
        cli_config_warn(
            c, deciding_bias(c),
            "not modelled: biases are in both parts of a layer or in none, here in none");
    if (l->parallel)
        cli_config_warn(c, "gpt_j_residual",
                        "not modelled beside these norms, positions and MLP: attention and MLP "
                        "run one after the other");
}

static gboolean
read_model(CliConfig *c, GError **error)
{
    Layer l = {0};
    gboolean untied = FALSE;
    if (!read_words(c, &l, error) ||
        !cli_config_count(c, "num_attention_heads", 1, &l.heads, error) ||
        !cli_config_count(c, "num_kv_heads", 1, &l.kv_heads, error) ||
        !cli_config_flag(c, "no_weight_tying", &untied, error))
        return FALSE;
    if (l.kv_heads == l.heads)
        l.kv_heads = 0;
    gboolean neox =
        !l.rms && l.rotary && !l.gated && l.kv_heads == 0 && l.attention_bias && l.mlp_bias;
    say_layer(c, &l, neox);
    cli_config_model_flag(c, "tie_word_embeddings", !untied);
    return read_sizes(c, &l, neox, error) && read_vocabulary(c, error) &&
           read_dropout(c, neox, error);
}

/* --- plan --------------------------------------------------------------------------------------- */

static gboolean
read_dtype(CliConfig *c, GError **error)
{
    static const char *const words[] = {"fp16", "bfloat16", "bf16", "fp32", NULL};
    static const char *const dtypes[] = {"fp16", "bf16", "bf16", "fp32", NULL};
    gboolean fp16 = FALSE, bf16 = FALSE;
    const char *dtype = NULL, *type = "fp16", *path = "precision";
    if (!cli_config_flag(c, "fp16.fp16", &fp16, error) ||
        !cli_config_flag(c, "fp16.enabled", &fp16, error) ||
        !cli_config_flag(c, "bf16.enabled", &bf16, error) ||
        !cli_config_word(c, "fp16.type", words, dtypes, &type, error) ||
        !cli_config_word(c, "precision", words, dtypes, &dtype, error))
        return FALSE;
    if (dtype == NULL) {
        path = bf16 ? "bf16.enabled" : fp16 ? "fp16.enabled" : NULL;
        dtype = bf16 ? "bf16" : fp16 ? type : "fp32";
    }
    if (path == NULL)
        cli_config_warn_of_fp32(c);
    cli_config_say(c, path, "dtype", dtype);
    return TRUE;
}

/* [[["flash"], "all"]]: lists of kinds, each with how often it is repeated. Without one, all are unfused. */
static gboolean
read_attention(CliConfig *c, GError **error)
{
    JsonNode *node = cli_config_find(c, "attention_config");
    gboolean flash = FALSE, unfused = node == NULL, other = FALSE;
    JsonArray *parts =
        node != NULL && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    for (guint i = 0; parts != NULL && i < json_array_get_length(parts); i++) {
        JsonNode *part = json_array_get_element(parts, i);
        JsonNode *kinds =
            JSON_NODE_HOLDS_ARRAY(part) && json_array_get_length(json_node_get_array(part)) > 0
                ? json_array_get_element(json_node_get_array(part), 0)
                : NULL;
        guint n = kinds != NULL && JSON_NODE_HOLDS_ARRAY(kinds)
                      ? json_array_get_length(json_node_get_array(kinds))
                      : 0;
        other |= n == 0;
        for (guint k = 0; k < n; k++) {
            JsonNode *item = json_array_get_element(json_node_get_array(kinds), k);
            const char *kind = JSON_NODE_HOLDS_VALUE(item) ? json_node_get_string(item) : NULL;
            flash |= g_strcmp0(kind, "flash") == 0;
            unfused |= g_strcmp0(kind, "global") == 0;
            other |= g_strcmp0(kind, "flash") != 0 && g_strcmp0(kind, "global") != 0;
        }
    }
    if (other || (flash && unfused) || (!flash && !unfused))
        return cli_config_refuse(c, "attention_config", error,
                                 "attention that is not flash, or global, in every layer is not "
                                 "modelled; write [[[\"flash\"], \"all\"]]");
    cli_config_say(c, "attention_config", "attention", flash ? "flash" : "unfused");
    return TRUE;
}

static gboolean
read_recompute(CliConfig *c, GError **error)
{
    gboolean again = FALSE;
    gint64 layers = 1;
    if (!cli_config_flag(c, "checkpoint_activations", &again, error) ||
        !cli_config_count(c, "checkpoint_num_layers", 1, &layers, error))
        return FALSE;
    cli_config_say(c, "checkpoint_activations", "recompute", again ? "full" : "none");
    if (again) {
        cli_config_say(c, "checkpoint_num_layers", "recompute-method", "uniform");
        cli_config_say_count(c, "checkpoint_num_layers", "recompute-layers", layers);
    }
    return TRUE;
}

static gboolean
refuse_others(CliConfig *c, GError **error)
{
    static const char *const architectures[] = {"gpt2", NULL};
    const char *architecture = NULL;
    gint64 experts = 1;
    if (!cli_config_word(c, "model_arch", architectures, architectures, &architecture, error) ||
        !cli_config_count(c, "moe_num_experts", 0, &experts, error))
        return FALSE;
    return experts <= 1 || c->in->model != NULL ||
           cli_config_refuse(c, "moe_num_experts", error,
                             "GPT-NeoX's experts are not read; write --model with a config.json "
                             "that has them");
}

/* A pipeline of one stage runs on DeepSpeed's pipeline engine, too; 0 is without it. */
static gboolean
neox_read(CliConfig *c, GError **error)
{
    gint64 pp = 0, tp = 1, stage = 0;
    gboolean sequence = FALSE, bnb = FALSE;
    cli_config_say(c, NULL, "framework", "deepspeed");
    if (!cli_config_count(c, "pipe_parallel_size", 0, &pp, error) ||
        !cli_config_count(c, "model_parallel_size", 1, &tp, error) ||
        !cli_config_flag(c, "sequence_parallel", &sequence, error) ||
        !cli_config_flag(c, "use_bnb_optimizer", &bnb, error) || !refuse_others(c, error))
        return FALSE;
    cli_config_say_count(c, "model_parallel_size", "tp", tp);
    cli_config_say_count(c, "pipe_parallel_size", "pp", MAX(pp, 1));
    if (pp > 0) {
        cli_config_say_flag(c, "pipe_parallel_size", "deepspeed-pipeline", TRUE);
        cli_config_say(c, "pipe_parallel_size", "schedule", "1f1b");
    }
    cli_config_say_flag(c, "sequence_parallel", "sequence-parallel", sequence);
    if (bnb)
        cli_config_say(c, "use_bnb_optimizer", "optimizer", "adam-8bit");
    return cli_config_read_zero(c, &stage, error) && read_dtype(c, error) &&
           (bnb || cli_config_read_optimizer(c, error)) &&
           cli_config_read_clip(c, "gradient_clipping", 1, error) && read_attention(c, error) &&
           read_recompute(c, error) && cli_config_read_batch(c, tp, MAX(pp, 1), 1, error) &&
           (c->in->model != NULL || read_model(c, error));
}

const CliConfigFormat cli_config_neox = {
    .name = "GPT-NeoX",
    .syntax = &conf_yaml_syntax,
    .marks = {"pipe_parallel_size", "pipe-parallel-size", "model_parallel_size",
              "model-parallel-size", "num_layers", "num-layers", NULL},
    .keys = keys,
    .dashes = TRUE,
    .read = neox_read,
};
