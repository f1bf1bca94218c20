/* Activation bytes: a table computed apart, Korthikanti's formulas and published figures,
 * recompute. */
#include "config.h"

#include "llm/ops.h"

#include "llm-fixture.h"

static void
test_table(void)
{
    g_test_summary("bytes of a layer with and without recompute, to the byte");
    g_autoptr(GPtrArray) rows = rows_of("activation_per_layer.tsv");
    for (guint i = 0; i < rows->len; i++) {
        char **row = rows->pdata[i];
        g_autoptr(LlmShape) shape = shipped(row[0]);
        LlmCut cut = cut_of(shape, whole(row[3]), strcmp(row[4], "True") == 0, whole(row[1]));
        cut.micro_batch = whole(row[2]);
        cut.dropout = strcmp(row[6], "True") == 0;
        gboolean flash = strcmp(row[5], "flash") == 0;
        cut.attention = flash ? LLM_ATTENTION_FLASH : LLM_ATTENTION_UNFUSED;
        double full = (double)whole(row[7]);
        g_test_message("%s tp %s sp %s %s", row[0], row[3], row[4], row[5]);
        g_assert_cmpfloat(llm_activation_bytes(shape, &cut, LLM_PIECE_LAYER), ==, full);
        g_assert_cmpfloat(llm_transient_bytes(shape, &cut, LLM_PIECE_LAYER), ==, 0.0);
        cut.recompute = LLM_RECOMPUTE_FULL;
        g_assert_cmpfloat(llm_activation_bytes(shape, &cut, LLM_PIECE_LAYER), ==,
                          (double)whole(row[8]));
        g_assert_cmpfloat(llm_transient_bytes(shape, &cut, LLM_PIECE_LAYER), ==,
                          full - (double)whole(row[8])); /* the input is there */
        cut.recompute = LLM_RECOMPUTE_SELECTIVE;
        double kept = llm_activation_bytes(shape, &cut, LLM_PIECE_LAYER);
        double again = llm_transient_bytes(shape, &cut, LLM_PIECE_LAYER);
        g_assert_cmpfloat(kept + again, ==, full);
        double rows_of_scores =
            (double)cut.micro_batch * (double)cut.seq * (double)(shape->heads / cut.tp);
        double per_row = flash ? 4.0 : (double)cut.seq * (cut.dropout ? 5.0 : 2.0);
        g_assert_cmpfloat(again, ==, rows_of_scores * per_row);
    }
}

/* Korthikanti et al. figure 1: GiB of activations of the first stage, which in 1F1B with m chunks
 * a stage holds L (1 + (p-1)/pm) layers. TP: s b h (10 + 24/t + 5 a s / h t) each; SP and
 * selective: 34 s b h / t. */
static void
test_korthikanti(void)
{
    g_test_summary("the paper's figure 1 comes out to all digits that are recorded of it");
    static const struct {
        const char *name;
        gint64 micro_batch, pp, chunks;
        double tensor_gib, selective_gib;
    } cases[] = {
        {"korthikanti-22b", 4, 1, 1, 59.25, 9.5625},
        {"korthikanti-175b", 1, 8, 3, 66.84375, 12.3515625},
        {"korthikanti-530b", 1, 35, 3, 114.0234375, 23.076171875},
        {"korthikanti-1t", 1, 64, 1, 131.25, 26.5625},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(LlmShape) shape = shipped(cases[i].name);
        LlmCut cut = cut_of(shape, 8, FALSE, 2048);
        cut.micro_batch = cases[i].micro_batch;
        cut.attention = LLM_ATTENTION_UNFUSED;
        double pp = (double)cases[i].pp;
        double layers = (double)shape->layers;
        if (cases[i].chunks > 1) {
            layers *= 1.0 + (pp - 1.0) / (pp * (double)cases[i].chunks);
        }
        double gib = layers / (double)(1 << 30);
        g_test_message("%s", cases[i].name);
        g_assert_cmpfloat_with_epsilon(llm_activation_bytes(shape, &cut, LLM_PIECE_LAYER) * gib,
                                       cases[i].tensor_gib, 1e-9);
        cut.sequence_parallel = TRUE;
        cut.recompute = LLM_RECOMPUTE_SELECTIVE;
        g_assert_cmpfloat_with_epsilon(llm_activation_bytes(shape, &cut, LLM_PIECE_LAYER) * gib,
                                       cases[i].selective_gib, 1e-9);
    }
}

static void
test_ends(void)
{
    g_test_summary(
        "embedding: ids and dropout mask; head: norm in and out, transient the logits twice");
    g_autoptr(LlmShape) shape = shipped("gpt3-175b");
    double n = 2048;
    double h = 12288;
    LlmCut cut = cut_of(shape, 8, TRUE, 2048);
    g_assert_cmpfloat(llm_activation_bytes(shape, &cut, LLM_PIECE_EMBEDDING), ==,
                      8 * n + n * h / 8);
    g_assert_cmpfloat(llm_activation_bytes(shape, &cut, LLM_PIECE_HEAD), ==, 4 * n * h / 8);
    g_assert_cmpfloat(llm_transient_bytes(shape, &cut, LLM_PIECE_HEAD), ==, 6 * n * 51200 / 8);
    cut.dropout = FALSE;
    cut.sequence_parallel = FALSE;
    cut.cp = 2;
    cut.dtype = CLUSTER_FP32;
    g_assert_cmpfloat(llm_activation_bytes(shape, &cut, LLM_PIECE_EMBEDDING), ==, 8 * n / 2);
    g_assert_cmpfloat(llm_activation_bytes(shape, &cut, LLM_PIECE_HEAD), ==, 8 * n / 2 * h);
    g_assert_cmpfloat(llm_transient_bytes(shape, &cut, LLM_PIECE_HEAD), ==, 8 * n / 2 * 51200 / 8);
    g_assert_cmpfloat(llm_transient_bytes(shape, &cut, LLM_PIECE_EMBEDDING), ==, 0);
}

static void
test_more_cutting_never_keeps_more(void)
{
    g_test_summary(
        "bytes do not rise with tp, with sequence parallelism, with cp, or with recompute");
    static const char *const models[] = {"gpt3-13b", "llama3-70b", "gpt-neox-20b", "gemma-2-9b",
                                         "bloom-176b"};
    for (guint i = 0; i < 200; i++) {
        g_autoptr(LlmShape) shape = shipped(models[g_test_rand_int_range(0, G_N_ELEMENTS(models))]);
        LlmCut cut = cut_of(shape, 1, g_test_rand_bit(), 256 * g_test_rand_int_range(1, 20));
        cut.attention = g_test_rand_bit() ? LLM_ATTENTION_FLASH : LLM_ATTENTION_UNFUSED;
        cut.dropout = g_test_rand_bit();
        static const LlmPiece pieces[] = {LLM_PIECE_EMBEDDING, LLM_PIECE_LAYER, LLM_PIECE_HEAD,
                                          LLM_PIECE_LAYER_WINDOW, LLM_PIECE_MTP};
        LlmPiece piece = pieces[g_test_rand_int_range(0, G_N_ELEMENTS(pieces))];
        double before = llm_activation_bytes(shape, &cut, piece);
        for (gint64 tp = 2; tp <= 8; tp *= 2) {
            cut.tp = tp;
            double now = llm_activation_bytes(shape, &cut, piece);
            g_assert_cmpfloat(now, <=, before);
            LlmCut more = cut;
            more.cp = 2;
            g_assert_cmpfloat(llm_activation_bytes(shape, &more, piece), <=, now);
            more = cut;
            more.sequence_parallel = TRUE;
            g_assert_cmpfloat(llm_activation_bytes(shape, &more, piece), <=, now);
            more.recompute = LLM_RECOMPUTE_SELECTIVE;
            double selective = llm_activation_bytes(shape, &more, piece);
            g_assert_cmpfloat(selective, <=, now);
            more.recompute = LLM_RECOMPUTE_FULL;
            g_assert_cmpfloat(llm_activation_bytes(shape, &more, piece), <=, selective);
            before = now;
        }
    }
}

/* DeepSeek-V3, n = 4096, bf16: x, norm 2 x 7168; latents 2 x (1536 + 512 + 64); q, k 128 x 192, v 128 x 128;
 * output 128 x 128; log-sum-exp 128 x 4 bytes; residual, norm 2 x 7168; scores 256 x 4 bytes; of 8 rows a
 * token 7168 + 3 x 2048 elements and 4 bytes; shared experts 3 x 2048. */
static void
test_experts(void)
{
    g_test_summary(
        "a layer with experts and latent attention, by hand; experts are not divided by ep");
    g_autoptr(LlmShape) shape = shipped("deepseek-v3");
    LlmCut cut = cut_of(shape, 1, FALSE, 4096);
    double elements = 4 * 7168 + 2 * (1536 + 512 + 64) + 128 * (192 + 192 + 128) + 128 * 128;
    elements += 8 * (7168 + 3 * 2048) + 3 * 2048;
    double bytes = 4096 * (2 * elements + 128 * 4 + 256 * 4 + 8 * 4);
    for (cut.ep = 1; cut.ep <= 64; cut.ep *= 8) {
        g_assert_cmpfloat(llm_activation_bytes(shape, &cut, LLM_PIECE_MOE), ==, bytes);
    }
    cut.expert_load = 1.5;
    double rows = 4096 * 8 * (2.0 * (7168 + 3 * 2048) + 4);
    g_assert_cmpfloat(llm_activation_bytes(shape, &cut, LLM_PIECE_MOE), ==, bytes + 0.5 * rows);
    cut.expert_load = 1;
    cut.dtype = CLUSTER_FP8; /* inputs of matrices in a byte; the core's output in both */
    double inputs = 2 * 7168 + 1536 + 512 + 64 + 8 * (7168 + 2048) + 2048;
    g_assert_cmpfloat(llm_activation_bytes(shape, &cut, LLM_PIECE_MOE), ==,
                      bytes + 4096 * (128.0 * 128 - inputs));
    cut.dtype = CLUSTER_BF16;
    double module = bytes + 4096 * 2 * (2 + 2 + 2) * 7168.0 + 8 * 4096 + 6.0 * 4096 * 129280;
    g_assert_cmpfloat(llm_activation_bytes(shape, &cut, LLM_PIECE_MTP), ==, module);
}

static void
test_modules(void)
{
    g_test_summary(
        "what each module of selective recompute drops; kept and brought back are the whole");
    g_autoptr(LlmShape) shape = shipped("deepseek-v3");
    double n = 4096, rows = 8 * n;
    const struct {
        guint modules;
        LlmPiece piece;
        double bytes;
    } cases[] = {
        {LLM_MODULE_CORE_ATTENTION, LLM_PIECE_LAYER, 4 * n * 128},
        {LLM_MODULE_NORM, LLM_PIECE_LAYER, 2 * 2 * n * 7168},
        {LLM_MODULE_MLA_UP, LLM_PIECE_LAYER, 2 * n * 128 * (192 + 192 + 128)},
        {LLM_MODULE_MLP, LLM_PIECE_LAYER, 2 * n * 3 * 18432},
        {LLM_MODULE_ACTIVATION, LLM_PIECE_LAYER, 2 * n * 18432},
        {LLM_MODULE_ACTIVATION | LLM_MODULE_MLP, LLM_PIECE_LAYER, 2 * n * 3 * 18432},
        {LLM_MODULE_MOE, LLM_PIECE_LAYER, 0},
        {LLM_MODULE_MLP, LLM_PIECE_MOE, 0},
        {LLM_MODULE_MOE_ACTIVATION, LLM_PIECE_MOE, 2 * rows * 2048},
        {LLM_MODULE_SHARED_EXPERTS, LLM_PIECE_MOE, 2 * n * 3 * 2048},
        {LLM_MODULE_MOE, LLM_PIECE_MOE,
         4 * n * 256 + rows * (2 * (7168 + 3 * 2048) + 4) + 2 * n * 3 * 2048},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        LlmCut cut = cut_of(shape, 1, FALSE, 4096);
        double whole_layer = llm_activation_bytes(shape, &cut, cases[i].piece);
        cut.recompute = LLM_RECOMPUTE_SELECTIVE;
        cut.recompute_modules = cases[i].modules;
        double kept = llm_activation_bytes(shape, &cut, cases[i].piece);
        double again = llm_transient_bytes(shape, &cut, cases[i].piece);
        g_assert_cmpfloat(again, ==, cases[i].bytes);
        g_assert_cmpfloat(kept + again, ==, whole_layer);
    }
}

/* Llama 3 8B, n = 8192: q 4096, k and v 1024 each, out 4096, gate and up 14336, down 4096. Kept are the odd of q k v
 * out gate up down, the input and the core's output and log-sum-exp; of what runs again, norms, k, the middle, up
 * and the product. DeepSeek-V3: q_down 1536, kv_down 576 and out are odd, then of gate up down the second. With
 * sequence parallelism over 4 the sums of out and down are whole, what their scatters give is kept too. */
static void
test_second(void)
{
    g_test_summary("checkpointing by operator keeps what the odd matrices give, by hand");
    g_autoptr(LlmShape) llama = shipped("llama3-8b");
    g_autoptr(LlmShape) latent = shipped("deepseek-v3");
    double n = 8192, h = 4096, f = 14336;
    LlmCut cut = cut_of(llama, 1, FALSE, 8192);
    cut.recompute = LLM_RECOMPUTE_SELECTIVE;
    cut.recompute_modules = LLM_MODULE_SECOND_GEMM;
    g_assert_cmpfloat(llm_activation_bytes(llama, &cut, LLM_PIECE_LAYER), ==,
                      2 * n * (h + h + 1024 + h + f + h) + 4 * n * 32);
    g_assert_cmpfloat(llm_transient_bytes(llama, &cut, LLM_PIECE_LAYER), ==,
                      2 * n * (h + 1024 + h + h + f + f));
    cut.attention = LLM_ATTENTION_UNFUSED; /* none of its matrices has weights */
    g_assert_cmpfloat(llm_activation_bytes(llama, &cut, LLM_PIECE_LAYER), ==,
                      2 * n * (h + h + 1024 + f + h));
    cut = cut_of(llama, 4, TRUE, 8192);
    cut.recompute = LLM_RECOMPUTE_SELECTIVE;
    cut.recompute_modules = LLM_MODULE_SECOND_GEMM;
    g_assert_cmpfloat(llm_activation_bytes(llama, &cut, LLM_PIECE_LAYER), ==,
                      2 * n * ((h + h + 1024 + h + f + 2 * h) / 4 + h) + 4 * n * 8);
    cut = cut_of(latent, 1, FALSE, 8192);
    cut.recompute = LLM_RECOMPUTE_SELECTIVE;
    cut.recompute_modules = LLM_MODULE_SECOND_GEMM;
    double attention = 2 * n * (7168 + 1536 + 576 + 128 * 128 + 7168) + 4 * n * 128;
    g_assert_cmpfloat(llm_activation_bytes(latent, &cut, LLM_PIECE_LAYER), ==,
                      attention + 2 * n * 18432);
    g_assert_cmpfloat(llm_activation_bytes(latent, &cut, LLM_PIECE_MOE), ==, attention);
}

/* Llama 3 8B, n = 8192, h = 4096, f = 14336, bf16. Forward the down matrix's sum is there beside all that is
 * kept, then with the output. Backward the most is at the activation's gradient: that of the output, of its
 * own output and of the two halves, while the saved output is gone. */
static void
test_workspace(void)
{
    g_test_summary("what lists need beside what is kept, by hand");
    g_autoptr(LlmShape) shape = shipped("llama3-8b");
    double n = 8192, h = 4096, f = 14336, hidden = 2 * n * h, ffn = 2 * n * f;
    LlmCut cut = cut_of(shape, 1, FALSE, 8192);
    LlmPiece layer = LLM_PIECE_LAYER;
    g_assert_cmpfloat(llm_workspace_bytes(shape, &cut, layer, LLM_PASS_FORWARD), ==, 2 * hidden);
    g_assert_cmpfloat(llm_workspace_bytes(shape, &cut, layer, LLM_PASS_BACKWARD), ==,
                      hidden + 2 * ffn);
    /* Split, the saved output stays for its weight gradient, and so do gradients. */
    g_assert_cmpfloat(llm_workspace_bytes(shape, &cut, layer, LLM_PASS_INPUT_GRAD), ==,
                      hidden + 3 * ffn);
    g_assert_cmpfloat(llm_workspace_bytes(shape, &cut, layer, LLM_PASS_WEIGHT_GRAD), ==, 0);
    /* Several kernels: own output, both halves apart and side by side; nothing saved is reused meanwhile. */
    cut.fused_kernels = FALSE;
    g_assert_cmpfloat(llm_workspace_bytes(shape, &cut, layer, LLM_PASS_BACKWARD), ==,
                      hidden + 6 * ffn);
    /* Forward of a recomputed layer: both halves and their product, its input and middle; less the input. */
    cut.fused_kernels = TRUE;
    cut.recompute = LLM_RECOMPUTE_FULL;
    g_assert_cmpfloat(llm_workspace_bytes(shape, &cut, layer, LLM_PASS_FORWARD), ==,
                      hidden + 3 * ffn);
    g_assert_cmpfloat(llm_workspace_bytes(shape, &cut, layer, LLM_PASS_RECOMPUTE), ==, 3 * hidden);
    /* Head, tp 4 with sequence parallelism: gradient of its input, whole and cut; then of the norm's. */
    cut = cut_of(shape, 4, TRUE, 8192);
    g_assert_cmpfloat(llm_workspace_bytes(shape, &cut, LLM_PIECE_HEAD, LLM_PASS_FORWARD), ==, 0);
    g_assert_cmpfloat(llm_workspace_bytes(shape, &cut, LLM_PIECE_HEAD, LLM_PASS_BACKWARD), ==,
                      1.5 * hidden);
    cut.fused_kernels = FALSE;
    g_assert_cmpfloat(llm_workspace_bytes(shape, &cut, LLM_PIECE_HEAD, LLM_PASS_FORWARD), ==,
                      4 * n * 128256 / 4);
    cut.log_softmax = TRUE; /* with the logits and their copy 14 bytes backward */
    g_assert_cmpfloat(llm_workspace_bytes(shape, &cut, LLM_PIECE_HEAD, LLM_PASS_FORWARD), ==,
                      4 * n * 128256 / 4);
    g_assert_cmpfloat(llm_workspace_bytes(shape, &cut, LLM_PIECE_HEAD, LLM_PASS_BACKWARD) +
                          llm_transient_bytes(shape, &cut, LLM_PIECE_HEAD),
                      ==, 14 * n * 128256 / 4);
    g_assert_cmpfloat(llm_workspace_bytes(shape, &cut, LLM_PIECE_EMBEDDING, LLM_PASS_BACKWARD), ==,
                      1.25 * hidden + 2 * h * 128256 / 4);
}

static void
test_properties(void)
{
    g_test_summary("modules never add to what is kept; all is proportional to the micro-batch");
    static const char *const models[] = {"llama3-8b", "mixtral-8x7b", "deepseek-v2-lite",
                                         "qwen3-30b-a3b"};
    for (guint i = 0; i < 300; i++) {
        g_autoptr(LlmShape) shape = shipped(models[i % G_N_ELEMENTS(models)]);
        LlmPiece piece = shape->experts > 0 && g_test_rand_bit() ? LLM_PIECE_MOE : LLM_PIECE_LAYER;
        LlmCut cut = cut_of(shape, 1 << g_test_rand_int_range(0, 3), g_test_rand_bit(), 4096);
        cut.cp = 1 << g_test_rand_int_range(0, 3);
        cut.cp_kind = (LlmCpKind)g_test_rand_int_range(0, 3);
        cut.ep = cut.etp = 2;
        cut.dispatch = (LlmDispatch)g_test_rand_int_range(0, 3);
        cut.dtype = g_test_rand_bit() ? CLUSTER_BF16 : CLUSTER_FP8;
        cut.recompute = (LlmRecompute)g_test_rand_int_range(0, 3);
        cut.recompute_modules = (guint)g_test_rand_int_range(1, LLM_MODULE_ALL + 1);
        LlmCut twice = cut, more = cut;
        twice.micro_batch = 2;
        more.recompute_modules |= 1u << g_test_rand_int_range(0, 8);
        double kept = llm_activation_bytes(shape, &cut, piece);
        g_assert_cmpfloat(llm_activation_bytes(shape, &more, piece), <=, kept);
        g_assert_cmpfloat(llm_activation_bytes(shape, &twice, piece), ==, 2 * kept);
        for (guint pass = 0; pass < LLM_N_PASSES; pass++) {
            double once = llm_workspace_bytes(shape, &cut, piece, (LlmPass)pass);
            g_assert_cmpfloat_with_epsilon(llm_workspace_bytes(shape, &twice, piece, (LlmPass)pass),
                                           2 * once, 1.0 + 1e-6 * once);
            g_assert_true(once > 0 || pass == LLM_PASS_WEIGHT_GRAD || pass == LLM_PASS_RECOMPUTE);
        }
        /* What the weight gradient finds is there when the input gradient ends. */
        double most = kept + llm_transient_bytes(shape, &cut, piece) +
                      llm_workspace_bytes(shape, &cut, piece, LLM_PASS_INPUT_GRAD);
        g_assert_cmpfloat(llm_weight_grad_bytes(shape, &cut, piece), <=, most);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/llm/activation/layer-to-the-byte", test_table);
    g_test_add_func("/llm/activation/korthikanti-figure-1", test_korthikanti);
    g_test_add_func("/llm/activation/embedding-and-head", test_ends);
    g_test_add_func("/llm/activation/more-cutting-never-keeps-more",
                    test_more_cutting_never_keeps_more);
    g_test_add_func("/llm/activation/experts-and-latent-attention", test_experts);
    g_test_add_func("/llm/activation/modules-of-recompute", test_modules);
    g_test_add_func("/llm/activation/every-second-matrix", test_second);
    g_test_add_func("/llm/activation/workspace", test_workspace);
    g_test_add_func("/llm/activation/properties", test_properties);
    return g_test_run();
}
