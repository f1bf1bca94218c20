/* Noise and faults: what is read, what slow parts cost by arithmetic, and that nothing wrong changes nothing. */
#include "config.h"

#include "step/noise.h"

#include "step-record.h"

typedef struct {
    const char *option, *text;
    gboolean ok;
} Reading;

static gboolean
read_one(StepNoise *noise, const Reading *r, GError **error)
{
    if (g_str_equal(r->option, "slow"))
        return step_noise_parse_slow(noise, r->text, error);
    if (g_str_equal(r->option, "flap"))
        return step_noise_parse_flaps(noise, r->text, error);
    if (g_str_equal(r->option, "daemon"))
        return step_noise_parse_daemons(noise, r->text, error);
    return step_noise_parse_share(r->option, r->text, &noise->jitter_frac, error);
}

/* A text that is refused leaves what was there; its complaint names the option and says what to write. */
static void
test_reading(void)
{
    static const Reading readings[] = {
        {"slow", "gpu:17=1.3", TRUE},
        {"slow", "gpu:17=1.3,node:3=1.2, nic:5.2=50%", TRUE},
        {"slow", "nvlink:9=2,leaf 0 of rail 0, up=4", TRUE},
        {"slow", "link:leaf 0 of rail 0, up=4", TRUE},
        {"slow", "gpu:17=0.5", FALSE}, /* times as long, not times as fast */
        {"slow", "gpu:17=0%", FALSE},
        {"slow", "gpu:17", FALSE},
        {"slow", "gpu=2", FALSE},
        {"slow", "gpu:-1=2", FALSE},
        {"slow", "gpu:1x=2", FALSE},
        {"slow", "nic:5=2", FALSE},
        {"slow", "nic:5.=2", FALSE},
        {"slow", "gpu:99999999999=2", FALSE},
        {"slow", "gpu:1=2,cpu:1=2", FALSE},
        {"slow", "gpu:1=nan", FALSE},
        {"slow", "", FALSE},
        {"flap", "nic:5.2@100ms+50ms", TRUE},
        {"flap", "nic@2/h+50ms,nvlink@0.5/h+1s", TRUE},
        {"flap", "leaf 0 of rail 0, up@0ns+1s", TRUE},
        {"flap", "nic:5.2@100ms", FALSE},
        {"flap", "nic:5.2@100+50ms", FALSE},
        {"flap", "nic:5.2@100ms+0ms", FALSE},
        {"flap", "gpu:1@100ms+50ms", FALSE},
        {"flap", "gpu@2/h+50ms", FALSE},
        {"flap", "nic@0/h+50ms", FALSE},
        {"flap", "nic@-2/h+50ms", FALSE},
        {"daemon", "10ms/1s", TRUE},
        {"daemon", "rank:10ms/1s,gpu:1ms/20ms", TRUE},
        {"daemon", "1s/1s", FALSE},
        {"daemon", "10ms", FALSE},
        {"daemon", "nic:10ms/1s", FALSE},
        {"daemon", "0ms/1s", FALSE},
        {"jitter", "1%", TRUE},
        {"jitter", "0", TRUE},
        {"jitter", "60%", FALSE},
        {"jitter", "-1%", FALSE},
    };
    for (guint i = 0; i < G_N_ELEMENTS(readings); i++) {
        g_autoptr(StepNoise) noise = step_noise_new();
        g_autoptr(GError) error = NULL;
        noise->jitter_frac = 0.25;
        gboolean ok = read_one(noise, &readings[i], &error);
        g_assert_cmpint(ok, ==, readings[i].ok);
        g_assert_true(ok == (error == NULL));
        if (ok)
            continue;
        g_assert_cmpuint(noise->slow->len + noise->flaps->len + noise->daemons->len, ==, 0);
        g_assert_cmpfloat(noise->jitter_frac, ==, 0.25);
        g_assert_nonnull(strstr(error->message, readings[i].option));
        g_assert_nonnull(strstr(error->message, "write"));
    }
}

static void
test_places(void)
{
    g_autoptr(StepNoise) noise = step_noise_new();
    GError *error = NULL;
    gboolean ok = step_noise_parse_slow(noise, "gpu:17=1.25,nic:5.2=50%", &error) &&
                  step_noise_parse_slow(noise, "leaf 0 of rail 0, up=4", &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    static const char *const names[] = {"gpu:17", "nic:5.2", "leaf 0 of rail 0, up"};
    static const double times[] = {1.25, 2, 4};
    g_assert_cmpuint(noise->slow->len, ==, 3);
    for (guint i = 0; i < 3; i++) {
        const StepSlow *slow = &g_array_index(noise->slow, StepSlow, i);
        g_autofree char *name = step_where_name(&slow->where);
        g_assert_cmpstr(name, ==, names[i]);
        g_assert_cmpfloat(slow->times, ==, times[i]);
    }
    g_assert_false(step_noise_is_random(noise));
    g_assert_true(step_noise_is_everywhere(noise));
}

/* A run on the machine of step-record.h: 8 GPUs a node, a card each. */
static gint64
time_of(const PlanSpec *spec, const char *slow, const char *flap, gboolean all, GError **error)
{
    Machine m = tiny_new(NULL);
    LlmShape shape = shape_dense();
    shape.kv_heads = shape.heads; /* for eight tensor-parallel ranks */
    g_autoptr(StepNoise) noise = step_noise_new();
    gboolean ok = (slow == NULL || step_noise_parse_slow(noise, slow, NULL)) &&
                  (flap == NULL || step_noise_parse_flaps(noise, flap, NULL));
    g_assert_true(ok);
    StepOptions options = {.noise = noise, .all_ranks = all};
    g_autoptr(StepResult) r = machine_run(&m, &shape, spec, &options, NULL, NULL, error);
    gint64 time_ns = r != NULL ? r->time_ns : -1;
    machine_clear(&m);
    return time_ns;
}

static PlanSpec
spec_on(gint64 tp, gint64 pp, gint64 dp)
{
    PlanSpec spec = plan_spec_default();
    spec.tp = tp;
    spec.pp = pp;
    spec.dp = dp;
    spec.microbatches = 4;
    spec.seq = 512;
    return spec;
}

/* A lone GPU does nothing but kernels (this host takes no time): twice as slow, twice the time, but for rounding. */
static void
test_lone_gpu(void)
{
    PlanSpec spec = spec_on(1, 1, 1);
    gint64 time = time_of(&spec, NULL, NULL, FALSE, NULL);
    g_assert_cmpint(time, >, 0);
    g_assert_cmpint(time_of(&spec, "gpu:0=2", NULL, FALSE, NULL), ==, 2 * time);
    g_assert_cmpint(time_of(&spec, "gpu:0=50%", NULL, FALSE, NULL), ==, 2 * time);
    g_assert_cmpint(time_of(&spec, "gpu:0=1", NULL, FALSE, NULL), ==, time);
    g_assert_cmpint(time_of(&spec, "gpu:1=2", NULL, FALSE, NULL), ==, time); /* idle */
}

/* A group waits for its slowest member at every collective, a replica for its slowest stage, and at the barrier all
 * wait: one slow GPU costs what a slow group does, whichever replica it is in. */
static void
test_slow_member(void)
{
    PlanSpec spec = spec_on(4, 1, 4);
    gint64 time = time_of(&spec, NULL, NULL, FALSE, NULL);
    gint64 one = time_of(&spec, "gpu:6=1.5", NULL, FALSE, NULL);
    g_assert_cmpint(one, >, time);
    g_assert_cmpint(time_of(&spec, "gpu:15=1.5", NULL, FALSE, NULL), ==, one);
    g_assert_cmpint(time_of(&spec, "gpu:4=1.5,gpu:5=1.5,gpu:6=1.5,gpu:7=1.5", NULL, FALSE, NULL),
                    ==, one);
    g_assert_cmpint(time_of(&spec, "node:0=1.5", NULL, FALSE, NULL), ==, one);
    g_assert_cmpint(time_of(&spec, "gpu:6=1.5,gpu:9=1.2", NULL, FALSE, NULL), ==, one);
}

/* With classes that are split, as with every rank simulated: exactly where there is one stage or no tensor
 * parallelism, else within a five-thousandth, for of a group with a slow member only that one is simulated. */
static void
test_classes(void)
{
    static const char *const slow[] = {"gpu:6=1.5", "node:1=1.3", "nic:1.3=25%", "nvlink:2=3",
                                       "gpu:0=1.1,nic:0.1=2"};
    const PlanSpec specs[] = {spec_on(2, 2, 4), spec_on(4, 2, 2), spec_on(1, 4, 4),
                              spec_on(8, 1, 2)};
    for (guint i = 0; i < G_N_ELEMENTS(slow); i++)
        for (guint k = 0; k < G_N_ELEMENTS(specs); k++) {
            gint64 classes = time_of(&specs[k], slow[i], NULL, FALSE, NULL);
            gint64 all = time_of(&specs[k], slow[i], NULL, TRUE, NULL);
            gboolean exact = specs[k].tp == 1 || specs[k].pp == 1;
            g_assert_cmpint(ABS(classes - all), <=, exact ? 0 : all / 5000);
        }
}

/* Replicas on two nodes, and nothing but a gradient all-reduce between them at the end. A card that is too slow for it
 * is what it takes its time by: bytes / rate. So from a half to a third of the rate costs once bytes / rate more, and
 * from a third to a sixth three times. */
static void
test_half_card(void)
{
    PlanSpec spec = spec_on(8, 1, 2); /* one replica a node */
    spec.zero = 0;
    spec.overlap_grad_reduce = FALSE;
    spec.gradient_fp32 = TRUE;
    gint64 time = time_of(&spec, NULL, NULL, FALSE, NULL);
    gint64 half = time_of(&spec, "nic:1.3=50%", NULL, FALSE, NULL);
    gint64 third = time_of(&spec, "nic:1.3=3", NULL, FALSE, NULL);
    gint64 sixth = time_of(&spec, "nic:1.3=6", NULL, FALSE, NULL);
    g_assert_cmpint(half, >, time);
    g_assert_cmpint(third, >, half);
    g_assert_cmpint(ABS((sixth - third) - 3 * (third - half)), <=, 100);
    /* two slow cards are not slower than one: every rank has its own */
    g_assert_cmpint(time_of(&spec, "nic:1.3=50%,nic:0.5=50%", NULL, FALSE, NULL), ==, half);
}

/* A card that is down from before what crosses it begins until long after the undisturbed end: then all that crosses
 * it begins at the end of the failure. */
static void
test_failure(void)
{
    PlanSpec spec = spec_on(8, 1, 2);
    spec.zero = 0;
    spec.overlap_grad_reduce = FALSE;
    gint64 time = time_of(&spec, NULL, NULL, FALSE, NULL);
    g_assert_cmpint(time_of(&spec, NULL, "nic:0.2@0ns+1ns", FALSE, NULL), ==, time);
    gint64 down = time_of(&spec, NULL, "nic:0.2@0ns+10s", FALSE, NULL);
    gint64 longer = time_of(&spec, NULL, "nic:0.2@0ns+11s", FALSE, NULL);
    g_assert_cmpint(down, >, 10000000000);
    g_assert_cmpint(down, <, 10000000000 + time);
    g_assert_cmpint(longer - down, ==, 1000000000);
    g_assert_cmpint(time_of(&spec, NULL, "nic:0.2@20s+10s", FALSE, NULL), ==, time);
}

/* Places outside of the machine, and links that nothing has. */
static void
test_refused(void)
{
    static const char *const slow[] = {"gpu:16=2", "node:2=2", "nic:0.8=2", "nic:2.0=2",
                                       "no such link=2"};
    PlanSpec spec = spec_on(8, 1, 2);
    for (guint i = 0; i < G_N_ELEMENTS(slow); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_cmpint(time_of(&spec, slow[i], NULL, FALSE, &error), ==, -1);
        g_assert_nonnull(error);
        g_assert_nonnull(strstr(error->message, "write"));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("What is slow costs what arithmetic says, and waits are where barriers are.");
    g_test_add_func("/step/noise/texts", test_reading);
    g_test_add_func("/step/noise/places", test_places);
    g_test_add_func("/step/noise/a lone slow GPU", test_lone_gpu);
    g_test_add_func("/step/noise/a group goes as its slowest member", test_slow_member);
    g_test_add_func("/step/noise/split classes are all ranks", test_classes);
    g_test_add_func("/step/noise/half a card doubles what crosses it", test_half_card);
    g_test_add_func("/step/noise/a card that fails", test_failure);
    g_test_add_func("/step/noise/what is not there is refused", test_refused);
    return g_test_run();
}
