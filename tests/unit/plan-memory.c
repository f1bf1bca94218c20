/* Parameters and bytes per GPU against the published accounts. */
#include "config.h"

#include "plan-fixture.h"

#define MIB (1024.0 * 1024.0)

/* What every tensor parallel rank holds whole: norms, row biases, positions. */
static gint64
replicated(const LlmShape *s)
{
    gint64 norm = s->norm == LLM_NORM_LAYER ? 2 * s->hidden : s->hidden;
    gint64 layer = 2 * norm + (s->out_bias ? s->hidden : 0) + (s->mlp_bias ? s->hidden : 0);

    return s->layers * layer + norm + s->position_rows * s->hidden;
}

static void
assert_shares(const LlmShape *shape, gint64 tp, gint64 pp, gint64 vpp)
{
    ClusterSystem system = fixture_a100();
    PlanSpec spec = fixture_spec(tp, pp, 1);
    gint64 sum = 0;

    spec.vpp = vpp;
    g_autoptr(Plan) plan = fixture_plan(&spec, shape, &system);
    for (gint64 r = 0; r < pp; r++)
        sum += plan_rank_parameters(plan, r) * tp;
    sum -= (tp - 1) * replicated(shape);
    gint64 padding = (plan->vocab_padded - shape->vocab) * shape->hidden;
    gint64 tables = shape->tied && pp == 1 ? 1 : 2; /* embedding, and head or tied copy */
    gint64 copy = shape->tied && pp > 1 ? shape->vocab * shape->hidden : 0;
    g_assert_cmpint(sum, ==, llm_parameters(shape).total + copy + tables * padding);
}

static void
test_shares(void)
{
    LlmShape gpt3 = fixture_gpt3(), llama = fixture_llama3_70b();

    g_test_summary("shares add to the model, its tied copy and the vocabulary's padding");
    gpt3.vocab = 50257;
    for (gint64 tp = 1; tp <= 8; tp *= 2)
        for (gint64 pp = 1; pp <= 8; pp *= 2) {
            assert_shares(&gpt3, tp, pp, 1);
            assert_shares(&llama, tp, pp, 1);
            if (pp > 1) {
                assert_shares(&gpt3, tp, pp, 3);
                assert_shares(&llama, tp, pp, 5);
            }
        }
}

static gint64
state_bytes(const Plan *plan, gint64 pp_rank)
{
    PlanStaticMemory m = plan_static_memory(plan, pp_rank);

    return m.parameters_bytes + m.gradients_bytes + m.optimizer_bytes;
}

/* SPEC table: bytes per parameter of each mode; d replicas. */
static void
test_bytes_per_parameter(void)
{
    static const struct {
        ClusterDtype dtype;
        gboolean gradient_fp32, deepspeed;
        gint64 zero;
        double fixed, sharded; /* fixed + sharded / d */
    } modes[] = {
        {CLUSTER_FP32, TRUE, FALSE, 0, 16, 0},  {CLUSTER_FP32, TRUE, FALSE, 1, 8, 8},
        {CLUSTER_TF32, FALSE, FALSE, 1, 8, 8},  {CLUSTER_BF16, TRUE, FALSE, 0, 18, 0},
        {CLUSTER_BF16, TRUE, FALSE, 1, 6, 12},  {CLUSTER_FP16, TRUE, FALSE, 1, 6, 12},
        {CLUSTER_FP16, FALSE, FALSE, 0, 20, 0}, {CLUSTER_BF16, FALSE, FALSE, 1, 4, 16},
        {CLUSTER_BF16, FALSE, TRUE, 0, 16, 0},  {CLUSTER_BF16, FALSE, TRUE, 1, 4, 12},
    };
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();

    for (guint i = 0; i < G_N_ELEMENTS(modes); i++)
        for (gint64 dp = 1; dp <= 64; dp *= 4) {
            PlanSpec spec = fixture_spec(8, 4, dp);
            spec.dtype = modes[i].dtype;
            spec.gradient_fp32 = modes[i].gradient_fp32;
            spec.deepspeed_pipeline = modes[i].deepspeed;
            spec.zero = modes[i].zero;
            g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
            double n = (double)plan_rank_parameters(plan, 1);
            double expected = n * (modes[i].fixed + modes[i].sharded / (double)dp);
            g_assert_cmpfloat_with_epsilon((double)state_bytes(plan, 1), expected, 16);
            g_assert_cmpint(plan_static_memory(plan, 1).fixed_bytes, ==, 3000000000);
        }
}

/* A model of about 7.5e9 parameters as in the ZeRO paper: 120 GB, and 31.4 GB with stage 1 on 64.
 * */
static void
test_zero_paper(void)
{
    static const struct {
        gint64 dp;
        double baseline_GB, stage1_GB;
    } rows[] = {
        {1, 120.0000, 120.0000}, {4, 120.0000, 52.5000},   {16, 120.0000, 35.6250},
        {64, 120.0000, 31.4062}, {256, 120.0000, 30.3516}, {1024, 120.0000, 30.0879},
    };
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();

    shape.layers = 36;
    shape.hidden = 4096;
    shape.heads = shape.kv_heads = 32;
    shape.ffn = 4 * 4096;
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
        for (gint64 zero = 0; zero <= 1; zero++) {
            PlanSpec spec = fixture_spec(1, 1, rows[i].dp);
            spec.gradient_fp32 = FALSE;
            spec.deepspeed_pipeline = TRUE;
            spec.zero = zero;
            g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
            double scale = 7.5e9 / (double)plan_rank_parameters(plan, 0) / 1e9;
            double expected = zero == 0 ? rows[i].baseline_GB : rows[i].stage1_GB;
            g_assert_cmpfloat_with_epsilon((double)state_bytes(plan, 0) * scale, expected, 6e-5);
        }
}

/* Megatron's own estimator from our pieces: matrices cut by pp and tp, norms by pp only, the
 * embedding (and the head, if untied, when there is one stage) on the most loaded stage; no biases,
 * no positions. */
static double
megatron_estimate_MiB(const Plan *plan)
{
    const LlmShape *shape = plan->shape;
    LlmParameters p = llm_parameters(shape);
    double tp = (double)plan->spec.tp, pp = (double)plan->spec.pp, dp = (double)plan->spec.dp;
    double tables = !shape->tied && plan->spec.pp == 1 ? 2 : 1;
    double norms = (double)(2 * shape->layers + 1) * (double)p.final_norm;
    double n = (double)(shape->layers * p.layer_matrices) / pp / tp +
               tables * (double)p.embedding / tp + norms / pp;

    return n * (plan->spec.zero == 0 ? 18 : 6 + 12 / dp) / MIB;
}

static void
test_megatron_reference(void)
{
    LlmShape gpt3 = fixture_gpt3(), llama70 = fixture_llama3_70b(), llama8 = fixture_llama3_8b();
    const struct {
        const LlmShape *shape;
        gint64 tp, pp, vpp, dp, zero;
        double weight_and_optimizer_MiB; /* recorded from Megatron's estimator */
    } rows[] = {
        {&gpt3, 8, 8, 3, 1, 0, 48016.18},
        {&gpt3, 8, 16, 1, 8, 1, 10284.62},
        {&llama70, 8, 4, 1, 8, 1, 16241.73},
        {&llama8, 1, 1, 1, 8, 1, 57436.90},
    };
    ClusterSystem system = fixture_a100();

    g_test_summary(
        "its formula gives its figures exactly; our count without positions is within 0.2 %");
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        PlanSpec spec = fixture_spec(rows[i].tp, rows[i].pp, rows[i].dp);
        spec.vpp = rows[i].vpp;
        spec.zero = rows[i].zero;
        g_autoptr(Plan) plan = fixture_plan(&spec, rows[i].shape, &system);
        double expected = rows[i].weight_and_optimizer_MiB;
        g_assert_cmpfloat_with_epsilon(megatron_estimate_MiB(plan), expected, 0.0051);
        double each = spec.zero == 0 ? 18 : 6 + 12 / (double)spec.dp;
        double positions = (double)llm_parameters(rows[i].shape).position * each;
        double ours = ((double)state_bytes(plan, 0) - positions) / MIB;
        g_test_message("estimator %.2f MiB, ours %.2f MiB", expected, ours);
        g_assert_cmpfloat_with_epsilon(ours / expected, 1, 0.002);
    }
}

/* Llama 3 70B: mixed-precision Adam of 16 B a parameter is 1.13 TB. */
static void
test_seventy_billion(void)
{
    LlmShape shape = fixture_llama3_70b();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = fixture_spec(1, 1, 1);

    spec.gradient_fp32 = FALSE;
    spec.deepspeed_pipeline = TRUE;
    g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(plan_rank_parameters(plan, 0), ==, 70553706496);
    g_assert_cmpint(state_bytes(plan, 0), ==, 16 * 70553706496);
}

/* V placement of GPT-3's 96 layers in 4 stages: rank 0 holds the first and the last stage, and with them one
 * tied embedding; rank 1 holds layers only. Round the ranks, rank 1 has a copy of it. */
static void
test_placement(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = fixture_spec(1, 2, 1);
    spec.vpp = 2;
    g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
    LlmParameters whole = llm_parameters(&shape);
    gint64 layers = 48 * whole.layer;

    g_assert_cmpint(plan_rank_parameters(plan, 1), ==, layers + whole.embedding + whole.final_norm);
    plan_set_placement(plan, (const guint[]){0, 1, 1, 0});
    g_assert_cmpint(plan_rank_parameters(plan, 0), ==, whole.total - layers);
    g_assert_cmpint(plan_rank_parameters(plan, 1), ==, layers);
    g_assert_cmpint(plan_static_memory(plan, 1).parameters_bytes, ==, 2 * layers);
    g_autoptr(GArray) ends = plan_group(plan, PLAN_GROUP_EMBEDDING, 1);
    g_assert_cmpuint(ends->len, ==, 1);
}

static void
test_tp_never_costs_memory(void)
{
    LlmShape shapes[] = {fixture_gpt3(), fixture_llama3_70b(), fixture_llama3_8b()};
    ClusterSystem system = fixture_a100();

    g_test_summary("weights, gradients and optimizer state per GPU do not rise with tp");
    for (guint i = 0; i < G_N_ELEMENTS(shapes); i++)
        for (gint64 pp = 1; pp <= 8; pp *= 2)
            for (gint64 rank = 0; rank < pp; rank++) {
                gint64 before = G_MAXINT64;
                for (gint64 tp = 1; tp <= 32; tp *= 2) {
                    PlanSpec spec = fixture_spec(tp, pp, 3);
                    g_autoptr(Plan) plan = fixture_plan(&spec, &shapes[i], &system);
                    g_assert_cmpint(state_bytes(plan, rank), <=, before);
                    before = state_bytes(plan, rank);
                }
            }
}

static void
test_messages(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = fixture_spec(8, 8, 1);

    g_test_summary("2048 x 2 x 12288 x 2 B = 96 MiB; an eighth with SP, or when scattered");
    spec.micro_batch = 2;
    g_autoptr(Plan) sp = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(plan_p2p_bytes(sp), ==, 12 << 20);
    /* the gather buffer, and two receive buffers on a stage between */
    g_assert_cmpint(plan_static_memory(sp, 1).communication_bytes, ==, (96 << 20) + (24 << 20));
    g_assert_cmpint(plan_static_memory(sp, 7).communication_bytes, ==, (96 << 20) + (12 << 20));
    spec.sequence_parallel = FALSE;
    g_autoptr(Plan) whole = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(plan_p2p_bytes(whole), ==, 96 << 20);
    spec.scatter_gather = TRUE;
    g_autoptr(Plan) cut = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(plan_p2p_bytes(cut), ==, 12 << 20);
    spec.dtype = CLUSTER_FP32;
    g_autoptr(Plan) wide = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(plan_p2p_bytes(wide), ==, 24 << 20);
}

static void
test_buffers(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = fixture_spec(8, 4, 1);

    g_test_summary(
        "groups of 8 on 4 ranks receive 4 tensors more on the ends; DeepSpeed's buckets");
    spec.sequence_parallel = FALSE;
    spec.vpp = 2;
    spec.group = 8;
    g_autoptr(Plan) ahead = fixture_plan(&spec, &shape, &system);
    gint64 tensor = plan_p2p_bytes(ahead);
    g_assert_cmpint(plan_static_memory(ahead, 0).communication_bytes, ==, 6 * tensor);
    g_assert_cmpint(plan_static_memory(ahead, 1).communication_bytes, ==, 2 * tensor);
    g_assert_cmpint(plan_static_memory(ahead, 3).communication_bytes, ==, 6 * tensor);
    spec = fixture_spec(8, 1, 2);
    spec.sequence_parallel = FALSE;
    spec.gradient_fp32 = FALSE;
    spec.deepspeed_pipeline = TRUE;
    g_autoptr(Plan) deepspeed = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(plan_static_memory(deepspeed, 0).communication_bytes, ==, 2000000000);
}

/* fp8 trains 16-bit weights and keeps the layers' fp8 copies, as is and transposed. */
static void
test_fp8(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = fixture_spec(8, 4, 1);

    system.peak_flops[CLUSTER_FP8] = 1979000000000000;
    spec.dtype = CLUSTER_FP8;
    g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
    /* stage 1 is layers only: 2 B and 1 B + 1 B of each parameter */
    g_assert_cmpint(plan_static_memory(plan, 1).parameters_bytes, ==,
                    4 * plan_rank_parameters(plan, 1));
    g_assert_cmpint(plan_static_memory(plan, 1).gradients_bytes, ==,
                    4 * plan_rank_parameters(plan, 1));
    g_assert_cmpint(plan_p2p_bytes(plan), ==, 2048 * 12288 * 2 / 8);
}

/* Korthikanti et al.: with sequence parallelism and selective recompute a layer of unfused
 * attention keeps 34 sbh/t; 175B at tp 8: 12 layers a rank, 34 x 2048 x 12288 / 8 bytes each. */
static void
test_selective(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = fixture_spec(8, 8, 1);

    spec.attention = LLM_ATTENTION_UNFUSED;
    g_autoptr(Plan) selective = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(plan_stage_activation_bytes(selective, 1), ==, 12L * 34 * 2048 * 12288 / 8);
    spec.recompute = LLM_RECOMPUTE_FULL;
    g_autoptr(Plan) full = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(plan_stage_activation_bytes(full, 1), ==, 12L * 2 * 2048 * 12288 / 8);
    /* one layer at a time is there again while its backward runs */
    g_assert_cmpint(plan_stage_transient_bytes(full, 1), >=, 30L * 2048 * 12288 / 8);
}

/* A stage's activations are its pieces': layers, embedding on the first, head on the last. */
static void
test_activations(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = fixture_spec(8, 4, 1);

    spec.recompute = LLM_RECOMPUTE_NONE;
    g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
    double layer = llm_activation_bytes(&shape, &plan->cut, LLM_PIECE_LAYER);
    gint64 middle = plan_stage_activation_bytes(plan, 1);
    g_assert_cmpfloat_with_epsilon((double)middle, 24 * layer, 1);
    g_assert_cmpint(plan_stage_activation_bytes(plan, 2), ==, middle);
    g_assert_cmpint(plan_stage_activation_bytes(plan, 0), >=, middle);
    g_assert_cmpint(plan_stage_activation_bytes(plan, 3), >=, middle);
    g_assert_cmpint(plan_stage_logits_bytes(plan, 2), ==, 0);
    g_assert_cmpint(plan_stage_logits_bytes(plan, 3), >, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan/memory/parameter-shares-add-to-the-model", test_shares);
    g_test_add_func("/plan/memory/bytes-per-parameter-of-each-mode", test_bytes_per_parameter);
    g_test_add_func("/plan/memory/zero-paper-figure-one", test_zero_paper);
    g_test_add_func("/plan/memory/megatron-reference", test_megatron_reference);
    g_test_add_func("/plan/memory/seventy-billion-take-a-terabyte", test_seventy_billion);
    g_test_add_func("/plan/memory/stages-lie-where-the-schedule-says", test_placement);
    g_test_add_func("/plan/memory/state-does-not-rise-with-tp", test_tp_never_costs_memory);
    g_test_add_func("/plan/memory/pipeline-messages", test_messages);
    g_test_add_func("/plan/memory/receive-buffers-and-buckets", test_buffers);
    g_test_add_func("/plan/memory/fp8-keeps-two-more-copies", test_fp8);
    g_test_add_func("/plan/memory/selective-and-full-recompute", test_selective);
    g_test_add_func("/plan/memory/stage-activations-are-its-pieces", test_activations);
    return g_test_run();
}
