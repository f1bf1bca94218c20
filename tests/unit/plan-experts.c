/* Experts and context parallelism: cuts, loads, refusals. */
#include "config.h"

#include "plan-fixture.h"

static LlmShape
mixtral(void)
{
    LlmShape shape = fixture_llama3(32, 4096, 32, 14336);

    shape.name = (char *)"mixtral";
    shape.vocab = 32000;
    shape.experts = 8;
    shape.experts_per_token = 2;
    shape.expert_ffn = 14336;
    shape.moe_every = 1;
    return shape;
}

static PlanSpec
expert_spec(gint64 tp, gint64 dp, gint64 ep)
{
    PlanSpec spec = fixture_spec(tp, 1, dp);

    spec.ep = ep;
    spec.microbatches = 4;
    return spec;
}

/* The whole model's experts over ep x etp, whatever the cut; dense parts by tp. */
static void
test_shares(void)
{
    static const struct {
        gint64 tp, dp, ep, etp, expected_etp;
    } cuts[] = {
        {1, 8, 8, 0, 1}, {2, 8, 4, 0, 2}, {2, 8, 4, 1, 1}, {4, 2, 2, 4, 4}, {1, 1, 1, 0, 1}};
    LlmShape shape = mixtral();
    ClusterSystem system = fixture_a100();
    gint64 of_experts = shape.layers * shape.experts * 3 * shape.hidden * shape.expert_ffn;

    for (guint i = 0; i < G_N_ELEMENTS(cuts); i++) {
        PlanSpec spec = expert_spec(cuts[i].tp, cuts[i].dp, cuts[i].ep);
        spec.etp = cuts[i].etp;
        g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
        gint64 etp = cuts[i].expected_etp;
        g_assert_cmpint(plan->spec.etp, ==, etp);
        g_assert_cmpint(plan_stage_expert_parameters(plan, 0) * cuts[i].ep * etp, ==, of_experts);
        gint64 copies = cuts[i].tp * cuts[i].dp / (cuts[i].ep * etp);
        g_assert_cmpint(plan_shard_ranks(plan, TRUE), ==, copies);
        g_assert_cmpint(plan_shard_ranks(plan, FALSE), ==, cuts[i].dp);
        gint64 expert = plan_stage_expert_parameters(plan, 0);
        gint64 dense = plan_stage_parameters(plan, 0) - expert;
        PlanStaticMemory m = plan_static_memory(plan, 0);
        gint64 owned = (dense + cuts[i].dp - 1) / cuts[i].dp + (expert + copies - 1) / copies;
        g_assert_cmpint(m.optimizer_bytes, ==, 12 * owned);
        g_assert_cmpint(m.gradients_bytes, ==, 4 * (dense + expert));
    }
}

static void
test_load(void)
{
    LlmShape shape = mixtral();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = expert_spec(1, 8, 4);

    g_test_summary("two experts a rank: the largest pair of 1 2 | 3 4 | 2 2 | 1 1 over the mean 4");
    spec.expert_histogram = "1,2,3,4,2,2,1,1";
    g_autoptr(Plan) given = fixture_plan(&spec, &shape, &system);
    g_assert_cmpfloat(given->cut.expert_load, ==, 7.0 / 4);
    g_assert_nonnull(strstr(given->remarks->pdata[given->remarks->len - 1], "1.75 times the mean"));
    spec.capacity_factor = 1.5; /* 3 and 3 of the pair stay */
    g_autoptr(Plan) dropped = fixture_plan(&spec, &shape, &system);
    g_assert_cmpfloat(dropped->cut.expert_load, ==, 1.5);
    spec = expert_spec(1, 8, 4);
    g_autoptr(Plan) even = fixture_plan(&spec, &shape, &system);
    g_assert_cmpfloat(even->cut.expert_load, ==, 1);
    spec.expert_imbalance = 0.3;
    g_autoptr(Plan) drawn = fixture_plan(&spec, &shape, &system),
                    again = fixture_plan(&spec, &shape, &system);
    g_assert_cmpfloat(drawn->cut.expert_load, >, 1);
    g_assert_cmpfloat(drawn->cut.expert_load, <, 2);
    g_assert_cmpfloat(drawn->cut.expert_load, ==, again->cut.expert_load);
    spec.seed = 2;
    g_autoptr(Plan) other = fixture_plan(&spec, &shape, &system);
    g_assert_cmpfloat(drawn->cut.expert_load, !=, other->cut.expert_load);
    spec.ep = 1; /* one rank has all experts, and all tokens */
    g_autoptr(Plan) one = fixture_plan(&spec, &shape, &system);
    g_assert_cmpfloat_with_epsilon(one->cut.expert_load, 1, 1e-12);
}

static void
test_nodes(void)
{
    LlmShape shape = mixtral();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = expert_spec(2, 8, 8);

    spec.etp = 1;
    g_autoptr(Plan) near = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(near->cut.ep_nodes, ==, 1);
    spec.etp = 2; /* every second rank of 16 */
    g_autoptr(Plan) far = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(far->cut.ep_nodes, ==, 2);
}

typedef struct {
    gint64 tp, dp, ep, etp, cp, cp_inner;
    LlmCpKind kind;
    gboolean no_sp, overlap_moe, delay_wgrad, pad, shared;
    LlmDispatch dispatch;
    double capacity, imbalance;
    const char *histogram, *says;
} Case;

static const Case cases[] = {
    {.tp = 1,
     .dp = 8,
     .ep = 3,
     .says = "3 does not divide the 8 experts of mixtral; write one of 1, 2, 4, 8"},
    {.tp = 4,
     .dp = 4,
     .ep = 8,
     .says = "8 x 4 = 32 ranks do not divide the tp x cp x dp = 4 x 1 x 4 = 16"},
    {.tp = 1, .dp = 8, .etp = 3, .says = "--etp: 3 does not divide the width 14336"},
    {.tp = 2, .dp = 4, .ep = 4, .no_sp = TRUE, .says = "--no-sequence-parallel: Megatron"},
    {.tp = 1, .dp = 8, .overlap_moe = TRUE, .says = "--overlap-moe: there is no all-to-all"},
    {.tp = 1, .dp = 8, .ep = 8, .delay_wgrad = TRUE, .says = "add --overlap-moe"},
    {.tp = 1,
     .dp = 8,
     .ep = 8,
     .overlap_moe = TRUE,
     .dispatch = LLM_DISPATCH_ALL_GATHER,
     .says = "write --moe-dispatcher alltoall or flex"},
    {.tp = 1, .dp = 8, .ep = 8, .pad = TRUE, .says = "add --moe-capacity-factor 1"},
    {.tp = 1,
     .dp = 8,
     .ep = 8,
     .capacity = 1,
     .dispatch = LLM_DISPATCH_ALL_GATHER,
     .says = "the allgather dispatcher drops no tokens"},
    {.tp = 1, .dp = 8, .dispatch = LLM_DISPATCH_FLEX, .says = "--moe-dispatcher: flex"},
    {.tp = 1, .dp = 8, .shared = TRUE, .says = "mixtral has no shared experts"},
    {.tp = 1, .dp = 8, .ep = 8, .imbalance = -1, .says = "--expert-imbalance: -1"},
    {.tp = 1, .dp = 8, .ep = 8, .histogram = "1,2", .says = "2 numbers for 8 experts"},
    {.tp = 1,
     .dp = 8,
     .ep = 8,
     .histogram = "1,2,3,4,5,6,7,x",
     .says = "'x' (expert 7) is no number"},
    {.tp = 1, .dp = 8, .ep = 8, .histogram = "0,0,0,0,0,0,0,0", .says = "no expert has tokens"},
    {.tp = 1,
     .dp = 8,
     .ep = 8,
     .imbalance = 1,
     .histogram = "1,1,1,1,1,1,1,1",
     .says = "leave out one"},
    {.tp = 1,
     .dp = 1,
     .cp = 16,
     .kind = LLM_CP_A2A,
     .says = "the 8 key/value heads of a tensor-parallel rank to 16"},
    {.tp = 1, .dp = 1, .cp = 3, .kind = LLM_CP_A2A_P2P, .says = "not a multiple of two pieces"},
    {.tp = 1,
     .dp = 1,
     .cp = 2,
     .kind = LLM_CP_A2A_P2P,
     .says = "--cp is 2; write --cp-comm-type p2p or a2a"},
    {.tp = 1,
     .dp = 1,
     .cp = 8,
     .cp_inner = 3,
     .kind = LLM_CP_A2A_P2P,
     .says = "--cp-inner: 3 ranks"},
    {.tp = 8,
     .dp = 1,
     .cp = 4,
     .cp_inner = 2,
     .kind = LLM_CP_A2A_P2P,
     .says = "the 1 key/value heads of a tensor-parallel rank to 2"},
};

static void
test_refused(void)
{
    LlmShape shape = mixtral();
    ClusterSystem system = fixture_a100();

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const Case *c = &cases[i];
        PlanSpec spec = expert_spec(c->tp, c->dp, MAX(c->ep, 1));
        spec.etp = c->etp;
        spec.cp = MAX(c->cp, 1);
        spec.cp_kind = c->kind;
        spec.cp_inner = c->cp_inner;
        spec.sequence_parallel = !c->no_sp;
        spec.overlap_moe = c->overlap_moe;
        spec.delay_wgrad = c->delay_wgrad;
        spec.pad_to_capacity = c->pad;
        spec.overlap_shared = c->shared;
        spec.dispatch = c->dispatch;
        spec.capacity_factor = c->capacity;
        spec.expert_imbalance = c->imbalance;
        spec.expert_histogram = c->histogram;
        fixture_refused(&spec, &shape, &system, c->says);
    }
}

static void
test_context(void)
{
    LlmShape shape = fixture_llama3_8b();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = fixture_spec(2, 1, 1);

    g_test_summary("rings take windows' models no more; messages and parameters follow cp");
    spec.cp = 4;
    spec.pp = 2;
    spec.microbatches = 4;
    g_autoptr(Plan) ring = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(ring->spec.cp_inner, ==, 1);
    g_assert_cmpint(plan_shard_ranks(ring, FALSE), ==, 4);
    g_assert_cmpint(plan_p2p_bytes(ring), ==, 8192 / 4 / 2 * 4096 * 2);
    spec.cp_kind = LLM_CP_A2A;
    g_autoptr(Plan) heads = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(heads->cut.cp_inner, ==, 4);
    spec.cp_kind = LLM_CP_A2A_P2P;
    g_autoptr(Plan) both = fixture_plan(&spec, &shape, &system);
    g_assert_cmpint(both->cut.cp_inner, ==, 2);
    spec.cp_kind = LLM_CP_P2P;
    shape.sliding_window = 1024;
    fixture_refused(&spec, &shape, &system, "a ring does not know the attention window of 1024");
    shape.sliding_window = 0;
    spec.attention = LLM_ATTENTION_UNFUSED;
    fixture_refused(&spec, &shape, &system, "need FlashAttention");
}

/* Experts of 32 ranks, each on ep ranks: their states are cut over shard x tp / ep of them. */
static void
test_shard_sizes(void)
{
    static const struct {
        PlanFramework framework;
        gint64 tp, ep, shard, cut; /* cut 0: refused */
    } rows[] = {
        {PLAN_MEGATRON, 1, 4, 16, 4},  {PLAN_MEGATRON, 1, 8, 8, 1},
        {PLAN_MEGATRON, 1, 8, 4, 0},   {PLAN_TORCHTITAN, 1, 8, 16, 2},
        {PLAN_TORCHTITAN, 2, 8, 4, 1}, {PLAN_TORCHTITAN, 2, 8, 2, 0},
        {PLAN_DEEPSPEED, 1, 8, 4, 1},
    };
    LlmShape shape = mixtral();
    ClusterSystem system = fixture_a100();

    g_test_summary("shards smaller than all cut experts over what is left of them beside ep; "
                   "Megatron and torchtitan refuse where that is no whole number");
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        PlanSpec spec = plan_spec_for(rows[i].framework);
        spec.tp = rows[i].tp;
        spec.dp = 32 / rows[i].tp;
        spec.ep = rows[i].ep;
        spec.etp = 1;
        spec.microbatches = 1;
        spec.shard_size = rows[i].shard;
        if (rows[i].cut == 0) {
            g_autofree char *says = g_strdup_printf("write a multiple of %d, or lower --ep",
                                                    (int)(rows[i].ep / rows[i].tp));
            fixture_refused(&spec, &shape, &system, says);
            continue;
        }
        g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
        g_assert_cmpint(plan_shard_ranks(plan, TRUE), ==, rows[i].cut);
        g_assert_cmpint(plan_shard_ranks(plan, FALSE), ==, rows[i].shard);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan/experts/shares-and-shards", test_shares);
    g_test_add_func("/plan/experts/load-of-the-fullest-rank", test_load);
    g_test_add_func("/plan/experts/nodes-of-a-group", test_nodes);
    g_test_add_func("/plan/experts/refuses-with-advice", test_refused);
    g_test_add_func("/plan/experts/context", test_context);
    g_test_add_func("/plan/experts/shard-sizes", test_shard_sizes);
    return g_test_run();
}
