/* Resolving and refusing plans: degrees, GPUs, batch, sequence, dtype. */
#include "config.h"

#include "plan-fixture.h"

static void
test_default(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = fixture_spec(8, 8, 0);

    g_test_summary("GPT-3 175B on 1024 GPUs: dp 16, batch 1536, 96 microbatches, 2048 tokens");
    spec.gpus = 1024;
    g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(plan->spec.dp, ==, 16);
    g_assert_cmpint(plan->nodes, ==, 128);
    g_assert_cmpint(plan->spec.global_batch, ==, 1536);
    g_assert_cmpint(plan->spec.microbatches, ==, 96);
    g_assert_cmpint(plan->spec.seq, ==, 2048);
    g_assert_cmpint(plan->tokens, ==, 1536 * 2048);
    g_assert_cmpint(plan->layers[7], ==, 12);
    g_assert_cmpint(plan->vocab_padded, ==, 51200);
    g_assert_true(plan->spec.sequence_parallel && plan->cut.sequence_parallel);
    g_assert_cmpint(plan->spec.p2p, ==, PLAN_P2P_BLOCKING);
    g_assert_true(plan->cut.dropout);
    g_assert_cmpint(plan->spec.bucket_elements, ==, 40000000);
}

static void
test_derived(void)
{
    LlmShape shape = fixture_llama3_8b();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = fixture_spec(1, 2, 0);

    g_test_summary(
        "nothing to cut by tp: no SP; a batch of whole groups; ZeRO 0 gathers no weights");
    spec.gpus = 14;
    spec.vpp = 2;
    spec.zero = 0;
    g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(plan->spec.dp, ==, 7);
    g_assert_cmpint(plan->nodes, ==, 2);
    g_assert_false(plan->spec.sequence_parallel);
    g_assert_false(plan->spec.overlap_param_gather);
    g_assert_cmpint(plan->spec.global_batch, ==, 1540); /* the first multiple of 7 x 2 above 1536 */
    g_assert_cmpint(plan->spec.microbatches % 2, ==, 0);
    g_assert_cmpint(plan->spec.seq, ==, 8192);
    g_assert_cmpint(plan->spec.p2p, ==, PLAN_P2P_OVERLAPPED);
    g_assert_false(plan->cut.dropout);
}

/* What the schedule and the options say about point-to-point and overlap. */
static void
test_framework(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = fixture_spec(8, 8, 1);

    spec.schedule = "interleaved_torch";
    spec.vpp = 2;
    g_autoptr(Plan) torch = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(torch->spec.p2p, ==, PLAN_P2P_ASYNC);
    spec.schedule = NULL;
    spec.deepspeed_pipeline = TRUE;
    spec.dtype = CLUSTER_FP32;
    spec.gradient_fp32 = FALSE;
    g_autoptr(Plan) deepspeed = fixture_plan(&spec, &shape, &system);
    g_assert_cmpstr(deepspeed->spec.schedule, ==, "interleaved_megatron");
    g_assert_false(deepspeed->spec.overlap_grad_reduce);
    g_assert_false(deepspeed->spec.overlap_param_gather);
    g_assert_true(deepspeed->spec.gradient_fp32);
}

static void
test_refused_degrees(void)
{
    static const struct {
        gint64 tp, pp, dp, cp, ep, vpp, gpus, zero;
        const char *says;
    } cases[] = {
        {0, 1, 1, 1, 1, 1, 0, 0, "--tp: 0 is out of range"},
        {1, -1, 1, 1, 1, 1, 0, 0, "--pp: -1 is out of range"},
        {1, 1, -2, 1, 1, 1, 0, 0, "--dp: -2 is out of range"},
        {1, 1, 0, 1, 1, 1, -8, 0, "--gpus: -8 is out of range"},
        {G_MAXINT64, 1, 1, 1, 1, 1, 0, 0, "--tp: 9223372036854775807 is out of range"},
        {1 << 22, 1 << 22, 1 << 22, 1, 1, 1, 0, 0, "more than 4194304 GPUs"},
        {1 << 10, 1 << 10, 1 << 10, 1, 1, 1, 0, 0, "more than 4194304 GPUs"},
        {8, 1, 0, 1, 1, 1, 7, 0,
         "7 GPUs are not a multiple of tp x pp x cp = 8 x 1 x 1 = 8; use 8 "
         "GPUs, or make tp x pp x cp one of 1, 7"},
        {8, 8, 0, 1, 1, 1, 1000, 0, "use 960 or 1024 GPUs"},
        {8, 8, 2, 1, 1, 1, 64, 0, "8 x 8 x 1 x 2 = 128 and --gpus is 64"},
        {5, 1, 1, 1, 1, 1, 0, 0,
         "--tp: 5 does not divide the 96 attention heads of gpt3-175b; write "
         "one of 1, 2, 3, 4, 6, 8, 12,"},
        {1, 1, 1, 0, 1, 1, 0, 0, "--cp: 0 is out of range"},
        {1, 1, 8, 1, 8, 1, 0, 0, "--ep: gpt3-175b has no experts; leave it out"},
        {8, 1, 1, 3, 1, 1, 0, 0, "two pieces for each context rank and its tp = 24; write 2040"},
        {1, 1, 1, 5, 1, 1, 0, 0, "two pieces for each context rank and its tp = 10; write 2040"},
        {1, 1, 1, 1, 1, 1, 0, 4, "--zero: there is no stage 4; write 0, 1, 2 or 3"},
        {1, 1, 1, 1, 1, 2, 0, 0, "--vpp: 2 chunks need a pipeline"},
        {1, 96, 1, 1, 1, 1000, 0, 0, "more than 65535 stages"},
    };
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        PlanSpec spec = fixture_spec(cases[i].tp, cases[i].pp, cases[i].dp);
        spec.cp = cases[i].cp;
        spec.ep = cases[i].ep;
        spec.vpp = cases[i].vpp;
        spec.gpus = cases[i].gpus;
        spec.zero = cases[i].zero;
        fixture_refused(&spec, &shape, &system, cases[i].says);
    }
}

static void
test_kv_heads(void)
{
    LlmShape shape = fixture_llama3_70b();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = fixture_spec(16, 1, 1);

    g_test_summary(
        "8 key/value heads: tp 16 repeats each twice and says so; tp 4 of 6 heads is refused");
    g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
    g_assert_cmpuint(plan->remarks->len, >=, 2);
    shape.heads = 24;
    shape.kv_heads = 6;
    shape.ffn = 36864;
    spec.tp = 4;
    fixture_refused(
        &spec, &shape, &system,
        "neither divides the 6 key/value heads nor is a multiple of them of llama3; write "
        "one of 1, 2, 3, 6, 12, 24");
    shape = fixture_llama3_70b();
    shape.ffn = 28676;
    spec.tp = 8;
    fixture_refused(&spec, &shape, &system, "does not divide the feed-forward width 28676");
}

static void
test_dtype(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem v100 = fixture_v100(), a100 = fixture_a100();
    PlanSpec spec = fixture_spec(8, 8, 1);

    fixture_refused(&spec, &shape, &v100, "--dtype: V100 has no bf16 units; write --dtype fp16");
    spec.dtype = CLUSTER_FP8;
    fixture_refused(&spec, &shape, &a100, "--dtype: A100 has no fp8 units; write --dtype bf16");
    spec.dtype = CLUSTER_FP16;
    g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &v100);
    g_assert_cmpint(plan->cut.dtype, ==, CLUSTER_FP16);
}

static void
test_refused_batch(void)
{
    static const struct {
        gint64 micro, global, microbatches, seq, group;
        const char *says;
    } cases[] = {
        {-1, 0, 0, 0, 0, "--micro-batch-size: -1 is out of range"},
        {1, -4, 0, 0, 0, "--global-batch-size: -4 is out of range"},
        {1, 0, -4, 0, 0, "--microbatches: -4 is out of range"},
        {1, 0, 0, -1, 0, "--seq-length: -1 is out of range"},
        {(gint64)1 << 28, 0, 1, 2048, 0, "sequences of 2048 tokens are more than 2147483648"},
        {1, 0, 0, 0, -1, "--group: -1 is out of range"},
        {1, 0, 0, 0, (gint64)1 << 31,
         NULL}, /* no groups without chunks: nothing to derive from it */
        {1, (gint64)1 << 40, 0, 0, 0, "--global-batch-size: 1099511627776 is out of range"},
        {(gint64)1 << 31, 0, (gint64)1 << 31, 0, 0, "are more than 2147483648 sequences"},
        {2, 1001, 0, 0, 0,
         "1001 is not a multiple of micro-batch x dp = 2 x 4 = 8; write 1000 or 1008"},
        {2, 4, 0, 0, 0, "write 8, fewer replicas or a smaller micro-batch"},
        {2, 64, 4, 0, 0, "2 x 4 x 4 = 32 and --global-batch-size is 64 (8 microbatches)"},
        {1, 0, 0, 4096, 0, "4096 tokens need as many learned positions and gpt3-175b has 2048"},
        {1, 0, 0, 1001, 0,
         "1001 is not a multiple of tp (sequence parallel) = 8; write 1000 or 1008, or "
         "--no-sequence-parallel"},
    };
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        PlanSpec spec = fixture_spec(8, 1, 4);
        spec.micro_batch = cases[i].micro;
        spec.global_batch = cases[i].global;
        spec.microbatches = cases[i].microbatches;
        spec.seq = cases[i].seq;
        spec.group = cases[i].group;
        if (cases[i].says != NULL)
            fixture_refused(&spec, &shape, &system, cases[i].says);
        else
            plan_free(fixture_plan(&spec, &shape, &system));
    }
}

/* A resolved spec gives the same plan, and global = micro x microbatches x dp, whatever was given.
 * */
static void
test_resolved_is_fixed(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    guint n = 0;

    for (guint i = 0; i < 2000; i++) {
        PlanSpec spec = fixture_spec(1 << g_test_rand_int_range(0, 5), g_test_rand_int_range(1, 13),
                                     g_test_rand_int_range(1, 40));
        spec.vpp = g_test_rand_int_range(1, 4);
        spec.micro_batch = g_test_rand_int_range(0, 5);
        spec.microbatches = g_test_rand_int_range(0, 3) * 12;
        spec.zero = g_test_rand_int_range(0, 2);
        g_autoptr(Plan) plan = plan_new(&spec, &shape, &system, NULL);
        if (plan == NULL)
            continue;
        n++;
        const PlanSpec *s = &plan->spec;
        g_assert_cmpint(s->global_batch, ==, s->micro_batch * s->microbatches * s->dp);
        g_assert_cmpint(plan->gpus, ==, s->tp * s->pp * s->dp * s->cp);
        g_autoptr(Plan) again = fixture_plan(s, &shape, &system);
        g_autofree char *first = plan_print(plan), *second = plan_print(again);
        char *remarks = strstr(first, "\n# "), *others = strstr(second, "\n# ");
        if (remarks != NULL)
            *remarks = '\0'; /* choices are remarked on once */
        if (others != NULL)
            *others = '\0';
        g_assert_cmpstr(g_strchomp(first), ==, g_strchomp(second));
    }
    g_assert_cmpuint(n, >, 100);
}

static void
test_print(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = fixture_spec(8, 4, 2);

    spec.first_stage_layers = 23;
    spec.last_stage_layers = 23;
    g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
    g_autofree char *text = plan_print(plan);
    g_assert_nonnull(strstr(text, "\ntp = 8\npp = 4\ndp = 2\n"));
    g_assert_nonnull(strstr(text, "\nstage-layers = 23,25,25,23\n"));
    g_assert_nonnull(strstr(text, "\nglobal-batch-size = 1536\nmicrobatches = 768\n"));
    g_assert_nonnull(strstr(text, "\nsequence-parallel = true\n"));
    g_assert_nonnull(strstr(text, "\nclip = 1\n"));
    g_assert_nonnull(strstr(text, "\n# the global batch was chosen: 1536 sequences\n"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan/plan/defaults-of-gpt3-on-1024-gpus", test_default);
    g_test_add_func("/plan/plan/derives-what-is-not-said", test_derived);
    g_test_add_func("/plan/plan/frameworks-differ-in-messages-and-overlap", test_framework);
    g_test_add_func("/plan/plan/refuses-degrees-with-advice", test_refused_degrees);
    g_test_add_func("/plan/plan/key-value-heads-cut-or-repeated", test_kv_heads);
    g_test_add_func("/plan/plan/refuses-a-dtype-without-units", test_dtype);
    g_test_add_func("/plan/plan/refuses-batches-with-advice", test_refused_batch);
    g_test_add_func("/plan/plan/resolved-spec-is-a-fixed-point", test_resolved_is_fixed);
    g_test_add_func("/plan/plan/prints-in-the-words-of-the-command-line", test_print);
    return g_test_run();
}
