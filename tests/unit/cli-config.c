/* --config: what each framework's keys come to as options of this program, below what was typed. */
#include "config.h"

#include "cli-config-fixture.h"

#define NEOX_BARE                                                                                  \
    "num_layers: 2\nhidden_size: 64\nnum_attention_heads: 4\nmax_position_embeddings: 128\n"       \
    "padded_vocab_size: 512\n"
#define NEOX NEOX_BARE "fp16: {enabled: true}\n"
static void
test_neox(void)
{
    static const Case cases[] = {
        {"--gpus 8", NEOX "pipe_parallel_size: 0\n",
         "--framework deepspeed --tp 1 --pp 1 --no-sequence-parallel --zero 0 --dtype fp16 --clip 1 "
         "--attention unfused --recompute none",
         NULL},
        {"--gpus 8", NEOX "pipe_parallel_size: 1\n",
         "--pp 1 --deepspeed-pipeline --schedule 1f1b --no-sequence-parallel", NULL},
        {"--gpus 8", NEOX_BARE "precision: bfloat16\nfp16: {enabled: true}\n", "--dtype bf16",
         NULL},
        {"--gpus 8", NEOX_BARE "fp16: {enabled: true, type: bfloat16}\n", "--dtype bf16", NULL},
        {"--gpus 8", NEOX "attention_config: [[[flash], 2]]\n", "--attention flash", NULL},
        {"--gpus 8", NEOX "train_batch_size: 64\ngradient_accumulation_steps: 4\n",
         "--microbatches 4 --global-batch-size 64 --micro-batch-size 2", NULL},
        {"--gpus 8", NEOX "train_micro_batch_size_per_gpu: 3\n",
         "--micro-batch-size 3 --microbatches 1", NULL},
        {"--gpus 8", NEOX "train-micro-batch-size-per-gpu: 3\n", "--micro-batch-size 3", NULL},
        {"--gpus 8", NEOX "train-micro_batch-size_per_gpu: 3\n", "--micro-batch-size 3", NULL},
        {"--gpus 8", NEOX "zero-optimization: {stage: 1, reduce_bucket_size: 7}\n",
         "--bucket-size 7 --framework deepspeed --tp 1 --pp 1 --no-sequence-parallel --zero 1",
         NULL},
        {"--gpus 8", NEOX "zero_optimization: {offload-optimizer: {device: cpu}}\n",
         "--zero 0 --offload-optimizer cpu", NULL},
        {"--gpus 8", NEOX "zero-optimization: {stge: 1}\n", "--zero 0",
         "f:7: zero_optimization.stge: not a key that is read; did you mean 'stage'?"},
        {"--gpus 8", NEOX "gradient_clipping: null\n", "--clip 0", NULL},
        {"--gpus 8", NEOX "use_bnb_optimizer: true\n", "--optimizer adam-8bit", NULL},
        {"--gpus 8", NEOX "optimizer: {type: Lion}\n", "--zero 0",
         "f:7: optimizer.type: 'Lion' is not modelled: adam is taken; write --optimizer"},
        {"--gpus 8", NEOX "gpt_j_residual: true\n", "--tp 1", "attention and MLP run one after"},
        {"--gpus 8", NEOX "mlp_type: llama\nuse_bias_in_attn_linear: false\nnorm: rmsnorm\n",
         "--tp 1", NULL},
        {"--gpus 8", NEOX "mlp_type: llama\n", "--tp 1",
         "f:7: mlp_type: not modelled: biases are in both parts of a layer or in none"},
        {"--gpus 8", NEOX_BARE, "--dtype fp32",
         "f: enables neither fp16 nor bf16: fp32 is taken; write --dtype"},
        {"--gpus 8 --dtype bf16", NEOX_BARE, "--tp 1", NULL},
        {"", NEOX, "--tp 1", "f: says no number of GPUs; --dp 1 is taken; write --gpus"},
        {"--gpus 8", NEOX "num_layer: 3\n", "--tp 1", NULL}, /* num_layers is there */
        {"--gpus 8", NEOX "seq_lenght: 64\n", "--tp 1",
         "f:7: seq_lenght: not a key that is read; did you mean 'seq_length'?"},
        {"--gpus 8", NEOX "eval_iters: 1\ntrain_iters: 2\nwarmup: 0.1\nsave: x\n", "--tp 1", NULL},
    };
    check(&conf_yaml_syntax, cases, G_N_ELEMENTS(cases));
}

static void
test_neox_refusals(void)
{
    static const Refusal refusals[] = {
        {"--gpus 8", "num_layers: 2\nhidden_size: 64\n",
         "f: has no num_attention_heads; write it, or --model"},
        {"--gpus 8", NEOX "model_parallel_size: two\n",
         "f:7: model_parallel_size: expected a whole number from 1, got \"two\""},
        {"--gpus 8", NEOX "model_parallel_size: 1.5\n",
         "f:7: model_parallel_size: expected a whole number from 1, got 1.5"},
        {"--gpus 8", NEOX "model_parallel_size: 3000000000\n",
         "f:7: model_parallel_size: expected at most 2147483647, got 3000000000"},
        {"--gpus 8", NEOX "norm: scalenorm\n",
         "f:7: norm: 'scalenorm' is not known; did you mean 'layernorm'?; write one of layernorm, "
         "rmsnorm, te_layernorm, te_rmsnorm"},
        {"--gpus 8", NEOX "attention_config: [[[local, global], 1]]\n",
         "f:7: attention_config: attention that is not flash, or global, in every layer is not "
         "modelled; write [[[\"flash\"], \"all\"]]"},
        {"--gpus 8", NEOX "train_batch_size: 12\n",
         "f:7: train_batch_size: 12 sequences are not a multiple of 1 steps x 8 replicas; write "
         "--micro-batch-size, or other --gpus"},
        {"", NEOX "train_batch_size: 12\n",
         "f:7: train_batch_size: the microbatch follows from it and the number of replicas, which "
         "is not known; write --gpus or --micro-batch-size"},
        {"--gpus 8", NEOX "zero_optimization: {stage: 4}\n",
         "f:7: zero_optimization.stage: there is no stage 4; write 0, 1, 2 or 3"},
        {"--gpus 8", NEOX "zero_optimization: 1\n",
         "f:7: zero_optimization: expected keys and values, got 1"},
        {"--gpus 8", NEOX "moe_num_experts: 4\n",
         "f:7: moe_num_experts: GPT-NeoX's experts are not read; write --model with a config.json "
         "that has them"},
        {"--gpus 8", "a: 1\n",
         "f: is no configuration in YAML of GPT-NeoX (with one of pipe_parallel_size, "
         "pipe-parallel-size, model_parallel_size, model-parallel-size, num_layers, num-layers) or "
         "nanotron (with one of parallelism)"},
    };
    check_refusals(&conf_yaml_syntax, refusals, G_N_ELEMENTS(refusals));
}

static const Case deepspeed[] = {
    {"--gpus 8 --model gpt2-xl", "{\"zero_optimization\": {}}",
     "--framework deepspeed --zero 0 --dtype fp32 --clip 0",
     "f: enables neither fp16 nor bf16: fp32 is taken; write --dtype"},
    {"--gpus 8 --model gpt2-xl", "{\"fp16\": {\"enabled\": true}}", "--dtype fp16", NULL},
    {"--gpus 8 --model gpt2-xl",
     "{\"bf16\": {\"enabled\": \"auto\"}, \"fp16\": {\"enabled\": \"auto\"}}", "--dtype bf16",
     "f:1: bf16.enabled: 'auto' is given elsewhere: bf16 is taken; write --dtype"},
    /* the one that is open, where the other is not */
    {"--gpus 8 --model gpt2-xl", "{\"fp16\": {\"enabled\": \"auto\"}}", "--dtype fp16",
     "f:1: fp16.enabled: 'auto' is given elsewhere: fp16 is taken; write --dtype"},
    {"--gpus 8 --model gpt2-xl",
     "{\"bf16\": {\"enabled\": false}, \"fp16\": {\"enabled\": \"auto\"}}", "--dtype fp16",
     "f:1: fp16.enabled: 'auto' is given elsewhere: fp16 is taken; write --dtype"},
    {"--gpus 8 --model gpt2-xl",
     "{\"bf16\": {\"enabled\": \"auto\"}, \"fp16\": {\"enabled\": true}}", "--dtype fp16", NULL},
    {"--gpus 8 --model gpt2-xl", "{\"bfloat16\": {\"enabled\": \"auto\"}, \"fp16\": {}}",
     "--dtype bf16",
     "f:1: bfloat16.enabled: 'auto' is given elsewhere: bf16 is taken; write --dtype"},
    /* null is as if it were not there; of the norm it is none */
    {"--gpus 8 --dtype bf16 --model gpt2-xl",
     "{\"train_batch_size\": 32, \"train_micro_batch_size_per_gpu\": null, "
     "\"gradient_accumulation_steps\": null, \"gradient_clipping\": null}",
     "--clip 0 --global-batch-size 32 --micro-batch-size 4", NULL},
    {"--gpus 8 --dtype bf16 --model gpt2-xl",
     "{\"train_batch_size\": \"auto\", \"train_micro_batch_size_per_gpu\": 4, "
     "\"gradient_accumulation_steps\": null}",
     "--clip 0 --micro-batch-size 4 --microbatches 1", NULL},
    /* 32 sequences in 2 typed steps on 8 replicas; the file's own steps would make it 1 */
    {"--gpus 8 --dtype bf16 --model gpt2-xl --microbatches 2",
     "{\"train_batch_size\": 32, \"gradient_accumulation_steps\": 4}", "--micro-batch-size 2",
     NULL},
    /* typed, it decides what of stage 3 is read */
    {"--gpus 8 --dtype bf16 --model gpt2-xl --zero 3",
     "{\"zero_optimization\": {\"stage\": 2, \"stage3_max_live_parameters\": 7, "
     "\"stage3_prefetch_bucket_size\": \"auto\"}}",
     "--live-elements 7 --clip 0 --prefetch-elements 2304000", NULL},
    {"--gpus 8 --dtype bf16 --model gpt2-xl --zero 2",
     "{\"zero_optimization\": {\"stage\": 3, \"stage3_max_live_parameters\": 7}}",
     "--framework deepspeed --clip 0", NULL},
    {"--gpus 8 --model gpt2-xl --dtype fp16 --clip 1",
     "{\"bf16\": {\"enabled\": \"auto\"}, \"gradient_clipping\": \"auto\"}", "--zero 0", NULL},
    {"--gpus 8 --dtype bf16 --model gpt2-xl",
     "{\"zero_optimization\": {\"stage\": 3, \"offload_param\": {\"device\": \"cpu\"}, "
     "\"offload_optimizer\": {\"device\": \"nvme\"}, \"stage3_max_live_parameters\": 0}}",
     "--zero 3 --offload-optimizer nvme --offload-params cpu --live-elements 1", NULL},
    {"--gpus 8 --dtype bf16 --model gpt2-xl",
     "{\"zero_optimization\": {\"stage\": 2, \"cpu_offload\": true}}",
     "--zero 2 --offload-optimizer cpu", NULL},
    {"--gpus 8 --dtype bf16 --model gpt2-xl",
     "{\"zero_optimization\": {\"stage\": 3, \"sub_group_size\": 1e14, "
     "\"stage3_prefetch_bucket_size\": 1e7}}",
     "--prefetch-elements 10000000", NULL},
    {"--gpus 8 --dtype bf16 --model gpt2-xl",
     "{\"zero_optimization\": {\"stage\": 3, \"zero_quantized_weights\": true}}", "--zero 3",
     "f:1: zero_optimization.zero_quantized_weights: not modelled: weights are gathered in 16"},
    {"--gpus 8 --model gpt2-xl", "{\"zero_optimization\": {\"stge\": 3}}", "--zero 0",
     "f:1: zero_optimization.stge: not a key that is read; did you mean 'stage'?"},
    /* of gpt2-xl's hidden size 1600: h^2, 0.9 h^2, 10 h */
    {"--gpus 8 --dtype bf16 --model gpt2-xl",
     "{\"zero_optimization\": {\"stage\": 3, \"reduce_bucket_size\": \"auto\", "
     "\"stage3_prefetch_bucket_size\": \"auto\", "
     "\"stage3_param_persistence_threshold\": \"auto\"}}",
     "--bucket-size 2560000 --prefetch-elements 2304000 --resident-elements 16000", NULL},
    {"--gpus 8", "{\"zero_optimization\": {}}", "--zero 0",
     "f: knows no model; gpt3-175b is taken; write --model"},
    {"--gpus 16 --tp 2 --dtype bf16 --model gpt2-xl", "{\"train_batch_size\": 32}",
     "--global-batch-size 32 --micro-batch-size 4", NULL},
    {"--gpus 8 --dtype bf16 --model gpt2-xl",
     "{\"train_batch_size\": 4, \"data_types\": {\"grad_accum_dtype\": \"fp32\"}, "
     "\"tensor_parallel\": {\"autotp_size\": 2}}",
     "--grad-dtype fp32 --clip 0 --tp 2", NULL},
};

static void
test_deepspeed(void)
{
    check(&conf_json_syntax, deepspeed, G_N_ELEMENTS(deepspeed));
    static const Refusal refusals[] = {
        {"", "{\"bf16\": {\"enabled\": true}, \"fp16\": {\"enabled\": true}}",
         "f:1: bf16.enabled: and fp16 are both enabled; write one of the two"},
        {"", "{\"model_type\": \"llama\"}",
         "f: is no configuration in JSON of DeepSpeed (with one of zero_optimization, "
         "train_batch_size, train_micro_batch_size_per_gpu, gradient_accumulation_steps, fp16, "
         "bf16); it is a model's: write --model"},
        {"", "{\"zero_optimization\": {\"stage\": true}}",
         "f:1: zero_optimization.stage: expected a whole number from 0, got true"},
        {"", "{\"zero_optimization\": {\"overlap_comm\": 1}}",
         "f:1: zero_optimization.overlap_comm: expected true or false, got 1"},
    };
    check_refusals(&conf_json_syntax, refusals, G_N_ELEMENTS(refusals));
}

#define NANO "parallelism: {dp: 2, pp: 1, tp: 1}\n"
#define NANO_MODEL                                                                                 \
    "model:\n  model_config: {num_hidden_layers: 4, hidden_size: 64, intermediate_size: 128, "     \
    "num_attention_heads: 4, vocab_size: 512"

static void
test_nanotron(void)
{
    static const Case cases[] = {
        {"--model gpt2-xl",
         NANO "tokens: {micro_batch_size: 3, sequence_length: 64, "
              "batch_accumulation_per_replica: 2}\n",
         "--micro-batch-size 3 --microbatches 2 --seq-length 64 --framework nanotron --tp 1 --pp 1 "
         "--dp 2 --cp 1 --ep 1 --clip 0 --grad-dtype fp32 --recompute none",
         NULL},
        {"--model gpt2-xl",
         "parallelism: {dp: 1, tp: 2, pp: 2, pp_engine: afab, tp_mode: "
         "REDUCE_SCATTER}",
         "--schedule gpipe --sequence-parallel", NULL},
        {"--model gpt2-xl", "parallelism: {tp: 2, pp: 2}",
         "--schedule gpipe --no-sequence-parallel", NULL},
        {"--gpus 4 --model gpt2-xl", NANO, "--pp 1 --cp 1", NULL}, /* --dp 2 gives way */
        {"--model gpt2-xl", NANO "optimizer: {clip_grad: null}\n", "--ep 1 --clip 0", NULL},
        {"--model gpt2-xl", NANO "optimizer: {clip_grad: 0.5}\n", "--ep 1 --clip 0.5", NULL},
        {"", NANO NANO_MODEL ", is_llama_config: true}\n  ddp_bucket_cap_mb: 2\n  dtype: float32\n",
         "--dtype fp32 --grad-dtype fp32 --recompute none --bucket-size 524288", NULL},
        /* a layer costs 4 x 64 x 64 + 3 x 128 x 64 = 40960, the head 512 x 64 = 32768: half of
         * 196608 is full with the third layer */
        {"--pp 2", NANO NANO_MODEL "}\n", "--stage-layers 3,1", NULL},
        {"", NANO NANO_MODEL ", tie_word_embedding: true}\n", "--dp 2",
         "f:3: model.model_config.tie_word_embedding: not a key that is read; did you mean "
         "'tie_word_embeddings'?"},
    };
    check(&conf_yaml_syntax, cases, G_N_ELEMENTS(cases));
    static const Refusal refusals[] = {
        {"", NANO NANO_MODEL ", is_starcoder2_config: true}\n",
         "f:3: model.model_config.is_starcoder2_config: its layer is not modelled; write --model"},
        {"", NANO NANO_MODEL ", moe_config: {layers: [1, 2]}}\n",
         "f:3: model.model_config.moe_config.layers: experts in some layers alone are not read; "
         "write --model"},
        {"", NANO "model: {model_config: {hidden_size: 64}}\n",
         "f:2: model.model_config: has no num_hidden_layers; write it, or --model"},
        {"", "parallelism: {pp_engine: 1f2b}",
         "f:1: parallelism.pp_engine: '1f2b' is not known; did you mean '1f1b'?; write one of 1f1b, "
         "afab"},
    };
    check_refusals(&conf_yaml_syntax, refusals, G_N_ELEMENTS(refusals));
}

/* What is typed stands above the file, and above what it decides with it. */
static void
test_typed(void)
{
    static const Case cases[] = {
        {"--gpus 8 --tp 2 --recompute none",
         NEOX "model_parallel_size: 4\n"
              "checkpoint_activations: true\n",
         "--pp 1 --no-sequence-parallel --zero 0 --dtype fp16 --clip 1 --attention unfused", NULL},
        {"--gpus 8 --fsdp", NEOX "zero_optimization: {stage: 1}\n",
         "--tp 1 --pp 1 --no-sequence-parallel --dtype fp16", NULL},
        {"--gpus 8 --sequence-parallel", NEOX, "--pp 1 --zero 0", NULL},
        {"--gpus 8 --global-batch-size 64",
         NEOX "train_micro_batch_size_per_gpu: 4\n"
              "gradient_accumulation_steps: 3\n",
         "--recompute none --micro-batch-size 4", NULL},
    };
    check(&conf_yaml_syntax, cases, G_N_ELEMENTS(cases));
    g_autoptr(CliInputs) in = typed("--gpus 8 --tp 2 --global-batch-size 64");
    g_autoptr(ConfDocument) d =
        document(&conf_yaml_syntax, NEOX "model_parallel_size: 4\n"
                                         "gradient_accumulation_steps: 3\n");
    g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
    g_assert_true(cli_config_put(in, &system_of_8, d, warnings, NULL));
    g_assert_cmpint(in->spec.tp, ==, 2);
    g_assert_false(cli_inputs_is_given(in, "microbatches"));
    g_assert_cmpstr(cli_inputs_model_name(in), ==, "f");
    g_assert_nonnull(strstr(in->config_model, "\"n_layer\":2"));
}

/* GPT-NeoX's Llama: an MLP of two thirds of 4 h, rounded up to 256; 8 x 64 / 3 = 170. */
static void
test_model(void)
{
    g_autoptr(CliInputs) in = typed("--gpus 8");
    g_autoptr(ConfDocument) d =
        document(&conf_yaml_syntax, NEOX "pos-emb: rotary\nmlp_type: llama\nnorm: rmsnorm\n"
                                         "use-bias-in-attn-linear: false\nno-weight-tying: true\n");
    g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
    g_assert_true(cli_config_put(in, &system_of_8, d, warnings, NULL));
    g_assert_cmpuint(warnings->len, ==, 0);
    g_autoptr(LlmShape) shape = llm_shape_parse("m", in->config_model, NULL);
    g_assert_nonnull(shape);
    g_assert_cmpint(shape->ffn, ==, 256);
    g_assert_true(shape->gated && shape->norm == LLM_NORM_RMS);
    g_assert_true(shape->position == LLM_POSITION_ROPE);
    g_assert_false(shape->qkv_bias || shape->mlp_bias || shape->tied || shape->dropout);
}

/* At a point of a sweep the file says what it says of this point, and nothing is left of the one before: put at all
 * points in turn it comes to the same as put at each alone. */
static void
test_points(void)
{
    static const char *const axes[][2] = {
        {"pp", "1,2,4"}, {"tp", "1,2,3,8"}, {"gpus", "16,12,64"}, {"microbatches", "1,2,8"}};
    static const struct {
        const ConfSyntax *syntax;
        const char *typed, *text;
    } files[] = {
        {&conf_toml_syntax, "--gpus 64",
         LLAMA "[parallelism]\npipeline_parallel_degree = 2\ntensor_parallel_degree = 2\n"
               "data_parallel_replicate_degree = 2\nenable_async_tensor_parallel = true\n"},
        {&conf_yaml_syntax, "--gpus 64", NANO NANO_MODEL "}\n"},
        {&conf_yaml_syntax, "--gpus 64", NEOX "train_batch_size: 64\npipe_parallel_size: 2\n"},
        {&conf_json_syntax, "--gpus 64 --model gpt2-xl",
         "{\"train_batch_size\": 64, \"bf16\": {\"enabled\": true}}"},
    };
    for (guint f = 0; f < G_N_ELEMENTS(files); f++) {
        g_autoptr(ConfDocument) d = document(files[f].syntax, files[f].text);
        for (guint a = 0; a < G_N_ELEMENTS(axes); a++) {
            g_autoptr(CliInputs) in = typed(files[f].typed);
            in->axes = g_ptr_array_new_with_free_func((GDestroyNotify)cli_axis_free);
            g_assert_true(cli_inputs_set(in, axes[a][0], axes[a][1], NULL));
            const CliAxis *axis = in->axes->pdata[0];
            g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
            for (guint k = 0; k < axis->values->len; k++) {
                g_autoptr(GPtrArray) others = g_ptr_array_new_with_free_func(g_free);
                g_autoptr(CliInputs) alone = typed(files[f].typed);
                g_autofree char *value =
                    g_strdup_printf("%" G_GINT64_FORMAT, g_array_index(axis->values, gint64, k));
                g_autoptr(GError) one = NULL;
                g_autoptr(GError) other = NULL;
                g_assert_true(cli_inputs_set(alone, axes[a][0], value, NULL));
                cli_inputs_set_point(in, axis, k);
                gboolean ok = cli_config_put(in, &system_of_8, d, warnings, &one);
                g_assert_true(ok == cli_config_put(alone, &system_of_8, d, others, &other));
                if (!ok) {
                    g_assert_cmpstr(one->message, ==, other->message);
                    continue;
                }
                g_autofree char *options = said(in);
                g_autofree char *expected = said(alone);
                g_assert_cmpstr(options, ==, expected);
                g_assert_cmpmem(&in->spec, offsetof(PlanSpec, sequence_parallel), &alone->spec,
                                offsetof(PlanSpec, sequence_parallel));
                g_assert_cmpstr(in->schedule, ==, alone->schedule);
                g_assert_cmpstr(in->stage_layers, ==, alone->stage_layers);
                g_assert_cmpuint(in->given->len, ==, alone->given->len);
            }
            for (guint w = 0; w < warnings->len; w++) /* each once */
                for (guint v = 0; v < w; v++)
                    g_assert_cmpstr(warnings->pdata[v], !=, warnings->pdata[w]);
        }
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_summary("configuration files of frameworks become options of this program");
    g_test_add_func("/cli/config/gpt-neox", test_neox);
    g_test_add_func("/cli/config/gpt-neox-refusals", test_neox_refusals);
    g_test_add_func("/cli/config/deepspeed", test_deepspeed);
    g_test_add_func("/cli/config/nanotron", test_nanotron);
    g_test_add_func("/cli/config/what-is-typed-wins", test_typed);
    g_test_add_func("/cli/config/a-llama-of-gpt-neox", test_model);
    g_test_add_func("/cli/config/points-of-a-sweep-are-as-if-alone", test_points);
    return g_test_run();
}
