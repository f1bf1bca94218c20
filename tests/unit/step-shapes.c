/* Shapes that an iteration looks up: how often they run, and what their errors do to its time. */
#include "config.h"

#include "step-fixture.h"

#include <math.h>

static Machine machine;

static PlanSpec
small_plan(void)
{
    PlanSpec s = plan_spec_default();
    s.tp = s.dp = s.micro_batch = 1;
    s.pp = 2;
    s.seq = 128;
    s.microbatches = 4;
    s.global_batch = 0;
    s.recompute = LLM_RECOMPUTE_NONE;
    s.sequence_parallel = FALSE;
    return s;
}

static StepResult *
run(const LlmShape *shape, const PlanSpec *spec, gboolean fused)
{
    g_autoptr(GError) error = NULL;
    StepOptions options = {.fused = fused};
    StepResult *r = machine_run(&machine, shape, spec, &options, NULL, NULL, &error);
    g_assert_no_error(error);
    return r;
}

static const StepShape *
find_gemm(const StepResult *r, CostGemmPass pass, gint64 m, gint64 n, gint64 k)
{
    for (guint i = 0; i < r->shapes->len; i++) {
        const StepShape *s = &g_array_index(r->shapes, StepShape, i);
        if (s->kind == STEP_SHAPE_GEMM && s->gemm.pass == pass && s->gemm.m == m &&
            s->gemm.n == n && s->gemm.k == k)
            return s;
    }
    return NULL;
}

/* 8 layers of hidden 256 on 2 stages, 4 microbatches of 128 tokens: queries, keys and values, (8 + 4 + 4) heads of 32, run
 * 4 x 4 = 16 times on each GPU. Gate and up, 2 x 512, are as wide as the vocabulary of 1024: on the last stage
 * 16 + 4 = 20 times. With a whole recompute all forwards of layers run twice. */
static void
test_calls(void)
{
    LlmShape shape = shape_dense();
    PlanSpec spec = small_plan();
    for (guint fused = 0; fused < 2; fused++) {
        g_autoptr(StepResult) r = run(&shape, &spec, fused);
        const StepShape *qkv = find_gemm(r, COST_GEMM_FORWARD, 128, 512, 256);
        g_assert_nonnull(qkv);
        g_assert_cmpstr(qkv->name, ==, "qkv");
        g_assert_cmpfloat(qkv->calls, ==, 16);
        g_assert_cmpfloat(find_gemm(r, COST_GEMM_FORWARD, 128, 1024, 256)->calls, ==, 20);
    }
    spec.recompute = LLM_RECOMPUTE_FULL;
    g_autoptr(StepResult) r = run(&shape, &spec, FALSE);
    g_assert_cmpfloat(find_gemm(r, COST_GEMM_FORWARD, 128, 512, 256)->calls, ==, 32);
    g_assert_cmpfloat(find_gemm(r, COST_GEMM_FORWARD, 128, 1024, 256)->calls, ==, 36);
}

/* Messages between the stages: 4 forward and 4 backward; a rank sends one of these kinds. */
static void
test_messages(void)
{
    LlmShape shape = shape_dense();
    PlanSpec spec = small_plan();
    g_autoptr(StepResult) r = run(&shape, &spec, FALSE);
    const StepShape *message = NULL;
    for (guint i = 0; i < r->shapes->len; i++) {
        const StepShape *s = &g_array_index(r->shapes, StepShape, i);
        if (s->kind == STEP_SHAPE_COLLECTIVE && s->collective.op == NET_SEND_RECV)
            message = s;
    }
    g_assert_nonnull(message);
    g_assert_cmpint(message->collective.bytes, ==, 128 * 256 * 2);
    g_assert_cmpuint(message->collective.nodes, ==, 1);
    g_assert_cmpfloat(message->calls, ==, 4);
}

/* Kernels that are longer than their launch. */
static LlmShape
large(void)
{
    LlmShape s = shape_dense();
    s.layers = 4;
    s.hidden = 4096;
    s.heads = s.kv_heads = 32;
    s.head_dim = 128;
    s.ffn = 8192;
    s.max_positions = 131072;
    return s;
}

/* The rule (step/certainty.c), from the list of shapes: own errors of shapes, what a family has in common, and 13 % of
 * all. On one GPU that never waits for its host nothing else is on the path. */
static double
twin_error_ns(const StepResult *r)
{
    double own = 0, total = 0;
    g_autoptr(GHashTable) families = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GPtrArray) sums = g_ptr_array_new();
    for (guint i = 0; i < r->shapes->len; i++) {
        const StepShape *s = &g_array_index(r->shapes, StepShape, i);
        double common = s->time.common_frac * s->path_ns, error = s->time.error_frac * s->path_ns;
        guint part = s->kind == STEP_SHAPE_GEMM     ? s->gemm.dtype
                     : s->kind == STEP_SHAPE_MEMORY ? s->memory.kernel
                                                    : 0;
        g_autofree char *family = g_strdup_printf("%d %u", s->kind, part);
        double *sum = g_hash_table_lookup(families, family);
        if (sum == NULL) {
            sum = g_new0(double, 1);
            g_ptr_array_add(sums, sum);
            g_hash_table_insert(families, g_steal_pointer(&family), sum);
        }
        *sum += common;
        own += error * error - common * common;
        total += s->path_ns;
    }
    for (guint i = 0; i < sums->len; i++)
        own += *(double *)sums->pdata[i] * *(double *)sums->pdata[i];
    g_assert_cmpfloat_with_epsilon(total / (double)r->time_ns, 1, 1e-3);
    return sqrt(own + 0.13 * 0.13 * total * total);
}

static void
test_rule(void)
{
    LlmShape shape = large();
    PlanSpec spec = small_plan();
    spec.pp = 1;
    spec.seq = 4096;
    g_autoptr(StepResult) r = run(&shape, &spec, FALSE);
    g_assert_cmpfloat_with_epsilon((double)r->error_ns / twin_error_ns(r), 1, 1e-3);
    g_assert_cmpint(r->error_ns, >, 13 * r->time_ns / 100);
    /* Twice as many microbatches: the same shapes twice as often, and errors do not average out. */
    spec.microbatches *= 2;
    g_autoptr(StepResult) twice = run(&shape, &spec, FALSE);
    double before = (double)r->error_ns / (double)r->time_ns;
    g_assert_cmpfloat_with_epsilon((double)twice->error_ns / (double)twice->time_ns, before, 0.002);
}

/* Runs of kernels as one op err as their kernels do. */
static void
test_fused(void)
{
    LlmShape shape = large();
    PlanSpec spec = small_plan();
    spec.seq = 4096;
    g_autoptr(StepResult) single = run(&shape, &spec, FALSE);
    g_autoptr(StepResult) fused = run(&shape, &spec, TRUE);
    g_assert_cmpuint(single->shapes->len, ==, fused->shapes->len);
    g_assert_cmpfloat_with_epsilon((double)fused->error_ns / (double)single->error_ns, 1, 0.01);
    for (guint i = 0; i < 3; i++)
        g_assert_cmpfloat_with_epsilon(fused->share[i], single->share[i], 0.01);
}

/* Each part of the breakdown has at least what all times have in common, and no more than all parts together. */
static void
test_parts(void)
{
    LlmShape shape = large();
    PlanSpec spec = small_plan();
    spec.tp = 2;
    g_autoptr(StepResult) r = run(&shape, &spec, FALSE);
    gint64 sum = 0;
    for (guint kind = 0; kind < STEP_N_KINDS; kind++) {
        g_assert_cmpfloat((double)r->breakdown_error_ns[kind], >=,
                          0.13 * (double)r->breakdown_ns[kind] - 1);
        g_assert_cmpint(r->breakdown_error_ns[kind] > 0, ==, r->breakdown_ns[kind] > 0);
        sum += r->breakdown_error_ns[kind];
    }
    g_assert_cmpint(sum, >=, r->error_ns);
}

/* What the error is made of adds up to it. Twice the microbatches take the same kernels twice as often: what a
 * microbatch takes in one and the other differs by what each plan has of its own alone, and no less. */
static void
test_doubts(void)
{
    LlmShape shape = large();
    PlanSpec spec = small_plan();
    spec.seq = 4096;
    g_autoptr(StepResult) r = run(&shape, &spec, FALSE);
    double sigma_ns = step_doubt_of_difference(r->doubts, 1, NULL, 0);
    g_assert_cmpfloat_with_epsilon(sigma_ns / (double)r->error_ns, 1, 1e-6);
    for (guint i = 1; i < r->doubts->len; i++)
        g_assert_cmpuint(g_array_index(r->doubts, StepDoubt, i - 1).source, <,
                         g_array_index(r->doubts, StepDoubt, i).source);
    g_autoptr(StepResult) again = run(&shape, &spec, FALSE);
    g_assert_cmpfloat(step_doubt_of_difference(r->doubts, 1, again->doubts, 1), ==, 0);
    spec.microbatches *= 2;
    g_autoptr(StepResult) twice = run(&shape, &spec, FALSE);
    double difference_ns = step_doubt_of_difference(r->doubts, 1, twice->doubts, 0.5);
    double plans_ns = 0.095 * hypot((double)r->time_ns, 0.5 * (double)twice->time_ns);
    g_assert_cmpfloat(difference_ns, >=, plans_ns);
    g_assert_cmpfloat(sqrt(difference_ns * difference_ns - plans_ns * plans_ns), <,
                      0.25 * sigma_ns);
    spec.seq = 2048; /* other kernels: the error that all have in common is all that goes away */
    g_autoptr(StepResult) other = run(&shape, &spec, FALSE);
    double scale = (double)twice->time_ns / (double)other->time_ns;
    double common = sqrt(0.13 * 0.13 - 0.095 * 0.095);
    double own_ns = step_doubt_of_difference(twice->doubts, 1, other->doubts, scale);
    double all_ns = hypot((double)twice->error_ns, scale * (double)other->error_ns);
    g_assert_cmpfloat(own_ns, <, all_ns);
    g_assert_cmpfloat(own_ns, >, 0.095 * M_SQRT2 * (double)twice->time_ns);
    g_assert_cmpfloat(hypot(own_ns, M_SQRT2 * common * (double)twice->time_ns), <=,
                      all_ns * (1 + 1e-6));
}

/* Each node of the tree has its error and what it rests on: no less than what all times have in common, no more than
 * its parts' errors together; and shares that follow from its parts'. */
static void
check_node(const Why *why)
{
    double errors = 0, share[3] = {0};
    g_assert_cmpfloat(why->error, >=, 0.13 * why->value * (1 - 1e-9));
    g_assert_cmpfloat_with_epsilon(why->share[0] + why->share[1] + why->share[2], 1, 1e-9);
    for (guint i = 0; why->parts != NULL && i < why->parts->len; i++) {
        const Why *part = why->parts->pdata[i];
        check_node(part);
        errors += part->error;
        for (guint k = 0; k < 3; k++)
            share[k] += part->share[k] * part->value / why->value;
    }
    if (why->parts == NULL)
        return;
    g_assert_cmpfloat(why->error, <=, errors * (1 + 1e-9));
    for (guint k = 0; k < 3; k++)
        g_assert_cmpfloat_with_epsilon(share[k], why->share[k], 1e-9);
}

static void
test_reasons(void)
{
    LlmShape shape = large();
    PlanSpec spec = small_plan();
    spec.tp = 2;
    for (guint fused = 0; fused < 2; fused++) {
        g_autoptr(StepResult) r = run(&shape, &spec, fused);
        check_node(r->time_why);
        g_assert_cmpfloat_with_epsilon(r->time_why->error, 1e-9 * (double)r->error_ns, 1.1e-9);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    machine = machine_new("dgx-a100-80g", NULL);
    g_test_add_func("/step/shapes/calls", test_calls);
    g_test_add_func("/step/shapes/messages", test_messages);
    g_test_add_func("/step/shapes/rule", test_rule);
    g_test_add_func("/step/shapes/fused", test_fused);
    g_test_add_func("/step/shapes/parts", test_parts);
    g_test_add_func("/step/shapes/doubts", test_doubts);
    g_test_add_func("/step/shapes/reasons", test_reasons);
    int status = g_test_run();
    machine_clear(&machine);
    return status;
}
