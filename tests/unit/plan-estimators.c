/* Published estimators of memory against our pieces: Megatron's theoretical_memory_usage and Korthikanti et al.
 * (arXiv 2205.05198, figures 1 and 7), to the digits they print. */
#include "config.h"

#include "plan-fixture.h"

#define MIB (1024.0 * 1024.0)
#define GIB (1024.0 * MIB)

static LlmShape
gpt(gint64 layers, gint64 hidden, gint64 heads)
{
    LlmShape shape = fixture_gpt3();

    shape.layers = layers;
    shape.hidden = hidden;
    shape.heads = shape.kv_heads = heads;
    shape.head_dim = hidden / heads;
    shape.ffn = 4 * hidden;
    return shape;
}

static LlmShape
mixtral(void)
{
    LlmShape shape = fixture_llama3(32, 4096, 32, 14336);

    shape.vocab = 32000;
    shape.experts = 8;
    shape.experts_per_token = 2;
    shape.expert_ffn = 14336;
    shape.moe_every = 1;
    return shape;
}

typedef struct {
    LlmShape shape;
    gint64 tp, pp, vpp, dp, ep, zero, seq, microbatches;
    double state_MiB, activation_MiB;
} Reference;

/* Weights and optimizer of the most loaded stage as Megatron's estimator counts: matrices over tp and pp, one
 * vocabulary table on the first stage (two on a single one), norms, routers; experts over ep as well, and their
 * states over the ranks that share them. */
static double
megatron_state_MiB(const Plan *plan)
{
    const LlmShape *shape = plan->shape;
    const PlanSpec *s = &plan->spec;
    LlmParameters p = llm_parameters(shape);
    gboolean moe = shape->experts > 0;
    double tables = !shape->tied && s->pp == 1 ? 2 : 1;
    double matrices = (double)(moe ? p.moe_layer_matrices : p.layer_matrices);
    double expert = (double)(shape->experts * 3 * shape->hidden * shape->expert_ffn);
    double split = (double)(s->tp * s->pp), layers = (double)shape->layers;
    double dense = (matrices - expert + (double)p.router) * layers / split +
                   tables * (double)p.embedding / (double)s->tp +
                   (2 * layers + 1) * (double)p.final_norm / (double)s->pp;
    double d = (double)plan_shard_ranks(plan, FALSE), e = (double)plan_shard_ranks(plan, TRUE);
    double dense_each = s->zero == 0 ? 18 : 6 + 12 / d,
           expert_each = s->zero == 0 ? 18 : 6 + 12 / e;
    double bytes = dense * dense_each + expert * layers / split / (double)s->ep * expert_each;
    return bytes / MIB;
}

/* Its activations of the first stage: SP and no recompute but the attention core, GELU and one copy of each
 * query, key and value assumed, one expert's width for all. */
static double
megatron_activation_MiB(const Plan *plan)
{
    const LlmShape *shape = plan->shape;
    const PlanSpec *s = &plan->spec;
    double tokens = (double)(s->seq * s->micro_batch), h = (double)shape->hidden;
    double f = (double)shape->ffn, p = (double)s->pp;
    double bytes = tokens * h * (18 + 4 * f / h) * (double)shape->layers;

    bytes += 8 * tokens * p + tokens * h * p;
    if (s->vpp > 1)
        bytes *= 1 + (p - 1) / (p * (double)s->vpp);
    else if (s->pp > 1)
        bytes *= MIN(1, (double)s->microbatches / p);
    else
        bytes += 4 * tokens * h * (1 + (double)shape->vocab / h);
    return bytes / (double)s->tp / MIB;
}

static void
test_megatron(void)
{
    const Reference rows[] = {
        {gpt(96, 12288, 96), 8, 8, 3, 1, 1, 0, 2048, 64, 48016.18, 12679.02},
        {gpt(96, 12288, 96), 8, 16, 1, 8, 1, 1, 2048, 192, 10284.62, 9840.03},
        {fixture_llama3_70b(), 8, 4, 1, 8, 1, 1, 8192, 16, 16241.73, 20512.03},
        {fixture_llama3_8b(), 1, 1, 1, 8, 1, 1, 8192, 4, 57436.90, 36936.06},
        {mixtral(), 1, 4, 1, 16, 8, 1, 4096, 8, 19133.87, 16448.12},
    };
    ClusterSystem system = fixture_a100();

    g_test_summary("its formulas give its figures; our states of the first stage are within 0.2 %");
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        const Reference *r = &rows[i];
        PlanSpec spec = fixture_spec(r->tp, r->pp, r->dp);
        spec.vpp = r->vpp;
        spec.ep = r->ep;
        spec.zero = r->zero;
        spec.seq = r->seq;
        spec.microbatches = r->microbatches;
        g_autoptr(Plan) plan = fixture_plan(&spec, &r->shape, &system);
        g_assert_cmpfloat_with_epsilon(megatron_state_MiB(plan), r->state_MiB, 0.0051);
        g_assert_cmpfloat_with_epsilon(megatron_activation_MiB(plan), r->activation_MiB, 0.0051);
        PlanStaticMemory m = plan_static_memory(plan, 0);
        double each = spec.zero == 0 ? 18 : 6 + 12 / (double)spec.dp;
        double ours = (double)(m.parameters_bytes + m.gradients_bytes + m.optimizer_bytes) -
                      (double)llm_parameters(&r->shape).position * each;
        g_test_message("estimator %.2f MiB, ours %.2f MiB", r->state_MiB, ours / MIB);
        g_assert_cmpfloat_with_epsilon(ours / MIB / r->state_MiB, 1, 0.002);
    }
}

/* Figure 1 and 7: states 18 bytes of 12 h^2 L / (tp pp); what a layer keeps in percent of the same layer with tensor
 * parallelism alone. Columns: sequence parallel; selective; both; full (2 sbh). */
static void
test_korthikanti(void)
{
    const struct {
        gint64 layers, hidden, heads, pp;
        double state_GiB, percent[4];
    } rows[] = {
        {48, 6144, 64, 1, 45.5625, {66.7722, 49.3671, 16.1392, 7.59494}},
        {96, 12288, 96, 8, 45.5625, {61.9565, 56.5217, 18.4783, 8.69565}},
        {105, 20480, 128, 35, 31.6406, {58.3333, 61.9048, 20.2381, 9.52381}},
        {128, 25600, 160, 64, 32.959, {58.3333, 61.9048, 20.2381, 9.52381}},
    };
    ClusterSystem system = fixture_a100();

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        LlmShape shape = gpt(rows[i].layers, rows[i].hidden, rows[i].heads);
        PlanSpec spec = fixture_spec(8, rows[i].pp, 1);
        double bytes[5];
        spec.attention = LLM_ATTENTION_UNFUSED;
        for (guint c = 0; c < 5; c++) { /* TP alone; SP; selective; both; full without SP */
            spec.sequence_parallel = c == 1 || c == 3;
            spec.recompute = c == 2 || c == 3 ? LLM_RECOMPUTE_SELECTIVE
                             : c == 4         ? LLM_RECOMPUTE_FULL
                                              : LLM_RECOMPUTE_NONE;
            spec.zero = 0;
            g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
            bytes[c] = llm_activation_bytes(&shape, &plan->cut, LLM_PIECE_LAYER);
            gint64 middle = rows[i].pp > 2 ? 1 : 0;
            PlanStaticMemory m = plan_static_memory(plan, middle);
            double state = (double)(m.parameters_bytes + m.gradients_bytes + m.optimizer_bytes);
            double n = (double)plan_stage_parameters(plan, middle);
            double matrices =
                (double)(plan->layers[middle] * llm_parameters(&shape).layer_matrices / 8);
            g_assert_cmpfloat_with_epsilon(state / n * matrices / GIB, rows[i].state_GiB, 6e-5);
        }
        for (guint c = 0; c < 4; c++)
            g_assert_cmpfloat_with_epsilon(100 * bytes[c + 1] / bytes[0], rows[i].percent[c], 6e-4);
    }
}

/* 12 layers a stage of 96: uniform units of 5 keep the inputs of layers 0, 5 and 10 and bring back five layers
 * together; a block of 5 keeps seven whole; every third keeps eight. */
static void
test_recompute(void)
{
    LlmShape shape = gpt(96, 12288, 96);
    ClusterSystem system = fixture_a100();
    PlanSpec spec = fixture_spec(8, 8, 1);

    spec.recompute = LLM_RECOMPUTE_FULL;
    g_autoptr(Plan) one = fixture_plan(&spec, &shape, &system);
    LlmCut none = plan_cut_for(one, LLM_RECOMPUTE_NONE),
           full = plan_cut_for(one, LLM_RECOMPUTE_FULL);
    double kept = llm_activation_bytes(&shape, &none, LLM_PIECE_LAYER);
    double input = llm_activation_bytes(&shape, &full, LLM_PIECE_LAYER);
    double again = llm_transient_bytes(&shape, &full, LLM_PIECE_LAYER);
    g_assert_cmpfloat_with_epsilon((double)plan_stage_activation_bytes(one, 1), 12 * input, 1);
    g_assert_cmpfloat_with_epsilon((double)plan_stage_kept_bytes(one, 1), 12 * kept, 1);
    spec.recompute_layers = 5;
    g_autoptr(Plan) units = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(plan_recompute_unit(units), ==, 5);
    g_assert_cmpfloat_with_epsilon((double)plan_stage_activation_bytes(units, 1), 3 * input, 1);
    g_assert_cmpfloat_with_epsilon((double)plan_stage_transient_bytes(units, 1),
                                   5 * again + 4 * input, 1);
    spec.recompute_method = PLAN_RECOMPUTE_BLOCK;
    g_autoptr(Plan) block = fixture_plan(&spec, &shape, &system);
    g_assert_cmpfloat_with_epsilon((double)plan_stage_activation_bytes(block, 1),
                                   5 * input + 7 * kept, 1);
    spec.recompute_stages = "12,0,3";
    g_autoptr(Plan) listed = fixture_plan(&spec, &shape, &system);
    g_assert_cmpfloat_with_epsilon((double)plan_stage_activation_bytes(listed, 1), 12 * kept, 1);
    g_assert_cmpfloat_with_epsilon((double)plan_stage_activation_bytes(listed, 5),
                                   3 * input + 9 * kept, 1);
    spec.recompute_stages = NULL;
    spec.recompute_method = PLAN_RECOMPUTE_EVERY;
    spec.recompute_layers = 3;
    g_autoptr(Plan) every = fixture_plan(&spec, &shape, &system);
    g_assert_cmpfloat_with_epsilon((double)plan_stage_activation_bytes(every, 1),
                                   4 * input + 8 * kept, 1);
}

/* Whatever a unit is, every parameter of a stage is in one. */
static void
test_units(void)
{
    LlmShape shapes[] = {gpt(96, 12288, 96), mixtral(), fixture_llama3_8b()};
    ClusterSystem system = fixture_a100();

    for (guint i = 0; i < G_N_ELEMENTS(shapes); i++)
        for (guint bucket = 0; bucket < PLAN_BUCKET_AUTO; bucket++)
            for (gint64 pp = 1; pp <= 4; pp *= 2) {
                PlanSpec spec = fixture_spec(1, pp, 8);
                spec.bucket = bucket;
                spec.unit_layers = 3;
                spec.bucket_elements = 3000000000;
                g_autoptr(Plan) plan = fixture_plan(&spec, &shapes[i], &system);
                for (gint64 s = 0; s < plan->n_stages; s++) {
                    g_autoptr(GArray) units = plan_stage_units(plan, s);
                    gint64 dense = 0, expert = 0, at = 0;
                    for (guint u = 0; u < units->len; u++) {
                        const PlanUnit *unit = &g_array_index(units, PlanUnit, u);
                        dense += unit->dense, expert += unit->expert;
                        g_assert_cmpint(unit->from, ==, at);
                        at = unit->to;
                    }
                    g_assert_cmpint(at, ==, plan->layers[s]);
                    g_assert_cmpint(dense + expert, ==, plan_stage_parameters(plan, s));
                    g_assert_cmpint(expert, ==, plan_stage_expert_parameters(plan, s));
                }
            }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan/estimators/megatron", test_megatron);
    g_test_add_func("/plan/estimators/korthikanti", test_korthikanti);
    g_test_add_func("/plan/estimators/recompute-methods", test_recompute);
    g_test_add_func("/plan/estimators/units-hold-all", test_units);
    return g_test_run();
}
