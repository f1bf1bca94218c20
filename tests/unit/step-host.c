/* What the host's reads of token counts cost: tokens are sent when the host knows how they are split. */
#include "config.h"

#include "step-record.h"

#include <string.h>

#define SYNC_NS 50000
#define LAYERS 2
#define MICROBATCHES 3

static const struct {
    const char *what;
    gint64 ep;
    LlmDispatch dispatch;
    gboolean padded;
    LlmRecompute recompute;
    gint64 reads;            /* of a layer and microbatch */
    const char *read, *then; /* what the host waits for, and what waits for the host */
} cases[] = {
    {"all-to-all", 4, LLM_DISPATCH_ALL_TO_ALL, FALSE, LLM_RECOMPUTE_NONE, 1, "expert_counts",
     "dispatch"},
    {"all-to-all, run again", 4, LLM_DISPATCH_ALL_TO_ALL, FALSE, LLM_RECOMPUTE_FULL, 2,
     "expert_counts", "dispatch"},
    {"all-gather", 4, LLM_DISPATCH_ALL_GATHER, FALSE, LLM_RECOMPUTE_NONE, 1, "dispatch_probs",
     "expert_sort"},
    {"without exchange", 1, LLM_DISPATCH_ALL_TO_ALL, FALSE, LLM_RECOMPUTE_NONE, 1, "top_k",
     "expert_up"},
    {"padded", 4, LLM_DISPATCH_ALL_TO_ALL, TRUE, LLM_RECOMPUTE_NONE, 0, NULL, NULL},
    {"flex", 4, LLM_DISPATCH_FLEX, FALSE, LLM_RECOMPUTE_NONE, 0, NULL, NULL},
};

static const Op *
op_at(const Run *run, guint i)
{
    return &g_array_index(run->ops, Op, i);
}

/* The first of a name that starts at or after a time. */
static const Op *
next_op(const Run *run, const char *name, gint64 from_ns)
{
    const Op *found = NULL;
    for (guint i = 0; i < run->ops->len; i++) {
        const Op *op = op_at(run, i);
        if (strcmp(op->name, name) == 0 && op->start >= from_ns &&
            (found == NULL || op->start < found->start))
            found = op;
    }
    return found;
}

static gboolean
any_ends(const Run *run, const char *name, gint64 when_ns)
{
    for (guint i = 0; i < run->ops->len; i++)
        if (strcmp(op_at(run, i)->name, name) == 0 && op_at(run, i)->end == when_ns)
            return TRUE;
    return FALSE;
}

static void
check(const Machine *m, guint c)
{
    LlmShape shape = shape_moe();
    shape.layers = LAYERS;
    PlanSpec s = plan_spec_default();
    s.tp = s.pp = s.vpp = s.micro_batch = 1;
    s.dp = s.ep = cases[c].ep;
    s.seq = 256;
    s.microbatches = MICROBATCHES;
    s.global_batch = 0;
    s.dispatch = cases[c].dispatch;
    s.capacity_factor = cases[c].padded ? 1 : 0;
    s.pad_to_capacity = cases[c].padded;
    s.recompute = cases[c].recompute;
    s.recompute_method = PLAN_RECOMPUTE_UNIFORM;
    s.recompute_layers = 1;
    s.sequence_parallel = FALSE;
    s.schedule = NULL;
    Run run = run_on(m, &shape, &s);
    gint64 reads = 0;
    for (guint i = 0; i < run.ops->len; i++) {
        const Op *op = op_at(&run, i);
        if (strcmp(op->name, "token_count_sync") != 0)
            continue;
        reads++;
        g_assert_cmpstr(op->stream, ==, "host");
        g_assert_cmpint(op->end - op->start, ==, SYNC_NS);
        g_assert_true(any_ends(&run, cases[c].read, op->start));
        /* the sync is longer than what the GPU has to do meanwhile */
        const Op *then = next_op(&run, cases[c].then, op->start);
        g_assert_nonnull(then);
        g_assert_cmpint(then->start, ==, op->end);
    }
    g_test_message("%s: %d reads", cases[c].what, (int)reads);
    g_assert_cmpint(reads, ==, cases[c].reads * LAYERS * MICROBATCHES);
    run_clear(&run);
}

static void
test_reads(void)
{
    g_test_summary(
        "the host reads token counts once a layer and pass, after they are there; what they "
        "shape waits for it; padded experts and DeepEP need no read");
    Machine m = tiny_new((const char *const[]){"host.sync=50us", NULL});
    for (guint c = 0; c < G_N_ELEMENTS(cases); c++)
        check(&m, c);
    machine_clear(&m);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/step/host/reads-of-token-counts", test_reads);
    return g_test_run();
}
