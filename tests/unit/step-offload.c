/* What waits for the host in time: offloaded optimizer states, parameters and activations. */
#include "config.h"

#include "step-record.h"

static void
test_offloaded_optimizer(void)
{
    g_test_summary(
        "gradients go down, the host steps at its memory's rate over 8 GPUs, parameters come up; "
        "one after the other where it is not overlapped");
    Machine m = tiny_new(NULL);
    LlmShape shape = shape_dense();
    PlanSpec spec = spec_of(PLAN_DEEPSPEED, 2, 1);
    spec.optimizer_device = PLAN_DEVICE_CPU;
    Run plain = run_on(&m, &shape, &spec);
    double owned = (double)llm_parameters(&shape).total / 8;
    g_autoptr(GArray) down = ops_of(&plain, "device to host", "grad_to_host");
    g_autoptr(GArray) step = ops_of(&plain, "host", "host_optimizer");
    g_autoptr(GArray) up = ops_of(&plain, "host to device", "parameters_to_device");
    g_assert_cmpuint(step->len, ==, 1);
    g_assert_cmpuint(up->len, ==, 1);
    gint64 down_ns = sum(&plain, "device to host", "grad_to_host");
    /* 16-bit both ways over 10 GB/s; 34 bytes a parameter over 100/8 GB/s */
    g_assert_cmpfloat_with_epsilon((double)down_ns, owned * 2 / 10, (double)down->len);
    g_assert_cmpfloat_with_epsilon((double)(at(step, 0)->end - at(step, 0)->start),
                                   owned * 34 / 12.5, 1);
    g_assert_cmpfloat_with_epsilon((double)(at(up, 0)->end - at(up, 0)->start), owned * 2 / 10, 1);
    g_assert_cmpint(at(step, 0)->start, >=, at(down, down->len - 1)->end);
    g_assert_cmpint(at(up, 0)->start, ==, at(step, 0)->end);
    spec.overlap_offload = TRUE;
    Run overlapped = run_on(&m, &shape, &spec);
    g_assert_cmpint(overlapped.time, <, plain.time);
    spec.offload_frac = 0.5;
    Run half = run_on(&m, &shape, &spec);
    g_assert_cmpfloat_with_epsilon((double)sum(&half, "host", "host_optimizer"), owned * 34 / 25,
                                   20);
    run_clear(&plain), run_clear(&overlapped), run_clear(&half);
    machine_clear(&m);
}

static void
test_hosts(void)
{
    g_test_summary("a node of four hosts: two GPUs share the memory of theirs, not eight");
    const char *set[] = {"node.hosts=4", "host.memory=1GB", NULL};
    Machine m = tiny_new(set);
    LlmShape shape = shape_dense();
    PlanSpec spec = spec_of(PLAN_DEEPSPEED, 2, 1);
    spec.optimizer_device = PLAN_DEVICE_CPU;
    Run run = run_on(&m, &shape, &spec);
    double owned = (double)llm_parameters(&shape).total / 8;
    g_autoptr(GArray) step = ops_of(&run, "host", "host_optimizer");
    g_assert_cmpuint(step->len, ==, 1);
    /* 34 bytes a parameter over 100/2 GB/s */
    g_assert_cmpfloat_with_epsilon((double)(at(step, 0)->end - at(step, 0)->start), owned * 34 / 50,
                                   1);
    g_assert_cmpint(m.system->host_memory_bytes, ==, G_GINT64_CONSTANT(4000000000));
    run_clear(&run);
    machine_clear(&m);
}

static void
test_nvme(void)
{
    g_test_summary(
        "states come from the drives before the step and go back behind it; parameters come by "
        "way of the host before they are gathered");
    Machine m = tiny_new(NULL);
    LlmShape shape = shape_dense();
    PlanSpec spec = spec_of(PLAN_DEEPSPEED, 3, 1);
    spec.optimizer_device = spec.parameter_device = PLAN_DEVICE_NVME;
    Run run = run_on(&m, &shape, &spec);
    double owned = (double)llm_parameters(&shape).total / 8;
    g_autoptr(GArray) read = ops_of(&run, "nvme", "states_from_nvme");
    g_autoptr(GArray) step = ops_of(&run, "host", "host_optimizer");
    g_autoptr(GArray) write = ops_of(&run, "nvme", "states_to_nvme");
    g_assert_cmpuint(read->len, ==, 1);
    g_assert_cmpint(at(step, 0)->start, >=, at(read, 0)->end);
    g_assert_cmpint(at(write, 0)->start, ==, at(step, 0)->end);
    /* 12 bytes a parameter at 8/8 and 4/8 GB/s */
    g_assert_cmpfloat_with_epsilon((double)(at(read, 0)->end - at(read, 0)->start), owned * 12, 1);
    g_assert_cmpfloat_with_epsilon((double)(at(write, 0)->end - at(write, 0)->start), owned * 24,
                                   1);
    g_autoptr(GArray) shards = ops_of(&run, "nvme", "parameters_from_nvme");
    g_autoptr(GArray) up = ops_of(&run, "host to device", "parameters_to_device");
    g_autoptr(GArray) gathers = ops_of(&run, "gather", "param_all_gather");
    g_assert_cmpuint(gathers->len, ==, 2 * 10);
    g_assert_cmpuint(shards->len, ==, gathers->len);
    g_assert_cmpuint(up->len, ==, gathers->len);
    for (guint k = 0; k < gathers->len; k++) {
        g_assert_cmpint(at(up, k)->start, >=, at(shards, k)->end);
        g_assert_cmpint(at(gathers, k)->start, >=, at(up, k)->end);
    }
    run_clear(&run);
    machine_clear(&m);
}

static void
test_activations(void)
{
    g_test_summary(
        "activations of the first layers go down behind their forward and are back before their "
        "backward; memory falls, and over a slow link time rises");
    LlmShape shape = shape_dense();
    const char *const rates[] = {"node.pcie-rate=1000GBps", "node.pcie-rate=1GBps"};
    gint64 time[2][2];
    for (guint rate = 0; rate < 2; rate++) {
        Machine m = tiny_new((const char *const[]){rates[rate], "gpu.overlap=off", NULL});
        for (guint on = 0; on < 2; on++) {
            PlanSpec spec = spec_of(PLAN_MEGATRON, 1, 3);
            spec.offload_activations = on ? 6 : 0;
            spec.overlap_offload = TRUE;
            Run run = run_on(&m, &shape, &spec);
            g_autoptr(GArray) down = ops_of(&run, "device to host", "activations_to_host");
            g_autoptr(GArray) up = ops_of(&run, "host to device", "activations_to_device");
            g_assert_cmpuint(down->len, ==, on ? 3 * 6 : 0);
            g_assert_cmpuint(up->len, ==, down->len);
            for (guint k = 0; k < up->len; k++) { /* the last that went is the first that is back */
                guint pair = k / 6 * 6 + 5 - k % 6;
                g_assert_cmpint(at(up, k)->start, >=, at(down, pair)->end);
                g_assert_cmpint(at(up, k)->end - at(up, k)->start, ==,
                                at(down, pair)->end - at(down, pair)->start);
            }
            time[rate][on] = run.time;
            run_clear(&run);
        }
        machine_clear(&m);
    }
    g_assert_cmpint(time[1][1], >, time[1][0]);
    g_assert_cmpint(time[0][1] - time[0][0], <, (time[1][1] - time[1][0]) / 10);
}
static void
test_pairs(void)
{
    g_test_summary("a schedule of pairs takes no activations to the host and recomputes no part of "
                   "its microbatches: it is refused, not run without");
    Machine m = tiny_new(NULL);
    LlmShape shape = shape_dense();
    PlanSpec plain = spec_of(PLAN_MEGATRON, 1, 8);
    plain.pp = 2;
    plain.dp = 4;
    plain.schedule = "dualpipe";
    PlanSpec specs[] = {plain, plain, plain};
    specs[1].offload_activations = 1;
    specs[2].recompute = LLM_RECOMPUTE_FULL;
    specs[2].recompute_microbatches = 1;
    const char *const says[] = {NULL, "--offload-activations: schedule dualpipe",
                                "--recompute-microbatches: schedule dualpipe"};
    for (guint i = 0; i < G_N_ELEMENTS(specs); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(StepResult) r = machine_run(&m, &shape, &specs[i], NULL, NULL, NULL, &error);
        g_assert_true((r != NULL) == (says[i] == NULL));
        if (says[i] != NULL)
            g_assert_true(g_str_has_prefix(error->message, says[i]));
    }
    machine_clear(&m);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/step/offload/offloaded-optimizer", test_offloaded_optimizer);
    g_test_add_func("/step/offload/hosts-of-a-node", test_hosts);
    g_test_add_func("/step/offload/states-and-parameters-on-drives", test_nvme);
    g_test_add_func("/step/offload/offloaded-activations", test_activations);
    g_test_add_func("/step/offload/pairs-refuse", test_pairs);
    return g_test_run();
}
