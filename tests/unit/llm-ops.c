/* Op lists: launch order and waits, GEMM shapes, FLOPs, bytes, volumes of tensor parallelism. */
#include "config.h"

#include "llm/ops.h"

#include "llm-fixture.h"
#include "llm-lists.h"
#include "llm/flops.h"
#include "llm/parameters.h"

static void
test_order_sequence_parallel(void)
{
    g_test_summary(
        "with sequence parallelism: gathers and scatters block, but the re-gather of a saved input"
        " runs beside the input gradient and the scatter of that beside the weight gradient");
    g_autoptr(LlmShape) shape = shipped("llama3-8b");
    LlmCut cut = cut_of(shape, 4, TRUE, 8192);
    assert_list(
        shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD,
        "norm all_gather<0 qkv<1 rope attention attention_out reduce_scatter<5 residual_add<6 "
        "norm all_gather<8 mlp_up<9 activation mlp_down reduce_scatter<12 residual_add<13");
    assert_list(
        shape, &cut, LLM_PIECE_LAYER, LLM_PASS_BACKWARD,
        "residual_grad_add all_gather<0 mlp_down_dgrad<1 mlp_down_wgrad activation_backward "
        "re_gather<4 mlp_up_dgrad reduce_scatter<6 mlp_up_wgrad<5 norm_backward<7 residual_grad_add "
        "all_gather<10 attention_out_dgrad<11 attention_out_wgrad attention_backward rope_backward "
        "re_gather<15 qkv_dgrad reduce_scatter<17 qkv_wgrad<16 norm_backward<18");
    assert_list(
        shape, &cut, LLM_PIECE_LAYER, LLM_PASS_INPUT_GRAD,
        "residual_grad_add all_gather<0 mlp_down_dgrad<1 activation_backward mlp_up_dgrad "
        "reduce_scatter<4 norm_backward<5 residual_grad_add all_gather<7 attention_out_dgrad<8 "
        "attention_backward rope_backward qkv_dgrad reduce_scatter<12 norm_backward<13");
    assert_list(
        shape, &cut, LLM_PIECE_LAYER, LLM_PASS_WEIGHT_GRAD,
        "re_gather mlp_down_wgrad mlp_up_wgrad<0 re_gather<2 attention_out_wgrad qkv_wgrad<3");
    assert_list(
        shape, &cut, LLM_PIECE_HEAD, LLM_PASS_FORWARD,
        "final_norm all_gather<0 lm_head<1 cross_entropy_max all_reduce_max<3 cross_entropy_exp<4 "
        "all_reduce_target<5 all_reduce_sum<5 cross_entropy_divide<7");
    assert_list(shape, &cut, LLM_PIECE_HEAD, LLM_PASS_BACKWARD,
                "cross_entropy_backward re_gather<0 lm_head_dgrad reduce_scatter<2 lm_head_wgrad<1 "
                "final_norm_backward<3");
    assert_list(shape, &cut, LLM_PIECE_EMBEDDING, LLM_PASS_FORWARD,
                "embedding reduce_scatter<0 embedding_layout<1");
    assert_list(shape, &cut, LLM_PIECE_EMBEDDING, LLM_PASS_BACKWARD,
                "embedding_layout all_gather<0 embedding_backward<1");
    assert_list(shape, &cut, LLM_PIECE_EMBEDDING, LLM_PASS_WEIGHT_GRAD, "");
}

static void
test_order_tensor_parallel(void)
{
    g_test_summary(
        "without it: two blocking all-reduces forward, two backward that overlap the weight gradient;"
        " unfused attention with dropout as GPT-3 had it");
    g_autoptr(LlmShape) shape = shipped("gpt3-175b");
    LlmCut cut = cut_of(shape, 8, FALSE, 2048);
    cut.attention = LLM_ATTENTION_UNFUSED;
    assert_list(
        shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD,
        "norm qkv scores softmax attention_dropout values head_layout attention_out all_reduce<7 "
        "bias_dropout_add<8 norm mlp_up activation mlp_down all_reduce<13 bias_dropout_add<14");
    assert_list(
        shape, &cut, LLM_PIECE_LAYER, LLM_PASS_BACKWARD,
        "residual_grad_add dropout_backward mlp_down_dgrad mlp_down_wgrad activation_backward "
        "mlp_up_dgrad all_reduce<5 mlp_up_wgrad norm_backward<6 residual_grad_add dropout_backward "
        "attention_out_dgrad attention_out_wgrad head_layout values_dgrad values_wgrad "
        "attention_dropout_backward softmax_backward scores_dgrad scores_wgrad head_layout qkv_dgrad "
        "all_reduce<21 qkv_wgrad norm_backward<22");
    assert_list(
        shape, &cut, LLM_PIECE_HEAD, LLM_PASS_BACKWARD,
        "cross_entropy_backward lm_head_dgrad all_reduce<1 lm_head_wgrad final_norm_backward<2");
    assert_list(shape, &cut, LLM_PIECE_EMBEDDING, LLM_PASS_FORWARD,
                "embedding all_reduce<0 position_add<1 dropout");
    assert_list(shape, &cut, LLM_PIECE_EMBEDDING, LLM_PASS_BACKWARD,
                "dropout_backward position_grad embedding_backward");
    /* Learned positions are added to whole sums, also where the layers hold shards. */
    cut.sequence_parallel = TRUE;
    assert_list(shape, &cut, LLM_PIECE_EMBEDDING, LLM_PASS_FORWARD,
                "embedding all_reduce<0 position_add<1 dropout");
    assert_list(shape, &cut, LLM_PIECE_EMBEDDING, LLM_PASS_BACKWARD,
                "dropout_backward all_gather<0 position_grad<1 embedding_backward");
    cut.sequence_parallel = FALSE;
    cut.tp = 1;
    cut.fused_kernels = FALSE;
    assert_list(
        shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD,
        "norm qkv bias_add head_layout scores scale mask softmax attention_dropout values head_layout "
        "attention_out bias_add dropout residual_add norm mlp_up bias_add activation mlp_down "
        "bias_add dropout residual_add");
}

static void
test_order_of_variants(void)
{
    g_test_summary(
        "parallel branches combine once; Gemma's further norms; norms of q and k; grouped queries");
    g_autoptr(LlmShape) neox = shipped("gpt-neox-20b");
    LlmCut cut = cut_of(neox, 2, FALSE, 2048);
    assert_list(neox, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD,
                "norm qkv rope attention attention_out norm mlp_up activation mlp_down branch_add "
                "all_reduce<9 residual_add<10");
    g_autoptr(LlmShape) gemma = shipped("gemma-2-9b");
    cut = cut_of(gemma, 1, FALSE, 2048);
    assert_list(
        gemma, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD,
        "norm qkv rope attention attention_out post_norm residual_add norm mlp_up activation mlp_down "
        "post_norm residual_add");
    g_autoptr(LlmShape) qwen = shipped("qwen3-32b");
    cut = cut_of(qwen, 1, FALSE, 2048);
    cut.attention = LLM_ATTENTION_UNFUSED;
    assert_list(
        qwen, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD,
        "norm qkv qk_norm rope kv_repeat scores softmax values head_layout attention_out residual_add "
        "norm mlp_up activation mlp_down residual_add");
}

static void
test_gemm_shapes(void)
{
    g_test_summary("Llama 3 70B, s = 8192, tp 8: m, n, k of each matrix in its three GEMMs");
    static const struct {
        const char *name;
        LlmPass pass;
        gint64 m, n, k;
    } cases[] = {
        {"qkv", LLM_PASS_FORWARD, 8192, 1280, 8192},
        {"attention_out", LLM_PASS_FORWARD, 8192, 8192, 1024},
        {"mlp_up", LLM_PASS_FORWARD, 8192, 7168, 8192},
        {"mlp_down", LLM_PASS_FORWARD, 8192, 8192, 3584},
        {"qkv_dgrad", LLM_PASS_BACKWARD, 8192, 8192, 1280},
        {"qkv_wgrad", LLM_PASS_BACKWARD, 8192, 1280, 8192},
        {"mlp_down_dgrad", LLM_PASS_BACKWARD, 8192, 3584, 8192},
        {"mlp_down_wgrad", LLM_PASS_BACKWARD, 3584, 8192, 8192},
    };
    g_autoptr(LlmShape) shape = shipped("llama3-70b");
    LlmCut cut = cut_of(shape, 8, TRUE, 8192);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GArray) ops = llm_ops(shape, &cut, LLM_PIECE_LAYER, cases[i].pass);
        gboolean found = FALSE;
        for (guint j = 0; j < ops->len; j++) {
            const LlmOp *op = &g_array_index(ops, LlmOp, j);
            if (strcmp(op->name, cases[i].name) == 0) {
                found = TRUE;
                g_assert_cmpint(op->kind, ==, LLM_OP_GEMM);
                g_assert_cmpint(op->gemm.m, ==, cases[i].m);
                g_assert_cmpint(op->gemm.n, ==, cases[i].n);
                g_assert_cmpint(op->gemm.k, ==, cases[i].k);
                g_assert_cmpint(op->gemm.batch, ==, 1);
                gboolean wgrad = g_str_has_suffix(op->name, "_wgrad");
                g_assert_cmpint(op->gemm.pass == COST_GEMM_WGRAD, ==, wgrad);
                g_assert_cmpint(op->gemm.accumulate_fp32, ==, wgrad);
            }
        }
        g_assert_true(found);
    }
}

static void
test_tensor_parallel_volumes(void)
{
    g_test_summary("count, size and ring bytes of each collective as in the table");
    static const struct {
        const char *name;
        LlmPiece piece;
    } pieces[] = {
        {"embedding", LLM_PIECE_EMBEDDING}, {"layer", LLM_PIECE_LAYER}, {"head", LLM_PIECE_HEAD}};
    static const char *const passes[] = {"forward", "backward", "input", "weight", "recompute"};
    g_autoptr(GPtrArray) rows = rows_of("tp_volumes.tsv");
    for (guint i = 0; i < rows->len; i++) {
        char **row = rows->pdata[i];
        g_autoptr(LlmShape) shape = shipped(row[0]);
        LlmCut cut = cut_of(shape, whole(row[3]), strcmp(row[5], "True") == 0, whole(row[1]));
        cut.cp = whole(row[4]);
        cut.recompute = LLM_RECOMPUTE_FULL;
        guint piece = 0, pass = 0;
        while (strcmp(pieces[piece].name, row[6]) != 0) {
            piece++;
        }
        while (strcmp(passes[pass], row[7]) != 0) {
            pass++;
        }
        g_autoptr(GArray) ops = llm_ops(shape, &cut, pieces[piece].piece, (LlmPass)pass);
        gint64 count = 0;
        double ring = 0;
        for (guint j = 0; j < ops->len; j++) {
            const LlmOp *op = &g_array_index(ops, LlmOp, j);
            if (op->kind == LLM_OP_COLLECTIVE && g_pattern_match_simple(row[8], op->name)) {
                count++;
                g_assert_cmpint(op->collective.bytes, ==, whole(row[10]));
                ring +=
                    net_ring_bytes(op->collective.op, (guint)cut.tp, (double)op->collective.bytes);
            }
        }
        g_assert_cmpint(count, ==, whole(row[9]));
        g_assert_cmpfloat(ring, ==, (double)whole(row[11]));
    }
}

static void
test_memory_bytes(void)
{
    g_test_summary("bytes of the memory-bound kernels: reads and writes of a single pass");
    g_autoptr(LlmShape) shape = shipped("llama3-8b");
    double n = 8192, h = 4096, f = 14336, t = 4, v = 128256;
    LlmCut cut = cut_of(shape, 4, TRUE, 8192);
    g_autoptr(GArray) forward = llm_ops(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD);
    g_autoptr(GArray) backward = llm_ops(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_BACKWARD);
    g_autoptr(GArray) head = llm_ops(shape, &cut, LLM_PIECE_HEAD, LLM_PASS_FORWARD);
    g_autoptr(GArray) lookup = llm_ops(shape, &cut, LLM_PIECE_EMBEDDING, LLM_PASS_BACKWARD);
    g_assert_cmpfloat(memory_bytes(forward, "norm"), ==, 2 * 2 * n / t * h * 2);
    g_assert_cmpfloat(memory_bytes(forward, "residual_add"), ==, 2 * 3 * n / t * h * 2);
    g_assert_cmpfloat(memory_bytes(forward, "rope"), ==, 2 * n * (32 + 8) * 128 / t * 2);
    g_assert_cmpfloat(memory_bytes(forward, "activation"), ==, 3 * n * f / t * 2);
    g_assert_cmpfloat(memory_bytes(backward, "norm_backward"), ==, 2 * 3 * n / t * h * 2);
    g_assert_cmpfloat(memory_bytes(backward, "activation_backward"), ==, 5 * n * f / t * 2);
    g_assert_cmpfloat(memory_bytes(head, "cross_entropy_*"), ==, 38 * n * v / t);
    g_assert_cmpfloat(memory_bytes(lookup, "embedding_backward"), ==, n * h * (2 + 4));
    g_autoptr(LlmShape) gpt = shipped("gpt3-175b");
    cut = cut_of(gpt, 8, FALSE, 2048);
    cut.attention = LLM_ATTENTION_UNFUSED;
    double scores = 96.0 / 8 * 2048 * 2048;
    g_autoptr(GArray) unfused = llm_ops(gpt, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD);
    g_autoptr(GArray) unfused_back = llm_ops(gpt, &cut, LLM_PIECE_LAYER, LLM_PASS_BACKWARD);
    g_assert_cmpfloat(memory_bytes(unfused, "softmax"), ==, 2 * scores * 2);
    g_assert_cmpfloat(memory_bytes(unfused, "attention_dropout"), ==, 2 * scores * 2 + scores);
    g_assert_cmpfloat(memory_bytes(unfused_back, "softmax_backward"), ==, 3 * scores * 2);
}

/* --- properties over random cuts
 * ------------------------------------------------------------------ */

static const char *const random_models[] = {
    "gpt3-13b", "llama3-70b", "gpt-neox-20b", "gemma-2-9b", "bloom-176b", "qwen2.5-7b", "opt-175b"};

static LlmCut
random_cut(const LlmShape *shape)
{
    gint64 tp = 1 << g_test_rand_int_range(0, 3);
    LlmCut cut = cut_of(shape, tp, g_test_rand_bit(), 256 * g_test_rand_int_range(1, 16));
    cut.cp = 1 << g_test_rand_int_range(0, 3);
    cut.cp_kind = (LlmCpKind)g_test_rand_int_range(0, 4);
    cut.cp_inner = MIN(cut.cp, 2);
    cut.micro_batch = g_test_rand_int_range(1, 4);
    cut.attention = g_test_rand_bit() ? LLM_ATTENTION_FLASH : LLM_ATTENTION_UNFUSED;
    cut.recompute = (LlmRecompute)g_test_rand_int_range(0, 3);
    cut.dropout = g_test_rand_bit();
    cut.fused_kernels = g_test_rand_bit();
    cut.fused_loss = g_test_rand_bit();
    cut.tp_overlap = g_test_rand_bit();
    return cut;
}

static void
test_waits(void)
{
    g_test_summary(
        "an op waits for an earlier one on the other stream; at the end nothing is outstanding");
    for (guint i = 0; i < 300; i++) {
        g_autoptr(LlmShape) shape = shipped(random_models[i % G_N_ELEMENTS(random_models)]);
        LlmCut cut = random_cut(shape);
        for (guint piece = 0; piece < LLM_N_PIECES; piece++) {
            if (!has_piece(shape, (LlmPiece)piece)) {
                continue;
            }
            for (guint pass = 0; pass < LLM_N_PASSES; pass++) {
                g_autoptr(GArray) ops = llm_ops(shape, &cut, (LlmPiece)piece, (LlmPass)pass);
                check_waits(ops, (LlmPass)pass);
            }
        }
    }
}

static void
test_halves_make_the_backward(void)
{
    g_test_summary(
        "input gradient and weight gradient together are the backward: ops, FLOPs, bytes");
    for (guint i = 0; i < 300; i++) {
        g_autoptr(LlmShape) shape = shipped(random_models[i % G_N_ELEMENTS(random_models)]);
        LlmCut cut = random_cut(shape);
        LlmPiece piece = (LlmPiece)g_test_rand_int_range(0, LLM_N_PIECES);
        if (!has_piece(shape, piece)) {
            continue;
        }
        Sums all = sums_of(shape, &cut, piece, LLM_PASS_BACKWARD);
        Sums input = sums_of(shape, &cut, piece, LLM_PASS_INPUT_GRAD);
        Sums weight = sums_of(shape, &cut, piece, LLM_PASS_WEIGHT_GRAD);
        g_assert_cmpuint(input.n + weight.n, ==, all.n);
        g_assert_cmpfloat(input.matrix_flops + weight.matrix_flops, ==, all.matrix_flops);
        g_assert_cmpfloat(input.core_flops, ==, all.core_flops);
        g_assert_cmpfloat(input.memory_bytes + weight.memory_bytes, ==, all.memory_bytes);
        g_assert_cmpfloat(input.collective_bytes + weight.collective_bytes, ==,
                          all.collective_bytes);
    }
}

static void
test_flops(void)
{
    g_test_summary(
        "matrices: 2 FLOPs a weight and token, twice that backward, and tp shares make the whole;"
        " flash backward 2.5 times its forward, unfused 2 times");
    for (guint i = 0; i < 300; i++) {
        g_autoptr(LlmShape) shape = shipped(random_models[i % G_N_ELEMENTS(random_models)]);
        LlmCut cut = random_cut(shape);
        if (shape->heads % cut.tp != 0 || shape->kv_heads % cut.tp != 0 ||
            shape->ffn % cut.tp != 0) {
            continue;
        }
        gboolean cuts_heads = cut.cp_kind == LLM_CP_A2A || cut.cp_kind == LLM_CP_A2A_P2P;
        if (cuts_heads && shape->heads % (cut.tp * cut.cp) != 0) {
            continue;
        }
        cut.vocab_padded = llm_padded_vocab(shape, 128 * cut.tp);
        double tokens = (double)(cut.micro_batch * cut.seq / cut.cp);
        double tp = (double)cut.tp;
        Sums forward = sums_of(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD);
        Sums backward = sums_of(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_BACKWARD);
        Sums head = sums_of(shape, &cut, LLM_PIECE_HEAD, LLM_PASS_FORWARD);
        double matrices = (double)llm_parameters(shape).layer_matrices;
        g_assert_cmpfloat(tp * forward.matrix_flops, ==, 2 * matrices * tokens);
        g_assert_cmpfloat(backward.matrix_flops, ==, 2 * forward.matrix_flops);
        gboolean flash = cut.attention == LLM_ATTENTION_FLASH;
        g_assert_cmpfloat(backward.core_flops, ==, (flash ? 2.5 : 2) * forward.core_flops);
        double pairs = (double)cut.seq * (flash ? 0.5 : 1.0);
        double width = (double)(shape->heads * shape->head_dim);
        g_assert_cmpfloat(tp * forward.core_flops, ==, 4 * tokens * width * pairs);
        g_assert_cmpfloat(tp * head.matrix_flops, ==,
                          2 * tokens * (double)shape->hidden * (double)cut.vocab_padded);
    }
}

static void
test_model_flops(void)
{
    g_test_summary("three forwards of all pieces are Megatron's count of a token's training");
    static const char *const models[] = {"gpt3-175b", "llama3-8b", "llama3-70b", "korthikanti-22b"};
    for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
        g_autoptr(LlmShape) shape = shipped(models[i]);
        LlmCut cut = cut_of(shape, 8, TRUE, 2048);
        Sums layer = sums_of(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD);
        Sums head = sums_of(shape, &cut, LLM_PIECE_HEAD, LLM_PASS_FORWARD);
        double all =
            (double)shape->layers * (layer.matrix_flops + layer.core_flops) + head.matrix_flops;
        double per_token = 3.0 * 8.0 * all / 2048.0;
        double expected = llm_flops_per_token(shape, 2048, LLM_FLOPS_MEGATRON);
        g_assert_cmpfloat_with_epsilon(per_token / expected, 1.0, 1e-12);
    }
}

static void
test_recompute(void)
{
    g_test_summary(
        "nothing, the attention core, or the whole forward of a layer; never of the ends");
    g_autoptr(LlmShape) shape = shipped("gpt3-175b");
    LlmCut cut = cut_of(shape, 8, TRUE, 2048);
    cut.attention = LLM_ATTENTION_UNFUSED;
    assert_list(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_RECOMPUTE, "");
    cut.recompute = LLM_RECOMPUTE_SELECTIVE;
    assert_list(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_RECOMPUTE,
                "scores softmax attention_dropout values head_layout");
    cut.attention = LLM_ATTENTION_FLASH;
    assert_list(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_RECOMPUTE, "attention");
    cut.recompute = LLM_RECOMPUTE_FULL;
    g_autoptr(GArray) forward = llm_ops(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD);
    g_autofree char *text = text_of(forward);
    assert_list(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_RECOMPUTE, text);
    assert_list(shape, &cut, LLM_PIECE_HEAD, LLM_PASS_RECOMPUTE, "");
    assert_list(shape, &cut, LLM_PIECE_EMBEDDING, LLM_PASS_RECOMPUTE, "");
}

static void
test_window(void)
{
    g_test_summary(
        "Mistral, window 4096, s = 8192: a query sees 4096 - 4096^2 / 16384 = 3072 keys on average;"
        " in chunks of 4096 it sees 2048; s within the window, or a layer without: causal as ever");
    g_autoptr(LlmShape) shape = shipped("mistral-7b");
    LlmCut cut = cut_of(shape, 1, FALSE, 8192);
    LlmPiece piece = LLM_PIECE_LAYER_WINDOW;
    g_assert_cmpint(llm_layer_piece(shape, 0), ==, piece);
    Sums windowed = sums_of(shape, &cut, piece, LLM_PASS_FORWARD);
    g_assert_cmpfloat(windowed.core_flops, ==, 4.0 * 8192 * 4096 * 3072);
    Sums full = sums_of(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD);
    g_assert_cmpfloat(full.core_flops, ==, 4.0 * 8192 * 4096 * 4096);
    cut.seq = 4096;
    Sums causal = sums_of(shape, &cut, piece, LLM_PASS_FORWARD);
    g_assert_cmpfloat(causal.core_flops, ==, 4.0 * 4096 * 4096 * 4096 / 2);
    shape->window_is_chunk = TRUE;
    cut.seq = 8192;
    Sums chunks = sums_of(shape, &cut, piece, LLM_PASS_FORWARD);
    g_assert_cmpfloat(chunks.core_flops, ==, 4.0 * 8192 * 4096 * 2048);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/llm/ops/launch-order-with-sequence-parallelism",
                    test_order_sequence_parallel);
    g_test_add_func("/llm/ops/launch-order-without", test_order_tensor_parallel);
    g_test_add_func("/llm/ops/launch-order-of-variants", test_order_of_variants);
    g_test_add_func("/llm/ops/gemm-shapes", test_gemm_shapes);
    g_test_add_func("/llm/ops/tensor-parallel-volumes", test_tensor_parallel_volumes);
    g_test_add_func("/llm/ops/memory-bytes", test_memory_bytes);
    g_test_add_func("/llm/ops/waits-are-for-the-other-stream", test_waits);
    g_test_add_func("/llm/ops/halves-make-the-backward", test_halves_make_the_backward);
    g_test_add_func("/llm/ops/flops-of-matrices-and-core", test_flops);
    g_test_add_func("/llm/ops/flops-of-the-model", test_model_flops);
    g_test_add_func("/llm/ops/recompute", test_recompute);
    g_test_add_func("/llm/ops/sliding-window", test_window);
    return g_test_run();
}
