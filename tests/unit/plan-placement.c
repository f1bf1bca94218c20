/* Orders of ranks against a slow twin of Megatron's generators; hostfiles and allocations as slots. */
#include "config.h"

#include <string.h>

#include "plan-fixture.h"

/* --- the twin: coordinates by counting, groups by comparing all ranks ---------------------------------- */

typedef struct {
    gint64 of[5]; /* tp cp ep dp pp */
} Coordinates;

static const char axis_names[][3] = {"tp", "cp", "ep", "dp", "pp"};

/* Of the rank, counted up one by one: the first axis of the order turns fastest. */
static Coordinates
count_to(const char *order, const gint64 size[5], guint rank)
{
    Coordinates c = {{0}};
    for (guint step = 0; step < rank; step++)
        for (guint i = 0; i < 5; i++) {
            guint axis = 0;
            while (strncmp(order + 3 * i, axis_names[axis], 2) != 0)
                axis++;
            if (++c.of[axis] < size[axis])
                break;
            c.of[axis] = 0;
        }
    return c;
}

/* Ranks that agree on all axes but those in `free` (of "tp" ...), ascending. */
static GArray *
agreeing(const char *order, const gint64 size[5], guint rank, guint n, const char *free)
{
    GArray *members = g_array_new(FALSE, FALSE, sizeof(guint));
    Coordinates home = count_to(order, size, rank);
    for (guint r = 0; r < n; r++) {
        Coordinates at = count_to(order, size, r);
        gboolean agree = TRUE;
        for (guint axis = 0; axis < 5; axis++)
            agree = agree && (at.of[axis] == home.of[axis] || strstr(free, axis_names[axis]));
        if (agree)
            g_array_append_val(members, r);
    }
    return members;
}

static void
assert_twin(const Plan *plan, PlanGroup group, const gint64 size[5], const char *free)
{
    for (guint rank = 0; rank < plan->gpus; rank++) {
        guint n;
        g_autoptr(GArray) ours = plan_group(plan, group, rank);
        g_autoptr(GArray) twin = agreeing(plan->spec.order, size, rank, (guint)plan->gpus, free);
        g_assert_cmpmem(ours->data, ours->len * sizeof(guint), twin->data,
                        twin->len * sizeof(guint));
        g_assert_cmpuint(plan_group_leader(plan, group, rank, &n), ==,
                         g_array_index(twin, guint, 0));
        g_assert_cmpuint(n, ==, twin->len);
    }
}

/* Blocks of the group that is cut, or every so many of it. */
static void
assert_parts(const Plan *plan, PlanGroup whole, PlanGroup block, PlanGroup apart, guint size)
{
    for (guint rank = 0; rank < plan->gpus; rank++) {
        g_autoptr(GArray) all = plan_group(plan, whole, rank);
        g_autoptr(GArray) near = plan_group(plan, block, rank);
        g_autoptr(GArray) far = plan_group(plan, apart, rank);
        guint at = 0;
        while (g_array_index(all, guint, at) != rank)
            at++;
        g_assert_cmpuint(near->len, ==, size);
        g_assert_cmpuint(far->len, ==, all->len / size);
        for (guint i = 0; i < near->len; i++)
            g_assert_cmpuint(g_array_index(near, guint, i), ==,
                             g_array_index(all, guint, at / size * size + i));
        for (guint i = 0; i < far->len; i++)
            g_assert_cmpuint(g_array_index(far, guint, i), ==,
                             g_array_index(all, guint, at % size + i * size));
    }
}

static char *
random_order(void)
{
    guint axes[] = {0, 1, 2, 3, 4};
    GString *order = g_string_new(NULL);
    for (guint i = 0; i < 5; i++) {
        guint k = (guint)g_test_rand_int_range((gint32)i, 5), axis = axes[k];
        axes[k] = axes[i];
        g_string_append_printf(order, "%s%s", i > 0 ? "-" : "", axis_names[axis]);
    }
    return g_string_free(order, FALSE);
}

static gint64
random_of_four(void)
{
    return g_test_rand_int_range(1, 4);
}

static void
test_twin(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    g_test_summary("groups in any order are those of both of Megatron's rank generators");
    for (guint trial = 0; trial < 60; trial++) {
        PlanSpec spec = fixture_spec(1, 1, 1);
        g_autofree char *order = random_order();
        g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
        PlanSpec *s = &plan->spec; /* the grid itself, whatever a model refuses */
        s->tp = random_of_four();
        s->cp = random_of_four();
        s->dp = random_of_four();
        s->pp = random_of_four();
        s->order = order;
        s->shard_size = s->dp;
        s->cp_inner = s->cp;
        s->etp = s->tp; /* ep = cp: the experts' pipelines are the model's, wherever pp is */
        s->ep = s->cp;
        if (g_str_has_suffix(order, "pp")) {
            s->etp = g_test_rand_bit() ? 1 : s->tp;
            s->ep = g_test_rand_bit() ? s->cp * s->dp : s->dp;
        }
        plan->gpus = s->tp * s->cp * s->dp * s->pp;
        const gint64 model[] = {s->tp, s->cp, 1, s->dp, s->pp};
        const gint64 experts[] = {s->etp, 1, s->ep, s->tp * s->cp * s->dp / (s->etp * s->ep),
                                  s->pp};
        assert_twin(plan, PLAN_GROUP_TP, model, "tp");
        assert_twin(plan, PLAN_GROUP_CP, model, "cp");
        assert_twin(plan, PLAN_GROUP_DP, model, "dp cp");
        assert_twin(plan, PLAN_GROUP_PP, model, "pp");
        assert_twin(plan, PLAN_GROUP_MODEL, model, "tp pp");
        if (g_str_has_suffix(order, "pp") || s->pp == 1 ||
            strstr(order, "ep") - strstr(order, "cp") == 3 ||
            strstr(order, "cp") - strstr(order, "ep") == 3) {
            assert_twin(plan, PLAN_GROUP_ETP, experts, "tp");
            assert_twin(plan, PLAN_GROUP_EP, experts, "ep");
            assert_twin(plan, PLAN_GROUP_EDP, experts, "dp");
        }
        assert_parts(plan, PLAN_GROUP_DP, PLAN_GROUP_SHARD, PLAN_GROUP_REPLICATE,
                     (guint)s->shard_size);
        for (guint rank = 0; rank < plan->gpus; rank++) {
            PlanPlace place = plan_place(plan, rank);
            Coordinates at = count_to(order, model, rank);
            g_assert_cmpint(place.tp, ==, at.of[0]);
            g_assert_cmpint(place.cp, ==, at.of[1]);
            g_assert_cmpint(place.dp, ==, at.of[3]);
            g_assert_cmpint(place.pp, ==, at.of[4]);
            g_assert_cmpuint(plan_rank(plan, place), ==, rank);
        }
    }
}

/* --- worked examples ------------------------------------------------------------------------------------ */

static void
assert_members(const Plan *plan, PlanGroup group, guint rank, guint n, const guint *members)
{
    g_autoptr(GArray) ours = plan_group(plan, group, rank);
    g_assert_cmpmem(ours->data, ours->len * sizeof(guint), members, n * sizeof(guint));
}

static void
test_pipelines_in_nodes(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = fixture_spec(2, 2, 2);
    g_test_summary(
        "tp-pp-dp on 8 ranks, as in Megatron's text: dp [0,4] [1,5] [2,6] [3,7]; pp two apart");
    spec.order = "tp-pp-dp";
    g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
    g_assert_cmpstr(plan->spec.order, ==, "tp-pp-dp-cp-ep");
    for (guint r = 0; r < 4; r++)
        assert_members(plan, PLAN_GROUP_DP, r, 2, (const guint[]){r, r + 4});
    assert_members(plan, PLAN_GROUP_PP, 5, 2, (const guint[]){5, 7});
    assert_members(plan, PLAN_GROUP_TP, 5, 2, (const guint[]){4, 5});
    assert_members(plan, PLAN_GROUP_EMBEDDING, 7, 2, (const guint[]){5, 7});
    assert_members(plan, PLAN_GROUP_MODEL, 6, 4, (const guint[]){4, 5, 6, 7});
}

static void
test_bad_orders(void)
{
    static const struct {
        const char *order, *says;
    } bad[] = {
        {"tp-xp-dp", "'xp'"}, {"tp-tp-dp-pp", "twice"}, {"tp-dp", "where pp is"},
        {"", "where tp is"},  {"tp-pp-", "no axis"},    {"tp-pp", "where dp is"},
        {"tppp", "'tppp'"},
    };
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    g_test_summary("an order names each axis once, and none that has several ranks is missing");
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        PlanSpec spec = fixture_spec(2, 2, 2);
        spec.order = bad[i].order;
        fixture_refused(&spec, &shape, &system, bad[i].says);
    }
    shape = fixture_llama3_8b();
    shape.experts = 8;
    shape.experts_per_token = 2;
    shape.expert_ffn = 14336;
    shape.moe_every = 1;
    PlanSpec spec = fixture_spec(2, 2, 4);
    spec.ep = 4;
    spec.order = "tp-cp-ep-pp-dp";
    fixture_refused(&spec, &shape, &system, "ep x etp = 4 x 2");
    spec.etp = spec.ep = 1;
    fixture_refused(&spec, &shape, &system, "write pp last");
    spec.ep = 2;
    g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system); /* 2 x 1 = tp x cp */
    assert_members(plan, PLAN_GROUP_EP, 2, 2, (const guint[]){2, 3});
}

/* --- nodes ---------------------------------------------------------------------------------------------- */

/* Nodes of the job as "0,2,5"; caller frees. */
static char *
nodes_of(const Plan *plan)
{
    GString *text = g_string_new(NULL);
    for (guint rank = 0; rank < plan->gpus; rank++)
        if (rank == 0 || plan_node(plan, rank) != plan_node(plan, rank - 1))
            g_string_append_printf(text, "%s%u", rank > 0 ? "," : "", plan_node(plan, rank));
    return g_string_free(text, FALSE);
}

static void
test_allocations(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    guint different = 0;
    g_autofree char *last = NULL;
    g_test_summary("n nodes of the fabric, ascending, in runs of K at most; by seed");
    for (gint64 seed = 1; seed <= 50; seed++) {
        PlanSpec spec = fixture_spec(8, 1, 7);
        spec.seed = seed;
        spec.allocation = seed % 2 ? "fragmented:3" : "random";
        spec.fabric_nodes = seed % 2 ? 9 + seed % 5 : 7 + seed % 5;
        g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
        g_autoptr(Plan) again = fixture_plan(&spec, &shape, &system);
        char *nodes = nodes_of(plan);
        g_autofree char *same = nodes_of(again);
        guint run = 0, n = 0;
        g_assert_cmpstr(nodes, ==, same);
        g_assert_cmpint(plan->nodes, ==, 7);
        g_assert_cmpuint(plan->n_nodes, <=, spec.fabric_nodes);
        for (guint rank = 0; rank < 56; rank += 8, n++) {
            guint node = plan_node(plan, rank), before = rank > 0 ? plan_node(plan, rank - 1) : 0;
            g_assert_true(rank == 0 || node > before);
            run = rank > 0 && node == before + 1 ? run + 1 : 1;
            g_assert_true(seed % 2 == 0 || run <= 3);
            for (guint k = 0; k < 8; k++) {
                guint found;
                g_assert_cmpuint(plan_slot(plan, rank + k), ==, node * 8 + k);
                g_assert_true(plan_find_rank(plan, node * 8 + k, &found));
                g_assert_cmpuint(found, ==, rank + k);
            }
        }
        different += last != NULL && strcmp(last, nodes) != 0;
        g_free(last);
        last = nodes;
    }
    g_assert_cmpuint(different, >, 40);
}

static void
test_bad_allocations(void)
{
    static const struct {
        const char *allocation, *hostfile, *says;
        gint64 fabric;
    } bad[] = {
        {"scattered", NULL, "write contiguous, random or fragmented:4", 0},
        {"fragmented:0", NULL, "write fragmented:4", 0},
        {"fragmented:", NULL, "write fragmented:4", 0},
        {"fragmented:2", NULL, "write 10 or more", 8}, /* 4 runs and 3 nodes between them */
        {"random", NULL, "write 7 or more", 6},
        {"random", "a\nb\n", "leave out one", 0},
        {NULL, "a slots=8\nb slots=4\n", "has 12 ranks, and the plan 56", 0},
    };
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    g_test_summary("too small a fabric, unknown words, too few hosts");
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        PlanSpec spec = fixture_spec(8, 1, 7);
        spec.allocation = bad[i].allocation;
        spec.hostfile = bad[i].hostfile;
        spec.fabric_nodes = bad[i].fabric;
        fixture_refused(&spec, &shape, &system, bad[i].says);
    }
}

static void
test_remarks(void)
{
    LlmShape shape = fixture_gpt3();
    ClusterSystem system = fixture_a100();
    PlanSpec spec = fixture_spec(4, 1, 4);
    g_test_summary("tensor parallel groups that a hostfile tears apart are remarked on");
    spec.hostfile = "a:6\nb:6\nc:4\n";
    g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
    g_assert_cmpstr(plan->remarks->pdata[0], ==, "at most 6 of the 8 GPUs of a node have a rank");
    g_assert_cmpstr(plan->remarks->pdata[1], ==,
                    "1 of 4 tensor parallel groups are on several nodes: their collectives cross "
                    "the network");
    g_assert_cmpuint(plan->ranks_per_node, ==, 6);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan/placement/orders-against-their-twin", test_twin);
    g_test_add_func("/plan/placement/pipelines-in-nodes", test_pipelines_in_nodes);
    g_test_add_func("/plan/placement/bad-orders", test_bad_orders);
    g_test_add_func("/plan/placement/allocations", test_allocations);
    g_test_add_func("/plan/placement/bad-allocations", test_bad_allocations);
    g_test_add_func("/plan/placement/remarks", test_remarks);
    return g_test_run();
}
