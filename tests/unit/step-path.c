/* Where the time of an iteration goes: bubble of the critical path against what ranks stand idle. */
#include "config.h"

#include "step-fixture.h"

static const struct {
    const char *schedule;
    gint64 vpp, ep;
    gboolean overlap;
} cases[] = {
    {"1f1b", 1, 1, FALSE},
    {"1f1b", 1, 2, FALSE},
    {"gpipe", 1, 1, FALSE},
    {"interleaved_megatron", 2, 1, FALSE},
    {"interleaved_torch", 2, 1, FALSE},
    {"looped_bfs", 2, 1, FALSE},
    {"zb_h1", 1, 1, FALSE},
    {"zb_h1", 1, 2, FALSE},
    {"zbv_torch", 2, 1, FALSE},
    {"v_half", 2, 1, FALSE},
    {"dualpipe", 1, 1, FALSE},
    {"dualpipe", 1, 2, FALSE},
    {"dualpipev", 2, 1, FALSE},
    {"dualpipev", 2, 2, FALSE},
    {"chimera", 1, 1, FALSE},
    {"interleaved_ep_overlap", 2, 2, TRUE},
};

/* Layers that keep a GPU busy for longer than its host takes to launch them. */
static LlmShape
large(LlmShape s)
{
    s.layers = 8;
    s.hidden = 4096;
    s.heads = s.kv_heads = 32;
    s.head_dim = 128;
    s.ffn = 8192;
    s.expert_ffn = s.experts > 0 ? 8192 : 0;
    s.max_positions = 131072;
    return s;
}

static void
check(const Machine *m, guint c, PlanP2p p2p)
{
    g_autoptr(GError) error = NULL;
    LlmShape shape = large(cases[c].ep > 1 ? shape_moe() : shape_dense());
    PlanSpec s = plan_spec_default();
    s.tp = s.micro_batch = 1;
    s.pp = 4;
    s.dp = s.ep = cases[c].ep;
    s.vpp = cases[c].vpp;
    s.seq = 4096;
    s.microbatches = 8;
    s.global_batch = 0;
    s.recompute = LLM_RECOMPUTE_NONE;
    s.sequence_parallel = FALSE;
    s.overlap_grad_reduce = s.overlap_param_gather = FALSE;
    s.overlap_moe = cases[c].overlap;
    s.p2p = p2p;
    s.schedule = cases[c].schedule;
    g_autoptr(StepResult) r = machine_run(m, &shape, &s, NULL, NULL, NULL, &error);
    g_assert_no_error(error);
    gint64 sum = 0, idle_ns = g_array_index(r->stages, StepStage, r->home).idle_ns;
    for (guint kind = 0; kind < STEP_N_KINDS; kind++)
        sum += r->breakdown_ns[kind];
    g_assert_cmpint(sum, ==, r->time_ns);
    gint64 bubble_ns = r->breakdown_ns[STEP_BUBBLE];
    gint64 between_ns = r->breakdown_ns[STEP_PP] + r->breakdown_ns[STEP_HOST];
    g_test_message("%s, %d ranks of experts: bubble %.3f, messages and host %.3f, idle %.3f ms",
                   cases[c].schedule, (int)cases[c].ep, 1e-6 * (double)bubble_ns,
                   1e-6 * (double)between_ns, 1e-6 * (double)idle_ns);
    if (p2p == PLAN_P2P_IDEAL) /* no message takes time */
        g_assert_cmpint(bubble_ns, ==, idle_ns);
    g_assert_cmpint(bubble_ns, <=, idle_ns);
    g_assert_cmpint(idle_ns, <=, bubble_ns + between_ns);
    g_assert_cmpint(bubble_ns, >, 0);
}

static void
test_idle(void)
{
    g_test_summary(
        "without messages bubble is what the home rank is idle, to the ns; with them less by no "
        "more than they and the host take on the path");
    Machine m = machine_new("dgx-h100", NULL);
    for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
        check(&m, c, PLAN_P2P_IDEAL);
        check(&m, c, PLAN_P2P_AUTO);
    }
    machine_clear(&m);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/step/path/bubble-is-idle-time", test_idle);
    return g_test_run();
}
