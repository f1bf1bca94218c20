/* Sharded data parallelism in time: order of gathers and reductions, what prefetch hides, what is sent.  Each test
 * reads one GPU's ops and works their times out again from their durations. */
#include "config.h"

#include "step-record.h"

/* Gathered units in the order of their compute: when the copy out of the buffer started, and when the last op
 * before the next one's ended. */
typedef struct {
    gint64 start, end;
} Span;

static GArray *
unit_spans(const Run *run)
{
    GArray *spans = g_array_new(FALSE, FALSE, sizeof(Span));
    g_autoptr(GArray) compute = ops_of(run, "compute", NULL);
    for (guint i = 0; i < compute->len; i++) {
        const Op *op = at(compute, i);
        Span span = {op->start, op->end};
        if (g_str_equal(op->name, "gather_copy_out"))
            g_array_append_val(spans, span);
        else if (spans->len > 0)
            g_array_index(spans, Span, spans->len - 1).end = op->end;
    }
    return spans;
}

/* --- gathers ------------------------------------------------------------------------------------ */

static void
test_prefetch_order(void)
{
    g_test_summary(
        "the gather of unit k starts when the one before is over and unit k - 1 - p is; unit k "
        "computes when it is gathered and unit k - 1 is over");
    const char *const rates[] = {"5GBps", "100GBps", "800GBps"};
    LlmShape shape = shape_dense();
    for (guint rate = 0; rate < G_N_ELEMENTS(rates); rate++) {
        g_autofree char *set = g_strdup_printf("node.nvlink-rate=%s", rates[rate]);
        Machine m = tiny_new((const char *const[]){set, NULL});
        for (gint64 p = 0; p <= 3; p++) {
            PlanSpec spec = spec_of(PLAN_DEEPSPEED, 3, 2);
            spec.prefetch_elements = 0;
            spec.prefetch_units = p;
            Run run = run_on(&m, &shape, &spec);
            g_autoptr(GArray) gathers = ops_of(&run, "gather", "param_all_gather");
            g_autoptr(GArray) spans = unit_spans(&run);
            g_assert_cmpuint(gathers->len, ==, 2 * 2 * 10); /* 8 layers, embedding, head */
            g_assert_cmpuint(spans->len, ==, gathers->len);
            for (gint64 k = 0; k < gathers->len; k++) {
                gint64 before = k > 0 ? at(gathers, k - 1)->end : 0;
                gint64 done = k - 1 - p >= 0 ? g_array_index(spans, Span, k - 1 - p).end : 0;
                gint64 last = k > 0 ? g_array_index(spans, Span, k - 1).end : 0;
                g_assert_cmpint(at(gathers, k)->start, ==, MAX(before, done));
                g_assert_cmpint(g_array_index(spans, Span, k).start, ==,
                                MAX(at(gathers, k)->end, last));
            }
            run_clear(&run);
        }
        machine_clear(&m);
    }
}

static void
test_exposed_arithmetic(void)
{
    g_test_summary(
        "on a slow network the last forward gather ends after the sum of all gathers; without "
        "prefetch after the compute of all units before as well");
    Machine m = tiny_new((const char *const[]){"node.nvlink-rate=1GBps", NULL});
    LlmShape shape = shape_dense();
    for (gint64 p = 0; p <= 1; p++) {
        PlanSpec spec = spec_of(PLAN_DEEPSPEED, 3, 1);
        spec.prefetch_elements = 0;
        spec.prefetch_units = p;
        Run run = run_on(&m, &shape, &spec);
        g_autoptr(GArray) gathers = ops_of(&run, "gather", "param_all_gather");
        g_autoptr(GArray) spans = unit_spans(&run);
        gint64 expected = 0;
        for (guint k = 0; k < 10; k++) {
            const Span *span = &g_array_index(spans, Span, k);
            expected += at(gathers, k)->end - at(gathers, k)->start;
            expected += p == 0 && k < 9 ? span->end - span->start : 0;
        }
        g_assert_cmpint(at(gathers, 9)->end, ==, expected);
        run_clear(&run);
    }
    machine_clear(&m);
}

static void
test_prefetch_hides(void)
{
    g_test_summary(
        "with one unit ahead less is exposed than with none, with elements ahead as much as they "
        "are units");
    Machine m = tiny_new(NULL);
    LlmShape shape = shape_dense();
    gint64 exposed[3];
    for (gint64 p = 0; p <= 2; p++) {
        PlanSpec spec = spec_of(PLAN_DEEPSPEED, 3, 2);
        spec.prefetch_elements = 0;
        spec.prefetch_units = p;
        Run run = run_on(&m, &shape, &spec);
        exposed[p] = run.exposed;
        run_clear(&run);
    }
    g_assert_cmpint(exposed[1], <, exposed[0]);
    g_assert_cmpint(exposed[2], <=, exposed[1]);
    PlanSpec one = spec_of(PLAN_DEEPSPEED, 3, 2), elements = one, capped = one;
    one.prefetch_elements = 0;
    one.prefetch_units = 1;
    elements.prefetch_elements = 1; /* less than any unit: the next one only */
    capped.prefetch_elements = 1000000000;
    capped.live_elements = 1; /* whatever computes fills the cap: none ahead */
    Run a = run_on(&m, &shape, &one), b = run_on(&m, &shape, &elements),
        c = run_on(&m, &shape, &capped);
    one.prefetch_units = 0;
    Run d = run_on(&m, &shape, &one);
    g_assert_cmpint(a.time, ==, b.time);
    g_assert_cmpint(c.time, ==, d.time);
    g_assert_cmpint(a.time, <, d.time);
    run_clear(&a), run_clear(&b), run_clear(&c), run_clear(&d);
    machine_clear(&m);
}

static void
test_reshard(void)
{
    g_test_summary(
        "dropped after the forward a unit is gathered twice a microbatch, kept for the backward "
        "once, in a pipeline once an iteration; FSDP's root and torchtitan's head once a "
        "microbatch");
    static const struct {
        PlanFramework framework;
        gboolean reshard;
        gint64 pp;
        guint
            gathers; /* of 3 microbatches: 8 layers and what is outside of them; of 2 stages, 4 and embedding */
    } cases[] = {
        {PLAN_DEEPSPEED, TRUE, 1, 3 * 2 * 10},
        {PLAN_DEEPSPEED, FALSE, 1, 3 * 10},
        {PLAN_FSDP, TRUE, 1, 3 * (2 * 8 + 1)},
        {PLAN_FSDP, FALSE, 1, 3 * (8 + 1)},
        {PLAN_TORCHTITAN, TRUE, 1, 3 * (2 * 9 + 1)},
        {PLAN_LLM_FOUNDRY, TRUE, 1, 3 * (2 * 8 + 1)},
        {PLAN_TORCHTITAN, FALSE, 1, 3 * 10},
        {PLAN_TORCHTITAN, FALSE, 2, 5},
        {PLAN_FSDP, FALSE, 2, 5},
    };
    Machine m = tiny_new(NULL);
    LlmShape shape = shape_dense();
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        PlanSpec spec = spec_of(cases[i].framework, 3, 3);
        spec.reshard_after_forward = cases[i].reshard;
        spec.pp = cases[i].pp;
        Run run = run_on(&m, &shape, &spec);
        g_assert_cmpuint(count(&run, "gather", "param_all_gather"), ==, cases[i].gathers);
        run_clear(&run);
    }
    machine_clear(&m);
}

static void
test_live_units(void)
{
    g_test_summary("forward, with p units ahead p + 1 layers are gathered at most, and the root");
    Machine m = tiny_new(
        (const char *const[]){"node.nvlink-rate=100000GBps", "node.nvlink-latency=1ns", NULL});
    LlmShape shape = shape_dense();
    LlmCut cut = {.tp = 1, .vocab_padded = 1024};
    gint64 layer = llm_piece_parameters(&shape, &cut, LLM_PIECE_LAYER).dense;
    gint64 root = llm_piece_parameters(&shape, &cut, LLM_PIECE_EMBEDDING).dense +
                  llm_piece_parameters(&shape, &cut, LLM_PIECE_HEAD).dense;
    for (gint64 p = 0; p <= 3; p++) {
        PlanSpec spec = spec_of(PLAN_LLM_FOUNDRY, 3, 1);
        spec.prefetch_units = p;
        Run run = run_on(&m, &shape, &spec);
        g_autoptr(GArray) gathers = ops_of(&run, "gather", "param_all_gather");
        gint64 peak = 0; /* until the last layer is there */
        for (guint i = 0; i < run.levels->len; i++) {
            const Level *level = &g_array_index(run.levels, Level, i);
            if (level->when <= at(gathers, 8)->end)
                peak = MAX(peak, level->bytes);
        }
        g_assert_cmpint(peak, ==, 2 * (root + (p + 1) * layer));
        run_clear(&run);
    }
    machine_clear(&m);
}

/* Of the gathered memory, behind all that happens at a time. */
static gint64
level_at(const Run *run, gint64 when)
{
    gint64 bytes = 0;
    for (guint i = 0; i < run->levels->len; i++)
        if (g_array_index(run->levels, Level, i).when <= when)
            bytes = g_array_index(run->levels, Level, i).bytes;
    return bytes;
}

static void
test_copies_out(void)
{
    g_test_summary("while a unit is copied out of its buffer both are there; FSDP2 keeps the "
                   "buffer of a forward until the unit is done");
    const PlanFramework frameworks[] = {PLAN_DEEPSPEED, PLAN_FSDP};
    Machine m = tiny_new(NULL);
    LlmShape shape = shape_dense();
    LlmCut cut = {.tp = 1, .vocab_padded = 1024};
    gint64 layer = llm_piece_parameters(&shape, &cut, LLM_PIECE_LAYER).dense;
    for (guint f = 0; f < G_N_ELEMENTS(frameworks); f++) {
        PlanSpec spec = spec_of(frameworks[f], 3, 1);
        spec.prefetch_elements = spec.prefetch_units = 0;
        Run run = run_on(&m, &shape, &spec);
        g_autoptr(GArray) copies = ops_of(&run, "compute", "gather_copy_out");
        for (guint k = 2; k < 8; k++) { /* layers, behind the embedding */
            const Op *copy = at(copies, k);
            gint64 before = level_at(&run, copy->start - 1), during = level_at(&run, copy->start),
                   after = level_at(&run, copy->end);
            g_assert_cmpint(during - before, ==, 2 * layer);
            g_assert_cmpint(during - after, ==, f == 0 ? 2 * layer : 0);
        }
        run_clear(&run);
    }
    machine_clear(&m);
}

static void
test_recompute_units(void)
{
    g_test_summary("layers recomputed together are gathered together, each once in the backward");
    Machine m = tiny_new(NULL);
    LlmShape shape = shape_dense();
    PlanSpec spec = spec_of(PLAN_DEEPSPEED, 3, 2);
    spec.recompute = LLM_RECOMPUTE_FULL;
    for (spec.recompute_layers = 1; spec.recompute_layers <= 8; spec.recompute_layers++)
        for (spec.unit_layers = 1; spec.unit_layers <= 3; spec.unit_layers++) {
            guint units = (8 + (guint)spec.unit_layers - 1) / (guint)spec.unit_layers + 2;
            Run run = run_on(&m, &shape, &spec);
            g_assert_cmpuint(count(&run, "gather", "param_all_gather"), ==, 2 * 2 * units);
            run_clear(&run);
        }
    machine_clear(&m);
}

/* --- reductions --------------------------------------------------------------------------------- */

static void
test_accumulation(void)
{
    g_test_summary(
        "without synchronising until the last microbatch each unit is reduced once, and full fp32 "
        "gradients of all stay");
    Machine m = tiny_new(NULL);
    LlmShape shape = shape_dense();
    PlanSpec spec = spec_of(PLAN_TORCHTITAN, 3, 4);
    spec.reduce = PLAN_REDUCE_EACH;
    Run each = run_on(&m, &shape, &spec);
    spec.reduce = PLAN_REDUCE_LAST;
    Run last = run_on(&m, &shape, &spec);
    g_assert_cmpuint(count(&each, "data parallel", "grad_reduce_scatter"), ==, 4 * 10);
    g_assert_cmpuint(count(&last, "data parallel", "grad_reduce_scatter"), ==, 10);
    LlmParameters n = llm_parameters(&shape);
    g_assert_cmpint(last.gathered_peak, >, 4 * n.total);
    g_assert_cmpint(each.gathered_peak, <, 4 * n.total);
    run_clear(&each), run_clear(&last);
    machine_clear(&m);
}

static void
test_full_gradients(void)
{
    g_test_summary("accumulated gradients are there once, in fp32, and the shard where it lives; "
                   "the 16-bit ones of a unit beside them while it goes back");
    Machine m = tiny_new(NULL);
    LlmShape shape = shape_dense();
    LlmCut cut = {.tp = 1, .vocab_padded = 1024};
    gint64 layer = llm_piece_parameters(&shape, &cut, LLM_PIECE_LAYER).dense;
    gint64 all = llm_parameters(&shape).total;
    PlanSpec spec = spec_of(PLAN_TORCHTITAN, 3, 3);
    spec.reduce = PLAN_REDUCE_LAST;
    spec.prefetch_units = 0;
    Run run = run_on(&m, &shape, &spec);
    g_autoptr(GArray) compute = ops_of(&run, "compute", NULL);
    guint next = 0; /* the first op of the second forward: a copy into parameters */
    while (at(compute, next)->microbatch == 0)
        next++;
    g_autoptr(GArray) gathers = ops_of(&run, "gather", "param_all_gather");
    gint64 behind = 0,
           embedding = 2 * llm_piece_parameters(&shape, &cut, LLM_PIECE_EMBEDDING).dense;
    for (guint i = 0; i < gathers->len; i++)
        if (at(gathers, i)->end <= at(compute, next)->start)
            behind = level_at(&run, at(gathers, i)->end - 1);
    g_assert_cmpint(behind, ==, 4 * all + embedding); /* it is on its way */
    run_clear(&run);
    spec = spec_of(PLAN_LLM_FOUNDRY, 3, 3); /* all in 16 bits, no copies */
    spec.reduce = PLAN_REDUCE_LAST;
    spec.prefetch_units = 0;
    run = run_on(&m, &shape, &spec);
    g_autoptr(GArray) scatters = ops_of(&run, "data parallel", "grad_reduce_scatter");
    gint64 most = 0;
    for (guint i = 0; i < run.levels->len; i++)
        if (g_array_index(run.levels, Level, i).when < at(scatters, 0)->start)
            most = MAX(most, g_array_index(run.levels, Level, i).bytes);
    g_assert_cmpint(most, ==, 2 * all + embedding + (2 + 2) * layer); /* the head is done */
    run_clear(&run);
    machine_clear(&m);
}

static void
test_one_input(void)
{
    g_test_summary(
        "FSDP2 copies into the input of a reduce-scatter when the one before is over, and the "
        "backward ends with the last one");
    Machine m = tiny_new((const char *const[]){"node.nvlink-rate=20GBps", NULL});
    LlmShape shape = shape_dense();
    PlanSpec spec = spec_of(PLAN_FSDP, 3, 2);
    Run run = run_on(&m, &shape, &spec);
    g_autoptr(GArray) copies = ops_of(&run, "compute", "reduce_copy_in");
    g_autoptr(GArray) scatters = ops_of(&run, "data parallel", "grad_reduce_scatter");
    g_assert_cmpuint(copies->len, ==, 2 * 9); /* 8 layers and the root */
    g_assert_cmpuint(scatters->len, ==, copies->len);
    for (guint k = 0; k < copies->len; k++) {
        g_assert_cmpint(at(scatters, k)->start, ==, at(copies, k)->end);
        if (k > 0)
            g_assert_cmpint(at(copies, k)->start, >=, at(scatters, k - 1)->end);
    }
    g_autoptr(GArray) compute = ops_of(&run, "compute", NULL);
    for (guint i = 0; i < compute->len; i++) /* the second microbatch's forward */
        if (at(compute, i)->microbatch == 1)
            g_assert_cmpint(at(compute, i)->start, >=, at(scatters, 8)->end);
    run_clear(&run);
    machine_clear(&m);
}

static void
test_blocking(void)
{
    g_test_summary("a reduction that is not overlapped runs beside no kernel");
    Machine m = tiny_new(NULL);
    LlmShape shape = shape_dense();
    for (gint64 zero = 2; zero <= 3; zero++) {
        PlanSpec spec = spec_of(PLAN_DEEPSPEED, zero, 2);
        spec.overlap_grad_reduce = FALSE;
        spec.bucket_elements = 1000000;
        Run run = run_on(&m, &shape, &spec);
        g_autoptr(GArray) compute = ops_of(&run, "compute", NULL);
        g_autoptr(GArray) scatters = ops_of(&run, "data parallel", "grad_reduce_scatter");
        g_assert_cmpuint(scatters->len, >, 2 * 2);
        for (guint k = 0; k < scatters->len; k++)
            for (guint i = 0; i < compute->len; i++)
                g_assert_true(at(compute, i)->start >= at(scatters, k)->end ||
                              at(compute, i)->end <= at(scatters, k)->start);
        run_clear(&run);
    }
    machine_clear(&m);
}

static void
test_hybrid(void)
{
    g_test_summary(
        "HSDP: the shard of a unit is summed over replicas when it is reduced, on a stream of its "
        "own, of a quarter of the bytes where four hold a copy");
    Machine m = tiny_new((const char *const[]){"node.nvlink-rate=20GBps", NULL});
    LlmShape shape = shape_dense();
    PlanSpec spec = spec_of(PLAN_FSDP, 3, 1);
    spec.shard_size = 4;
    Run run = run_on(&m, &shape, &spec);
    g_autoptr(GArray) scatters = ops_of(&run, "data parallel", "grad_reduce_scatter");
    g_autoptr(GArray) sums = ops_of(&run, "replicate", "grad_shard_all_reduce");
    g_assert_cmpuint(sums->len, ==, scatters->len);
    for (guint k = 0; k < sums->len; k++)
        g_assert_cmpint(at(sums, k)->start, ==,
                        MAX(at(scatters, k)->end, k > 0 ? at(sums, k - 1)->end : 0));
    run_clear(&run);
    machine_clear(&m);
}

static void
test_partial_checkpoints(void)
{
    g_test_summary("of two microbatches in flight one is recomputed, the other keeps everything; "
                   "no FLOPs are counted for it");
    Machine m = tiny_new(NULL);
    LlmShape shape = shape_dense();
    PlanSpec spec = spec_of(PLAN_MEGATRON, 1, 4);
    spec.pp = 2;
    spec.dp = 4;
    spec.recompute = LLM_RECOMPUTE_FULL;
    Run all = run_on(&m, &shape, &spec);
    spec.recompute_microbatches = 1;
    Run some = run_on(&m, &shape, &spec);
    spec.recompute_microbatches = 0;
    spec.recompute = LLM_RECOMPUTE_NONE;
    Run none = run_on(&m, &shape, &spec);
    gint64 layer_forwards[2] = {0};
    const Run *runs[] = {&all, &some};
    for (guint k = 0; k < 2; k++) {
        g_autoptr(GArray) ops = ops_of(runs[k], "compute", "qkv");
        layer_forwards[k] = ops->len; /* on stage 0: forward of 4, and what runs again */
    }
    g_assert_cmpint(layer_forwards[0], ==, 4 * 4 * 2);
    g_assert_cmpint(layer_forwards[1], ==, 4 * 4 + 4 * 2);
    /* of 4 microbatches of 4 layers a stage: half on the first, all on the last */
    g_assert_cmpfloat_with_epsilon((some.hardware_flops - none.hardware_flops) /
                                       (all.hardware_flops - none.hardware_flops),
                                   (8 + 16) / 32.0, 1e-9);
    g_assert_cmpint(some.time, <=,
                    all.time); /* the last stage, of one in flight, waits for nobody */
    run_clear(&all), run_clear(&some), run_clear(&none);
    machine_clear(&m);
}
/* --- all ranks ---------------------------------------------------------------------------------- */

static void
test_symmetry(void)
{
    g_test_summary(
        "simulating one rank of each kind gives the time of simulating every rank, in each scheme");
    static const struct {
        PlanFramework framework;
        gint64 zero, tp, pp, dp, cp, shard, microbatches;
    } cases[] = {
        {PLAN_MEGATRON, 0, 2, 2, 8, 1, 0, 4},     {PLAN_MEGATRON, 1, 1, 2, 16, 1, 4, 4},
        {PLAN_MEGATRON, 2, 1, 1, 16, 2, 0, 2},    {PLAN_MEGATRON, 3, 4, 1, 8, 1, 0, 2},
        {PLAN_DEEPSPEED, 1, 1, 1, 16, 1, 0, 2},   {PLAN_DEEPSPEED, 2, 2, 1, 8, 1, 0, 2},
        {PLAN_DEEPSPEED, 3, 1, 1, 32, 1, 0, 2},   {PLAN_FSDP, 3, 2, 1, 16, 1, 8, 2},
        {PLAN_FSDP, 3, 1, 1, 32, 1, 8, 2},        {PLAN_TORCHTITAN, 3, 2, 4, 4, 1, 2, 8},
        {PLAN_LLM_FOUNDRY, 3, 1, 1, 16, 1, 0, 2}, {PLAN_NANOTRON, 1, 2, 2, 8, 1, 0, 4},
    };
    Machine m = tiny_new(NULL);
    LlmShape shapes[] = {shape_dense(), shape_moe()};
    for (guint i = 0; i < 2 * G_N_ELEMENTS(cases); i++) {
        PlanSpec spec =
            spec_of(cases[i / 2].framework, cases[i / 2].zero, cases[i / 2].microbatches);
        spec.tp = cases[i / 2].tp;
        spec.sequence_parallel = spec.tp > 1;
        spec.pp = cases[i / 2].pp;
        spec.dp = cases[i / 2].dp;
        spec.cp = cases[i / 2].cp;
        spec.shard_size = cases[i / 2].shard;
        spec.ep = i % 2 ? 4 : 1;
        gint64 time[2];
        for (guint all = 0; all < 2; all++) {
            GError *error = NULL;
            StepOptions options = {.all_ranks = all == 1};
            g_autoptr(StepResult) r =
                machine_run(&m, &shapes[i % 2], &spec, &options, NULL, NULL, &error);
            g_assert_no_error(error);
            time[all] = r->time_ns;
        }
        g_test_message("case %u", i);
        g_assert_cmpint(time[0], ==, time[1]);
    }
    machine_clear(&m);
}
int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/step/shard/gathers-keep-their-distance", test_prefetch_order);
    g_test_add_func("/step/shard/exposed-gathers-add-up", test_exposed_arithmetic);
    g_test_add_func("/step/shard/prefetch-hides-gathers", test_prefetch_hides);
    g_test_add_func("/step/shard/what-is-dropped-is-gathered-again", test_reshard);
    g_test_add_func("/step/shard/units-that-are-live", test_live_units);
    g_test_add_func("/step/shard/buffers-that-are-copied-out", test_copies_out);
    g_test_add_func("/step/shard/recompute-units-gather-together", test_recompute_units);
    g_test_add_func("/step/shard/accumulation-without-synchronising", test_accumulation);
    g_test_add_func("/step/shard/full-gradients-once", test_full_gradients);
    g_test_add_func("/step/shard/one-reduction-input-at-a-time", test_one_input);
    g_test_add_func("/step/shard/blocking-reductions-run-alone", test_blocking);
    g_test_add_func("/step/shard/replicas-sum-shards", test_hybrid);
    g_test_add_func("/step/shard/partial-checkpoints", test_partial_checkpoints);
    g_test_add_func("/step/shard/symmetric-ranks-stand-for-all", test_symmetry);
    return g_test_run();
}
