/* --config: torchtitan's keys, those of 2024, too, as options of this program. */
#include "config.h"

#include "cli-config-fixture.h"

static void
test_torchtitan_degrees(void)
{
    static const Case cases[] = {
        {"--gpus 64", LLAMA,
         "--framework torchtitan --model llama3-8b --tp 1 --pp 1 --cp 1 --ep 1 --zero 3 "
         "--seq-length 2048 --micro-batch-size 6 --microbatches 1 --dtype bf16 --recompute full "
         "--recompute-method every --recompute-layers 2 --clip 1 --optimizer adam",
         NULL},
        {"", LLAMA "[parallelism]\ndata_parallel_shard_degree = 4\n", "--dp 4 --zero 3", NULL},
        {"",
         LLAMA "[parallelism]\ndata_parallel_shard_degree = 4\n"
               "data_parallel_replicate_degree = 2\n",
         "--dp 8 --zero 3 --shard-size 4", NULL},
        {"",
         LLAMA "[parallelism]\ndata_parallel_shard_degree = 1\n"
               "data_parallel_replicate_degree = 2\n",
         "--dp 2 --zero 0", NULL},
        {"--gpus 32",
         LLAMA "[parallelism]\ntensor_parallel_degree = 2\n"
               "data_parallel_replicate_degree = 2\n",
         "--zero 3 --shard-size 8", NULL},
        {"--nodes 4 --tp 4",
         LLAMA "[parallelism]\ntensor_parallel_degree = 2\n"
               "data_parallel_replicate_degree = 2\n",
         "--zero 3 --shard-size 4", NULL},
    };
    check(&conf_toml_syntax, cases, G_N_ELEMENTS(cases));
}

static void
test_torchtitan_pipelines(void)
{
    static const Case cases[] = {
        /* 32 layers and two ends over 4 stages: 9, 9, 8 and 8, without the ends 8, 9, 8 and 7 */
        {"--gpus 64", LLAMA "[parallelism]\npipeline_parallel_degree = 4\n",
         "--micro-batch-size 1 --microbatches 6 --schedule 1f1b --vpp 1 --stage-layers 8,9,8,7",
         NULL},
        {"--gpus 64",
         LLAMA "[parallelism]\npipeline_parallel_degree = 2\n"
               "pipeline_parallel_schedule = 'Interleaved1F1B'\n"
               "pipeline_parallel_microbatch_size = 3\n",
         "--micro-batch-size 3 --microbatches 2 --schedule interleaved_torch --vpp 2 --stage-layers "
         "8,9,8,7",
         NULL},
        {"--gpus 64",
         LLAMA "[parallelism]\npipeline_parallel_degree = 2\n"
               "pipeline_parallel_schedule = 'Interleaved1F1B'\n"
               "pipeline_parallel_layers_per_stage = 6\n",
         "--vpp 3 --stage-layers 5,6,6,6,5,4", NULL},
        {"--gpus 64 --vpp 2", LLAMA "[parallelism]\npipeline_parallel_degree = 2\n",
         "--microbatches 6 --dtype bf16", NULL}, /* schedule and stages give way */
        {"--gpus 64", LLAMA "[parallelism]\npipeline_parallel_schedule = 'GPipe'\n",
         "--microbatches 1 --dtype bf16",
         "f:6: parallelism.pipeline_parallel_schedule: is ignored: there is no pipeline, its degree "
         "is 1"},
    };
    check(&conf_toml_syntax, cases, G_N_ELEMENTS(cases));
}

/* The layout of 2024: degrees in [training], what was new in [experimental]. */
static void
test_torchtitan_older(void)
{
#define OLDER                                                                                      \
    "[model]\nflavor = '8B'\n[training]\nbatch_size = 4\ntensor_parallel_degree = 2\n"             \
    "data_parallel_replicate_degree = 2\ncompile = true\n"
    static const Case cases[] = {
        {"--gpus 64",
         OLDER "[experimental]\ncontext_parallel_degree = 2\nenable_async_tensor_parallel = true\n",
         /* 64 / 2 / 2 = 16 replicas are 2 copies of 8 ranks, times cp 2 */
         "--tp 2 --pp 1 --cp 2 --ep 1 --zero 3 --shard-size 16 --seq-length 2048 "
         "--micro-batch-size 4 --microbatches 1",
         NULL},
        {"--gpus 64", OLDER "[experimental]\nenable_async_tensor_parallel = true\n",
         "--optimizer adam --tp-comm-overlap", NULL},
        {"", "[model]\nflavor = '8B'\n[training]\ndata_parallel_degree = 4\n", "--dp 4 --zero 3",
         NULL},
        /* as many microbatches as stages: 2, and of the interleaved 4 */
        {"--gpus 64", OLDER "[experimental]\npipeline_parallel_degree = 2\n",
         "--micro-batch-size 2 --microbatches 2 --schedule 1f1b --vpp 1", NULL},
        {"--gpus 64",
         OLDER "[experimental]\npipeline_parallel_degree = 2\n"
               "pipeline_parallel_schedule = 'interleaved_1f1b'\n",
         "--micro-batch-size 1 --microbatches 4 --schedule interleaved_torch --vpp 2", NULL},
        {"--gpus 64",
         OLDER "[experimental]\npipeline_parallel_degree = 2\npipeline_parallel_microbatches = 1\n",
         "--micro-batch-size 4 --microbatches 1 --schedule 1f1b", NULL},
        {"--gpus 64", OLDER "[experimental]\npipeline_parallel_degree = 8\n",
         "--micro-batch-size 1 --microbatches 4 --schedule 1f1b",
         "f:4: training.batch_size: is not a multiple of 8 stages"},
        {"--gpus 64", OLDER "[experimental]\npipeline_parallel_split_points = ['layers.4']\n",
         "--tp 2 --pp 1",
         "f:9: experimental.pipeline_parallel_split_points: not modelled: write --stage-layers"},
        {"--gpus 64", OLDER "[float8]\nenable_float8_linear = true\n",
         "--dtype fp8 --no-fp8-param-gather", NULL},
        {"--gpus 64", OLDER "[experimental]\npipeline_paralel_degree = 2\n", "--pp 1",
         "f:9: experimental.pipeline_paralel_degree: not a key that is read; did you mean "
         "'pipeline_parallel_degree'?"},
        /* where a key stands in both, the newer one counts */
        {"--gpus 64", OLDER "[parallelism]\ntensor_parallel_degree = 4\n", "--tp 4 --pp 1", NULL},
    };
    check(&conf_toml_syntax, cases, G_N_ELEMENTS(cases));
    static const Refusal refusals[] = {
        {"--gpus 64", OLDER "[experimental]\npipeline_parallel_degree = 'x'\n",
         "f:9: experimental.pipeline_parallel_degree: expected a whole number from 1, got \"x\""},
        {"--gpus 64",
         OLDER "[experimental]\npipeline_parallel_degree = 2\npipeline_parallel_microbatches = 3\n",
         "f:10: experimental.pipeline_parallel_microbatches: 3 does not divide the local batch of "
         "4"},
        {"--gpus 64", "experimental = 1\n" OLDER,
         "f:1: experimental: expected keys and values, got 1"},
    };
    check_refusals(&conf_toml_syntax, refusals, G_N_ELEMENTS(refusals));
}

static void
test_torchtitan_kernels(void)
{
    static const Case cases[] = {
        {"--gpus 64",
         "[model]\nflavor = '8B'\nconverters = ['float8']\n[float8]\n"
         "enable_fsdp_float8_all_gather = true\n",
         "--dtype fp8 --fp8-param-gather", NULL},
        {"--gpus 64", LLAMA "[quantize.linear.float8]\nenable_fsdp_float8_all_gather = true\n",
         "--dtype bf16 --recompute", NULL},
        {"--gpus 64",
         LLAMA "[activation_checkpoint]\nmode = 'selective'\nselective_ac_option = 'op'",
         "--recompute selective --recompute-modules second_gemm", NULL},
        {"--gpus 64", LLAMA "[activation_checkpoint]\nselective_ac_option = '3'\n",
         "--recompute full --recompute-method every --recompute-layers 3", NULL},
        {"--gpus 64", LLAMA "[compile]\nenable = true\n", "--optimizer adam --fused-loss", NULL},
        {"--gpus 64",
         LLAMA "[compile]\nenable = true\ncomponents = ['model']\n"
               "[parallelism]\ntensor_parallel_degree = 2\n"
               "enable_async_tensor_parallel = true\n",
         "--optimizer adam --tp-comm-overlap", NULL},
        {"--gpus 64", LLAMA "global_batch_size = 768\n[training.x]\n",
         "--micro-batch-size 6 --global-batch-size 768", NULL},
        {"--gpus 64", LLAMA "global_batch_size = -1\n", "--microbatches 1", NULL},
        {"--gpus 64 --microbatches 3", LLAMA "global_batch_size = 768\n", "--micro-batch-size 6",
         NULL},
    };
    check(&conf_toml_syntax, cases, G_N_ELEMENTS(cases));
}

static void
test_torchtitan_refusals(void)
{
    static const Refusal refusals[] = {
        {"", LLAMA "[parallelism]\ndata_parallel_shard_degree = -1\n",
         "f:6: parallelism.data_parallel_shard_degree: takes all GPUs that are left, and nothing "
         "says how many there are; write --gpus"},
        {"", LLAMA,
         "f: takes all GPUs that are left, and nothing says how many there are; write "
         "--gpus"},
        {"--gpus 64", "[model]\nname = 'llama3'\nflavor = '9B'\n",
         "f:3: model.flavor: llama3 9B does not ship with dtsim, which has llama3 8B, llama3 70B, "
         "llama3 405B, llama4 17bx16e, deepseek_v3 16B, deepseek_v3 671B, qwen3 32B, qwen3 30B-A3B, "
         "qwen3 235B-A22B; write --model"},
        {"--gpus 63", LLAMA "[parallelism]\ndata_parallel_replicate_degree = 2\n",
         "f:6: parallelism.data_parallel_replicate_degree: the GPUs that are left are not known to "
         "be a multiple of 2; write --gpus with one number that is"},
        {"--gpus 64",
         LLAMA "[parallelism]\npipeline_parallel_degree = 2\n"
               "pipeline_parallel_layers_per_stage = 10\n",
         "f:7: parallelism.pipeline_parallel_layers_per_stage: makes 4 stages, which 1f1b on 2 "
         "ranks does not take; write another, or --stage-layers"},
        {"--gpus 64", "[model]\nflavor = '8B'\nconverters = 'float8'\n",
         "f:3: model.converters: expected a list of words, got \"float8\""},
        {"--gpus 64", LLAMA "[compile]\ncomponents = [1]\n",
         "f:6: compile.components: expected a list of words, got [1]"},
        {"--gpus 64", LLAMA "[activation_checkpoint]\nselective_ac_option = '2x'\n",
         "f:6: activation_checkpoint.selective_ac_option: '2x' is not known; write op or a whole "
         "number"},
        {"--gpus 64", LLAMA "[activation_checkpoint]\nselective_ac_option = '0'\n",
         "f:6: activation_checkpoint.selective_ac_option: '0' is not known; write op or a whole "
         "number"},
        /* 32 + 100 + 1 over 2 stages are 67 and 66; 67 - 100 */
        {"--gpus 64",
         LLAMA "[parallelism]\npipeline_parallel_degree = 2\n"
               "pipeline_parallel_first_stage_less_layers = 100\n",
         "f:7: parallelism.pipeline_parallel_first_stage_less_layers: the first of 2 stages has -33 "
         "layers; write a smaller number, or --stage-layers"},
        {"--gpus 64", LLAMA "[parallelism]\ndata_parallel_shard_degree = 0\n",
         "f:6: parallelism.data_parallel_shard_degree: expected a whole number from 1, got 0"},
    };
    check_refusals(&conf_toml_syntax, refusals, G_N_ELEMENTS(refusals));
}

static const char *
place_of(const CliInputs *in, const char *option)
{
    for (guint i = 0; i < in->said->len; i++) {
        const CliSaying *s = in->said->pdata[i];
        if (strcmp(s->option, option) == 0)
            return s->place;
    }
    return NULL;
}

/* The table of a schedule is beside the file that names it, and what is wrong with it is of a key of that file. */
static void
test_table(void)
{
    static const struct {
        const char *file, *csv, *schedule;
    } cases[] = {{"a/b/t.toml", "s.csv", "a/b/s.csv"},
                 {"a/b/t.toml", "c/s.csv", "a/b/c/s.csv"},
                 {"a/b/t.toml", "/c/s.csv", "/c/s.csv"},
                 {"t.toml", "s.csv", "s.csv"}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(CliInputs) in = typed("--gpus 64");
        g_autofree char *text =
            g_strdup_printf(LLAMA "[parallelism]\npipeline_parallel_degree = 2\n"
                                  "pipeline_parallel_schedule_csv = '%s'\n",
                            cases[i].csv);
        g_autoptr(ConfDocument) d =
            conf_document_parse(cases[i].file, &conf_toml_syntax, text, NULL);
        g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
        g_assert_true(cli_config_put(in, &system_of_8, d, warnings, NULL));
        g_assert_cmpstr(in->schedule, ==, cases[i].schedule);
        g_autoptr(GError) error =
            g_error_new(CLI_ERROR, CLI_ERROR_USAGE, "%s:1: is empty", cases[i].schedule);
        g_autofree char *message =
            g_strdup_printf("%s: %s", place_of(in, "schedule"), error->message);
        g_assert_true(g_str_has_suffix(place_of(in, "schedule"),
                                       ":7: parallelism.pipeline_parallel_schedule_csv"));
        cli_config_prefix_error(in, &error);
        g_assert_cmpstr(error->message, ==, message);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("torchtitan's configuration files become options of this program");
    g_test_add_func("/cli/config/torchtitan-degrees", test_torchtitan_degrees);
    g_test_add_func("/cli/config/torchtitan-pipelines", test_torchtitan_pipelines);
    g_test_add_func("/cli/config/torchtitan-of-2024", test_torchtitan_older);
    g_test_add_func("/cli/config/torchtitan-kernels-and-batch", test_torchtitan_kernels);
    g_test_add_func("/cli/config/torchtitan-refusals", test_torchtitan_refusals);
    g_test_add_func("/cli/config/a-table-lies-beside-its-file", test_table);
    return g_test_run();
}
