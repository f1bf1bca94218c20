/* Frameworks' defaults, ZeRO stages and offload: what is refused, and bytes against published accounts. */
#include "config.h"

#include "plan-fixture.h"

static PlanSpec
framework_spec(PlanFramework framework, gint64 dp)
{
    PlanSpec spec = plan_spec_for(framework);

    spec.dp = dp;
    spec.microbatches = 4;
    return spec;
}

static gint64
state_bytes(const Plan *plan)
{
    PlanStaticMemory m = plan_static_memory(plan, 0);

    return m.parameters_bytes + m.gradients_bytes + m.optimizer_bytes;
}

/* ZeRO, Fig. 1: GB of 16-bit training with Adam, all stages; 7.5e9, 128e9 and 1e12 parameters. */
static void
test_zero_table(void)
{
    static const struct {
        double parameters;
        gint64 dp;
        double GB[4];
    } rows[] = {
        {7.5e9, 64, {120.0000, 31.4062, 16.6406, 1.8750}},
        {7.5e9, 1, {120.0000, 120.0000, 120.0000, 120.0000}},
        {7.5e9, 4, {120.0000, 52.5000, 41.2500, 30.0000}},
        {7.5e9, 16, {120.0000, 35.6250, 21.5625, 7.5000}},
        {7.5e9, 256, {120.0000, 30.3516, 15.4102, 0.4688}},
        {7.5e9, 1024, {120.0000, 30.0879, 15.1025, 0.1172}},
        {1.28e11, 64, {2048.0000, 536.0000, 284.0000, 32.0000}},
        {1e12, 1024, {16000.0000, 4011.7188, 2013.6719, 15.6250}},
    };
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
        for (gint64 zero = 0; zero <= 3; zero++) {
            PlanSpec spec = framework_spec(PLAN_DEEPSPEED, rows[i].dp);
            spec.zero = zero;
            spec.resident_elements = 0;
            g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
            double scale = rows[i].parameters / (double)plan_rank_parameters(plan, 0) / 1e9;
            g_assert_cmpfloat_with_epsilon((double)state_bytes(plan) * scale, rows[i].GB[zero],
                                           6e-5);
        }
}

typedef struct {
    PlanFramework framework;
    gint64 zero;
    gint64 moment_bytes;
    gboolean remainder, gradient_fp32;
    PlanOptimizer optimizer;
    double fixed, sharded; /* bytes of a parameter: fixed + sharded / d */
} Mode;

/* SPEC.md 9, and for the optimizers the sum of their states, master copy and 16-bit weight and gradient. */
static const Mode modes[] = {
    {PLAN_MEGATRON, 2, 4, FALSE, TRUE, PLAN_ADAM, 2, 16},
    {PLAN_MEGATRON, 3, 4, FALSE, TRUE, PLAN_ADAM, 0, 18},
    {PLAN_MEGATRON, 1, 2, TRUE, TRUE, PLAN_ADAM, 6, 6},
    {PLAN_MEGATRON, 1, 2, TRUE, FALSE, PLAN_ADAM, 4, 6},
    {PLAN_MEGATRON, 1, 1, TRUE, TRUE, PLAN_ADAM, 6, 4},
    {PLAN_MEGATRON, 1, 0, FALSE, TRUE, PLAN_SGD, 6, 8},
    {PLAN_MEGATRON, 1, 0, FALSE, TRUE, PLAN_ADAFACTOR, 6, 4 + 8.0 / 12288},
    {PLAN_MEGATRON, 1, 0, FALSE, TRUE, PLAN_ADAM_8BIT, 6, 4 + 2 + 8.0 / 256},
    {PLAN_DEEPSPEED, 1, 0, FALSE, TRUE, PLAN_ADAM, 8,
     12}, /* its bf16 optimizer keeps both gradients */
    {PLAN_DEEPSPEED, 2, 0, FALSE, FALSE, PLAN_ADAM, 2, 14},
    {PLAN_FSDP, 3, 0, FALSE, FALSE, PLAN_ADAM, 0, 16},
    {PLAN_FSDP, 0, 0, FALSE, FALSE, PLAN_ADAM, 16, 0},
    {PLAN_TORCHTITAN, 3, 0, FALSE, TRUE, PLAN_ADAM, 0, 16},
    {PLAN_LLM_FOUNDRY, 3, 0, FALSE, FALSE, PLAN_ADAM, 0, 16},
    {PLAN_NANOTRON, 1, 0, FALSE, TRUE, PLAN_ADAM, 8, 12}, /* with DDP's 16-bit buckets */
};

static void
test_bytes_per_parameter(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();

    for (guint i = 0; i < G_N_ELEMENTS(modes); i++)
        for (gint64 dp = 1; dp <= 64; dp *= 4) {
            PlanSpec spec = framework_spec(modes[i].framework, dp);
            spec.zero = modes[i].zero;
            spec.moment_bytes = modes[i].moment_bytes;
            spec.master_remainder = modes[i].remainder;
            spec.gradient_fp32 = modes[i].gradient_fp32;
            spec.optimizer = modes[i].optimizer;
            g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
            double n = (double)plan_rank_parameters(plan, 0);
            double expected = n * (modes[i].fixed + modes[i].sharded / (double)dp);
            g_test_message("mode %u, dp %d", i, (int)dp);
            g_assert_cmpfloat_with_epsilon((double)state_bytes(plan), expected, 40);
        }
}

/* ZeRO 3 casts 1e9 elements at a time, the others all of the shard; what steps on the host is cast there. */
static void
test_step_copies(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    system.pcie_Bps = 25000000000;
    static const struct {
        gint64 zero;
        double owned, bytes;
    } cases[] = {{1, 3e9, 18e9}, {2, 3e9, 18e9}, {3, 3e9, 6e9}, {3, 5e8, 3e9}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        PlanSpec spec = framework_spec(PLAN_DEEPSPEED, 8);
        spec.zero = cases[i].zero;
        g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
        g_assert_cmpfloat(plan_optimizer_copies_bytes(plan, cases[i].owned), ==, cases[i].bytes);
        spec.optimizer_device = PLAN_DEVICE_CPU;
        g_autoptr(Plan) host = fixture_plan(&spec, &shape, &system);
        g_assert_cmpfloat(plan_optimizer_copies_bytes(host, cases[i].owned), ==, 0);
    }
}

/* Muon keeps one moment of a layer's matrices, Adam two of the rest. */
static void
test_muon(void)
{
    LlmShape shape = fixture_llama3_8b();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = framework_spec(PLAN_MEGATRON, 8);

    spec.optimizer = PLAN_MUON;
    g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
    LlmParameters p = llm_parameters(&shape);
    double all = (double)plan_rank_parameters(plan, 0);
    double matrices = (double)(shape.layers * p.layer_matrices);
    g_assert_cmpfloat_with_epsilon(plan_optimizer_bytes(plan) * all, 12 * all - 4 * matrices,
                                   1e-6 * all);
    /* 5 iterations of 6 h FLOPs for each element of h x h, an eighth of them on this rank */
    g_assert_cmpfloat_with_epsilon(plan_optimizer_step_flops(plan, 0) / (matrices / 8 * 30 * 4096),
                                   1, 1e-9);
    spec.optimizer = PLAN_ADAM;
    g_autoptr(Plan) adam = fixture_plan(&spec, &shape, &system);
    g_assert_cmpfloat(plan_optimizer_step_flops(adam, 0), ==, 0);
    g_assert_cmpfloat(plan_optimizer_step_bytes(adam), ==, 34);
    g_assert_cmpfloat(plan_optimizer_step_bytes(plan), <, 34);
}

/* Shards of 8 of 32 ranks: states as of 8; experts over the 32 tp / (ep etp) ranks that share them. */
static void
test_hybrid(void)
{
    LlmShape shape = fixture_llama3_8b();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = framework_spec(PLAN_FSDP, 32);

    spec.shard_size = 8;
    g_autoptr(Plan) hybrid = fixture_plan(&spec, &shape, &system);
    spec = framework_spec(PLAN_FSDP, 8);
    g_autoptr(Plan) full = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(state_bytes(hybrid), ==, state_bytes(full));
    g_assert_cmpint(hybrid->spec.shard_size, ==, 8);
    g_assert_cmpint(full->spec.shard_size, ==, 8);
}

static void
test_offload(void)
{
    LlmShape shape = fixture_llama3_8b();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = framework_spec(PLAN_DEEPSPEED, 4);

    system.pcie_Bps = 25000000000;
    system.nvme_read_Bps = system.nvme_write_Bps = 6000000000;
    spec.resident_elements = 0;
    spec.zero = 3;
    spec.optimizer_device = PLAN_DEVICE_CPU;
    g_autoptr(Plan) cpu = fixture_plan(&spec, &shape, &system);
    PlanStaticMemory m = plan_static_memory(cpu, 0);
    gint64 shard = (plan_rank_parameters(cpu, 0) + 3) / 4;
    g_assert_cmpint(m.optimizer_bytes, ==, 0);
    g_assert_cmpint(m.gradients_bytes, ==, 0); /* they leave as they are reduced */
    g_assert_cmpint(m.parameters_bytes, ==, 2 * shard);
    g_assert_cmpint(m.host_bytes, ==, 16 * shard); /* 12 of states, fp32 gradients */
    g_assert_cmpint(m.nvme_bytes, ==, 0);
    spec.optimizer_device = spec.parameter_device = PLAN_DEVICE_NVME;
    g_autoptr(Plan) nvme = fixture_plan(&spec, &shape, &system);
    m = plan_static_memory(nvme, 0);
    g_assert_cmpint(m.parameters_bytes, ==, 0);
    g_assert_cmpint(m.nvme_bytes, ==, 14 * shard);
    g_assert_cmpint(m.host_bytes, ==, 4 * shard);
    spec = framework_spec(PLAN_MEGATRON, 4);
    spec.optimizer_device = PLAN_DEVICE_CPU;
    spec.offload_frac = 0.5;
    g_autoptr(Plan) half = fixture_plan(&spec, &shape, &system);
    m = plan_static_memory(half, 0);
    g_assert_cmpint(m.optimizer_bytes, ==, 6 * shard);
    g_assert_cmpint(m.host_bytes, ==, 8 * shard);
    g_assert_cmpint(m.gradients_bytes, ==, 4 * plan_rank_parameters(half, 0));
}

/* What each framework decides, by its source. */
static void
test_defaults(void)
{
    LlmShape shape = fixture_llama3_8b();
    ClusterSystem system = fixture_a100();

    for (gint64 zero = 0; zero <= 3; zero++) {
        PlanSpec spec = framework_spec(PLAN_DEEPSPEED, 8);
        spec.zero = zero;
        g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
        g_assert_cmpint(plan->spec.reduce, ==, zero >= 2 ? PLAN_REDUCE_EACH : PLAN_REDUCE_LAST);
        g_assert_cmpint(plan->spec.overlap_grad_reduce, ==, zero == 3);
        g_assert_cmpint(plan->spec.reshard_after_forward, ==, zero == 3);
        g_assert_false(plan->spec.deepspeed_pipeline);
        g_assert_cmpint(plan_gradient_bytes(plan), ==, 2);
    }
    for (gint64 pp = 1; pp <= 2; pp++) {
        PlanSpec spec = framework_spec(PLAN_TORCHTITAN, 8);
        spec.pp = pp;
        g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
        g_assert_cmpint(plan->spec.reshard_after_forward, ==, pp == 1);
        g_assert_cmpint(plan->spec.reduce, ==, pp == 1 ? PLAN_REDUCE_EACH : PLAN_REDUCE_LAST);
        g_assert_cmpint(plan->spec.bucket, ==, PLAN_BUCKET_UNITS);
        g_assert_cmpint(plan_gradient_bytes(plan), ==, 4);
        g_assert_cmpint(plan_gather_bytes(plan), ==, 2);
        g_assert_cmpint(plan_stored_bytes(plan), ==, 4);
        g_assert_cmpint(plan_layer_recompute(plan, 0, 0), ==, LLM_RECOMPUTE_FULL);
        g_assert_cmpint(plan_layer_recompute(plan, 0, 1), ==, LLM_RECOMPUTE_NONE);
    }
    PlanSpec spec = framework_spec(PLAN_DEEPSPEED, 4);
    spec.pp = 2;
    g_autoptr(Plan) pipeline = fixture_plan(&spec, &shape, &system);
    g_assert_true(pipeline->spec.deepspeed_pipeline);
    spec = framework_spec(PLAN_NANOTRON, 4);
    g_autoptr(Plan) nanotron = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(nanotron->spec.bucket_elements, ==, 13107200);
    g_assert_false(nanotron->spec.overlap_param_gather);
}

typedef void (*Change)(PlanSpec *spec);
static void
c_fsdp1(PlanSpec *s)
{
    s->framework = PLAN_FSDP, s->zero = 1;
}
static void
c_pipe(PlanSpec *s)
{
    s->deepspeed_pipeline = TRUE, s->zero = 2;
}
static void
c_nano(PlanSpec *s)
{
    s->framework = PLAN_NANOTRON, s->zero = 2;
}
static void
c_each(PlanSpec *s)
{
    s->reduce = PLAN_REDUCE_EACH;
}
static void
c_shard(PlanSpec *s)
{
    s->shard_size = 3;
}
static void
c_shard0(PlanSpec *s)
{
    s->zero = 0, s->shard_size = 4;
}
static void
c_bucket(PlanSpec *s)
{
    s->zero = 3, s->bucket = PLAN_BUCKET_ALL;
}
static void
c_moment(PlanSpec *s)
{
    s->moment_bytes = 3;
}
static void
c_moment_sgd(PlanSpec *s)
{
    s->optimizer = PLAN_SGD, s->moment_bytes = 2;
}
static void
c_remainder(PlanSpec *s)
{
    s->dtype = CLUSTER_FP16, s->master_remainder = TRUE;
}
static void
c_remainder_fsdp(PlanSpec *s)
{
    *s = framework_spec(PLAN_FSDP, 8);
    s->master_remainder = TRUE;
}
static void
c_gather(PlanSpec *s)
{
    s->fp8_gather = TRUE;
}
static void
c_fraction(PlanSpec *s)
{
    s->offload_frac = 0.5;
}
static void
c_nvme(PlanSpec *s)
{
    s->optimizer_device = PLAN_DEVICE_NVME;
}
static void
c_params(PlanSpec *s)
{
    s->parameter_device = PLAN_DEVICE_CPU;
}
static void
c_params3(PlanSpec *s)
{
    s->zero = 3, s->parameter_device = PLAN_DEVICE_CPU;
}
static void
c_fsdp_half(PlanSpec *s)
{
    s->framework = PLAN_FSDP, s->zero = 3, s->optimizer_device = PLAN_DEVICE_CPU;
}
static void
c_fsdp_share(PlanSpec *s)
{
    *s = framework_spec(PLAN_FSDP, 8);
    s->optimizer_device = s->parameter_device = PLAN_DEVICE_CPU, s->offload_frac = 0.5;
}
static void
c_pcie(PlanSpec *s)
{
    s->optimizer_device = PLAN_DEVICE_CPU;
}
static void
c_layers(PlanSpec *s)
{
    s->recompute = LLM_RECOMPUTE_FULL, s->recompute_layers = 33;
}
static void
c_window(PlanSpec *s)
{
    s->recompute_microbatches = 2;
}
static void
c_stages(PlanSpec *s)
{
    s->recompute_stages = "4";
}
static void
c_stages_text(PlanSpec *s)
{
    s->recompute = LLM_RECOMPUTE_FULL, s->recompute_method = PLAN_RECOMPUTE_BLOCK;
    s->recompute_stages = "4x";
}
static void
c_modules(PlanSpec *s)
{
    s->recompute_modules = 0;
}
static void
c_overlap(PlanSpec *s)
{
    s->tp = 2, s->sequence_parallel = FALSE, s->tp_overlap = TRUE;
}
static void
c_away(PlanSpec *s)
{
    s->offload_activations = 33;
}

static void
test_refused(void)
{
    static const struct {
        Change change;
        const char *says;
    } cases[] = {
        {c_fsdp1, "--zero: FSDP cuts parameters, gradients and optimizer states together"},
        {c_pipe, "--zero: DeepSpeed's pipeline"},
        {c_nano, "--zero: nanotron cuts optimizer states only, not stage 2"},
        {c_each, "write --grad-reduce last, or --zero 2"},
        {c_shard, "3 does not divide the dp x cp = 8 x 1 = 8"},
        {c_shard0, "--shard-size: with --zero 0"},
        {c_bucket, "write --bucketing units"},
        {c_moment, "--moment-bytes: 3 is no size"},
        {c_moment_sgd, "the optimizer is sgd"},
        {c_remainder, "not fp16 of adam"},
        {c_remainder_fsdp, "keeps its shard in fp32"},
        {c_gather, "--fp8-param-gather: weights are bf16"},
        {c_fraction, "add --offload-optimizer cpu"},
        {c_nvme, "--offload-optimizer nvme: only DeepSpeed"},
        {c_params, "--zero is 1; write --zero 3"},
        {c_params3, "add --offload-optimizer cpu"},
        {c_fsdp_half, "add --offload-params cpu"},
        {c_fsdp_share, "--offload-fraction: FSDP steps all of its shard in one place"},
        {c_pcie, "the speed of PCIe on dgx-a100-80g is not known"},
        {c_layers, "33 layers and the largest stage has 32"},
        {c_window, "--recompute-microbatches: it says how many are recomputed in full"},
        {c_stages, "write --recompute full --recompute-method block"},
        {c_stages_text, "'4x' (stage 0) is not a number of its 32 layers"},
        {c_modules, "selective recompute of no module"},
        {c_overlap, "--tp-comm-overlap"},
        {c_away, "--offload-activations: 33 layers"},
    };
    LlmShape shape = fixture_llama3_8b();
    ClusterSystem system = fixture_a100();

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        PlanSpec spec = framework_spec(PLAN_MEGATRON, 8);
        system.pcie_Bps = cases[i].change == c_pcie ? 0 : 25000000000;
        cases[i].change(&spec);
        fixture_refused(&spec, &shape, &system, cases[i].says);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan/sharding/zero-table", test_zero_table);
    g_test_add_func("/plan/sharding/step-copies", test_step_copies);
    g_test_add_func("/plan/sharding/bytes-per-parameter", test_bytes_per_parameter);
    g_test_add_func("/plan/sharding/muon-is-for-matrices", test_muon);
    g_test_add_func("/plan/sharding/hybrid-shards", test_hybrid);
    g_test_add_func("/plan/sharding/offload-moves-bytes", test_offload);
    g_test_add_func("/plan/sharding/defaults-of-frameworks", test_defaults);
    g_test_add_func("/plan/sharding/refuses-with-advice", test_refused);
    return g_test_run();
}
