/* Layers of stages: as Megatron splits them, never lost or invented. */
#include "config.h"

#include "plan-fixture.h"

typedef struct {
    gint64 layers, pp, vpp, first, last;
    const char *list;
    gboolean embedding, loss;
    const char *expected; /* counts, or "!" and what the refusal says */
} Case;

static const Case cases[] = {
    {96, 8, 1, 0, 0, NULL, 0, 0, "12,12,12,12,12,12,12,12"},
    {8, 2, 2, 0, 0, NULL, 0, 0, "2,2,2,2"},
    {6, 4, 1, 0, 0, NULL, 1, 1, "1,2,2,1"},
    {7, 4, 1, 0, 0, NULL, 1, 0, "1,2,2,2"},
    {7, 4, 1, 0, 0, NULL, 0, 1, "2,2,2,1"},
    {6, 2, 4, 0, 0, NULL, 1, 1, "0,1,1,1,1,1,1,0"},
    {5, 1, 1, 0, 0, NULL, 1, 1, "5"},
    {10, 4, 1, 1, 0, NULL, 0, 0, "1,3,3,3"},
    {10, 4, 1, 0, 4, NULL, 0, 0, "2,2,2,4"},
    {12, 4, 2, 2, 2, NULL, 0, 0, "1,2,2,1,1,2,2,1"},
    {20, 2, 1, 12, 8, NULL, 0, 0, "12,8"},
    {20, 1, 1, 20, 0, NULL, 0, 0, "20"},
    {95, 4, 1, 0, 0, "23,24,24,24", 0, 0, "23,24,24,24"},
    {4, 3, 1, 0, 0, " 0, 4 ,0", 0, 0, "0,4,0"},
    /* the question of a user: one stage, --last-stage-layers 1, 20 layers built as 1 */
    {20, 1, 1, 0, 1, NULL, 0, 0, "!would hold 1 of 20 layers and the others would be lost"},
    {20, 2, 1, 12, 7, NULL, 0, 0, "!are 19 of 20 layers and there is no stage between"},
    {20, 2, 1, 21, 0, NULL, 0, 0, "!the model has 20 layers"},
    {20, 4, 1, -1, 0, NULL, 0, 0, "!the model has 20 layers"},
    {20, 4, 1, 3, 4, NULL, 0, 0,
     "!leave 13 of 20 layers, which do not divide over the other 2 ranks"},
    {20, 4, 1, 10, 10, NULL, 0, 0, "!leave 0 of 20 layers"},
    {21, 4, 2, 5, 0, NULL, 0, 0, "!leave 16 of 21 layers, which do not divide over the other 3"},
    {17, 4, 2, 5, 0, NULL, 0, 0, "!the 5 layers of rank 0 do not divide over 2 chunks"},
    {20, 4, 1, 5, 0, NULL, 1, 0, "!leave out --account-for-embedding"},
    {40, 16, 1, 0, 0, NULL, 0, 0,
     "!40 layers do not divide over 16 stages (pp x vpp = 16 x 1); use another --pp, "
     "--first-stage-layers and --last-stage-layers, or --stage-layers "
     "3,3,3,3,3,3,3,3,2,2,2,2,2,2,2,2"},
    {126, 8, 4, 0, 0, NULL, 0, 0,
     "!use --account-for-embedding --account-for-loss (126 + 2 over 32 is 4)"},
    {126, 16, 8, 0, 0, NULL, 0, 0, "!(126 + 2 over 128 is 1)"},
    {78, 12, 1, 0, 0, NULL, 0, 0, "!78 layers do not divide over 12 stages"},
    {20, 4, 1, 0, 0, "5,5,5", 0, 0, "!3 counts for 4 stages"},
    {20, 4, 1, 0, 0, "5,5,5,6", 0, 0, "!add to 21 and the model has 20 layers; change them by -1"},
    {20, 4, 1, 0, 0, "10,0,5,5", 0, 0, "!stage 1 has no layers"},
    {20, 4, 1, 0, 0, "5,5,5,x", 0, 0, "!'x' (stage 3) is not a number"},
    {20, 4, 1, 0, 0, "5,5,5,-5", 0, 0, "!'-5' (stage 3) is not a number"},
    {20, 4, 1, 0, 0, "5,5,5,99999999999999999999", 0, 0, "!is not a number of layers"},
    {20, 4, 1, 0, 0, "", 0, 0, "!0 counts for 4 stages"},
    {20, 4, 1, 5, 0, "5,5,5,5", 0, 0, "!it says all"},
};

static PlanSpec
spec_of(const Case *c)
{
    PlanSpec spec = fixture_spec(1, c->pp, 1);

    spec.vpp = c->vpp;
    spec.first_stage_layers = c->first;
    spec.last_stage_layers = c->last;
    spec.stage_layers = c->list;
    spec.account_for_embedding = c->embedding;
    spec.account_for_loss = c->loss;
    return spec;
}

static void
test_cases(void)
{
    ClusterSystem system = fixture_a100();

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const Case *c = &cases[i];
        LlmShape shape = fixture_gpt3();
        PlanSpec spec = spec_of(c);
        shape.layers = c->layers;
        if (c->expected[0] == '!') {
            fixture_refused(&spec, &shape, &system, c->expected + 1);
            continue;
        }
        g_autoptr(Plan) plan = fixture_plan(&spec, &shape, &system);
        GString *text = g_string_new(NULL);
        for (gint64 s = 0; s < plan->n_stages; s++)
            g_string_append_printf(text, "%s%" G_GINT64_FORMAT, s > 0 ? "," : "", plan->layers[s]);
        g_assert_cmpstr(text->str, ==, c->expected);
        g_string_free(text, TRUE);
    }
}

static void
test_never_lost(void)
{
    ClusterSystem system = fixture_a100();
    guint n = 0;

    g_test_summary("whatever is asked for, an accepted plan holds exactly the model's layers");
    for (guint i = 0; i < 5000; i++) {
        LlmShape shape = fixture_gpt3();
        PlanSpec spec = fixture_spec(1, g_test_rand_int_range(1, 9), 1);
        shape.layers = g_test_rand_int_range(1, 50);
        spec.vpp = spec.pp > 1 ? g_test_rand_int_range(1, 4) : 1;
        spec.first_stage_layers = MAX(0, g_test_rand_int_range(-8, 8));
        spec.last_stage_layers = MAX(0, g_test_rand_int_range(-8, 8));
        spec.account_for_embedding = g_test_rand_bit();
        spec.account_for_loss = g_test_rand_bit();
        g_autoptr(Plan) plan = plan_new(&spec, &shape, &system, NULL);
        if (plan == NULL)
            continue;
        gint64 sum = 0;
        for (gint64 s = 0; s < plan->n_stages; s++) {
            gboolean end = s == 0 || s == plan->n_stages - 1;
            g_assert_cmpint(plan->layers[s], >=, end ? 0 : 1);
            sum += plan->layers[s];
        }
        g_assert_cmpint(sum, ==, shape.layers);
        n++;
    }
    g_assert_cmpuint(n, >, 100);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan/layers/splits-and-refusals", test_cases);
    g_test_add_func("/plan/layers/never-lost-or-invented", test_never_lost);
    return g_test_run();
}
