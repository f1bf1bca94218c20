/* The plan of a Megatron log, in the words that cli/measured_plan.c looks for; names of arguments are those of
 * megatron/training/arguments.py over its versions. */
#include "config.h"

#include "cli/measured_megatron_args.h"

#include <string.h>

gboolean
cli_megatron_uses_deepspeed(const CalibrateTraining *run)
{
    return cli_megatron_is_true(run, "deepspeed") || run->deepspeed;
}

void
cli_megatron_zero(const CalibrateTraining *run, GString *cell)
{
    const char *strategy = cli_megatron_text(run, "data_parallel_sharding_strategy");
    const char *stage = cli_megatron_text(run, "zero_stage"); /* "1.0" */
    gboolean fsdp = cli_megatron_is_true(run, "use_megatron_fsdp") ||
                    cli_megatron_is_true(run, "use_custom_fsdp");
    if (cli_megatron_uses_deepspeed(run))
        g_string_append_printf(cell, "%c", stage[0] >= '1' && stage[0] <= '3' ? stage[0] : '0');
    else if (cli_megatron_is_true(run, "use_torch_fsdp2"))
        g_string_append(cell, "3 (FSDP2)");
    else if (fsdp && g_str_has_prefix(strategy, "optim"))
        g_string_append_printf(cell, "FSDP %s", strategy);
    else
        g_string_append(cell, cli_megatron_is_true(run, "use_distributed_optimizer")
                                  ? "1 (distributed optimizer)"
                                  : "0");
}

/* TransformerEngine chooses a fused kernel by itself unless it is told not to. */
gint64
cli_megatron_uses_flash(const CalibrateTraining *run)
{
    const char *backend = cli_megatron_text(run, "attention_backend");
    if (cli_megatron_is_true(run, "use_flash_attn") ||
        cli_megatron_is_true(run, "use_flash_attn_v1") ||
        cli_megatron_is_true(run, "use_flash_attn_v2") ||
        cli_megatron_is_true(run, "use_flash_attn_triton"))
        return TRUE;
    if (strstr(backend, "unfused") != NULL || strstr(backend, "local") != NULL)
        return FALSE;
    return strcmp(cli_megatron_text(run, "transformer_impl"), "transformer_engine") == 0;
}

/* Names have changed: --checkpoint-activations, --activations-checkpoint-method, --recompute-granularity. */
void
cli_megatron_recompute(const CalibrateTraining *run, GString *cell)
{
    const char *granularity = cli_megatron_text(run, "recompute_granularity");
    gboolean full = cli_megatron_is_true(run, "checkpoint_activations") ||
                    *cli_megatron_text(run, "activations_checkpoint_method") != '\0' ||
                    cli_megatron_is_true(run, "deepspeed_activation_checkpointing");
    g_string_append(cell, *granularity != '\0' ? granularity : full ? "full" : "none");
}

/* The first layers of a stage where the method is block, all in units of so many where it is uniform. */
void
cli_megatron_recompute_detail(const CalibrateTraining *run, GString *cell)
{
    const char *modules = cli_megatron_text(run, "recompute_modules");
    gboolean block = strcmp(cli_megatron_text(run, "recompute_method"), "block") == 0 ||
                     strcmp(cli_megatron_text(run, "activations_checkpoint_method"), "block") == 0;
    gint64 layers =
        cli_megatron_count(run, "recompute_num_layers", "activations_checkpoint_num_layers",
                           cli_megatron_count(run, "checkpoint_num_layers", NULL, 1));
    if (block)
        cli_megatron_add(cell, "method: block");
    if (block || layers > 1)
        cli_megatron_add(cell, "num_layers: %" G_GINT64_FORMAT, layers);
    if (*modules != '\0')
        cli_megatron_add(cell, "%s", modules);
}

void
cli_megatron_precision(const CalibrateTraining *run, GString *cell)
{
    g_string_append(
        cell, *cli_megatron_text(run, "fp8") != '\0' && !cli_megatron_is_false(run, "fp8") ? "fp8"
              : cli_megatron_is_true(run, "bf16")                                          ? "bf16"
              : cli_megatron_is_true(run, "fp16")                                          ? "fp16"
                                                  : "fp32");
}

void
cli_megatron_overlap(const CalibrateTraining *run, GString *cell)
{
    static const char *const words[][2] = {
        {"overlap_grad_reduce", "overlap-grad-reduce"},
        {"overlap_param_gather", "overlap-param-gather"},
        {"tp_comm_overlap", "tp-comm-overlap"},
        {"overlap_moe_expert_parallel_comm", "overlap-moe-expert-parallel-comm"},
        {"delay_wgrad_compute", "delay-wgrad"},
        {"moe_enable_deepep", "DeepEP"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(words); i++)
        if (cli_megatron_is_true(run, words[i][0]))
            cli_megatron_add(cell, "%s", words[i][1]);
    if (cli_megatron_is_true(run, "scatter_gather_tensors_in_pipeline") &&
        cli_megatron_count(run, "pipeline_model_parallel_size", NULL, 1) > 1 &&
        cli_megatron_count(run, "tensor_model_parallel_size", NULL, 1) > 1)
        cli_megatron_add(cell, "scatter-gather");
    if (cell->len == 0)
        g_string_append(cell, "none");
}

gint64
cli_megatron_virtual_stages_of(const CalibrateTraining *run)
{
    return MAX(cli_megatron_count(run, "virtual_pipeline_model_parallel_size", NULL, 1), 1);
}

void
cli_megatron_optimizer(const CalibrateTraining *run, GString *cell)
{
    g_string_append(cell, cli_megatron_text(run, "optimizer"));
    if (cli_megatron_is_true(run, "bf16") &&
        cli_megatron_is_false(run, "accumulate_allreduce_grads_in_fp32") &&
        !cli_megatron_uses_deepspeed(run))
        cli_megatron_add(cell, "grad reduce bf16");
}

void
cli_megatron_framework(const CalibrateTraining *run, GString *cell)
{
    g_string_append(cell, cli_megatron_uses_deepspeed(run) ? "Megatron-DeepSpeed" : "Megatron-LM");
}

void
cli_megatron_schedule(const CalibrateTraining *run, GString *cell)
{
    g_string_append(cell, cli_megatron_virtual_stages_of(run) > 1 ? "interleaved-1f1b" : "1f1b");
}

gint64
cli_megatron_is_sequence_parallel(const CalibrateTraining *run)
{
    return cli_megatron_is_true(run, "sequence_parallel");
}
