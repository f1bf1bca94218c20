/* torchtitan's keys, and where they stood in its files of 2024 (torchtitan/config_manager.py of then): degrees were in
 * [training], what was new in [experimental]. */
#include "config.h"

#include "cli/config_torchtitan.h"

#define P CLI_TORCHTITAN_PARALLELISM
#define T "training."
#define E "experimental."

const CliConfigKey cli_torchtitan_keys[] = {
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
    CLI_UNSAID("training.enable_loss_parallel", "true",
               "the loss is cut over tensor-parallel ranks"),
    CLI_READ(E "pipeline_parallel_microbatches"),
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
    CLI_READ("float8.enable_float8_linear"),
    {NULL, CLI_KEY_READ, NULL, NULL},
};

const CliOlderKey cli_torchtitan_older[] = {
    {T "local_batch_size", T "batch_size"},
    {P "data_parallel_replicate_degree", T "data_parallel_replicate_degree"},
    {P "data_parallel_shard_degree", T "data_parallel_shard_degree"},
    {P "data_parallel_shard_degree", T "data_parallel_degree"},
    {P "fsdp_reshard_after_forward", T "fsdp_reshard_after_forward"},
    {P "tensor_parallel_degree", T "tensor_parallel_degree"},
    {P "disable_loss_parallel", T "disable_loss_parallel"},
    {P "enable_async_tensor_parallel", E "enable_async_tensor_parallel"},
    {P "pipeline_parallel_degree", E "pipeline_parallel_degree"},
    {P "pipeline_parallel_schedule", E "pipeline_parallel_schedule"},
    {P "pipeline_parallel_schedule_csv", E "pipeline_parallel_schedule_csv"},
    {P "pipeline_parallel_split_points", E "pipeline_parallel_split_points"},
    {P "context_parallel_degree", E "context_parallel_degree"},
    {P "context_parallel_rotate_method", E "context_parallel_rotate_method"},
    {"float8.enable_float8_linear", T "enable_float8_linear"},
    {"float8.enable_fsdp_float8_all_gather", T "enable_fsdp_float8_all_gather"},
    {NULL, NULL},
};
