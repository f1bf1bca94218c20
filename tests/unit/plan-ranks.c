/* The rank grid is a bijection; groups partition the ranks and mean what they say. */
#include "config.h"

#include "plan-fixture.h"

static Plan *
new_grid(const LlmShape *shape, const ClusterSystem *system, gint64 tp, gint64 cp, gint64 dp,
         gint64 pp)
{
    PlanSpec spec = fixture_spec(tp, pp, dp);
    Plan *plan = fixture_plan(&spec, shape, system);

    /* The grid itself knows context parallelism; legality does not admit it yet. */
    plan->spec.cp = cp;
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

static void
assert_group(const Plan *plan, PlanGroup group, guint rank, gint64 size)
{
    g_autoptr(GArray) members = plan_group(plan, group, rank);
    guint home = g_array_index(members, guint, 0);
    gboolean found = FALSE;

    g_assert_cmpint(members->len, ==, size);
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

static void
test_bijection_and_partition(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();

    g_test_summary("rank to place and back is the identity; a group is the same from each member");
    for (guint i = 0; i < 40; i++) {
        static const gint64 tps[] = {1, 2, 4, 8}, pps[] = {1, 2, 3, 4, 6};
        gint64 tp = tps[g_test_rand_int_range(0, 4)], pp = pps[g_test_rand_int_range(0, 5)];
        gint64 cp = g_test_rand_int_range(1, 4), dp = g_test_rand_int_range(1, 6);
        g_autoptr(Plan) plan = new_grid(&shape, &system, tp, cp, dp, pp);
        const gint64 sizes[PLAN_N_GROUPS] = {
            [PLAN_GROUP_TP] = tp,
            [PLAN_GROUP_CP] = cp,
            [PLAN_GROUP_DP] = dp * cp,
            [PLAN_GROUP_PP] = pp,
            [PLAN_GROUP_EMBEDDING] = MIN(pp, 2),
            [PLAN_GROUP_MODEL] = tp * pp,
            [PLAN_GROUP_WORLD] = plan->gpus,
        };
        for (guint rank = 0; rank < plan->gpus; rank++) {
            PlanPlace place = plan_place(plan, rank);
            g_assert_cmpuint(plan_rank(plan, place), ==, rank);
            for (guint g = 0; g < PLAN_N_GROUPS; g++)
                if (g != PLAN_GROUP_WORLD || rank == 0)
                    assert_group(plan, g, rank, sizes[g]);
        }
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan/ranks/tensor-parallel-fastest-pipeline-slowest", test_order);
    g_test_add_func("/plan/ranks/groups-of-sixteen-gpus", test_groups_of_sixteen);
    g_test_add_func("/plan/ranks/bijection-and-partition", test_bijection_and_partition);
    return g_test_run();
}
