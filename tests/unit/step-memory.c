/* Memory as the simulation runs against the same by arithmetic, on hundreds of random plans; and what the time
 * line tells. */
#include "config.h"

#include "step-fixture.h"

#include <string.h>

#define PLANS 400

typedef struct {
    guint32 state;
} Draw;

static guint
draw(Draw *d, guint n)
{
    d->state = d->state * 1664525u + 1013904223u; /* Numerical Recipes */
    return (guint)(((guint64)d->state * n) >> 32);
}

#define PICK(d, ...)                                                                               \
    (((const gint64[]){__VA_ARGS__})[draw(d, G_N_ELEMENTS(((const gint64[]){__VA_ARGS__})))])

static const char *const schedules[] = {"1f1b",      "gpipe",  "zb_h1",    "interleaved_megatron",
                                        "zbv_torch", "v_half", "dualpipe", NULL};

static PlanSpec
draw_plan(Draw *d, gboolean sharded)
{
    PlanSpec s = plan_spec_for(sharded ? (PlanFramework)PICK(d, PLAN_DEEPSPEED, PLAN_FSDP,
                                                             PLAN_TORCHTITAN, PLAN_LLM_FOUNDRY)
                                       : (PlanFramework)PICK(d, PLAN_MEGATRON, PLAN_NANOTRON));
    s.tp = PICK(d, 1, 2, 4);
    s.pp = PICK(d, 1, 2, 4);
    s.dp = PICK(d, 1, 2, 4);
    s.sequence_parallel = s.tp > 1 && draw(d, 2) == 0;
    s.micro_batch = PICK(d, 1, 2);
    s.microbatches = PICK(d, 4, 8, 12);
    s.seq = PICK(d, 128, 256);
    s.schedule = s.pp > 1 ? schedules[draw(d, 7)] : "1f1b";
    gboolean chunks = g_str_has_prefix(s.schedule, "interleaved") ||
                      g_str_has_prefix(s.schedule, "zbv") || g_str_has_prefix(s.schedule, "v_");
    s.vpp = chunks ? 2 : 1;
    s.recompute = (LlmRecompute)draw(d, 3);
    if (s.recompute == LLM_RECOMPUTE_FULL) {
        s.recompute_method = (PlanRecomputeMethod)draw(d, 3);
        s.recompute_layers = PICK(d, 1, 2, 3);
    }
    s.attention = (LlmAttention)draw(d, 2);
    s.fused_loss = draw(d, 2) == 0;
    if (sharded) {
        s.zero = PICK(d, 2, 3, 3);
        if (s.zero == 3)
            s.reshard_after_forward = draw(d, 2) == 0;
        s.prefetch_units = PICK(d, 0, 1, 2);
    }
    return s;
}

/* How many of them ran; the others are refused. */
static guint
check_plans(guint32 seed, gboolean sharded)
{
    Machine m = machine_new("dgx-a100-80g", NULL);
    const LlmShape shapes[] = {shape_dense(), shape_gpt(), shape_moe(), shape_latent(),
                               shape_window()};
    Draw d = {seed};
    guint ran = 0, exact = 0, below = 0;
    for (guint i = 0; i < PLANS; i++) {
        PlanSpec spec = draw_plan(&d, sharded);
        const LlmShape *shape = &shapes[draw(&d, G_N_ELEMENTS(shapes))];
        g_autoptr(GError) error = NULL;
        g_autoptr(StepResult) r = machine_run(&m, shape, &spec, NULL, NULL, NULL, &error);
        if (r == NULL)
            continue;
        ran++;
        for (guint k = 0; k < r->stages->len; k++) {
            const StepStage *s = &g_array_index(r->stages, StepStage, k);
            gint64 sum = 0;
            for (guint kind = 0; kind < STEP_N_MEMORY; kind++) {
                g_assert_cmpint(s->peak[kind], >=, 0);
                sum += s->peak[kind];
            }
            if (s->peak_bytes > s->closed_form_bytes ||
                s->peak_bytes < s->closed_form_bytes - s->closed_form_margin_bytes)
                g_printerr("# plan %u: %s %s tp %d pp %d dp %d zero %d framework %s recompute %d "
                           "method %d layers %d rank %u\n",
                           i, shape->name, spec.schedule, (int)spec.tp, (int)spec.pp, (int)spec.dp,
                           (int)spec.zero, plan_framework_names[spec.framework], spec.recompute,
                           spec.recompute_method, (int)spec.recompute_layers, k);
            g_assert_cmpint(sum, ==, s->peak_bytes);
            g_assert_cmpint(s->peak_bytes, <=, s->closed_form_bytes);
            g_assert_cmpint(s->peak_bytes, >=, s->closed_form_bytes - s->closed_form_margin_bytes);
            exact += s->closed_form_margin_bytes == 0;
            below += s->peak_bytes < s->closed_form_bytes;
        }
    }
    g_test_message("%u of %u plans ran; %u ranks exact, %u below", ran, PLANS, exact, below);
    if (!sharded)
        g_assert_cmpuint(exact, >, ran);
    machine_clear(&m);
    return ran;
}

static void
test_exact(void)
{
    g_test_summary("where nothing depends on timing, the simulated peak is the closed form's to "
                   "the byte");
    g_assert_cmpuint(check_plans(1, FALSE), >, PLANS / 2);
}

static void
test_sharded(void)
{
    g_test_summary("with sharded gradients and parameters it lies within the stated margin below");
    g_assert_cmpuint(check_plans(2, TRUE), >, PLANS / 4);
}

/* One short sequence: nothing else is as large as the step's copies. */
static void
test_step_copies(void)
{
    g_test_summary("DeepSpeed's step casts 16-bit gradients to fp32 beside them: 8 bytes of a "
                   "parameter without ZeRO, 6 of the shard with it; others have them in fp32");
    static const struct {
        PlanFramework framework;
        gint64 zero, bytes;
        gboolean fp32;
    } cases[] = {{PLAN_DEEPSPEED, 0, 8, FALSE},
                 {PLAN_DEEPSPEED, 1, 6, FALSE},
                 {PLAN_DEEPSPEED, 2, 6, FALSE},
                 {PLAN_DEEPSPEED, 1, 0, TRUE},
                 {PLAN_MEGATRON, 1, 0, TRUE}};
    Machine m = machine_new("dgx-a100-80g", NULL);
    LlmShape shape = shape_dense();
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        PlanSpec spec = plan_spec_for(cases[i].framework);
        spec.dp = 2;
        spec.seq = 16;
        spec.micro_batch = spec.microbatches = 1;
        spec.zero = cases[i].zero;
        spec.gradient_fp32 = cases[i].fp32;
        spec.fused_loss = TRUE;
        g_autoptr(GError) error = NULL;
        g_autoptr(StepResult) r = machine_run(&m, &shape, &spec, NULL, NULL, NULL, &error);
        g_assert_no_error(error);
        const StepStage *s = &g_array_index(r->stages, StepStage, 0);
        gint64 owned = s->parameters / (spec.zero == 0 ? 1 : 2);
        gint64 more = s->peak[STEP_MEMORY_WORKSPACE];
        g_test_message("case %u: %d of %d bytes", i, (int)more, (int)(cases[i].bytes * owned));
        if (cases[i].bytes > 0)
            g_assert_cmpint(ABS(more - cases[i].bytes * owned), <=, 8);
        else
            g_assert_cmpint(more, <, owned / 100);
    }
    machine_clear(&m);
}

typedef struct {
    gint64 last_ns, peak, first[STEP_N_MEMORY], now[STEP_N_MEMORY];
    guint calls;
} Told;

static void
tell(void *user, guint rank, guint pp_rank, gint64 when_ns, const gint64 bytes[STEP_N_MEMORY])
{
    Told *told = user;
    gint64 sum = 0;
    (void)rank;
    g_assert_cmpint(when_ns, >=, told->last_ns);
    told->last_ns = when_ns;
    if (pp_rank != 1)
        return;
    for (guint k = 0; k < STEP_N_MEMORY; k++)
        sum += bytes[k];
    if (told->calls++ > 0)
        memcpy(told->now, bytes, sizeof told->now);
    else
        memcpy(told->first, bytes, sizeof told->first);
    told->peak = MAX(told->peak, sum);
}

static void
test_timeline(void)
{
    g_test_summary("the time line goes on in time, reaches the peak, and ends where it began");
    Machine m = machine_new("dgx-a100-80g", NULL);
    LlmShape shape = shape_dense();
    Draw d = {3};
    PlanSpec spec = draw_plan(&d, FALSE);
    spec.pp = 2;
    spec.vpp = 1;
    spec.schedule = "1f1b";
    Told told = {0};
    StepOptions options = {.memory = tell, .memory_user = &told};
    g_autoptr(GError) error = NULL;
    g_autoptr(StepResult) r = machine_run(&m, &shape, &spec, &options, NULL, NULL, &error);
    g_assert_no_error(error);
    const StepStage *s = &g_array_index(r->stages, StepStage, 1);
    g_assert_cmpint(told.peak, ==, s->peak_bytes);
    g_assert_cmpuint(told.calls, >, 4 * (guint)spec.microbatches);
    g_assert_cmpmem(told.first, sizeof told.first, told.now, sizeof told.now);
    machine_clear(&m);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/step/memory/closed-form-to-the-byte", test_exact);
    g_test_add_func("/step/memory/closed-form-with-shards", test_sharded);
    g_test_add_func("/step/memory/step-copies", test_step_copies);
    g_test_add_func("/step/memory/time-line", test_timeline);
    return g_test_run();
}
