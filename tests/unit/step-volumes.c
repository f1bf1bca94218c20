/* What a GPU sends in an iteration, as the engine ran it, against closed forms of every scheme. */
#include "config.h"

#include "step-expect.h"
#include "step-record.h"

#include <string.h>

/* Links that carry all of a plan's traffic, on machines where rings run. */
typedef enum { LINKS_ANY, LINKS_NVLINK, LINKS_NIC } Links;

static double
total(const Sums *sums)
{
    double bytes = 0;
    for (guint kind = 0; kind < STEP_N_KINDS; kind++)
        for (guint op = 0; op < NET_N_OPS; op++)
            if (kind != STEP_PP || op != NET_SEND_RECV)
                bytes += sums->sent[kind][op];
    return bytes;
}

/* What the engine put on the links is the closed forms of all schemes together. */
static void
check_links(const char *what, const StepStage *stage, Links links, double expected)
{
    double nvlink = links == LINKS_NVLINK ? expected : 0;
    double nic = links == LINKS_NIC ? expected : 0;
    if (links != LINKS_ANY && (fabs(stage->nvlink_bytes - nvlink) > 1e-9 * expected ||
                               fabs(stage->nic_bytes - nic) > 1e-9 * expected))
        g_error("%s, pipeline rank %d: %.1f bytes over NVLink and %.1f over the network, closed "
                "forms %.1f and %.1f",
                what, (int)stage->pp_rank, stage->nvlink_bytes, stage->nic_bytes, nvlink, nic);
}

static void
check_case(const Machine *m, const LlmShape *shape, const PlanSpec *spec, Links links,
           const char *what)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Plan) plan = NULL;
    g_autoptr(StepResult) r = machine_run(m, shape, spec, NULL, &plan, NULL, &error);
    if (r == NULL)
        g_error("%s: %s", what, error->message);
    for (gint64 rank = 0; rank < plan->spec.pp; rank++) {
        const StepStage *stage = &g_array_index(r->stages, StepStage, rank);
        Sums ran = sums_of(stage), expected = {0};
        double p2p = 0;
        expect_rank(shape, plan, rank, &expected, &p2p);
        compare(what, rank, &ran, &expected);
        g_assert_cmpfloat_with_epsilon((double)stage->sent_bytes, p2p, 0.5);
        check_links(what, stage, links, total(&expected) + p2p);
    }
}

/* --- every scheme ------------------------------------------------------------------------------- */

typedef struct {
    const char *what;
    LlmShape (*shape)(void);
    PlanFramework framework;
    gint64 tp, pp, dp, vpp, microbatches;
    void (*change)(PlanSpec *s);
} Case;

static LlmShape
shape_shared(void)
{
    LlmShape s = shape_moe();
    s.shared_ffn = 256;
    return s;
}

static void
change_plain_tp(PlanSpec *s)
{
    s->sequence_parallel = FALSE;
}
static void
change_full(PlanSpec *s)
{
    s->recompute = LLM_RECOMPUTE_FULL;
}
static void
change_full_plain_tp(PlanSpec *s)
{
    s->recompute = LLM_RECOMPUTE_FULL;
    s->sequence_parallel = FALSE;
}
static void
change_fused_loss(PlanSpec *s)
{
    s->fused_loss = TRUE;
}
static void
change_partial(PlanSpec *s)
{
    s->shard_size = 4;
}
static void
change_fp8_gather(PlanSpec *s)
{
    s->dtype = CLUSTER_FP8, s->fp8_gather = TRUE;
}
static void
change_no_overlap(PlanSpec *s)
{
    s->overlap_grad_reduce = s->overlap_param_gather = FALSE;
}
static void
change_zero_2(PlanSpec *s)
{
    s->zero = 2;
}
static void
change_zero_3(PlanSpec *s)
{
    s->zero = 3;
    s->resident_elements = 0;
}
static void
change_each(PlanSpec *s)
{
    s->reduce = PLAN_REDUCE_EACH;
}
static void
change_last(PlanSpec *s)
{
    s->reduce = PLAN_REDUCE_LAST;
}
static void
change_keep(PlanSpec *s)
{
    s->reshard_after_forward = FALSE;
}
static void
change_hybrid(PlanSpec *s)
{
    s->shard_size = 2;
}
static void
change_units(PlanSpec *s)
{
    s->unit_layers = 3;
}
static void
change_cp(PlanSpec *s, LlmCpKind kind, gint64 cp, gint64 inner)
{
    s->cp = cp;
    s->cp_kind = kind;
    s->cp_inner = inner;
}
static void
change_ring(PlanSpec *s)
{
    change_cp(s, LLM_CP_P2P, 4, 0);
}
static void
change_gather(PlanSpec *s)
{
    change_cp(s, LLM_CP_ALL_GATHER, 4, 0);
}
static void
change_heads(PlanSpec *s)
{
    change_cp(s, LLM_CP_A2A, 2, 0);
}
static void
change_both(PlanSpec *s)
{
    change_cp(s, LLM_CP_A2A_P2P, 4, 2);
}
static void
change_ring_full(PlanSpec *s)
{
    change_ring(s);
    change_full(s);
}
static void
change_ep(PlanSpec *s)
{
    s->ep = 8;
}
static void
change_ep_full(PlanSpec *s)
{
    s->ep = 4;
    s->recompute = LLM_RECOMPUTE_FULL;
}
static void
change_ep_fp8(PlanSpec *s)
{
    s->ep = 8;
    s->fp8_dispatch = TRUE;
}
static void
change_ep_capacity(PlanSpec *s)
{
    s->ep = 4;
    s->capacity_factor = 1.25;
    s->pad_to_capacity = TRUE;
}
static void
change_ep_overlap(PlanSpec *s)
{
    s->ep = 4;
    s->overlap_shared = TRUE;
}
static void
change_ep_gather(PlanSpec *s)
{
    s->ep = 4;
    s->dispatch = LLM_DISPATCH_ALL_GATHER;
}
static void
change_etp(PlanSpec *s)
{
    s->ep = 4;
    s->etp = 2;
}
static void
change_etp_1(PlanSpec *s)
{
    s->ep = 4;
    s->etp = 1;
}
static void
change_ep_ring(PlanSpec *s)
{
    s->ep = 4;
    change_cp(s, LLM_CP_P2P, 2, 0);
}

static const Case cases[] = {
    {"tp, sp", shape_dense, PLAN_MEGATRON, 4, 1, 1, 1, 3, NULL},
    {"tp", shape_dense, PLAN_MEGATRON, 4, 1, 1, 1, 3, change_plain_tp},
    {"tp, sp, full recompute", shape_dense, PLAN_MEGATRON, 2, 2, 1, 1, 4, change_full},
    {"tp, full recompute", shape_dense, PLAN_MEGATRON, 2, 2, 1, 1, 4, change_full_plain_tp},
    {"fused loss", shape_dense, PLAN_MEGATRON, 4, 1, 2, 1, 2, change_fused_loss},
    {"tp, sp, pipeline", shape_dense, PLAN_MEGATRON, 2, 4, 2, 1, 8, NULL},
    {"interleaved", shape_dense, PLAN_MEGATRON, 2, 2, 2, 2, 8, NULL},
    {"interleaved without sp", shape_dense, PLAN_MEGATRON, 2, 4, 1, 2, 4, change_plain_tp},
    {"gpt, tied", shape_gpt, PLAN_MEGATRON, 2, 2, 2, 1, 4, NULL},
    {"gpt, tied, one stage", shape_gpt, PLAN_MEGATRON, 2, 1, 2, 1, 4, NULL},
    {"gpt, tied, interleaved, ddp", shape_gpt, PLAN_MEGATRON, 1, 2, 2, 2, 4, change_zero_0},
    {"ddp fp32", shape_dense, PLAN_MEGATRON, 1, 1, 8, 1, 2, change_zero_0},
    {"ddp bf16", shape_dense, PLAN_MEGATRON, 2, 2, 4, 1, 4, change_zero_0_bf16},
    {"distributed optimizer", shape_dense, PLAN_MEGATRON, 1, 2, 4, 1, 4, NULL},
    {"distributed optimizer, bf16", shape_dense, PLAN_MEGATRON, 1, 1, 16, 1, 2, change_bf16},
    {"distributed optimizer, not overlapped", shape_dense, PLAN_MEGATRON, 1, 2, 4, 1, 4,
     change_no_overlap},
    {"partial distributed optimizer", shape_dense, PLAN_MEGATRON, 1, 1, 16, 1, 2, change_partial},
    {"gather in 8 bits", shape_dense, PLAN_MEGATRON, 1, 1, 8, 1, 2, change_fp8_gather},
    {"zero 1", shape_dense, PLAN_DEEPSPEED, 1, 1, 8, 1, 4, NULL},
    {"zero 2", shape_dense, PLAN_DEEPSPEED, 1, 1, 8, 1, 4, change_zero_2},
    {"zero 3", shape_dense, PLAN_DEEPSPEED, 1, 1, 8, 1, 4, change_zero_3},
    {"zero 1, pipeline", shape_dense, PLAN_DEEPSPEED, 1, 2, 4, 1, 4, NULL},
    {"fsdp, each", shape_dense, PLAN_FSDP, 1, 1, 8, 1, 4, change_each},
    {"fsdp, last", shape_dense, PLAN_FSDP, 1, 1, 8, 1, 4, change_last},
    {"fsdp, kept after the forward", shape_dense, PLAN_FSDP, 1, 1, 8, 1, 1, change_keep},
    {"fsdp, units of 3 layers", shape_dense, PLAN_FSDP, 1, 1, 8, 1, 2, change_units},
    {"fsdp and tp", shape_dense, PLAN_FSDP, 2, 1, 4, 1, 2, NULL},
    {"hsdp", shape_dense, PLAN_FSDP, 1, 1, 8, 1, 2, change_hybrid},
    {"hsdp, last", shape_gpt, PLAN_TORCHTITAN, 1, 1, 4, 1, 2, change_hybrid},
    {"torchtitan", shape_dense, PLAN_TORCHTITAN, 1, 1, 8, 1, 2, NULL},
    {"llm-foundry", shape_dense, PLAN_LLM_FOUNDRY, 1, 1, 8, 1, 2, NULL},
    {"nanotron", shape_dense, PLAN_NANOTRON, 2, 2, 4, 1, 4, NULL},
    {"cp ring", shape_dense, PLAN_MEGATRON, 1, 1, 2, 1, 2, change_ring},
    {"cp ring, tp, full recompute", shape_dense, PLAN_MEGATRON, 2, 1, 1, 1, 2, change_ring_full},
    {"cp all-gather", shape_dense, PLAN_MEGATRON, 2, 1, 1, 1, 2, change_gather},
    {"cp all-to-all", shape_dense, PLAN_MEGATRON, 2, 2, 1, 1, 2, change_heads},
    {"cp all-to-all and ring", shape_dense, PLAN_MEGATRON, 1, 1, 2, 1, 2, change_both},
    {"ep", shape_moe, PLAN_MEGATRON, 1, 1, 8, 1, 2, change_ep},
    {"ep, pipeline, interleaved", shape_moe, PLAN_MEGATRON, 1, 2, 8, 2, 4, change_ep},
    {"ep, full recompute", shape_moe, PLAN_MEGATRON, 1, 2, 4, 1, 2, change_ep_full},
    {"ep in 8 bits", shape_moe, PLAN_MEGATRON, 1, 1, 8, 1, 2, change_ep_fp8},
    {"ep, capacity", shape_moe, PLAN_MEGATRON, 1, 1, 4, 1, 2, change_ep_capacity},
    {"ep, all-gather", shape_moe, PLAN_MEGATRON, 1, 1, 8, 1, 2, change_ep_gather},
    {"ep, shared experts", shape_shared, PLAN_MEGATRON, 1, 1, 8, 1, 2, change_ep},
    {"ep, shared experts overlapped", shape_shared, PLAN_MEGATRON, 1, 1, 8, 1, 2,
     change_ep_overlap},
    {"etp 1", shape_moe, PLAN_MEGATRON, 2, 1, 8, 1, 2, change_etp_1},
    {"etp 2", shape_moe, PLAN_MEGATRON, 2, 1, 8, 1, 2, change_etp},
    {"etp 1, shared experts", shape_shared, PLAN_MEGATRON, 2, 2, 4, 1, 2, change_etp_1},
    {"ep and cp", shape_moe, PLAN_MEGATRON, 1, 2, 4, 1, 2, change_ep_ring},
    {"ep, fsdp", shape_moe, PLAN_FSDP, 1, 1, 16, 1, 2, change_ep},
    {"ep, torchtitan", shape_shared, PLAN_TORCHTITAN, 1, 1, 8, 1, 2, change_ep_full},
};

static void
check_schemes(const Machine *m, Links links)
{
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const Case *c = &cases[i];
        LlmShape shape = c->shape();
        PlanSpec spec = plan_spec_for(c->framework);
        spec.tp = c->tp;
        spec.pp = c->pp;
        spec.dp = c->dp;
        spec.vpp = c->vpp;
        spec.microbatches = c->microbatches;
        spec.seq = 256;
        spec.sequence_parallel = c->tp > 1;
        spec.recompute = LLM_RECOMPUTE_NONE;
        spec.recompute_method = PLAN_RECOMPUTE_UNIFORM;
        spec.recompute_layers = 1;
        spec.dropout = 0;
        spec.schedule = NULL;
        if (c->change != NULL)
            c->change(&spec);
        check_case(m, &shape, &spec, links, c->what);
    }
}

static void
test_schemes(void)
{
    Machine m = machine_new("dgx-h100", NULL);
    check_schemes(&m, LINKS_ANY);
    machine_clear(&m);
}

/* Without latency a ring is the fastest algorithm for every size. */
static void
test_one_node(void)
{
    g_test_summary("in one node all that the closed forms say leaves through the NVLink port");
    Machine m = tiny_new((const char *const[]){"node.gpus=64", "gpu.peak-fp8=200TFLOPS",
                                               "node.nvlink-latency=0ns", NULL});
    check_schemes(&m, LINKS_NVLINK);
    machine_clear(&m);
}

static void
test_one_gpu_a_node(void)
{
    g_test_summary("with one GPU a node all that the closed forms say leaves through its NIC");
    Machine m =
        tiny_new((const char *const[]){"node.gpus=1", "gpu.peak-fp8=200TFLOPS", "nic.count=1",
                                       "node.nvlink-latency=0ns", "nic.latency=0ns", NULL});
    check_schemes(&m, LINKS_NIC);
    machine_clear(&m);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/step/volumes/closed-forms-of-every-scheme", test_schemes);
    g_test_add_func("/step/volumes/links-of-one-node", test_one_node);
    g_test_add_func("/step/volumes/links-of-one-gpu-a-node", test_one_gpu_a_node);
    return g_test_run();
}
