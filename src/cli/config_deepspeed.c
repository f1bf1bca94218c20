/* DeepSpeed's JSON (deepspeed/runtime/config.py, runtime/zero/config.py): what is cut and put aside, precision and
 * batch. It knows neither the model nor the GPUs. Hugging Face's "auto" is a value that its Trainer fills in. */
#include "config.h"

#include "cli/config_file.h"

#include <string.h>

static const CliConfigKey keys[] = {
    CLI_DEEPSPEED_KEYS,
    CLI_READ("bf16.enabled"),
    CLI_READ("bfloat16.enabled"),
    CLI_READ("data_types.grad_accum_dtype"),
    CLI_READ("tensor_parallel.autotp_size"),
    CLI_UNSAID("amp.enabled", NULL, "weights are kept in the type of --dtype"),
    CLI_UNSAID("communication_data_type", NULL, "gradients travel in the type of --grad-dtype"),
    CLI_UNSAID("activation_checkpointing.partition_activations", NULL,
               "what is recomputed from is kept whole by every tensor-parallel rank"),
    CLI_UNSAID("activation_checkpointing.cpu_checkpointing", NULL,
               "write --offload-activations for the layers whose activations wait on the host"),
    CLI_UNSAID("sparse_attention", NULL, "attention is dense"),
    CLI_UNSAID("curriculum_learning.enabled", NULL, "all sequences are as long as --seq-length"),
    CLI_UNSAID("sequence_parallel_size", "1", "write --cp with --cp-comm-type a2a"),
    CLI_UNSAID("pipeline.stages", "auto", "write --pp"),
    CLI_UNSAID("compression_training", NULL, "nothing is compressed or pruned"),
    CLI_UNSAID("progressive_layer_drop.enabled", NULL, "every layer runs"),
    {NULL, CLI_KEY_READ, NULL, NULL},
};

/* fp16 and bf16 exclude each other; with neither DeepSpeed trains in fp32. Where one or both are open, bf16 is taken if
 * it is. */
static gboolean
read_dtype(CliConfig *c, GError **error)
{
    const char *const name =
        conf_document_find(c->document, "bf16") ? "bf16.enabled" : "bfloat16.enabled";
    gboolean fp16 = FALSE, bf16 = FALSE;
    if (!cli_config_flag(c, "fp16.enabled", &fp16, error) ||
        !cli_config_flag(c, name, &bf16, error))
        return FALSE;
    if (fp16 && bf16)
        return cli_config_refuse(c, name, error, "and fp16 are both enabled; write one of the two");
    gboolean open_bf16 = cli_config_is_open(c, name);
    gboolean open = !fp16 && !bf16 && (open_bf16 || cli_config_is_open(c, "fp16.enabled"));
    const char *const dtype = bf16 || (open && open_bf16) ? "bf16" : fp16 || open ? "fp16" : "fp32";
    const char *const path = strcmp(dtype, "bf16") == 0   ? name
                             : strcmp(dtype, "fp16") == 0 ? "fp16.enabled"
                                                          : NULL;
    cli_config_say(c, path, "dtype", dtype);
    if (open && !cli_config_is_typed(c, "dtype"))
        cli_config_warn(c, path, "'auto' is given elsewhere: %s is taken; write --dtype", dtype);
    if (path == NULL)
        cli_config_warn_of_fp32(c);
    return TRUE;
}

static gboolean
read_accumulation(CliConfig *c, GError **error)
{
    static const char *const words[] = {"fp32", "bf16", "fp16", NULL};
    static const char *const meanings[] = {"fp32", "model", "model", NULL};
    return cli_config_say_word(c, "data_types.grad_accum_dtype", "grad-dtype", words, meanings,
                               error);
}

/* Sizes that Hugging Face's Trainer fills in by the model's hidden size (transformers
 * integrations/deepspeed.py, trainer_config_finalize). */
static void
fill_sizes(CliConfig *c, gint64 stage)
{
    const struct {
        const char *path, *option;
        gboolean of_stage_3;
        double square, linear;
    } sizes[] = {
        {"zero_optimization.reduce_bucket_size", "bucket-size", FALSE, 1, 0},
        {"zero_optimization.stage3_prefetch_bucket_size", "prefetch-elements", TRUE, 0.9, 0},
        {"zero_optimization.stage3_param_persistence_threshold", "resident-elements", TRUE, 0, 10},
    };
    g_autoptr(LlmShape) shape = cli_config_shape(c, CLI_DEFAULT_MODEL);
    for (guint i = 0; shape != NULL && i < G_N_ELEMENTS(sizes); i++) {
        gboolean open = cli_config_is_open(c, sizes[i].path);
        double h = (double)shape->hidden;
        if (open && (stage == 3 || !sizes[i].of_stage_3))
            cli_config_say_count(c, sizes[i].path, sizes[i].option,
                                 (gint64)(sizes[i].square * h * h + sizes[i].linear * h));
    }
}

static gboolean
deepspeed_read(CliConfig *c, GError **error)
{
    gint64 stage = 0, tp = 0;
    cli_config_say(c, NULL, "framework", "deepspeed");
    if (!cli_config_read_zero(c, &stage, error) || !read_dtype(c, error) ||
        !read_accumulation(c, error) || !cli_config_read_optimizer(c, error) ||
        !cli_config_read_clip(c, "gradient_clipping", 0, error) ||
        !cli_config_count(c, "tensor_parallel.autotp_size", 0, &tp, error))
        return FALSE;
    fill_sizes(c, stage);
    if (tp > 0)
        cli_config_say_count(c, "tensor_parallel.autotp_size", "tp", tp);
    if (c->in->model == NULL)
        cli_config_warn(c, NULL, "knows no model; " CLI_DEFAULT_MODEL " is taken; write --model");
    return cli_config_read_batch(c, MAX(tp, 1), 1, 1, error);
}

const CliConfigFormat cli_config_deepspeed = {
    .name = "DeepSpeed",
    .syntax = &conf_json_syntax,
    .marks = {"zero_optimization", "train_batch_size", "train_micro_batch_size_per_gpu",
              "gradient_accumulation_steps", "fp16", "bf16", NULL},
    .keys = keys,
    .autos = TRUE,
    .read = deepspeed_read,
};
