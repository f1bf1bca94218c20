/* Published runs in people's words become a system and a plan. */
#include "config.h"

#include "cli/measured.h"

#include <math.h>

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
    "c,A100,8,24,1024,16,1024,50257,1,1,8,1,16,8,,x,,bf16,3 (FSDP),,,1,4,none,1,2.5,,time,\n"
    "d,A100,8,24,1024,16,1024,50257,1,1,8,1,16,8,,x,,bf16,0,8,,1,4,none,1,2.5,,time,\n"
    "e,TPU v4,8,24,1024,16,1024,50257,1,1,8,1,16,8,,x,,bf16,0,,,1,4,none,1,2.5,,time,\n"
    "f,A100,8,24,1024,16,1024,50257,1,1,8,1,16,8,,x,,bf16,0,,,1,4,none,1,,,oom,\n"
    "g,A100,8,24,1024,16,1024,50257,1,1,8,1,16,8,,x,,bf16,0,,,1,4,none,1,2.5,,time,a\n"
    "h,A100,8,24,1024,15,1024,50257,1,1,8,1,16,8,,x,,bf16,0,,,1,4,none,1,2.5,,time,\n";

static void
rows_become_plans_or_say_why_not(void)
{
    static const gboolean skipped[] = {FALSE, FALSE, TRUE, TRUE, TRUE, FALSE, TRUE, TRUE};
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfTable) table = conf_table_parse("runs.csv", table_text, ',', &error);
    g_assert_no_error(error);
    CliMeasurements m = {0};
    gboolean ok = cli_measurements_init(&m, table, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    for (guint i = 0; i < conf_table_n_rows(table); i++) {
        CliMeasured r;
        ok = cli_measured_read(&m, i, &r, &error);
        g_assert_no_error(error);
        g_assert_true(ok);
        g_assert_cmpint(r.skipped != NULL, ==, skipped[i]);
        g_assert_cmpint(r.measured_oom, ==, i == 5);
        if (i == 0) {
            g_assert_cmpstr(r.system, ==, "dgx-a100-80g");
            g_assert_true(r.spec.deepspeed_pipeline);
            g_assert_false(r.spec.overlap_grad_reduce);
            g_assert_false(r.spec.gradient_fp32);
            g_assert_cmpint(r.spec.zero, ==, 1);
            g_assert_cmpint(r.spec.recompute, ==, LLM_RECOMPUTE_FULL);
            g_assert_cmpint(r.shape->position, ==, LLM_POSITION_LEARNED);
            g_assert_cmpfloat(r.measured_gb, ==, 30);
            g_assert_cmpstr(r.overrides->pdata[0], ==, "gpu.memory=40GiB");
        } else if (i == 1) {
            g_assert_cmpstr(r.system, ==, "dgx-h100");
            g_assert_true(r.spec.overlap_grad_reduce);
            g_assert_true(r.spec.overlap_param_gather);
            g_assert_true(isnan(r.measured_gb));
        }
        cli_measured_clear(&r);
    }
    cli_measurements_clear(&m);
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

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cli/measured/networks-are-read-from-words", networks_are_read_from_words);
    g_test_add_func("/cli/measured/rows-become-plans-or-say-why-not",
                    rows_become_plans_or_say_why_not);
    g_test_add_func("/cli/measured/a-missing-column-or-a-word-for-a-number-is-an-error",
                    a_missing_column_or_a_word_for_a_number_is_an_error);
    return g_test_run();
}
