/* Kernels and what is sent beside them slow each other: times are worked out again from the factors of
 * cost/overlap.h; nothing beside, or overlap off, leaves all as it is alone. */
#include "config.h"

#include "step-record.h"

#define SMS 100.0
#define HBM_Bps 2e12

/* Layers large enough that rates, not floors, make their times. */
static LlmShape
large(LlmShape s)
{
    s.layers = 4;
    s.hidden = 2048;
    s.heads = s.kv_heads = 16;
    s.head_dim = 128;
    s.ffn = 8192;
    return s;
}

static const char *const off[] = {"gpu.overlap=off", NULL};

static Run
run_with(const char *const *overrides, const LlmShape *shape, const PlanSpec *spec)
{
    Machine m = tiny_new(overrides);
    Run run = run_on(&m, shape, spec);
    machine_clear(&m);
    return run;
}

static gint64
length(const Op *op)
{
    return op->end - op->start;
}

/* How long an op of the list, which does not overlap itself, runs within `op`. */
static gint64
beside_ns(const GArray *ops, const Op *op)
{
    gint64 ns = 0;
    for (guint i = 0; i < ops->len; i++)
        ns += MAX(MIN(at(ops, i)->end, op->end) - MAX(at(ops, i)->start, op->start), 0);
    return ns;
}

/* A kernel that took T, B of it beside reductions, where it takes t alone, did t - (T - B) of its own time in B. */
static double
slowdown(const GArray *reductions, const Op *kernel, gint64 alone_ns)
{
    gint64 beside = beside_ns(reductions, kernel);
    return (double)beside / (double)(alone_ns - (length(kernel) - beside));
}

typedef struct {
    double least, most;
    guint n;
} Range;

/* Of the kernels with such a name that run at least half of their time beside reductions. */
static Range
slowdowns(const Run *run, const Run *alone, const char *name)
{
    g_autoptr(GArray) kernels = ops_of(run, "compute", name);
    g_autoptr(GArray) own = ops_of(alone, "compute", name);
    g_autoptr(GArray) reductions = ops_of(run, "data parallel", NULL);
    Range range = {G_MAXDOUBLE, 0, 0};
    g_assert_cmpuint(kernels->len, ==, own->len);
    for (guint i = 0; i < kernels->len; i++) {
        gint64 beside = beside_ns(reductions, at(kernels, i));
        if (beside == 0)
            g_assert_cmpint(length(at(kernels, i)), ==, length(at(own, i)));
        if (2 * beside < length(at(kernels, i)))
            continue;
        double s = slowdown(reductions, at(kernels, i), length(at(own, i)));
        range = (Range){MIN(range.least, s), MAX(range.most, s), range.n + 1};
    }
    return range;
}

/* The run, and what its GPU 0 sent over NVLink. */
static Run
run_counted(const char *const *overrides, const LlmShape *shape, const PlanSpec *spec,
            double *ret_sent_bytes)
{
    g_autoptr(GError) error = NULL;
    Machine m = tiny_new(overrides);
    g_autoptr(StepResult) r = machine_run(&m, shape, spec, NULL, NULL, NULL, &error);
    g_assert_no_error(error);
    *ret_sent_bytes = g_array_index(r->stages, StepStage, 0).nvlink_bytes;
    Run run = run_on(&m, shape, spec);
    machine_clear(&m);
    return run;
}

/* 8 GPUs of 100 SMs and 2000 GB/s; gradients of each layer are reduced beside the backward of the layer below, on 20
 * channels. What a GPU sends crosses HBM three times: all reductions together use v = 3 sent / time / 2000 GB/s of it.
 * A kernel that memory bounds misses 20 of 100 SMs, and finds v requests more for each of its own: 100/80 (1 + v)
 * times as long beside a reduction, wherever in it and however long. */
static void
test_reduction_beside_backward(void)
{
    static const char *const on[] = {"nccl.channels=20", NULL}, *const none[] = {"nccl.channels=20",
                                                                                 "gpu.overlap=off",
                                                                                 NULL};
    LlmShape shape = large(shape_gpt());
    shape.tied = FALSE;
    PlanSpec spec = spec_of(PLAN_MEGATRON, 0, 1);
    double sent = 0, sent_alone = 0;
    Run slow = run_counted(on, &shape, &spec, &sent);
    Run alone = run_counted(none, &shape, &spec, &sent_alone);
    double v = 3 * sent_alone / (1e-9 * (double)sum(&alone, "data parallel", NULL)) / HBM_Bps;
    double expected = SMS / (SMS - 20) * (1 + v);
    Range norm = slowdowns(&slow, &alone, "norm_backward");
    Range gemm = slowdowns(&slow, &alone, "mlp_up_dgrad");
    g_test_message("norm %.4f .. %.4f (%u), expected %.4f; GEMM %.4f .. %.4f (%u)", norm.least,
                   norm.most, norm.n, expected, gemm.least, gemm.most, gemm.n);
    g_assert_cmpuint(norm.n, >=, 2);
    g_assert_cmpfloat(norm.most - norm.least, <, 1e-3);
    g_assert_cmpfloat(ABS(norm.least - expected), <, 2e-3);
    /* 64 tiles and more on 100 SMs: waves of 80 cost at least what their number says */
    g_assert_cmpuint(gemm.n, >=, 2);
    g_assert_cmpfloat(gemm.most - gemm.least, <, 1e-3);
    g_assert_cmpfloat(gemm.least, >, 1 + v);
    /* the reductions last longer, too; the same is sent; the whole is longer */
    g_assert_cmpint(sum(&slow, "data parallel", NULL), >, sum(&alone, "data parallel", NULL));
    g_assert_cmpfloat_with_epsilon(sent, sent_alone, 1e-9 * sent_alone);
    g_assert_cmpint(slow.time, >, alone.time);
    run_clear(&slow);
    run_clear(&alone);
}

/* Nothing runs beside a blocking reduction, so nothing changes. */
static void
test_nothing_beside(void)
{
    LlmShape shape = large(shape_gpt());
    PlanSpec spec = spec_of(PLAN_MEGATRON, 0, 2);
    spec.overlap_grad_reduce = spec.overlap_param_gather = FALSE;
    Run on = run_with(NULL, &shape, &spec), alone = run_with(off, &shape, &spec);
    g_assert_cmpint(on.time, ==, alone.time);
    g_assert_cmpuint(on.ops->len, ==, alone.ops->len);
    for (guint i = 0; i < on.ops->len; i++) {
        g_assert_cmpint(at(on.ops, i)->start, ==, at(alone.ops, i)->start);
        g_assert_cmpint(at(on.ops, i)->end, ==, at(alone.ops, i)->end);
    }
    run_clear(&on);
    run_clear(&alone);
}

/* Each way of hiding communication behind compute costs time; never more than one after the other would, all of them
 * on the compute stream. One GPU of each class and all GPUs give the same. */
static void
test_schemes(void)
{
    static const struct {
        const char *name, *schedule;
        gint64 tp, cp, ep, pp, vpp, dp;
        gboolean tp_overlap, moe;
    } cases[] = {
        {"sharded gradients", NULL, 1, 1, 1, 1, 1, 8, FALSE, FALSE},
        {"user buffers", NULL, 4, 1, 1, 1, 1, 1, TRUE, FALSE},
        {"asynchronous tensor parallelism", NULL, 4, 1, 1, 1, 1, 1, FALSE, FALSE},
        {"ring attention", NULL, 1, 4, 1, 1, 1, 1, FALSE, FALSE},
        {"messages of an interleaved pipeline", "interleaved_megatron", 1, 1, 1, 2, 2, 1, FALSE,
         FALSE},
        {"experts of a pair", "interleaved_ep_overlap", 1, 1, 4, 1, 1, 4, FALSE, TRUE},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        LlmShape shape = large(cases[i].moe ? shape_moe() : shape_dense());
        shape.expert_ffn = cases[i].moe ? 8192 : 0;
        PlanSpec spec = spec_of(PLAN_MEGATRON, 1, 4);
        spec.schedule = cases[i].schedule;
        spec.tp = cases[i].tp;
        spec.cp = cases[i].cp;
        spec.ep = cases[i].ep;
        spec.pp = cases[i].pp;
        spec.vpp = cases[i].vpp;
        spec.dp = cases[i].dp;
        spec.sequence_parallel = spec.tp > 1;
        spec.tp_overlap = cases[i].tp_overlap;
        spec.overlap_moe = cases[i].moe;
        spec.seq = spec.cp > 1 ? 8192 : 2048;
        shape.max_positions = 8192;
        gint64 times[3];
        for (guint k = 0; k < 3; k++) {
            g_autoptr(GError) error = NULL;
            Machine m = tiny_new(k == 0 ? off : NULL);
            StepOptions options = {.all_ranks = k == 2};
            g_autoptr(StepResult) r = machine_run(&m, &shape, &spec, &options, NULL, NULL, &error);
            g_assert_no_error(error);
            times[k] = r->time_ns;
            machine_clear(&m);
        }
        g_test_message("%s: %.3f ms alone, %.3f ms", cases[i].name, 1e-6 * (double)times[0],
                       1e-6 * (double)times[1]);
        g_assert_cmpint(times[1], >, times[0]);
        g_assert_cmpint(times[1], <, 2 * times[0]);
        g_assert_cmpint(times[2], ==, times[1]);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary(
        "kernels and what is sent beside them slow each other by the factors of their kinds");
    g_test_add_func("/step/interference/reduction-beside-backward", test_reduction_beside_backward);
    g_test_add_func("/step/interference/nothing-beside", test_nothing_beside);
    g_test_add_func("/step/interference/schemes", test_schemes);
    return g_test_run();
}
