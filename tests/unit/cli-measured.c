/* Published runs in people's words become a system and a plan. */
#include "config.h"

#include "cli/measured_read.h"

#include <math.h>
#include <string.h>

static void
networks_are_read_from_words(void)
{
    const struct {
        const char *text;
        gint64 gpus, gigabit, cards;
    } cases[] = {
        {"8x 400 Gb/s InfiniBand NDR per node", 8, 3200, 8},
        {"8x200 Gb/s HDR InfiniBand per node", 8, 1600, 8},
        {"800 Gb/s per node InfiniBand (config inter_node_bandwidth=800)", 8, 800, 0},
        {"400 Gb/s per GPU (ConnectX-7) [product spec]", 4, 1600, 4},
        {"4x Omni-Path 100Gb/s per node (400 Gb/s); measured busbw ~40 Gb/s", 4, 400, 4},
        {"Omni-Path (nominal 400 Gb/s per node; measured 23-57 Gb/s)", 4, 400, 0},
        {"1600 Gb/s per node RoCE (8x200Gb)", 8, 1600, 8},
        {"EFA 32x100 Gb/s = 3200 Gb/s per node", 8, 3200, 32},
        {"InfiniBand 8x50 GB/s per node", 8, 3200, 8},
        {"AWS 25 Gb/s TCP", 8, 25, 1},
        {"n/a (1 node)", 8, 0, 0},
        {"InfiniBand (not stated in log)", 8, 0, 0},
        {"", 8, 0, 0},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        gint64 cards = -1;
        gint64 rate = cli_measured_network(cases[i].text, cases[i].gpus, &cards);
        g_assert_cmpint(rate, ==, cases[i].gigabit * 125000000);
        g_assert_cmpint(cards, ==, cases[i].cards);
    }
}

static const char table_text[] =
    "id,gpu,gpus,layers,hidden,heads,seq_len,vocab,tp,pp,dp,micro_batch,global_batch,gpus_per_node,"
    "inter_net,framework,overlap,precision,zero_stage,moe_experts,arch_notes,gated_mlp,kv_heads,"
    "recompute,flash_attn,iter_s_any,measured_peak_mem_GB,use_for,dup_of\n"
    "a,A100-SXM4-40GB,16,24,1024,16,1024,50257,2,2,4,1,16,8,8x200 Gb/s,Megatron-DeepSpeed,none,fp16,"
    "1,,,0,16,full,0,1.5,30,time+memory,\n"
    "b,H100-SXM5,8,24,1024,16,1024,50257,1,1,8,1,16,8,,NeMo,grad + param overlap,bf16,1,,rope,1,4,"
    "none,1,2.5,,time,\n"
    "c,A100,8,24,1024,16,1024,50257,1,1,8,1,16,8,,x FSDP1,,bf16,3 (HSDP 4),,,1,4,none,1,2.5,,time,\n"
    "d,A100,8,24,1024,16,1024,50257,1,1,8,1,16,8,,x,,fp8,0,8,"
    "\"{\"\"moe-router-topk\"\": 3, \"\"transformer-impl\"\": \"\"local\"\"}\",1,4,none,1,2.5,,time,\n"
    "e,TPU v4,8,24,1024,16,1024,50257,1,1,8,1,16,8,,x,,bf16,0,,,1,4,none,1,2.5,,time,\n"
    "f,A100,8,24,1024,16,1024,50257,1,1,8,1,16,8,,x,,bf16,0,,,1,4,none,1,,,oom,\n"
    "g,A100,8,24,1024,16,1024,50257,1,1,8,1,16,8,,x,,bf16,0,,,1,4,none,1,2.5,,time,a\n"
    "h,A100,8,24,1024,15,1024,50257,1,1,8,1,16,8,,x,,bf16,0,,,1,4,none,1,2.5,,time,\n"
    "i,GB300,8,24,1024,16,1024,50257,1,1,8,1,16,8,,x,,bf16,0,,,1,4,none,1,2.5,,time,\n"
    "j,GB300,8,24,1024,16,1024,50257,1,1,8,1,16,8,,x,,bf16,0,,"
    "\"MLA attention (q_lora 1536, kv_lora 512, qk_nope 128, qk_rope 64, v 96)\",1,16,none,1,2.5,9,"
    "time+memory,\n"
    "k,A100,8,24,1024,16,1024,50257,1,1,8,1,16,8,,x,,nvfp4,0,,,1,4,none,1,2.5,,time,\n"
    "l,A100,8,24,1024,16,1024,50257,1,1,8,1,16,8,,x,,bf16,auto,,,1,4,none,1,2.5,,time,\n";

static CliMeasured
row_of(const char *text, guint row)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfTable) table = conf_table_parse("runs.csv", text, ',', &error);
    g_assert_no_error(error);
    CliMeasurements m = {0};
    gboolean ok = cli_measurements_init(&m, table, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    CliMeasured r;
    ok = cli_measured_read(&m, row, &r, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    r.id = r.source = NULL; /* the table's */
    cli_measurements_clear(&m);
    return r;
}

static void
rows_become_plans_or_say_why_not(void)
{
    static const char *const skipped[] = {
        NULL,
        NULL,
        NULL,
        NULL,
        "no system for",
        NULL,
        "repeats",
        "15 attention heads",
        "no memory measured",
        NULL,
        "4-bit",
        "compiler",
    };
    for (guint i = 0; i < G_N_ELEMENTS(skipped); i++) {
        CliMeasured r = row_of(table_text, i);
        g_assert_cmpint(r.skipped != NULL, ==, skipped[i] != NULL);
        if (r.skipped != NULL)
            g_assert_nonnull(strstr(r.skipped, skipped[i]));
        g_assert_cmpint(r.measured_oom, ==, i == 5);
        cli_measured_clear(&r);
    }
}

static void
columns_say_what_the_framework_does_not(void)
{
    CliMeasured r = row_of(table_text, 0);
    g_assert_cmpstr(r.system, ==, "dgx-a100-40g");
    g_assert_cmpint(r.spec.framework, ==, PLAN_DEEPSPEED);
    g_assert_false(r.spec.overlap_grad_reduce);
    g_assert_false(r.spec.gradient_fp32);
    g_assert_cmpint(r.spec.zero, ==, 1);
    g_assert_cmpint(r.spec.recompute, ==, LLM_RECOMPUTE_FULL);
    g_assert_cmpint(r.shape->position, ==, LLM_POSITION_LEARNED);
    g_assert_cmpfloat(r.measured_gb, ==, 30);
    g_assert_cmpint(r.memory_kind, ==, CLI_MEMORY_PROCESS);
    g_assert_null(r.overrides->pdata[0]); /* 8 x 200 Gb/s is what the system has */
    cli_measured_clear(&r);
    r = row_of(table_text, 1);
    g_assert_cmpstr(r.system, ==, "dgx-h100");
    g_assert_true(r.spec.overlap_grad_reduce);
    g_assert_true(r.spec.overlap_param_gather);
    g_assert_true(isnan(r.measured_gb));
    cli_measured_clear(&r);
    r = row_of(table_text, 2);
    g_assert_cmpint(r.spec.framework, ==, PLAN_FSDP);
    g_assert_cmpint(r.spec.zero, ==, 3);
    g_assert_cmpint(r.spec.shard_size, ==, 4);
    g_assert_true(r.spec.overlap_param_gather);
    cli_measured_clear(&r);
}

static const char bridge_text[] =
    "id,gpu,gpus,layers,hidden,heads,seq_len,vocab,tp,pp,dp,micro_batch,global_batch,gpus_per_node,"
    "inter_net,framework,overlap,precision,zero_stage,moe_experts,vpp,ep,sp,gated_mlp,kv_heads,iter_s_any,"
    "use_for\n"
    "a,H100,256,94,4096,64,4096,151936,2,8,16,1,2048,8,,Megatron-Bridge / Megatron-Core,"
    "cuda_graph=None/None; a2a_overlap=True,bf16,1,128,4,32,1,1,4,2.5,time\n"
    "b,H100,512,96,4096,64,4096,51200,4,8,16,1,2048,8,,NeMo,TP/DP/PP overlap,bf16,1,,4,1,1,0,64,2.5,time\n"
    "c,V100,64,64,8192,64,1024,50257,1,1,64,1,64,4,\"Omni-Path (nominal 400 Gb/s per node; measured 16-node "
    "all_reduce 20-80 Gb/s)\",DeepSpeed,,fp16,3,,1,1,0,0,64,2.5,time\n"
    "d,V100,64,64,8192,64,1024,50257,2,1,32,1,64,4,\"Omni-Path (nominal 400 Gb/s per node; measured 16-node "
    "all_reduce 20-80 Gb/s)\",DeepSpeed,,fp16,3,,1,1,0,0,64,2.5,time\n";

static void
what_recipes_always_do_need_not_be_said(void)
{
    CliMeasured r = row_of(bridge_text, 0);
    g_assert_null(r.skipped);
    g_assert_true(r.spec.account_for_embedding); /* (94 + 2) / (8 x 4) */
    g_assert_true(r.spec.account_for_loss);
    g_assert_true(r.spec.overlap_grad_reduce);
    g_assert_true(r.spec.overlap_param_gather);
    g_assert_true(r.spec.overlap_moe);
    g_assert_false(r.spec.tp_overlap);
    g_assert_cmpint(r.spec.etp, ==, 1);
    cli_measured_clear(&r);
    r = row_of(bridge_text, 1);
    g_assert_null(r.skipped);
    g_assert_false(r.spec.account_for_embedding);
    g_assert_true(r.spec.tp_overlap);
    g_assert_true(r.spec.overlap_param_gather);
    cli_measured_clear(&r);
}

/* Its geometric middle, 40 Gb/s over four cards, and nothing more is lost; what two collectives get side by side is
 * twice as much. */
static void
a_measured_network_is_no_nominal_one(void)
{
    CliMeasured r = row_of(bridge_text, 2);
    g_assert_null(r.skipped);
    g_assert_true(
        g_ptr_array_find_with_equal_func(r.overrides, "nic.efficiency=1", g_str_equal, NULL));
    g_assert_true(
        g_ptr_array_find_with_equal_func(r.overrides, "nic.rate=1250000000Bps", g_str_equal, NULL));
    cli_measured_clear(&r);
    r = row_of(bridge_text, 3);
    g_assert_true(
        g_ptr_array_find_with_equal_func(r.overrides, "nic.rate=2500000000Bps", g_str_equal, NULL));
    cli_measured_clear(&r);
}

static void
experts_latents_and_stand_ins_are_read(void)
{
    CliMeasured r = row_of(table_text, 3);
    g_assert_cmpint(r.shape->experts, ==, 8);
    g_assert_cmpint(r.shape->experts_per_token, ==, 3);
    g_assert_cmpint(r.shape->expert_ffn, ==, 4096);
    g_assert_cmpint(r.spec.dispatch, ==, LLM_DISPATCH_ALL_GATHER);
    g_assert_cmpint(r.spec.dtype, ==, CLUSTER_FP8);
    cli_measured_clear(&r);
    r = row_of(table_text, 9);
    g_assert_true(r.stand_in);
    g_assert_true(isnan(r.measured_s));
    g_assert_cmpint(r.shape->q_lora, ==, 1536);
    g_assert_cmpint(r.shape->kv_lora, ==, 512);
    g_assert_cmpint(r.shape->head_dim, ==, 192);
    g_assert_cmpint(r.shape->v_dim, ==, 96);
    cli_measured_clear(&r);
}

/* 1B of nanotron's benchmark: 16 layers of 67.1 million products a token and a head worth four of them. Logged:
 * 1.01 billion parameters on the first of two stages before the repair (11 layers), 0.94 since (10). */
static void
nanotron_places_by_cost(void)
{
    static const struct {
        gint64 layers, hidden, ffn, heads, pp;
        gboolean ties;
        const char *stages;
    } cases[] = {
        {16, 2048, 8192, 32, 2, FALSE, "11,5"},
        {16, 2048, 8192, 32, 2, TRUE, "10,6"},
        {16, 2048, 8192, 32, 4, FALSE, "6,5,5,0"},
        {16, 2048, 8192, 32, 4, TRUE, "5,5,5,1"},
        {32, 4096, 14336, 32, 4, TRUE, "9,9,8,6"},
        {80, 8192, 28672, 64, 8, TRUE, "11,10,10,10,10,10,10,9"},
        /* the head alone on the seventh stage, nothing on the last: one layer is borrowed */
        {16, 2048, 8192, 32, 8, FALSE, "3,3,2,3,2,2,1,0"},
        {28, 3072, 8192, 32, 32, TRUE, NULL},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        LlmShape s = {.layers = cases[i].layers,
                      .hidden = cases[i].hidden,
                      .ffn = cases[i].ffn,
                      .heads = cases[i].heads,
                      .head_dim = cases[i].hidden / cases[i].heads,
                      .vocab = 131072};
        g_autofree char *stages = cli_measured_nanotron_layers(&s, cases[i].pp, cases[i].ties);
        g_assert_cmpstr(stages, ==, cases[i].stages);
    }
}

static void
nanotron_rows_are_of_the_first_rank(void)
{
    static const char text[] =
        "id,gpu,gpus,layers,hidden,heads,seq_len,vocab,tp,pp,dp,micro_batch,global_batch,framework,"
        "gated_mlp,ffn_hidden,flash_attn,zero_stage,measured_peak_mem_GB,mem_kind,use_for,notes\n"
        "a,H100-SXM5-80GB,8,16,2048,32,4096,131072,1,2,4,1,256,nanotron,1,8192,1,0,28.755,"
        "max reserved; allocated after step = 18.87 GB,memory,after_pp_fix=True\n"
        "b,H100-SXM5-80GB,8,16,2048,32,4096,131072,1,2,4,1,256,nanotron,1,8192,1,0,28.755,"
        "max reserved; allocated after step = 18.87 GB,memory,after_pp_fix=False\n";
    for (guint i = 0; i < 2; i++) {
        CliMeasured r = row_of(text, i);
        g_assert_null(r.skipped);
        g_assert_cmpint(r.spec.framework, ==, PLAN_NANOTRON);
        g_assert_cmpint(r.memory_stage, ==, CLI_STAGE_FIRST);
        g_assert_cmpint(r.memory_kind, ==, CLI_MEMORY_RESERVED);
        g_assert_cmpstr(r.spec.stage_layers, ==, i == 0 ? "10,6" : "11,5");
        g_assert_cmpint(r.overrides->len, ==, i == 0 ? 1 : 2); /* the host blocks */
        cli_measured_clear(&r);
    }
}

static void
a_missing_column_or_a_word_for_a_number_is_an_error(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfTable) narrow = conf_table_parse("narrow.csv", "id,gpu\na,A100\n", ',', &error);
    CliMeasurements m = {0};
    gboolean ok = cli_measurements_init(&m, narrow, &error);
    g_assert_false(ok);
    g_assert_nonnull(error);
    g_clear_error(&error);
    g_autoptr(ConfTable) words = conf_table_parse(
        "words.csv",
        "id,gpu,gpus,layers,hidden,heads,seq_len,vocab,tp,pp,dp,micro_batch,global_batch,iter_s_any\n"
        "a,A100,8,24,1024,16,1024,50257,1,one,8,1,16,1\n",
        ',', &error);
    g_assert_no_error(error);
    ok = cli_measurements_init(&m, words, &error);
    g_assert_true(ok);
    CliMeasured r;
    ok = cli_measured_read(&m, 0, &r, &error);
    g_assert_false(ok);
    g_assert_cmpstr(error->message, ==, "words.csv:2: column pp: 'one' is not an integer");
    cli_measurements_clear(&m);
}

/* Published runs and the machines that ship: the node is that of the row, racks of 72 run 64 GPUs. */
static void
hardware_that_ships_is_taken_as_it_is(void)
{
    static const struct {
        const char *gpu;
        gint64 per_node;
        const char *network, *system, *overrides;
        gboolean stand_in;
    } cases[] = {
        {"B200-SXM (DGX-B200)", 8, "400 Gb/s per GPU (ConnectX-7)", "dgx-b200", "", FALSE},
        {"H200-SXM5-141GB", 8, "n/a (1 node)", "dgx-h200", "", FALSE},
        {"GB200 (NVL72)", 4, "400 Gb/s per GPU InfiniBand", "gb200-nvl72",
         "node.hosts=16 node.gpus=64 nic.rate=50000000000Bps nic.count=64", FALSE},
        {"GB200", 4, "", "gb200-nvl72", "node.hosts=1 node.gpus=4 nic.count=4", FALSE},
        {"B300-SXM (DGX-B300)", 8, "n/a", "dgx-b200", "gpu.memory=288GB gpu.memory-usable=276GB",
         TRUE},
        {"H100-SXM5-80GB (AWS p5)", 8, "AWS EFA 32x100 Gb/s = 3200 Gb/s per node", "aws-p5", "",
         FALSE},
        {"V100-SXM3-32GB (DGX-2)", 16, "n/a (1 node)", "dgx2-v100-32g", "", FALSE},
        {"NVIDIA A100 80GB PCIe", 1, "n/a (1 node)", "a100-pcie",
         "node.sockets=1 node.gpus=1 nic.count=1", FALSE},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GPtrArray) overrides = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *system = NULL;
        gboolean stand_in = FALSE;
        g_assert_null(cli_measured_hardware(cases[i].gpu, cases[i].per_node, cases[i].network, 1,
                                            &system, overrides, &stand_in));
        g_ptr_array_add(overrides, NULL);
        g_autofree char *all = g_strjoinv(" ", (char **)overrides->pdata);
        g_assert_cmpstr(system, ==, cases[i].system);
        g_assert_cmpstr(all, ==, cases[i].overrides);
        g_assert_cmpint(stand_in, ==, cases[i].stand_in);
        g_autoptr(GError) error = NULL;
        g_autoptr(ClusterSystem) s =
            cluster_system_load(system, (const char *const *)overrides->pdata, &error);
        g_assert_no_error(error);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cli/measured/networks-are-read-from-words", networks_are_read_from_words);
    g_test_add_func("/cli/measured/rows-become-plans-or-say-why-not",
                    rows_become_plans_or_say_why_not);
    g_test_add_func("/cli/measured/columns-say-what-the-framework-does-not",
                    columns_say_what_the_framework_does_not);
    g_test_add_func("/cli/measured/experts-latents-and-stand-ins-are-read",
                    experts_latents_and_stand_ins_are_read);
    g_test_add_func("/cli/measured/nanotron-places-by-cost", nanotron_places_by_cost);
    g_test_add_func("/cli/measured/nanotron-rows-are-of-the-first-rank",
                    nanotron_rows_are_of_the_first_rank);
    g_test_add_func("/cli/measured/a-missing-column-or-a-word-for-a-number-is-an-error",
                    a_missing_column_or_a_word_for_a_number_is_an_error);
    g_test_add_func("/cli/measured/recipes", what_recipes_always_do_need_not_be_said);
    g_test_add_func("/cli/measured/measured-network", a_measured_network_is_no_nominal_one);
    g_test_add_func("/cli/measured/hardware", hardware_that_ships_is_taken_as_it_is);
    return g_test_run();
}
