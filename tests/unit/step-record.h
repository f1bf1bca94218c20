/* Runs of a small machine of which each op and each level of memory of one GPU is written down, for tests that work
 * times out again. */
#pragma once

#include "step-fixture.h"

typedef struct {
    const char *stream, *name;
    gint64 stage, microbatch, start, end;
} Op;

typedef struct {
    GArray *ops;    /* of Op: of rank 0, in the order of their ends */
    GArray *levels; /* of Level: its gathered memory */
    gint64 time, exposed, gathered_peak;
    double hardware_flops;
} Run;

typedef struct {
    gint64 when, bytes;
} Level;

/* A machine without tables, of 8 GPUs a node; all that matters here follows from its rates. */
#define SYSTEM                                                                                      \
    "[gpu]\nname = T\npeak-fp32 = 100TFLOPS\npeak-bf16 = 100TFLOPS\nmemory = 80GB\n"                \
    "memory-usable = 79GB\nmemory-rate = 2000GBps\nmemory-efficiency = 100%\nl2 = 1MB\nsms = 100\n" \
    "clock = 1GHz\nkernel-floor = 1us\n"                                                            \
    "[node]\ngpus = 8\nlink = nvswitch\nnvlink-rate = 100GBps\nnvlink-efficiency = 100%\n"          \
    "nvlink-latency = 1us\npcie-rate = 10GBps\n"                                                    \
    "[nic]\ncount = 8\nrate = 400Gbps\nefficiency = 100%\nlatency = 5us\n"                          \
    "[fabric]\nkind = rail\noversubscription = 1:1\n"                                               \
    "[host]\nlaunch = 0ns\nsync = 0ns\nfixed-memory = 1GB\nmemory-rate = 100GBps\n"                 \
    "nvme-read = 8GBps\nnvme-write = 4GBps\n"

static inline Machine
tiny_new(const char *const *overrides)
{
    GError *error = NULL;
    Machine m = {0};
    m.system = cluster_system_parse("tiny", SYSTEM, overrides, &error);
    g_assert_no_error(error);
    m.cost = cost_book_load(m.system, &error);
    g_assert_no_error(error);
    m.net = net_book_load(m.system, &error);
    g_assert_no_error(error);
    return m;
}

static inline void
trace_op(void *user, guint rank, const char *stream, const char *name, const char *kind,
         gint64 stage, gint64 microbatch, gint64 start_ns, gint64 end_ns)
{
    Run *run = user;
    Op op = {stream, name, stage, microbatch, start_ns, end_ns};
    (void)kind;
    if (rank == 0)
        g_array_append_val(run->ops, op);
}

static inline void
watch_memory(void *user, guint rank, guint pp_rank, gint64 when_ns, const gint64 *bytes)
{
    Run *run = user;
    Level level = {when_ns, bytes[STEP_MEMORY_GATHERED]};
    (void)pp_rank;
    if (rank != 0)
        return;
    run->gathered_peak = MAX(run->gathered_peak, level.bytes);
    g_array_append_val(run->levels, level);
}

static inline Run
run_on(const Machine *m, const LlmShape *shape, const PlanSpec *spec)
{
    Run run = {.ops = g_array_new(FALSE, FALSE, sizeof(Op)),
               .levels = g_array_new(FALSE, FALSE, sizeof(Level))};
    StepOptions options = {
        .trace = trace_op, .trace_user = &run, .memory = watch_memory, .memory_user = &run};
    GError *error = NULL;
    g_autoptr(StepResult) r = machine_run(m, shape, spec, &options, NULL, NULL, &error);
    g_assert_no_error(error);
    run.time = r->time_ns;
    run.exposed = r->breakdown_ns[STEP_DP];
    run.hardware_flops = r->hardware_flops;
    return run;
}

static inline void
run_clear(Run *run)
{
    g_array_unref(run->ops);
    g_array_unref(run->levels);
}

/* The ops of a stream; with a name only those; GArray of Op. */
static inline GArray *
ops_of(const Run *run, const char *stream, const char *name)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(Op));
    for (guint i = 0; i < run->ops->len; i++) {
        const Op *op = &g_array_index(run->ops, Op, i);
        if (g_str_equal(op->stream, stream) && (!name || g_str_equal(op->name, name)))
            g_array_append_val(found, *op);
    }
    return found;
}

static inline const Op *
at(const GArray *ops, guint i)
{
    g_assert_cmpuint(i, <, ops->len);
    return &g_array_index(ops, Op, i);
}

static inline guint
count(const Run *run, const char *stream, const char *name)
{
    g_autoptr(GArray) ops = ops_of(run, stream, name);
    return ops->len;
}

static inline gint64
sum(const Run *run, const char *stream, const char *name)
{
    g_autoptr(GArray) ops = ops_of(run, stream, name);
    gint64 ns = 0;
    for (guint i = 0; i < ops->len; i++)
        ns += at(ops, i)->end - at(ops, i)->start;
    return ns;
}

/* One GPU's share of a small model on one node, nothing but data parallel. */
static inline PlanSpec
spec_of(PlanFramework framework, gint64 zero, gint64 microbatches)
{
    PlanSpec spec = plan_spec_for(framework);
    spec.zero = zero;
    spec.dp = 8;
    spec.microbatches = microbatches;
    spec.seq = 512;
    spec.recompute = LLM_RECOMPUTE_NONE;
    spec.sequence_parallel = FALSE;
    spec.resident_elements = 0;
    spec.schedule = NULL;
    return spec;
}
