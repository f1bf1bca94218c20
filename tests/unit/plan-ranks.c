/* The rank grid is a bijection; groups partition the ranks and mean what they say. */
#include "config.h"

#include "plan-fixture.h"

/* The grid itself, without what a model or a framework would refuse. */
static Plan *
new_grid(const LlmShape *shape, const ClusterSystem *system, gint64 tp, gint64 cp, gint64 dp,
         gint64 pp)
{
    PlanSpec spec = fixture_spec(tp, pp, dp);
    Plan *plan = fixture_plan(&spec, shape, system);

    plan->spec.cp = cp;
    plan->spec.cp_inner = 1;
    plan->spec.shard_size = dp * cp;
    plan->gpus *= cp;
    return plan;
}

static void
test_order(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    g_autoptr(Plan) plan = new_grid(&shape, &system, 2, 1, 4, 2);

    g_test_summary("tp fastest, then dp, then pp: Megatron's tp-cp-ep-dp-pp");
    g_assert_cmpuint(plan_rank(plan, (PlanPlace){.tp = 1}), ==, 1);
    g_assert_cmpuint(plan_rank(plan, (PlanPlace){.dp = 1}), ==, 2);
    g_assert_cmpuint(plan_rank(plan, (PlanPlace){.pp = 1}), ==, 8);
    g_assert_cmpuint(plan_rank(plan, (PlanPlace){.tp = 1, .dp = 3, .pp = 1}), ==, 15);
}

/* The documented example of Megatron: 16 GPUs, tp 2, pp 4. */
static void
test_groups_of_sixteen(void)
{
    static const struct {
        PlanGroup group;
        guint rank;
        guint n, members[8];
    } expected[] = {
        {PLAN_GROUP_TP, 5, 2, {4, 5}},
        {PLAN_GROUP_DP, 1, 2, {1, 3}},
        {PLAN_GROUP_PP, 6, 4, {2, 6, 10, 14}},
        {PLAN_GROUP_CP, 6, 1, {6}},
        {PLAN_GROUP_EMBEDDING, 6, 2, {2, 14}},
        {PLAN_GROUP_MODEL, 0, 8, {0, 1, 4, 5, 8, 9, 12, 13}},
        {PLAN_GROUP_MODEL, 15, 8, {2, 3, 6, 7, 10, 11, 14, 15}},
    };
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    g_autoptr(Plan) plan = new_grid(&shape, &system, 2, 1, 2, 4);

    for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
        g_autoptr(GArray) members = plan_group(plan, expected[i].group, expected[i].rank);
        g_assert_cmpmem(members->data, members->len * sizeof(guint), expected[i].members,
                        expected[i].n * sizeof(guint));
    }
    g_autoptr(GArray) world = plan_group(plan, PLAN_GROUP_WORLD, 3);
    g_assert_cmpuint(world->len, ==, 16);
}

typedef struct {
    PlanGroup group;
    guint rank, n, members[16];
} Expected;

static void
assert_members(const Plan *plan, const Expected *expected, guint n)
{
    for (guint i = 0; i < n; i++) {
        g_autoptr(GArray) members = plan_group(plan, expected[i].group, expected[i].rank);
        g_assert_cmpmem(members->data, members->len * sizeof(guint), expected[i].members,
                        expected[i].n * sizeof(guint));
    }
}

/* Megatron's documented example of hierarchical context parallelism: 16 ranks in levels of 2, 2 and 4, of which
 * ours are the first two together and the third, or the first and the others. */
static void
test_context_levels(void)
{
    static const Expected four[] = {
        {PLAN_GROUP_CP_INNER, 0, 4, {0, 1, 2, 3}},
        {PLAN_GROUP_CP_INNER, 14, 4, {12, 13, 14, 15}},
        {PLAN_GROUP_CP_OUTER, 0, 4, {0, 4, 8, 12}},
        {PLAN_GROUP_CP_OUTER, 7, 4, {3, 7, 11, 15}},
        {PLAN_GROUP_CP, 7, 16, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
    };
    static const Expected two[] = {
        {PLAN_GROUP_CP_INNER, 3, 2, {2, 3}},
        {PLAN_GROUP_CP_OUTER, 3, 8, {1, 3, 5, 7, 9, 11, 13, 15}},
    };
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    g_autoptr(Plan) plan = new_grid(&shape, &system, 1, 16, 1, 1);

    plan->spec.cp_inner = 4;
    assert_members(plan, four, G_N_ELEMENTS(four));
    plan->spec.cp_inner = 2;
    assert_members(plan, two, G_N_ELEMENTS(two));
}

/* Parallel folding: experts cut the ranks of a stage in the order etp-ep-edp. 16 ranks, tp 2, cp 2, dp 2, pp 2;
 * etp 1, ep 4 leave 2 ranks with the same experts. */
static void
test_folded_experts(void)
{
    static const Expected folded[] = {
        {PLAN_GROUP_TP, 5, 2, {4, 5}},         {PLAN_GROUP_CP, 5, 2, {5, 7}},
        {PLAN_GROUP_DP, 5, 4, {1, 3, 5, 7}},   {PLAN_GROUP_ETP, 5, 1, {5}},
        {PLAN_GROUP_EP, 5, 4, {4, 5, 6, 7}},   {PLAN_GROUP_EDP, 5, 2, {1, 5}},
        {PLAN_GROUP_EP, 9, 4, {8, 9, 10, 11}},
    };
    static const Expected cut[] = {
        {PLAN_GROUP_ETP, 5, 2, {4, 5}},
        {PLAN_GROUP_EP, 5, 2, {5, 7}},
        {PLAN_GROUP_EDP, 5, 2, {1, 5}},
        {PLAN_GROUP_EDP, 14, 2, {10, 14}},
    };
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    g_autoptr(Plan) plan = new_grid(&shape, &system, 2, 2, 2, 2);

    plan->spec.etp = 1;
    plan->spec.ep = 4;
    assert_members(plan, folded, G_N_ELEMENTS(folded));
    plan->spec.etp = 2;
    plan->spec.ep = 2;
    assert_members(plan, cut, G_N_ELEMENTS(cut));
}

/* HSDP: tp 2, dp 8, shards of 4 are neighbours of the data-parallel group, replicas lie across. */
static void
test_shards(void)
{
    static const Expected hybrid[] = {
        {PLAN_GROUP_SHARD, 3, 4, {1, 3, 5, 7}},       {PLAN_GROUP_SHARD, 8, 4, {8, 10, 12, 14}},
        {PLAN_GROUP_REPLICATE, 3, 2, {3, 11}},        {PLAN_GROUP_EXPERT_SHARD, 5, 4, {1, 3, 5, 7}},
        {PLAN_GROUP_EXPERT_REPLICATE, 5, 2, {5, 13}},
    };
    static const Expected experts[] = {
        {PLAN_GROUP_EDP, 5, 4, {1, 5, 9, 13}},
        {PLAN_GROUP_EXPERT_SHARD, 5, 2, {1, 5}},
        {PLAN_GROUP_EXPERT_REPLICATE, 5, 2, {5, 13}},
    };
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    g_autoptr(Plan) plan = new_grid(&shape, &system, 2, 1, 8, 1);

    plan->spec.shard_size = 4;
    plan->spec.etp = 2;
    assert_members(plan, hybrid, G_N_ELEMENTS(hybrid));
    g_assert_cmpint(plan_shard_ranks(plan, FALSE), ==, 4);
    g_assert_cmpint(plan_shard_ranks(plan, TRUE), ==, 4);
    plan->spec.ep = 2; /* 4 ranks hold two copies of a stage's experts between them and one other */
    assert_members(plan, experts, G_N_ELEMENTS(experts));
    g_assert_cmpint(plan_shard_ranks(plan, TRUE), ==, 2);
    plan->spec.zero = 0;
    g_assert_cmpint(plan_shard_ranks(plan, FALSE), ==, 1);
}

static void
assert_group(const Plan *plan, PlanGroup group, guint rank, gint64 size)
{
    g_autoptr(GArray) members = plan_group(plan, group, rank);
    guint home = g_array_index(members, guint, 0), n = 0;
    gboolean found = FALSE;

    g_assert_cmpint(members->len, ==, size);
    g_assert_cmpuint(plan_group_leader(plan, group, rank, &n), ==, home);
    g_assert_cmpuint(n, ==, members->len);
    for (guint i = 0; i < members->len; i++) {
        guint member = g_array_index(members, guint, i);
        if (i > 0)
            g_assert_cmpuint(member, >, g_array_index(members, guint, i - 1));
        found = found || member == rank;
    }
    if (group == PLAN_GROUP_EMBEDDING)
        return; /* ranks between first and last have one too, without being members */
    g_assert_true(found);
    g_autoptr(GArray) same = plan_group(plan, group, home);
    g_assert_cmpmem(members->data, members->len * sizeof(guint), same->data,
                    same->len * sizeof(guint));
}

static gint64
random_divisor(gint64 n)
{
    gint64 d;
    do
        d = g_test_rand_int_range(1, (gint32)n + 1);
    while (n % d != 0);
    return d;
}

static void
assert_grid(const Plan *plan)
{
    const PlanSpec *s = &plan->spec;
    gint64 copies = s->tp * s->cp * s->dp / (s->ep * s->etp);
    gint64 expert_shard = plan_shard_ranks(plan, TRUE);
    const gint64 sizes[PLAN_N_GROUPS] = {
        [PLAN_GROUP_TP] = s->tp,
        [PLAN_GROUP_CP] = s->cp,
        [PLAN_GROUP_CP_INNER] = s->cp_inner,
        [PLAN_GROUP_CP_OUTER] = s->cp / s->cp_inner,
        [PLAN_GROUP_EP] = s->ep,
        [PLAN_GROUP_ETP] = s->etp,
        [PLAN_GROUP_DP] = s->dp * s->cp,
        [PLAN_GROUP_SHARD] = s->shard_size,
        [PLAN_GROUP_REPLICATE] = s->dp * s->cp / s->shard_size,
        [PLAN_GROUP_EDP] = copies,
        [PLAN_GROUP_EXPERT_SHARD] = expert_shard,
        [PLAN_GROUP_EXPERT_REPLICATE] = copies / expert_shard,
        [PLAN_GROUP_PP] = s->pp,
        [PLAN_GROUP_EMBEDDING] = MIN(s->pp, 2),
        [PLAN_GROUP_MODEL] = s->tp * s->pp,
        [PLAN_GROUP_WORLD] = plan->gpus,
    };
    g_assert_cmpint(copies % expert_shard, ==, 0);
    for (guint rank = 0; rank < plan->gpus; rank++) {
        PlanPlace place = plan_place(plan, rank);
        g_assert_cmpuint(plan_rank(plan, place), ==, rank);
        for (guint g = 0; g < PLAN_N_GROUPS; g++)
            if (g != PLAN_GROUP_WORLD || rank == 0)
                assert_group(plan, g, rank, sizes[g]);
    }
}

static void
test_bijection_and_partition(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();

    g_test_summary("rank to place and back is the identity; a group is the same from each member");
    for (guint i = 0; i < 60; i++) {
        static const gint64 tps[] = {1, 2, 4, 8}, pps[] = {1, 2, 3, 4, 6};
        gint64 tp = tps[g_test_rand_int_range(0, 4)], pp = pps[g_test_rand_int_range(0, 5)];
        gint64 cp = g_test_rand_int_range(1, 5), dp = g_test_rand_int_range(1, 6);
        g_autoptr(Plan) plan = new_grid(&shape, &system, tp, cp, dp, pp);
        PlanSpec *s = &plan->spec;
        s->cp_inner = random_divisor(cp);
        s->ep = random_divisor(tp * cp * dp);
        s->etp = random_divisor(tp * cp * dp / s->ep);
        s->shard_size = random_divisor(dp * cp);
        assert_grid(plan);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan/ranks/tensor-parallel-fastest-pipeline-slowest", test_order);
    g_test_add_func("/plan/ranks/groups-of-sixteen-gpus", test_groups_of_sixteen);
    g_test_add_func("/plan/ranks/levels-of-context", test_context_levels);
    g_test_add_func("/plan/ranks/experts-fold-a-stage", test_folded_experts);
    g_test_add_func("/plan/ranks/shards-and-replicas", test_shards);
    g_test_add_func("/plan/ranks/bijection-and-partition", test_bijection_and_partition);
    return g_test_run();
}
