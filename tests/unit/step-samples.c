/* Samples: drawn alike one by one and in any number of threads, distributed as they should be, and in lanes as with
 * all ranks; runs of kernels as one op. */
#include "config.h"

#include "step/samples.h"

#include "step-record.h"

#include <math.h>

typedef struct {
    Machine m;
    LlmShape *shape; /* where the plan finds it */
    Plan *plan;
    Schedule *schedule;
} Case;

static Case
case_new(gint64 tp, gint64 pp, gint64 dp, const char *const *overrides)
{
    Case c = {.m = tiny_new(overrides), .shape = g_new(LlmShape, 1)};
    PlanSpec spec = plan_spec_default();
    GError *error = NULL;
    *c.shape = shape_dense();
    c.shape->kv_heads = c.shape->heads; /* for eight tensor-parallel ranks */
    spec.tp = tp;
    spec.pp = pp;
    spec.dp = dp;
    spec.microbatches = 4;
    spec.seq = 512;
    g_autoptr(StepResult) r = machine_run(&c.m, c.shape, &spec, NULL, &c.plan, &c.schedule, &error);
    g_assert_no_error(error);
    return c;
}

static void
case_clear(Case *c)
{
    schedule_free(c->schedule);
    plan_free(c->plan);
    g_free(c->shape);
    machine_clear(&c->m);
}

static StepNoise *
noise_of(double spread, double jitter, const char *daemon, guint64 seed)
{
    StepNoise *noise = step_noise_new();
    noise->gpu_spread_frac = spread;
    noise->jitter_frac = jitter;
    noise->seed = seed;
    gboolean ok = daemon == NULL || step_noise_parse_daemons(noise, daemon, NULL);
    g_assert_true(ok);
    return noise;
}

static StepSamples *
draw(const Case *c, const StepNoise *noise, guint n, guint threads, gboolean fused, gboolean all)
{
    GError *error = NULL;
    StepOptions options = {.noise = noise, .fused = fused, .all_ranks = all};
    StepSamples *s = step_samples_run(c->plan, c->schedule, c->m.cost, c->m.net, &options, n,
                                      threads, NULL, NULL, &error);
    g_assert_no_error(error);
    return s;
}

static gint64
time_of(const Case *c, const StepOptions *options)
{
    GError *error = NULL;
    g_autoptr(StepResult) r = step_run(c->plan, c->schedule, c->m.cost, c->m.net, options, &error);
    g_assert_no_error(error);
    return r->time_ns;
}

/* The same of samples in one thread, in five, and alone. */
static void
test_reproducible(void)
{
    Case c = case_new(4, 2, 4, NULL);
    g_autoptr(StepNoise) noise = noise_of(0.03, 0.02, "gpu:10us/1ms", 7);
    g_autoptr(StepSamples) one = draw(&c, noise, 20, 1, TRUE, FALSE);
    g_autoptr(StepSamples) five = draw(&c, noise, 20, 5, TRUE, FALSE);
    g_assert_cmpuint(one->suspects->len, ==, five->suspects->len);
    for (guint i = 0; i < 20; i++) {
        g_assert_cmpmem(&one->samples[i], sizeof(StepSample), &five->samples[i],
                        sizeof(StepSample));
        noise->sample = i + 1;
        StepOptions options = {.noise = noise, .fused = TRUE};
        g_assert_cmpint(time_of(&c, &options), ==, one->samples[i].time_ns);
    }
    for (guint i = 0; i < one->suspects->len; i++) {
        const StepSuspect *x = &g_array_index(one->suspects, StepSuspect, i);
        const StepSuspect *y = &g_array_index(five->suspects, StepSuspect, i);
        g_assert_cmpuint(x->where.index, ==, y->where.index);
        g_assert_cmpint(x->cost_ns, ==, y->cost_ns);
        g_assert_cmpuint(x->n_worst, ==, y->n_worst);
    }
    noise->seed = 8;
    g_autoptr(StepSamples) other = draw(&c, noise, 20, 2, TRUE, FALSE);
    guint same = 0;
    for (guint i = 0; i < 20; i++)
        same += other->samples[i].time_ns == one->samples[i].time_ns;
    g_assert_cmpuint(same, ==, 0);
    case_clear(&c);
}

/* Nothing wrong changes no time, whatever looks at it and whoever is simulated; and what is drawn for one kind of
 * noise is not moved by another that never strikes. */
static void
test_nothing_wrong(void)
{
    static const gint64 plans[][3] = {{1, 1, 1}, {4, 1, 2}, {2, 2, 2}, {8, 2, 1}, {1, 4, 2}};
    for (guint i = 0; i < G_N_ELEMENTS(plans); i++) {
        Case c = case_new(plans[i][0], plans[i][1], plans[i][2], NULL);
        g_autoptr(StepNoise) nothing = noise_of(0, 0, "gpu:1ns/20000h", 3);
        StepOptions options = {.noise = NULL};
        gint64 time = time_of(&c, &options);
        options = (StepOptions){.fused = TRUE};
        g_assert_cmpint(time_of(&c, &options), ==, time);
        for (guint mode = 0; mode < 4; mode++) {
            options =
                (StepOptions){.noise = nothing, .fused = mode % 2 == 1, .all_ranks = mode / 2 == 1};
            g_assert_cmpint(time_of(&c, &options), ==, time);
        }
        g_autoptr(StepNoise) jitter = noise_of(0, 0.05, NULL, 3);
        g_autoptr(StepNoise) both = noise_of(0, 0.05, "gpu:1ns/20000h,rank:1ns/20000h", 3);
        g_autoptr(StepSamples) x = draw(&c, jitter, 5, 2, TRUE, FALSE);
        g_autoptr(StepSamples) y = draw(&c, both, 5, 2, TRUE, FALSE);
        for (guint k = 0; k < 5; k++) {
            g_assert_cmpint(x->samples[k].time_ns, ==, y->samples[k].time_ns);
            g_assert_cmpint(x->samples[k].time_ns, !=, time);
        }
        case_clear(&c);
    }
}

static void
compare_lanes(Case *c, gint64 parts)
{
    g_autoptr(StepNoise) noise = noise_of(0.03, 0.02, NULL, 11);
    g_autoptr(StepSamples) lanes = draw(c, noise, 12, 2, TRUE, FALSE);
    g_autoptr(StepSamples) all = draw(c, noise, 12, 2, TRUE, TRUE);
    g_assert_true(lanes->lanes && !all->lanes);
    g_assert_cmpuint(lanes->ranks_simulated * (guint)c->plan->spec.tp, ==, all->ranks_simulated);
    for (guint k = 0; k < 12; k++) {
        gint64 x = lanes->samples[k].time_ns, y = all->samples[k].time_ns;
        g_assert_cmpint(ABS(x - y), <=, y / parts);
    }
    case_clear(c);
}

/* A lane draws what its members would: within a thousandth of all ranks, sample by sample, and within a
 * twenty-thousandth where only the tensor-parallel group meets and nothing slows anything. */
static void
test_lanes(void)
{
    static const gint64 plans[][3] = {{8, 1, 1}, {4, 1, 2}, {4, 2, 2}, {2, 4, 2}};
    static const char *const alone[] = {"gpu.overlap=off", NULL};
    for (guint i = 0; i < G_N_ELEMENTS(plans); i++)
        for (guint off = 0; off < 2; off++) {
            Case c = case_new(plans[i][0], plans[i][1], plans[i][2], off ? alone : NULL);
            compare_lanes(&c, off == 1 && plans[i][1] * plans[i][2] == 1 ? 20000 : 1000);
        }
}

/* One GPU alone: its time is T / speed, speed normal with the given spread. Five standard errors. */
static void
test_spread(void)
{
    enum { N = 600 };
    Case c = case_new(1, 1, 1, NULL);
    g_autoptr(StepNoise) noise = noise_of(0.02, 0, NULL, 5);
    g_autoptr(StepSamples) s = draw(&c, noise, N, 2, TRUE, FALSE);
    double sum = 0, squares = 0;
    for (guint i = 0; i < N; i++) {
        double speed = (double)s->undisturbed->time_ns / (double)s->samples[i].time_ns;
        sum += speed - 1;
        squares += (speed - 1) * (speed - 1);
    }
    g_assert_cmpfloat(fabs(sum / N), <, 5 * 0.02 / sqrt(N));
    g_assert_cmpfloat(fabs(sqrt(squares / N) / 0.02 - 1), <, 5 / sqrt(2 * N));
    case_clear(&c);
}

/* Jitter of a GPU alone, kernel by kernel and in runs: the deviations of the sums are the same, and that of
 * independent kernels, far below the jitter of each. */
static void
test_runs_spread_alike(void)
{
    enum { N = 600 };
    Case c = case_new(1, 1, 1, NULL);
    g_autoptr(StepNoise) noise = noise_of(0, 0.04, NULL, 5);
    double deviation[2];
    for (guint fused = 0; fused < 2; fused++) {
        g_autoptr(StepSamples) s = draw(&c, noise, N, 2, fused == 1, TRUE);
        deviation[fused] = step_samples_deviation_ns(s) / (double)s->undisturbed->time_ns;
        g_assert_cmpfloat(fabs(step_samples_mean_ns(s) / (double)s->undisturbed->time_ns - 1), <,
                          5 * deviation[fused] / sqrt(N) + 1e-5);
    }
    g_assert_cmpfloat(deviation[0], <, 0.01);
    g_assert_cmpfloat(fabs(deviation[1] / deviation[0] - 1), <, 5 / sqrt(N));
    case_clear(&c);
}

/* Runs of kernels as one, where kernels and traffic slow each other: within half a percent. */
static void
test_detail(void)
{
    static const gint64 plans[][3] = {{4, 1, 2}, {2, 2, 4}, {4, 4, 1}, {1, 1, 8}};
    Machine m = machine_new("dgx-a100-80g", NULL);
    LlmShape wide = shape_dense(); /* whose kernels are longer than their launches */
    wide.hidden = 4096;
    wide.heads = wide.kv_heads = 32;
    wide.head_dim = 128;
    wide.ffn = 11008;
    const LlmShape shapes[] = {shape_dense(), shape_gpt(), shape_moe(), wide};
    guint differ = 0;
    for (guint k = 0; k < G_N_ELEMENTS(shapes); k++)
        for (guint i = 0; i < G_N_ELEMENTS(plans); i++) {
            gint64 time[2], ops[2];
            for (guint fused = 0; fused < 2; fused++) {
                GError *error = NULL;
                StepOptions options = {.fused = fused == 1};
                PlanSpec spec = plan_spec_default();
                spec.tp = plans[i][0];
                spec.pp = plans[i][1];
                spec.dp = plans[i][2];
                spec.microbatches = 8;
                spec.seq = 512;
                g_autoptr(StepResult) r =
                    machine_run(&m, &shapes[k], &spec, &options, NULL, NULL, &error);
                g_assert_no_error(error);
                time[fused] = r->time_ns;
                ops[fused] = (gint64)r->ops;
            }
            g_assert_cmpint(ops[1], <, ops[0]);
            g_assert_cmpint(ABS(time[1] - time[0]), <=, time[0] / 200);
            differ += time[1] != time[0];
        }
    g_assert_cmpuint(differ, >, 0); /* or nothing was shown */
    machine_clear(&m);
}

/* Of ten times 1..10 the median is the fifth, the 95 % quantile the last. The slow GPU is the one to blame, and costs
 * what it takes away. */
static void
test_blame(void)
{
    Case c = case_new(2, 2, 2, NULL);
    g_autoptr(StepNoise) noise = noise_of(0, 0.001, NULL, 2);
    gboolean ok = step_noise_parse_slow(noise, "gpu:5=1.4", NULL);
    g_assert_true(ok);
    g_autoptr(StepSamples) s = draw(&c, noise, 10, 2, TRUE, FALSE);
    g_assert_cmpuint(s->suspects->len, >, 0);
    const StepSuspect *first = &g_array_index(s->suspects, StepSuspect, 0);
    g_assert_cmpint(first->where.kind, ==, STEP_WHERE_GPU);
    g_assert_cmpuint(first->where.index, ==, 5);
    g_assert_cmpuint(first->n_worst, ==, 10);
    double loss = step_samples_mean_ns(s) - (double)s->undisturbed->time_ns;
    g_assert_cmpfloat((double)first->cost_ns / 10, <, 1.3 * loss);
    g_assert_cmpfloat((double)first->cost_ns / 10, >, 0.7 * loss);
    for (guint i = 0; i < 10; i++)
        g_assert_cmpint(s->sorted_ns[i], ==, step_samples_quantile_ns(s, (i + 1) / 10.0));
    g_assert_cmpint(step_samples_quantile_ns(s, 0), ==, s->sorted_ns[0]);
    g_assert_cmpint(step_samples_quantile_ns(s, 0.95), ==, s->sorted_ns[9]);
    case_clear(&c);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("A sample is the same alone, among others and in any thread.");
    g_test_add_func("/step/samples/alone, among others, in any thread", test_reproducible);
    g_test_add_func("/step/samples/nothing wrong changes nothing", test_nothing_wrong);
    g_test_add_func("/step/samples/lanes are all ranks", test_lanes);
    g_test_add_func("/step/samples/speeds spread as told", test_spread);
    g_test_add_func("/step/samples/runs of kernels spread as kernels do", test_runs_spread_alike);
    g_test_add_func("/step/samples/runs of kernels take as long", test_detail);
    g_test_add_func("/step/samples/who is to blame", test_blame);
    return g_test_run();
}
