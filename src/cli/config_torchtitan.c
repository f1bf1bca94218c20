/* torchtitan's TOML (torchtitan/config/job_config.py): degrees, batch, recompute and quantisation; the model by its
 * name and flavor. Its defaults hold where the file says nothing, and are its, not PyTorch's. */
#include "config.h"

#include "cli/config_torchtitan.h"

#include <string.h>

#define P CLI_TORCHTITAN_PARALLELISM

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

/* What is quantised is what converters name, and before there were any a flag; their sections alone change nothing. */
static gboolean
read_dtype(CliConfig *c, GError **error)
{
    static const char *const types[] = {"bfloat16", "float32", NULL};
    static const char *const dtypes[] = {"bf16", "fp32", NULL};
    const char *dtype = "bf16", *path = "training.mixed_precision_param";
    const char *const newer = "quantize.linear.float8.enable_fsdp_float8_all_gather";
    const char *const gather =
        cli_config_find(c, newer) != NULL ? newer : "float8.enable_fsdp_float8_all_gather";
    const char *const flag = "float8.enable_float8_linear";
    gboolean fp8 = FALSE, older = FALSE, mx = FALSE, gathered = FALSE;
    if (!cli_config_word(c, path, types, dtypes, &dtype, error) ||
        !cli_config_flag(c, gather, &gathered, error) || !cli_config_flag(c, flag, &older, error) ||
        !cli_config_holds(c, "model.converters", "float8", &fp8, error) ||
        !cli_config_holds(c, "model.converters", "mx", &mx, error))
        return FALSE;
    if (mx)
        cli_config_warn(c, "model.converters", "not modelled: mx runs as %s; --dtype fp8 is near",
                        dtype);
    cli_config_say(c,
                   fp8     ? "model.converters"
                   : older ? flag
                           : path,
                   "dtype", fp8 || older ? "fp8" : dtype);
    if (fp8 || older)
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
    guint64 parsed = 0;
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
    if (every == 0 && !g_ascii_string_to_unsigned(option, 10, 1, CLI_MANY, &parsed, NULL))
        return cli_config_refuse(c, path, error, "'%s' is not known; write op or a whole number",
                                 option);
    cli_config_say(c, path, "recompute", "full");
    cli_config_say(c, path, "recompute-method", "every");
    cli_config_say_count(c, path, "recompute-layers", every > 0 ? every : (gint64)parsed);
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
    gboolean compiled = FALSE, older = FALSE, async = FALSE, offload = FALSE, loss = TRUE;
    if (!cli_config_word(c, "optimizer.name", names, optimizers, &optimizer, error) ||
        !cli_config_flag(c, "compile.enable", &compiled, error) ||
        !cli_config_flag(c, "training.compile", &older, error) ||
        !cli_config_flag(c, P "enable_async_tensor_parallel", &async, error) ||
        !cli_config_flag(c, "training.enable_cpu_offload", &offload, error) ||
        !cli_config_holds(c, "compile.components", "loss", &loss, error) ||
        !cli_config_read_clip(c, "training.max_norm", 1, error))
        return FALSE;
    cli_config_say(c, "optimizer.name", "optimizer", optimizer);
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

/* --- pipeline ----------------------------------------------------------------------------------- */

static const char *const schedules[] = {"1F1B",
                                        "GPipe",
                                        "Interleaved1F1B",
                                        "interleaved_1f1b",
                                        "InterleavedZeroBubble",
                                        "ZBVZeroBubble",
                                        "LoopedBFS",
                                        "DualPipeV",
                                        NULL};
static const char *const names_here[] = {"1f1b",
                                         "gpipe",
                                         "interleaved_torch",
                                         "interleaved_torch",
                                         "interleaved_zb_torch",
                                         "zbv_torch",
                                         "looped_bfs",
                                         "dualpipev",
                                         NULL};

#define SCHEDULE P "pipeline_parallel_schedule"
#define SCHEDULE_CSV P "pipeline_parallel_schedule_csv"
#define PER_STAGE P "pipeline_parallel_layers_per_stage"
#define FIRST P "pipeline_parallel_first_stage_less_layers"
#define LAST P "pipeline_parallel_last_stage_less_layers"

static gboolean
is_single(const char *schedule)
{
    return strcmp(schedule, "1f1b") == 0 || strcmp(schedule, "gpipe") == 0;
}

/* Layers and ends over the stages, the first ones taking what is left over; then without the ends. NULL: a stage has
 * less than none. */
static char *
cut_layers(CliConfig *c, gint64 layers, gint64 stages, gint64 first, gint64 last, GError **error)
{
    gint64 all = layers + first + last;
    g_autoptr(GString) text = g_string_new(NULL);
    for (gint64 s = 0; s < stages; s++) {
        gint64 here =
            all / stages + (s < all % stages) - (s == 0 ? first : 0) - (s == stages - 1 ? last : 0);
        if (here < 0) {
            cli_config_refuse(c, s == 0 ? FIRST : LAST, error,
                              "the %s of %" G_GINT64_FORMAT " stages has %" G_GINT64_FORMAT
                              " layers; write a smaller number, or --stage-layers",
                              s == 0 ? "first" : "last", stages, here);
            return NULL;
        }
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, s > 0 ? "," : "", here);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* Two stages on each rank unless the schedule has one, or layers_per_stage makes them more. */
static gboolean
say_stages(CliConfig *c, const char *schedule, gint64 pp, GError **error)
{
    gboolean single = is_single(schedule);
    gint64 first = 1, last = 1, each = 0;
    if (!cli_config_count(c, FIRST, 0, &first, error) ||
        !cli_config_count(c, LAST, 0, &last, error) ||
        !cli_config_count(c, PER_STAGE, 1, &each, error))
        return FALSE;
    g_autoptr(LlmShape) shape = cli_config_shape(c, model_of(c));
    gint64 stages = pp * (single ? 1 : 2);
    if (each > 0 && shape != NULL)
        stages = (shape->layers + first + last + each - 1) / each;
    if (stages % pp != 0 || (single && stages != pp) || (!single && stages < 2 * pp))
        return cli_config_refuse(c, PER_STAGE, error,
                                 "makes %" G_GINT64_FORMAT " stages, which %s on %" G_GINT64_FORMAT
                                 " ranks does not take; write another, or --stage-layers",
                                 stages, schedule, pp);
    cli_config_say(c, SCHEDULE, "schedule", schedule);
    cli_config_say_count(c, each > 0 ? PER_STAGE : SCHEDULE, "vpp", stages / pp);
    if (shape == NULL || cli_config_is_decided(c, "stage-layers"))
        return TRUE;
    g_autofree char *layers = cut_layers(c, shape->layers, stages, first, last, error);
    if (layers != NULL)
        cli_config_say(c, each > 0 ? PER_STAGE : FIRST, "stage-layers", layers);
    return layers != NULL;
}

/* A path in the file is seen from where the file is. */
static void
say_table(CliConfig *c, const char *csv)
{
    g_autofree char *folder = g_path_get_dirname(conf_document_name(c->document));
    g_autofree char *path = g_path_is_absolute(csv) || strcmp(folder, ".") == 0
                                ? g_strdup(csv)
                                : g_build_filename(folder, csv, NULL);
    cli_config_say(c, SCHEDULE_CSV, "schedule", path);
}

static gboolean
read_pipeline(CliConfig *c, gint64 pp, GError **error)
{
    const char *schedule = "1f1b", *csv = "";
    if (!cli_config_word(c, SCHEDULE, schedules, names_here, &schedule, error) ||
        !cli_config_text(c, SCHEDULE_CSV, &csv, error))
        return FALSE;
    if (pp == 1) {
        if (cli_config_find(c, SCHEDULE) != NULL && !cli_config_is_typed(c, "schedule"))
            cli_config_warn(c, SCHEDULE, "is ignored: there is no pipeline, its degree is 1");
        return TRUE;
    }
    if (csv[0] != '\0') {
        say_table(c, csv);
        return TRUE;
    }
    return say_stages(c, schedule, pp, error);
}

/* --- batch -------------------------------------------------------------------------------------- */

#define LOCAL "training.local_batch_size"
#define MICRO P "pipeline_parallel_microbatch_size"
#define MICROBATCHES "experimental.pipeline_parallel_microbatches"

/* Files of 2024 say the number of microbatches, which is that of stages where they do not. */
static gboolean
read_microbatches(CliConfig *c, gint64 pp, gint64 local, gint64 *ret_micro, GError **error)
{
    const char *schedule = "1f1b";
    gint64 n = 0;
    if (!cli_config_count(c, MICROBATCHES, 1, &n, error) ||
        !cli_config_word(c, SCHEDULE, schedules, names_here, &schedule, error))
        return FALSE;
    gboolean older = conf_document_find(c->document, "parallelism") == NULL &&
                     conf_document_find(c->document, "training.batch_size") != NULL;
    if (n > 0 && local % n != 0)
        return cli_config_refuse(c, MICROBATCHES, error,
                                 "%" G_GINT64_FORMAT " does not divide the local batch of "
                                 "%" G_GINT64_FORMAT,
                                 n, local);
    gint64 stages = pp * (is_single(schedule) ? 1 : 2);
    if (n == 0 && older && local % stages != 0)
        cli_config_warn(c, LOCAL,
                        "is not a multiple of %" G_GINT64_FORMAT " stages, torchtitan's number of "
                        "microbatches then; microbatches of 1 are taken",
                        stages);
    else if (n > 0 || older)
        *ret_micro = local / (n > 0 ? n : stages);
    return TRUE;
}

/* Without a pipeline the local batch is one microbatch; with one it is cut into them. */
static gboolean
read_batch(CliConfig *c, gint64 pp, GError **error)
{
    gint64 local = 8, micro = 1, seq = 2048, global = 0;
    const char *const all = "training.global_batch_size";
    JsonNode *node = cli_config_find(c, all);
    gboolean derived = node != NULL && JSON_NODE_HOLDS_VALUE(node) && json_node_get_int(node) == -1;
    if (!cli_config_count(c, LOCAL, 1, &local, error) ||
        !cli_config_count(c, "training.seq_len", 1, &seq, error) ||
        !cli_config_count(c, MICRO, 1, &micro, error) ||
        (!derived && !cli_config_count(c, all, 1, &global, error)))
        return FALSE;
    if (pp <= 1)
        micro = local;
    else if (cli_config_find(c, MICRO) == NULL && !read_microbatches(c, pp, local, &micro, error))
        return FALSE;
    if (local % micro != 0)
        return cli_config_refuse(c, MICRO, error,
                                 "%" G_GINT64_FORMAT " does not divide the local batch of "
                                 "%" G_GINT64_FORMAT,
                                 micro, local);
    cli_config_say_count(c, "training.seq_len", "seq-length", seq);
    cli_config_say_count(c,
                         pp <= 1                                    ? LOCAL
                         : cli_config_find(c, MICROBATCHES) != NULL ? MICROBATCHES
                                                                    : MICRO,
                         "micro-batch-size", micro);
    if (global > 0)
        cli_config_say_count(c, all, "global-batch-size", global);
    else
        cli_config_say_count(c, LOCAL, "microbatches", local / micro);
    if (global > 0 && pp > 1)
        cli_config_warn(c, all,
                        "not modelled: torchtitan empties the pipeline after each local batch, "
                        "here the microbatches of an iteration run in one");
    return TRUE;
}

/* --- whole --------------------------------------------------------------------------------------- */

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
    .keys = cli_torchtitan_keys,
    .older = cli_torchtitan_older,
    .read = torchtitan_read,
};
