/* Options that decide nothing in a plan: remarked on by name where they are given, not where the framework has them. */
#include "config.h"

#include "plan-fixture.h"

#include <string.h>

typedef void (*Change)(PlanSpec *spec);

#define CHANGE(name, ...)                                                                          \
    static void name(PlanSpec *s)                                                                  \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
CHANGE(c_units, s->unit_layers = 2)
CHANGE(c_prefetch, s->zero = 0, s->prefetch_units = 3)
CHANGE(c_elements, s->prefetch_elements = 1000)
CHANGE(c_live, s->live_elements = 1000)
CHANGE(c_live3, s->zero = 3, s->live_elements = 1000)
CHANGE(c_resident, s->resident_elements = 1000)
CHANGE(c_both, *s = plan_spec_for(PLAN_DEEPSPEED), s->dp = 8, s->zero = 3, s->prefetch_units = 1)
CHANGE(c_reshard, s->reshard_after_forward = TRUE)
CHANGE(c_bucket, s->zero = 3, s->bucket_elements = 1000)
CHANGE(c_gather, *s = plan_spec_for(PLAN_DEEPSPEED), s->dp = 8, s->overlap_param_gather = TRUE)
CHANGE(c_reduce, *s = plan_spec_for(PLAN_DEEPSPEED), s->dp = 8, s->pp = 2,
       s->overlap_grad_reduce = TRUE)
CHANGE(c_align, *s = plan_spec_for(PLAN_NANOTRON), s->dp = 8, s->align_grad_reduce = TRUE)
CHANGE(c_layers, s->recompute = LLM_RECOMPUTE_NONE, s->recompute_layers = 2)
CHANGE(c_method, s->recompute_method = PLAN_RECOMPUTE_BLOCK)
CHANGE(c_modules, s->recompute = LLM_RECOMPUTE_NONE, s->recompute_modules = LLM_MODULE_MLP)
CHANGE(c_rings, s->tp_overlap = TRUE)
CHANGE(c_cp_kind, s->cp_kind = LLM_CP_A2A)
CHANGE(c_cp_inner, s->cp_inner = 2)
CHANGE(c_cp_inner2, s->cp = 2, s->cp_inner = 2)
CHANGE(c_scatter, s->tp = 2, s->pp = 2, s->scatter_gather = TRUE)
CHANGE(c_sync, *s = plan_spec_for(PLAN_FSDP), s->dp = 8, s->p2p_sync = TRUE)
CHANGE(c_barrier, s->clip = 0, s->optimizer_barrier = PLAN_BARRIER_NONE)
CHANGE(c_transfers, s->overlap_offload = TRUE)
CHANGE(c_fp8, s->fp8_dispatch = TRUE)
CHANGE(c_spread, s->expert_imbalance = 0.5)

static const struct {
    Change change;
    const char *option, *why;
    gboolean experts;
} cases[] = {
    {c_units, "unit-layers", "not units", FALSE},
    {c_prefetch, "prefetch-units", "only with --zero 3", FALSE},
    {c_elements, "prefetch-elements", "only with --zero 3", FALSE},
    {c_live, "live-elements", "only with --zero 3", FALSE},
    {c_live3, "live-elements", "which is 0", FALSE},
    {c_resident, "resident-elements", "only with --zero 3", FALSE},
    {c_both, "prefetch-units", "--prefetch-elements says", FALSE},
    {c_reshard, "reshard-after-forward", "only with --zero 3", FALSE},
    {c_bucket, "bucket-size", "--unit-layers is their size", FALSE},
    {c_gather, "overlap-param-gather", "--overlap-grad-reduce is", FALSE},
    {c_reduce, "overlap-grad-reduce", "after the last microbatch", FALSE},
    {c_align, "align-grad-reduce", "no reductions of chunks", FALSE},
    {c_layers, "recompute-layers", "--recompute is not full", FALSE},
    {c_method, "recompute-method", "--recompute is not full", FALSE},
    {c_modules, "recompute-modules", "--recompute is not selective", FALSE},
    {c_rings, "tp-comm-overlap", "--tp is 1", FALSE},
    {c_cp_kind, "cp-comm-type", "--cp is 1", FALSE},
    {c_cp_inner, "cp-inner", "--cp is 1", FALSE},
    {c_cp_inner2, "cp-inner", "is not a2a+p2p", FALSE},
    {c_scatter, "scatter-gather", "--no-sequence-parallel", FALSE},
    {c_sync, "p2p-sync", "--p2p blocking or fused", FALSE},
    {c_barrier, "optimizer-barrier", "--clip 0", FALSE},
    {c_transfers, "overlap-offload", "nothing is offloaded", FALSE},
    {c_fp8, "fp8-dispatch", "--ep is 1", TRUE},
    {c_spread, "expert-imbalance", "--ep is 1", TRUE},
};

static LlmShape
with_experts(void)
{
    LlmShape shape = fixture_llama3_8b();
    shape.experts = 8;
    shape.experts_per_token = 2;
    shape.expert_ffn = shape.ffn;
    shape.moe_every = 1;
    return shape;
}

static guint
remarks_on(const Plan *plan, const char *option, const char *why)
{
    g_autofree char *start = g_strdup_printf("--%s has no effect: ", option);
    guint n = 0;
    for (guint i = 0; i < plan->remarks->len; i++) {
        const char *text = g_ptr_array_index(plan->remarks, i);
        n += g_str_has_prefix(text, start) && strstr(text, why) != NULL;
    }
    return n;
}

static guint
unused(const Plan *plan)
{
    guint n = 0;
    for (guint i = 0; i < plan->remarks->len; i++)
        n += strstr(g_ptr_array_index(plan->remarks, i), "has no effect") != NULL;
    return n;
}

static void
test_remarks(void)
{
    LlmShape shapes[] = {fixture_llama3_8b(), with_experts()};
    ClusterSystem system = fixture_a100();
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        PlanSpec spec = fixture_spec(1, 1, 8);
        spec.microbatches = 4;
        cases[i].change(&spec);
        g_autoptr(Plan) plan = fixture_plan(&spec, &shapes[cases[i].experts], &system);
        g_test_message("%s", cases[i].option);
        g_assert_cmpuint(remarks_on(plan, cases[i].option, cases[i].why), ==, 1);
        g_assert_cmpuint(unused(plan), ==, 1);
    }
}

/* What a framework has by itself is remarked on nowhere, nor what resolving filled in. */
static void
test_silence(void)
{
    LlmShape shapes[] = {fixture_llama3_8b(), with_experts()};
    ClusterSystem system = fixture_a100();
    guint ran = 0;
    for (guint f = 0; f < PLAN_N_FRAMEWORKS; f++)
        for (gint64 zero = 0; zero <= 3; zero++)
            for (guint k = 0; k < 2 * 4; k++) {
                PlanSpec spec = plan_spec_for((PlanFramework)f);
                spec.zero = zero;
                spec.dp = 8;
                spec.tp = k & 1 ? 2 : 1;
                spec.pp = k & 2 ? 2 : 1;
                spec.microbatches = 4;
                g_autoptr(Plan) plan = plan_new(&spec, &shapes[k / 4], &system, NULL);
                if (plan == NULL)
                    continue;
                ran++;
                g_assert_cmpuint(unused(plan), ==, 0);
                g_autoptr(Plan) again = fixture_plan(&plan->spec, &shapes[k / 4], &system);
                g_assert_cmpuint(unused(again), ==, 0);
            }
    g_assert_cmpuint(ran, >, 100);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan/unused/remarks-by-name", test_remarks);
    g_test_add_func("/plan/unused/defaults-are-silent", test_silence);
    return g_test_run();
}
