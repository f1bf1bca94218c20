/* torchtitan's TOML (torchtitan/config/job_config.py): degrees, batch, recompute and quantisation; the model by its
 * name and flavor. Its defaults hold where the file says nothing, and are its, not PyTorch's. */
#include "config.h"

#include "cli/config_file.h"

#include <string.h>

#define P "parallelism."

static const CliConfigKey keys[] = {
    CLI_READ("model.name"),
    CLI_READ("model.flavor"),
    CLI_READ("model.converters"),
    CLI_READ("optimizer.name"),
    CLI_UNSAID("optimizer.early_step_in_backward", NULL, "the optimizer steps after the backward"),
    CLI_READ("training.local_batch_size"),
    CLI_READ("training.global_batch_size"),
    CLI_READ("training.seq_len"),
    CLI_READ("training.max_norm"),
    CLI_READ("training.mixed_precision_param"),
    CLI_READ("training.enable_cpu_offload"),
    CLI_READ("training.compile"),
    CLI_UNSAID("training.dtype", "float32", "weights and states are kept in fp32"),
    CLI_UNSAID("training.mixed_precision_reduce", "float32",
               "gradients are reduced in the type of --grad-dtype"),
    CLI_READ(P "data_parallel_replicate_degree"),
    CLI_READ(P "data_parallel_shard_degree"),
    CLI_READ(P "fsdp_reshard_after_forward"),
    CLI_READ(P "tensor_parallel_degree"),
    CLI_READ(P "enable_async_tensor_parallel"),
    CLI_READ(P "pipeline_parallel_degree"),
    CLI_READ(P "pipeline_parallel_schedule"),
    CLI_READ(P "pipeline_parallel_schedule_csv"),
    CLI_READ(P "pipeline_parallel_microbatch_size"),
    CLI_READ(P "pipeline_parallel_layers_per_stage"),
    CLI_READ(P "pipeline_parallel_first_stage_less_layers"),
    CLI_READ(P "pipeline_parallel_last_stage_less_layers"),
    CLI_UNSAID(P "pipeline_parallel_split_points", NULL, "write --stage-layers"),
    CLI_UNSAID(P "module_fqns_per_model_part", NULL, "write --stage-layers"),
    CLI_UNSAID(P "disable_loss_parallel", NULL, "the loss is cut over tensor-parallel ranks"),
    CLI_READ(P "context_parallel_degree"),
    CLI_READ(P "context_parallel_rotate_method"),
    CLI_READ(P "expert_parallel_degree"),
    CLI_READ(P "expert_tensor_parallel_degree"),
    CLI_READ("activation_checkpoint.mode"),
    CLI_READ("activation_checkpoint.selective_ac_option"),
    CLI_READ("compile.enable"),
    CLI_READ("compile.components"),
    CLI_READ("quantize.linear.float8.enable_fsdp_float8_all_gather"),
    CLI_READ("float8.enable_fsdp_float8_all_gather"),
    {NULL, CLI_KEY_READ, NULL, NULL},
};

/* --- model -------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *flavor, *model;
} models[] = {
    {"llama3", "8B", "llama3-8b"},
    {"llama3", "70B", "llama3-70b"},
    {"llama3", "405B", "llama3-405b"},
    {"llama4", "17bx16e", "llama-4-scout"},
    {"deepseek_v3", "16B", "deepseek-v2-lite"},
    {"deepseek_v3", "671B", "deepseek-v3"},
    {"qwen3", "32B", "qwen3-32b"},
    {"qwen3", "30B-A3B", "qwen3-30b-a3b"},
    {"qwen3", "235B-A22B", "qwen3-235b-a22b"},
};

/* What was said of it; NULL: nothing. */
static const char *
model_of(const CliConfig *c)
{
    for (guint i = 0; i < c->sayings->len; i++) {
        const CliSaying *s = c->sayings->pdata[i];
        if (strcmp(s->option, "model") == 0)
            return s->value;
    }
    return NULL;
}

static gboolean
read_model(CliConfig *c, GError **error)
{
    const char *name = "llama3", *flavor = "debugmodel";
    if (!cli_config_text(c, "model.name", &name, error) ||
        !cli_config_text(c, "model.flavor", &flavor, error))
        return FALSE;
    g_autoptr(GString) known = g_string_new(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
        if (strcmp(models[i].name, name) == 0 && strcmp(models[i].flavor, flavor) == 0) {
            cli_config_say(c, "model.flavor", "model", models[i].model);
            return TRUE;
        }
        g_string_append_printf(known, "%s%s %s", known->len > 0 ? ", " : "", models[i].name,
                               models[i].flavor);
    }
    return c->in->model != NULL ||
           cli_config_refuse(c, "model.flavor", error,
                             "%s %s does not ship with dtsim, which has %s; write --model", name,
                             flavor, known->str);
}

/* Does a list of the file hold the word, whole or behind the last dot? */
static gboolean
holds(const CliConfig *c, const char *path, const char *word)
{
    JsonNode *node = cli_config_find(c, path);
    JsonArray *list =
        node != NULL && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    g_autofree char *dotted = g_strconcat(".", word, NULL);
    for (guint i = 0; list != NULL && i < json_array_get_length(list); i++) {
        JsonNode *item = json_array_get_element(list, i);
        const char *text = JSON_NODE_HOLDS_VALUE(item) ? json_node_get_string(item) : NULL;
        if (text != NULL && (strcmp(text, word) == 0 || g_str_has_suffix(text, dotted)))
            return TRUE;
    }
    return FALSE;
}

/* What is quantised is what converters name; their sections alone change nothing. */
static gboolean
read_dtype(CliConfig *c, GError **error)
{
    static const char *const types[] = {"bfloat16", "float32", NULL};
    static const char *const dtypes[] = {"bf16", "fp32", NULL};
    const char *dtype = "bf16", *path = "training.mixed_precision_param";
    const char *const newer = "quantize.linear.float8.enable_fsdp_float8_all_gather";
    const char *const gather =
        cli_config_find(c, newer) != NULL ? newer : "float8.enable_fsdp_float8_all_gather";
    gboolean fp8 = holds(c, "model.converters", "float8"), gathered = FALSE;
    if (!cli_config_word(c, path, types, dtypes, &dtype, error) ||
        !cli_config_flag(c, gather, &gathered, error))
        return FALSE;
    if (holds(c, "model.converters", "mx"))
        cli_config_warn(c, "model.converters", "not modelled: mx runs as %s; --dtype fp8 is near",
                        dtype);
    cli_config_say(c, fp8 ? "model.converters" : path, "dtype", fp8 ? "fp8" : dtype);
    if (fp8)
        cli_config_say_flag(c, gather, "fp8-param-gather", gathered);
    return TRUE;
}

/* --- recompute, kernels -------------------------------------------------------------------------- */

/* "selective" is every n-th layer, the second where nothing else is said, or by operator. */
static gboolean
read_selective(CliConfig *c, GError **error)
{
    const char *const path = "activation_checkpoint.selective_ac_option";
    JsonNode *node = cli_config_find(c, path);
    const char *option = "2";
    gint64 every = 0;
    if (node != NULL && JSON_NODE_HOLDS_VALUE(node) &&
        json_node_get_value_type(node) == G_TYPE_INT64) {
        if (!cli_config_count(c, path, 1, &every, error))
            return FALSE;
    } else if (!cli_config_text(c, path, &option, error)) {
        return FALSE;
    }
    if (every == 0 && strcmp(option, "op") == 0) {
        cli_config_say(c, path, "recompute", "selective");
        cli_config_say(c, path, "recompute-modules", "second_gemm");
        return TRUE;
    }
    if (every == 0)
        every = g_ascii_strtoll(option, NULL, 10);
    if (every < 1)
        return cli_config_refuse(c, path, error, "'%s' is not known; write op or a whole number",
                                 option);
    cli_config_say(c, path, "recompute", "full");
    cli_config_say(c, path, "recompute-method", "every");
    cli_config_say_count(c, path, "recompute-layers", every);
    return TRUE;
}

static gboolean
read_recompute(CliConfig *c, GError **error)
{
    static const char *const modes[] = {"none", "selective", "full", NULL};
    const char *const path = "activation_checkpoint.mode";
    const char *mode = "selective";
    if (!cli_config_word(c, path, modes, modes, &mode, error))
        return FALSE;
    if (strcmp(mode, "selective") == 0)
        return read_selective(c, error);
    cli_config_say(c, path, "recompute", mode);
    if (strcmp(mode, "full") == 0) {
        cli_config_say(c, path, "recompute-method", "uniform");
        cli_config_say(c, path, "recompute-layers", "1");
    }
    return TRUE;
}

/* Compiled, tensor parallelism may be asynchronous and the loss one kernel. */
static gboolean
read_kernels(CliConfig *c, gint64 tp, GError **error)
{
    static const char *const names[] = {"AdamW", "Adam", "Muon", NULL};
    static const char *const optimizers[] = {"adam", "adam", "muon", NULL};
    const char *optimizer = "adam";
    gboolean compiled = FALSE, older = FALSE, async = FALSE, offload = FALSE;
    if (!cli_config_word(c, "optimizer.name", names, optimizers, &optimizer, error) ||
        !cli_config_flag(c, "compile.enable", &compiled, error) ||
        !cli_config_flag(c, "training.compile", &older, error) ||
        !cli_config_flag(c, P "enable_async_tensor_parallel", &async, error) ||
        !cli_config_flag(c, "training.enable_cpu_offload", &offload, error) ||
        !cli_config_read_clip(c, "training.max_norm", 1, error))
        return FALSE;
    cli_config_say(c, "optimizer.name", "optimizer", optimizer);
    gboolean loss =
        cli_config_find(c, "compile.components") == NULL || holds(c, "compile.components", "loss");
    if (compiled && loss)
        cli_config_say_flag(c, "compile.components", "fused-loss", TRUE);
    compiled |= older; /* of which only the layers are compiled */
    if (async && tp > 1)
        cli_config_say_flag(c, P "enable_async_tensor_parallel", "tp-comm-overlap", compiled);
    if (async && tp > 1 && !compiled)
        cli_config_warn(c, P "enable_async_tensor_parallel",
                        "has an effect only with compile.enable; it is left out");
    if (offload) {
        cli_config_say(c, "training.enable_cpu_offload", "offload-params", "cpu");
        cli_config_say(c, "training.enable_cpu_offload", "offload-optimizer", "cpu");
    }
    return TRUE;
}

/* --- degrees, batch ------------------------------------------------------------------------------ */

typedef struct {
    gint64 tp, pp, cp, ep, replicate, shard; /* shard -1: all GPUs that are left */
} Degrees;

static gboolean
read_degrees(CliConfig *c, Degrees *d, GError **error)
{
    gint64 etp = 0;
    const struct {
        const char *path, *option;
        gint64 *value;
    } counts[] = {{P "tensor_parallel_degree", "tp", &d->tp},
                  {P "pipeline_parallel_degree", "pp", &d->pp},
                  {P "context_parallel_degree", "cp", &d->cp},
                  {P "expert_parallel_degree", "ep", &d->ep},
                  {P "expert_tensor_parallel_degree", "etp", &etp},
                  {P "data_parallel_replicate_degree", NULL, &d->replicate}};
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
        if (!cli_config_count(c, counts[i].path, 1, counts[i].value, error))
            return FALSE;
        gboolean useless = counts[i].value == &etp && (etp == 0 || d->ep == 1);
        if (counts[i].option != NULL && !useless)
            cli_config_say_count(c, counts[i].path, counts[i].option, *counts[i].value);
    }
    JsonNode *shard = cli_config_find(c, P "data_parallel_shard_degree");
    gboolean all = shard == NULL || (JSON_NODE_HOLDS_VALUE(shard) &&
                                     json_node_get_value_type(shard) == G_TYPE_INT64 &&
                                     json_node_get_int(shard) == -1);
    d->shard = -1;
    return all || cli_config_count(c, P "data_parallel_shard_degree", 1, &d->shard, error);
}

/* Replicas are copies of the model times the ranks that share one. */
static gboolean
say_replicas(CliConfig *c, const Degrees *d, GError **error)
{
    const char *const path = P "data_parallel_shard_degree";
    gint64 shard = d->shard;
    if (shard < 0 && !c->has_gpus)
        return cli_config_refuse(c, path, error,
                                 "takes all GPUs that are left, and nothing says how many there "
                                 "are; write --gpus");
    if (shard > 0)
        cli_config_say_count(c, path, "dp", d->replicate * shard);
    if (d->replicate == 1) {
        cli_config_say(c, path, "zero", "3");
        return TRUE;
    }
    if (shard < 0) {
        gint64 dp = cli_config_replicas(c, d->tp, d->pp, d->cp);
        if (dp == 0 || dp % d->replicate != 0)
            return cli_config_refuse(
                c, P "data_parallel_replicate_degree", error,
                "the GPUs that are left are not known to be a multiple of %" G_GINT64_FORMAT
                "; write --gpus with one number that is",
                d->replicate);
        shard = dp / d->replicate;
    }
    cli_config_say(c, path, "zero", shard == 1 ? "0" : "3"); /* copies alone: DDP */
    if (shard > 1)
        cli_config_say_count(c, path, "shard-size",
                             shard * MAX(cli_config_effective(c, "cp", d->cp), 1));
    return TRUE;
}

/* Without a pipeline the local batch is one microbatch; with one it is cut into them. */
static gboolean
read_batch(CliConfig *c, gint64 pp, GError **error)
{
    gint64 local = 8, micro = 1, seq = 2048, global = 0;
    const char *const all = "training.global_batch_size", *const one = "training.local_batch_size";
    JsonNode *node = cli_config_find(c, all);
    gboolean derived = node != NULL && JSON_NODE_HOLDS_VALUE(node) && json_node_get_int(node) == -1;
    if (!cli_config_count(c, one, 1, &local, error) ||
        !cli_config_count(c, "training.seq_len", 1, &seq, error) ||
        !cli_config_count(c, P "pipeline_parallel_microbatch_size", 1, &micro, error) ||
        (!derived && !cli_config_count(c, all, 1, &global, error)))
        return FALSE;
    if (pp <= 1)
        micro = local;
    if (local % micro != 0)
        return cli_config_refuse(c, P "pipeline_parallel_microbatch_size", error,
                                 "%" G_GINT64_FORMAT " does not divide the local batch of "
                                 "%" G_GINT64_FORMAT,
                                 micro, local);
    cli_config_say_count(c, "training.seq_len", "seq-length", seq);
    cli_config_say_count(c, pp > 1 ? P "pipeline_parallel_microbatch_size" : one,
                         "micro-batch-size", micro);
    if (global > 0)
        cli_config_say_count(c, all, "global-batch-size", global);
    else
        cli_config_say_count(c, one, "microbatches", local / micro);
    if (global > 0 && pp > 1)
        cli_config_warn(c, all,
                        "not modelled: torchtitan empties the pipeline after each local batch, "
                        "here the microbatches of an iteration run in one");
    return TRUE;
}

/* --- pipeline ----------------------------------------------------------------------------------- */

static const char *const schedules[] = {
    "1F1B",          "GPipe",     "Interleaved1F1B", "InterleavedZeroBubble",
    "ZBVZeroBubble", "LoopedBFS", "DualPipeV",       NULL};
static const char *const names_here[] = {
    "1f1b",      "gpipe",      "interleaved_torch", "interleaved_zb_torch",
    "zbv_torch", "looped_bfs", "dualpipev",         NULL};

#define PER_STAGE P "pipeline_parallel_layers_per_stage"
#define FIRST P "pipeline_parallel_first_stage_less_layers"
#define LAST P "pipeline_parallel_last_stage_less_layers"

/* Layers and ends over the stages, the first ones taking what is left over; then without the ends. */
static char *
cut_layers(gint64 layers, gint64 stages, gint64 first, gint64 last)
{
    gint64 all = layers + first + last;
    g_autoptr(GString) text = g_string_new(NULL);
    for (gint64 s = 0; s < stages; s++) {
        gint64 here =
            all / stages + (s < all % stages) - (s == 0 ? first : 0) - (s == stages - 1 ? last : 0);
        if (here < 0)
            return NULL;
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, s > 0 ? "," : "", here);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* Two stages on each rank unless the schedule has one, or layers_per_stage makes them more. */
static gboolean
say_stages(CliConfig *c, const char *schedule, gint64 pp, GError **error)
{
    gboolean single = strcmp(schedule, "1f1b") == 0 || strcmp(schedule, "gpipe") == 0;
    gint64 first = 1, last = 1, each = 0;
    if (!cli_config_count(c, FIRST, 0, &first, error) ||
        !cli_config_count(c, LAST, 0, &last, error) ||
        !cli_config_count(c, PER_STAGE, 1, &each, error))
        return FALSE;
    g_autoptr(LlmShape) shape = cli_config_shape(c, model_of(c));
    gint64 stages = pp * (single ? 1 : 2);
    if (each > 0 && shape != NULL)
        stages = (shape->layers + first + last + each - 1) / each;
    if (pp > 0 && (stages % pp != 0 || (single && stages != pp) || (!single && stages < 2 * pp)))
        return cli_config_refuse(c, PER_STAGE, error,
                                 "makes %" G_GINT64_FORMAT " stages, which %s on %" G_GINT64_FORMAT
                                 " ranks does not take; write another, or --stage-layers",
                                 stages, schedule, pp);
    cli_config_say(c, P "pipeline_parallel_schedule", "schedule", schedule);
    cli_config_say_count(c, each > 0 ? PER_STAGE : P "pipeline_parallel_schedule", "vpp",
                         pp > 0   ? stages / pp
                         : single ? 1
                                  : 2);
    g_autofree char *layers =
        pp > 0 && shape != NULL ? cut_layers(shape->layers, stages, first, last) : NULL;
    if (layers != NULL)
        cli_config_say(c, each > 0 ? PER_STAGE : FIRST, "stage-layers", layers);
    return TRUE;
}

static gboolean
read_pipeline(CliConfig *c, gint64 pp, GError **error)
{
    const char *const path = P "pipeline_parallel_schedule";
    const char *schedule = "1f1b", *csv = "";
    if (!cli_config_word(c, path, schedules, names_here, &schedule, error) ||
        !cli_config_text(c, P "pipeline_parallel_schedule_csv", &csv, error))
        return FALSE;
    if (pp == 1) {
        if (cli_config_find(c, path) != NULL && !cli_config_is_typed(c, "schedule"))
            cli_config_warn(c, path, "is ignored: there is no pipeline, its degree is 1");
        return TRUE;
    }
    if (csv[0] != '\0') {
        cli_config_say(c, P "pipeline_parallel_schedule_csv", "schedule", csv);
        return TRUE;
    }
    return say_stages(c, schedule, pp, error);
}

static gboolean
read_sharding(CliConfig *c, gint64 cp, GError **error)
{
    static const char *const policies[] = {"default", "always", "never", NULL};
    static const char *const rotations[] = {"allgather", "alltoall", NULL};
    static const char *const kinds[] = {"all_gather", "p2p", NULL};
    const char *policy = "default", *kind = "all_gather";
    const char *const path = P "fsdp_reshard_after_forward";
    if (!cli_config_word(c, path, policies, policies, &policy, error) ||
        !cli_config_word(c, P "context_parallel_rotate_method", rotations, kinds, &kind, error))
        return FALSE;
    if (strcmp(policy, "default") != 0)
        cli_config_say_flag(c, path, "reshard-after-forward", strcmp(policy, "always") == 0);
    if (cp > 1)
        cli_config_say(c, P "context_parallel_rotate_method", "cp-comm-type", kind);
    return TRUE;
}

static gboolean
torchtitan_read(CliConfig *c, GError **error)
{
    Degrees d = {1, 1, 1, 1, 1, -1};
    cli_config_say(c, NULL, "framework", "torchtitan");
    if (!read_model(c, error) || !read_degrees(c, &d, error) || !say_replicas(c, &d, error))
        return FALSE;
    gint64 pp = cli_config_effective(c, "pp", d.pp);
    return read_batch(c, pp, error) && read_pipeline(c, pp, error) && read_dtype(c, error) &&
           read_recompute(c, error) &&
           read_kernels(c, cli_config_effective(c, "tp", d.tp), error) &&
           read_sharding(c, cli_config_effective(c, "cp", d.cp), error);
}

const CliConfigFormat cli_config_torchtitan = {
    .name = "torchtitan",
    .syntax = &conf_toml_syntax,
    .marks = {"parallelism", "training", "model", NULL},
    .keys = keys,
    .read = torchtitan_read,
};
