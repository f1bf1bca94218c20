/* Megatron's layout strings: what they place, and what is refused. */
#include "config.h"

#include <string.h>

#include "plan/plan.h"

static Plan *
plan_of(const char *layout, gint64 pp, gint64 vpp, gint64 layers, GError **error)
{
    static ClusterSystem *system;
    static LlmShape *shape;
    if (system == NULL)
        system = cluster_system_load("dgx-a100-80g", NULL, NULL);
    g_assert_nonnull(system);
    g_autofree char *count = g_strdup_printf("model.n_layer=%" G_GINT64_FORMAT, layers);
    const char *overrides[] = {count, NULL};
    g_clear_pointer(&shape, llm_shape_free);
    shape = llm_shape_load("gpt3-6.7b", overrides, NULL);
    g_assert_nonnull(shape);
    PlanSpec spec = plan_spec_default();
    spec.pp = pp;
    spec.vpp = vpp;
    spec.microbatches = pp;
    spec.global_batch = 0;
    spec.layout = layout;
    spec.schedule = NULL;
    return plan_new(&spec, shape, system, error);
}

static void
test_places(void)
{
    g_test_summary("factors, brackets and empty ends; every layer of the model once");
    static const struct {
        const char *layout;
        gint64 pp, vpp, layers, counts[4];
    } cases[] = {
        {"Et|tt|tt|tL", 4, 1, 6, {1, 2, 2, 1}},
        {"E,t*3|t*4|t*4|t*3,L", 4, 1, 14, {3, 4, 4, 3}},
        {"E|(t*2|)*2L", 2, 2, 4, {0, 2, 2, 0}},
        {"E t*2 | t*2 L", 2, 1, 4, {2, 2}},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        GError *error = NULL;
        g_autoptr(Plan) plan =
            plan_of(cases[i].layout, cases[i].pp, cases[i].vpp, cases[i].layers, &error);
        g_assert_no_error(error);
        for (gint64 s = 0; s < plan->n_stages; s++)
            g_assert_cmpint(plan->layers[s], ==, cases[i].counts[s]);
    }
}

static void
test_refuses(void)
{
    g_test_summary(
        "lost layers, misplaced ends, open brackets and unknown letters are refused by name");
    static const struct {
        const char *layout, *words;
    } cases[] = {
        {"Et|tt|tt|tt", "L must be the last of the last stage"},
        {"t|Ett|tt|tL", "E must be the first of the first stage"},
        {"Et|tt|tt|ttL", "places 7 layers and the model has 6; change it by -1"},
        {"Et|tt|tttL", "3 stages for 4"},
        {"Et|(tt|tt|tL", "a bracket is not closed"},
        {"Et|tt)|tt|tL", "a bracket is closed that was not opened"},
        {"Et|tx|tt|tL", "write E, t, L"},
        {"Et|tm|tt|tL", "multi-token prediction layers (m) are not supported yet"},
        {"Et|t*0|tt|tL", "a factor must be a number from 1"},
        {"Et|(((t*60000)*60000)*60000)|t|tL", "a factor must be a number from 1"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Plan) plan = plan_of(cases[i].layout, 4, 1, 6, &error);
        g_assert_null(plan);
        g_assert_error(error, PLAN_ERROR, PLAN_ERROR_ILLEGAL);
        if (strstr(error->message, cases[i].words) == NULL)
            g_error("'%s' does not say '%s'", error->message, cases[i].words);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan/layout/places-every-layer", test_places);
    g_test_add_func("/plan/layout/refuses-with-advice", test_refuses);
    return g_test_run();
}
