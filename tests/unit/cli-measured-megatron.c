/* A dump of Megatron's arguments as the shape and the plan that dtsim validate makes of its row. */
#include "config.h"

#include "cli/measured.h"
#include "cli/measured_megatron.h"

#include <math.h>
#include <string.h>

#define BASE                                                                                       \
    "num_layers=8;hidden_size=1024;ffn_hidden_size=4096;num_attention_heads=16;seq_length=512;"    \
    "tensor_model_parallel_size=2;pipeline_model_parallel_size=2;data_parallel_size=2;"            \
    "world_size=8;micro_batch_size=1;global_batch_size=16;padded_vocab_size=50304;"

/* "a=1;b=2" after those of BASE, which they replace. */
static CalibrateMegatronLog *
log_of(const char *arguments)
{
    g_autoptr(GString) text = g_string_new("--- arguments ---\n");
    g_autofree char *all = g_strconcat(BASE, arguments, NULL);
    g_auto(GStrv) words = g_strsplit(all, ";", -1);
    for (guint i = 0; words[i] != NULL; i++) {
        g_auto(GStrv) pair = g_strsplit(words[i], "=", 2);
        if (pair[0] != NULL && pair[1] != NULL)
            g_string_append_printf(text, "  %s ... %s\n", pair[0], pair[1]);
    }
    g_string_append(text, "iteration 1/ 1 | elapsed time per iteration (s): 2.5 |\n");
    g_autoptr(GError) error = NULL;
    CalibrateMegatronLog *log = calibrate_megatron_log_parse("a", text->str, text->len, &error);
    g_assert_no_error(error);
    return log;
}

static char **
cells_of(const char *arguments, GError **error)
{
    g_autoptr(CalibrateMegatronLog) log = log_of(arguments);
    const CalibrateTraining *run = log->runs->pdata[0];
    const CliMegatronWish wish = {"a", "A100-SXM4-80GB", 8};
    char **cells = cli_megatron_cells("a", run, &wish, error);
    CalibrateSteady steady = calibrate_steady(run->iterations);
    if (cells != NULL)
        cli_megatron_measure(cells, run, &steady);
    return cells;
}

static const char *
cell(char **cells, const char *column)
{
    for (guint i = 0; i < cli_megatron_n_columns(); i++)
        if (strcmp(cli_megatron_column(i), column) == 0)
            return cells[i];
    g_assert_not_reached();
}

static const struct {
    const char *arguments, *column, *cell;
} options[] = {
    {"", "iter_s_any", "2.5"},
    {"", "kv_heads", "16"},
    {"group_query_attention=True;num_query_groups=4", "kv_heads", "4"},
    {"group_query_attention=False;num_query_groups=1", "kv_heads", "16"},
    {"", "head_dim", "64"},
    {"kv_channels=128", "head_dim", "128"},
    {"vocab_size=50257", "vocab", "50257"},
    {"", "vocab", "50304"},
    {"", "precision", "fp32"},
    {"fp16=True", "precision", "fp16"},
    {"bf16=True;fp8=None", "precision", "bf16"},
    {"bf16=True;fp8=hybrid", "precision", "fp8"},
    {"", "recompute", "none"},
    {"checkpoint_activations=True", "recompute", "full"},
    {"activations_checkpoint_method=uniform", "recompute", "full"},
    {"recompute_granularity=full;recompute_num_layers=2", "recompute_detail", "num_layers: 2"},
    {"recompute_granularity=full;recompute_method=uniform;recompute_num_layers=1",
     "recompute_detail", ""},
    {"recompute_granularity=full;recompute_method=block;recompute_num_layers=1", "recompute_detail",
     "method: block, num_layers: 1"},
    {"activations_checkpoint_method=block;activations_checkpoint_num_layers=3", "recompute_detail",
     "method: block, num_layers: 3"},
    {"recompute_granularity=selective", "recompute", "selective"},
    {"", "zero_stage", "0"},
    {"use_distributed_optimizer=True", "zero_stage", "1 (distributed optimizer)"},
    {"use_torch_fsdp2=True", "zero_stage", "3 (FSDP2)"},
    {"use_custom_fsdp=True;data_parallel_sharding_strategy=optim_grads", "zero_stage",
     "FSDP optim_grads"},
    {"deepspeed=True;zero_stage=1.0", "zero_stage", "1"},
    {"deepspeed=True", "framework", "Megatron-DeepSpeed"},
    {"transformer_impl=local", "flash_attn", "0"},
    {"transformer_impl=transformer_engine", "flash_attn", "1"},
    {"transformer_impl=transformer_engine;attention_backend=AttnBackend.unfused", "flash_attn",
     "0"},
    {"use_flash_attn=True;transformer_impl=local", "flash_attn", "1"},
    {"num_experts=[1]", "moe_experts", "0"},
    {"num_experts=64;moe_router_topk=6;moe_layer_freq=[0, 1, 1]", "moe_dense_layers", "1"},
    {"num_experts=64;moe_router_topk=6", "moe_topk", "6"},
    {"scatter_gather_tensors_in_pipeline=True", "overlap", "scatter-gather"},
    {"pipeline_model_parallel_size=1;scatter_gather_tensors_in_pipeline=True", "overlap", "none"},
    {"virtual_pipeline_model_parallel_size=4", "schedule", "interleaved-1f1b"},
    {"bf16=True;accumulate_allreduce_grads_in_fp32=False;optimizer=adam", "optimizer",
     "adam, grad reduce bf16"},
    {"position_embedding_type=PositionEmbeddingType.alibi", "arch_notes", "ALiBi"},
    {"glu_activation=swiglu", "gated_mlp", "1"},
    {"glu_activation=None", "gated_mlp", "0"},
    {"mtp_num_layers=1", "arch_notes", "mtp-num-layers: 1"},
    {"num_experts=8;moe_expert_capacity_factor=1.25", "arch_notes",
     "moe-expert-capacity-factor: 1.25"},
    {"num_experts=8;moe_expert_capacity_factor=0.5", "arch_notes",
     "moe-expert-capacity-factor: 0.5"},
    {"num_experts=8;moe_expert_capacity_factor=-1.0", "arch_notes", ""},
    {"moe_layer_freq=2", "moe_experts", "0"},
    {"embed_layernorm=True;add_bias_linear=False", "arch_notes", "no_bias, embed-layernorm"},
};

/* Options of all times, and what their columns say. */
static void
test_cells(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(options); i++) {
        g_autoptr(GError) error = NULL;
        g_auto(GStrv) cells = cells_of(options[i].arguments, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(cell(cells, options[i].column), ==, options[i].cell);
    }
}

/* Cells with no comma in them, as a table that is read. */
static void
read_back(char **cells, CliMeasured *ret)
{
    g_autoptr(GString) text = g_string_new(NULL);
    guint n = cli_megatron_n_columns();
    for (guint i = 0; i < n; i++)
        g_string_append_printf(text, "%s%c", cli_megatron_column(i), i + 1 < n ? '\t' : '\n');
    g_autofree char *row = g_strjoinv("\t", cells);
    g_string_append(text, row);
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfTable) table = conf_table_parse("t", text->str, '\t', &error);
    g_assert_no_error(error);
    CliMeasurements m = {0};
    g_assert_true(cli_measurements_init(&m, table, &error));
    g_assert_true(cli_measured_read(&m, 0, ret, &error));
    g_assert_no_error(error);
    g_assert_cmpstr(ret->skipped, ==, NULL);
    cli_measurements_clear(&m);
}

static void
test_read_back(void)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) cells = cells_of(
        "bf16=True;swiglu=True;normalization=RMSNorm;position_embedding_type=rope;"
        "untie_embeddings_and_output_weights=True;sequence_parallel=True;"
        "use_distributed_optimizer=True;overlap_grad_reduce=True;overlap_param_gather=True;"
        "transformer_impl=transformer_engine;virtual_pipeline_model_parallel_size=2;"
        "group_query_attention=True;num_query_groups=4;num_experts=8;moe_router_topk=2;"
        "moe_ffn_hidden_size=2048;expert_model_parallel_size=2;"
        "moe_token_dispatcher_type=alltoall",
        &error);
    g_assert_no_error(error);
    CliMeasured m;
    read_back(cells, &m);
    g_assert_cmpfloat(m.measured_s, ==, 2.5);
    g_assert_true(isnan(m.measured_gb));
    g_assert_cmpstr(m.system, ==, "dgx-a100-80g");
    g_assert_true(m.shape->gated);
    g_assert_false(m.shape->tied);
    g_assert_cmpint(m.shape->kv_heads, ==, 4);
    g_assert_cmpint(m.shape->experts, ==, 8);
    g_assert_cmpint(m.shape->expert_ffn, ==, 2048);
    g_assert_cmpint((int)m.shape->position, ==, LLM_POSITION_ROPE);
    g_assert_cmpint(m.spec.tp, ==, 2);
    g_assert_cmpint(m.spec.pp, ==, 2);
    g_assert_cmpint(m.spec.dp, ==, 2);
    g_assert_cmpint(m.spec.ep, ==, 2);
    g_assert_cmpint(m.spec.vpp, ==, 2);
    g_assert_cmpint(m.spec.zero, ==, 1);
    g_assert_true(m.spec.sequence_parallel);
    g_assert_true(m.spec.overlap_grad_reduce);
    g_assert_true(m.spec.overlap_param_gather);
    g_assert_cmpint((int)m.spec.attention, ==, LLM_ATTENTION_FLASH);
    g_assert_cmpint((int)m.spec.dtype, ==, CLUSTER_BF16);
    g_assert_cmpint((int)m.spec.dispatch, ==, LLM_DISPATCH_ALL_TO_ALL);
    cli_measured_clear(&m);
}

/* What only recompute_detail and the notes say. */
static void
test_read_back_words(void)
{
    static const struct {
        const char *arguments;
        PlanRecomputeMethod method;
        gint64 layers, predicted;
        double capacity;
    } cases[] = {
        {"recompute_granularity=full;recompute_method=block;recompute_num_layers=1",
         PLAN_RECOMPUTE_BLOCK, 1, 0, 0},
        {"recompute_granularity=full;recompute_method=block;recompute_num_layers=4",
         PLAN_RECOMPUTE_BLOCK, 4, 0, 0},
        {"recompute_granularity=full;recompute_method=uniform;recompute_num_layers=2",
         PLAN_RECOMPUTE_UNIFORM, 2, 0, 0},
        {"mtp_num_layers=1", PLAN_RECOMPUTE_UNIFORM, 1, 1, 0},
        {"num_experts=8;moe_router_topk=2;moe_expert_capacity_factor=1.25", PLAN_RECOMPUTE_UNIFORM,
         1, 0, 1.25},
        {"num_experts=8;moe_router_topk=2;moe_expert_capacity_factor=0.5", PLAN_RECOMPUTE_UNIFORM,
         1, 0, 0.5},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_auto(GStrv) cells = cells_of(cases[i].arguments, &error);
        g_assert_no_error(error);
        CliMeasured m;
        read_back(cells, &m);
        g_assert_cmpint((int)m.spec.recompute_method, ==, (int)cases[i].method);
        g_assert_cmpint(m.spec.recompute_layers, ==, cases[i].layers);
        g_assert_cmpint(m.shape->mtp_layers, ==, cases[i].predicted);
        g_assert_cmpfloat(m.spec.capacity_factor, ==, cases[i].capacity);
        cli_measured_clear(&m);
    }
}

static void
test_refusals(void)
{
    static const struct {
        const char *arguments, *says;
    } cases[] = {
        {"num_layers=None", "no number at 'num_layers'"},
        {"world_size=many", "no number at 'world_size'"},
        {"padded_vocab_size=None", "does not say its vocabulary"},
        {"ds_sequence_parallel_size=4", "a:1: says ds_sequence_parallel_size 4"},
        {"hybrid_override_pattern=M-M*", "hybrid_override_pattern M-M*, for which"},
        {"is_hybrid_model=True", "is_hybrid_model True"},
        {"window_size=(1024, 0)", "window_size (1024, 0)"},
        {"pipeline_model_parallel_layout=Et*3|(t*4|)*5t,L", "pipeline_model_parallel_layout"},
        {"context_parallel_size=2;cp_comm_type=['a2a']", "cp_comm_type ['a2a']"},
        {"context_parallel_size=2;cp_comm_type=['p2p', 'a2a']", "cp_comm_type"},
        {"optimizer=muon", "says optimizer muon"},
        {"optimizer=adamw2", "says optimizer adamw2"},
        {"optimizer_cpu_offload=True", "optimizer_cpu_offload"},
        {"use_precision_aware_optimizer=True;exp_avg_dtype=torch.bfloat16",
         "use_precision_aware_optimizer"},
        {"num_experts=8;moe_layer_freq=[0, 1, 0, 1]", "experts in some layers only"},
        {"deepspeed=True;num_experts=[64]", "DeepSpeed's experts"},
        {"num_experts=8;moe_layer_freq=2", "experts in some layers only"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(cells_of(cases[i].arguments, &error));
        g_assert_nonnull(error);
        g_assert_nonnull(strstr(error->message, cases[i].says));
    }
}

/* What dumps say of such arguments when they are not used. */
static void
test_usual(void)
{
    static const char *const cases[] = {
        "ds_sequence_parallel_size=1",
        "hybrid_override_pattern=None;is_hybrid_model=False",
        "window_size=None;pipeline_model_parallel_layout=None",
        "window_size=(-1, -1)",
        "context_parallel_size=2;cp_comm_type=['p2p']",
        "context_parallel_size=1;cp_comm_type=a2a",
        "optimizer=adam;optimizer_cpu_offload=False;use_precision_aware_optimizer=False",
        "num_experts=8;moe_layer_freq=[0, 1, 1, 1]",
        "moe_layer_freq=[0, 1, 0, 1]",
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_auto(GStrv) cells = cells_of(cases[i], &error);
        g_assert_no_error(error);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("arguments of Megatron are the shape and the plan of a measured run");
    g_test_add_func("/cli/measured-megatron/arguments-as-cells", test_cells);
    g_test_add_func("/cli/measured-megatron/cells-as-shape-and-plan", test_read_back);
    g_test_add_func("/cli/measured-megatron/words-as-plan", test_read_back_words);
    g_test_add_func("/cli/measured-megatron/what-has-no-column", test_refusals);
    g_test_add_func("/cli/measured-megatron/what-is-usual", test_usual);
    return g_test_run();
}
