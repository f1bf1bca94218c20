/* Lists of shapes, as the calibrator's own reader takes them. */
#include "config.h"

#include "step-fixture.h"

#include "report/shapes.h"

#include "calib/shapes.h"

#include <string.h>

static Machine machine;

static const struct {
    LlmShape (*shape)(void);
    gint64 tp, pp, cp, dp, ep;
    guint skipped; /* lines that no microbenchmark runs, as comments */
} cases[] = {
    {shape_dense, 2, 2, 1, 2, 1, 0},  {shape_gpt, 1, 1, 1, 8, 1, 0}, {shape_moe, 2, 1, 1, 4, 4, 0},
    {shape_latent, 1, 2, 1, 4, 4, 1}, /* values are narrower than keys */
    {shape_dense, 1, 1, 2, 2, 1, 1},  /* keys of other ranks */
};

typedef struct {
    Plan *plan;
    Schedule *schedule;
    StepResult *result;
    ReportRun run;
} Ran;

static Ran
ran_new(guint c)
{
    g_autoptr(GError) error = NULL;
    LlmShape shape = cases[c].shape();
    PlanSpec s = plan_spec_default();
    Ran r = {NULL};
    s.tp = cases[c].tp;
    s.pp = cases[c].pp;
    s.cp = cases[c].cp;
    s.dp = cases[c].dp;
    s.ep = cases[c].ep;
    s.seq = 128;
    s.micro_batch = 1;
    s.microbatches = 4;
    s.global_batch = 0;
    s.sequence_parallel = s.tp > 1;
    r.result = machine_run(&machine, &shape, &s, NULL, &r.plan, &r.schedule, &error);
    g_assert_no_error(error);
    return r;
}

static void
ran_clear(Ran *r)
{
    step_result_free(r->result);
    schedule_free(r->schedule);
    plan_free(r->plan);
}

static char *
list_of(Ran *r, guint worth, const LlmShape *shape)
{
    r->plan->shape = shape; /* the run's own is gone */
    r->run = (ReportRun){.plan = r->plan, .schedule = r->schedule, .result = r->result};
    const ReportShapes shapes = {&r->run, worth};
    GString *out = g_string_new(NULL);
    report_shapes(&shapes, "text", out);
    return g_string_free(out, FALSE);
}

static guint
count_lines(const char *text, const char *head)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    guint n = 0;
    for (guint i = 0; lines[i] != NULL; i++)
        n += g_str_has_prefix(lines[i], head);
    return n;
}

static CalibShapes
read_list(const char *text)
{
    CalibShapes shapes;
    CalibError error;
    g_autofree char *copy = g_strdup(text);
    if (!calib_shapes_parse("list", copy, &shapes, &error))
        g_error("%s", error.text);
    return shapes;
}

/* All lines of all models are read, and in all one file; calls are there. */
static void
test_read(void)
{
    g_autoptr(GString) all = g_string_new(NULL);
    size_t n = 0;
    for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
        LlmShape shape = cases[c].shape();
        Ran r = ran_new(c);
        g_autofree char *text = list_of(&r, 0, &shape);
        CalibShapes shapes = read_list(text);
        guint skipped = count_lines(text, "# no case of the calibrator: ");
        g_test_message("case %u: %zu shapes, %u skipped", c, shapes.n, skipped);
        g_assert_cmpuint(skipped, ==, cases[c].skipped);
        g_assert_cmpuint(shapes.n, >, 10);
        for (size_t i = 0; i < shapes.n; i++)
            g_assert_cmpfloat(shapes.shapes[i].calls, >, 0);
        n += shapes.n;
        g_string_append(all, text);
        calib_shapes_clear(&shapes);
        ran_clear(&r);
    }
    CalibShapes shapes = read_list(all->str);
    g_assert_cmpuint(shapes.n, ==, n);
    calib_shapes_clear(&shapes);
}

static gboolean
is_read(const CalibShapes *read, const StepShape *s)
{
    for (size_t i = 0; i < read->n; i++) {
        const CalibCase *c = &read->shapes[i].what;
        if (s->kind == STEP_SHAPE_GEMM && c->kind == CALIB_CASE_GEMM && c->gemm.m == s->gemm.m &&
            c->gemm.n == s->gemm.n && c->gemm.k == s->gemm.k && c->gemm.batch == s->gemm.batch &&
            c->gemm.groups == MAX(s->gemm.groups, 1) && (int)c->gemm.pass == (int)s->gemm.pass)
            return TRUE;
        if (s->kind == STEP_SHAPE_ATTENTION && c->kind == CALIB_CASE_ATTENTION &&
            c->attention.heads == s->attention.heads && c->attention.seq == s->attention.seq_q &&
            c->attention.causal == (s->attention.causal != 0))
            return TRUE;
        if (s->kind == STEP_SHAPE_MEMORY && c->kind == CALIB_CASE_MEMORY &&
            c->memory.bytes == s->memory.bytes &&
            strcmp(calib_kernel_name(c->memory.kernel),
                   cost_memory_kernel_name(s->memory.kernel)) == 0)
            return TRUE;
        if (s->kind == STEP_SHAPE_COLLECTIVE && c->kind == CALIB_CASE_COLLECTIVE &&
            c->collective.bytes == s->collective.bytes &&
            c->collective.ranks == (int)s->collective.ranks &&
            strcmp(calib_op_name(c->collective.op), net_op_name(s->collective.op)) == 0)
            return TRUE;
    }
    return FALSE;
}

/* What the simulation looked up is what the calibrator will measure. */
static void
test_same(void)
{
    for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
        LlmShape shape = cases[c].shape();
        Ran r = ran_new(c);
        g_autofree char *text = list_of(&r, 0, &shape);
        CalibShapes read = read_list(text);
        for (guint i = 0; i < r.result->shapes->len; i++) {
            const StepShape *s = &g_array_index(r.result->shapes, StepShape, i);
            if (step_shape_is_measurable(s))
                g_assert_true(is_read(&read, s));
        }
        calib_shapes_clear(&read);
        ran_clear(&r);
    }
}

/* Those worth measuring: not measured, the largest error first, no more than asked for. */
static void
test_worth(void)
{
    LlmShape shape = shape_dense();
    Ran r = ran_new(0);
    g_autoptr(GArray) worth = report_shapes_worth(r.result, 5);
    g_assert_cmpuint(worth->len, ==, 5);
    double before = G_MAXDOUBLE;
    for (guint i = 0; i < worth->len; i++) {
        const StepShape *s =
            &g_array_index(r.result->shapes, StepShape, g_array_index(worth, guint, i));
        g_assert_cmpint(s->time.basis, !=, COST_MEASURED);
        g_assert_cmpfloat(s->error_ns, <=, before);
        before = s->error_ns;
    }
    for (guint i = 0; i < r.result->shapes->len; i++) {
        const StepShape *s = &g_array_index(r.result->shapes, StepShape, i);
        gboolean listed = FALSE;
        for (guint k = 0; k < worth->len; k++)
            listed = listed || g_array_index(worth, guint, k) == i;
        if (!listed && s->time.basis != COST_MEASURED)
            g_assert_cmpfloat(s->error_ns, <=, before);
    }
    g_autofree char *text = list_of(&r, 5, &shape);
    CalibShapes read = read_list(text);
    g_assert_cmpuint(read.n, <=, 5); /* forward and backward of attention are one line */
    g_assert_cmpuint(read.n, >=, 4);
    calib_shapes_clear(&read);
    ran_clear(&r);
}

static void
test_words(void)
{
    const StepShape shapes[] = {
        {.kind = STEP_SHAPE_GEMM, .gemm = {CLUSTER_BF16, COST_GEMM_WGRAD, 7, 8, 9, 2, TRUE, 0}},
        {.kind = STEP_SHAPE_ATTENTION,
         .attention = {CLUSTER_FP16, 1, 8, 2, 64, 512, 1024, TRUE, FALSE, 32}},
        {.kind = STEP_SHAPE_MEMORY, .memory = {COST_ROPE, 4096}},
        {.kind = STEP_SHAPE_COLLECTIVE,
         .collective = {NET_ALL_TO_ALL, CLUSTER_FP32, 16, 2, TRUE, 65536}},
    };
    const char *const words[] = {"gemm bf16 wgrad 7 8 9 2 1",
                                 "attention fp16 1 8 2 64 512 1 keys=1024 values=32",
                                 "memory rope 4096", "collective all_to_all fp32 16 2 65536"};
    for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
        g_autofree char *text = report_shape_words(&shapes[i], " ");
        g_assert_cmpstr(text, ==, words[i]);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    machine = machine_new("dgx-a100-80g", NULL);
    g_test_add_func("/report/shapes/read", test_read);
    g_test_add_func("/report/shapes/same", test_same);
    g_test_add_func("/report/shapes/worth", test_worth);
    g_test_add_func("/report/shapes/words", test_words);
    int status = g_test_run();
    machine_clear(&machine);
    return status;
}
