/* Matrices: user-buffer overlap of tensor parallelism, gathers in 8 bits, the latents' gathers; what selective
 * recompute runs again. */
#include "config.h"

#include "llm-fixture.h"
#include "llm-lists.h"

static void
test_ring_exchange(void)
{
    g_test_summary(
        "a gather in t - 1 messages beside the parts of its GEMM, a scatter behind four parts");
    g_autoptr(LlmShape) shape = shipped("llama3-8b");
    LlmCut cut = cut_of(shape, 4, TRUE, 8192);
    cut.tp_overlap = TRUE;
    assert_list(
        shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD,
        "norm ring_exchange<0 qkv ring_exchange<0 qkv<1 ring_exchange<0 qkv<3 qkv<5 rope "
        "attention attention_out reduce_scatter<10 attention_out reduce_scatter<12 "
        "attention_out reduce_scatter<14 attention_out reduce_scatter<16 residual_add<17 norm "
        "ring_exchange<19 mlp_up ring_exchange<19 mlp_up<20 ring_exchange<19 mlp_up<22 "
        "mlp_up<24 activation mlp_down reduce_scatter<28 mlp_down reduce_scatter<30 mlp_down "
        "reduce_scatter<32 mlp_down reduce_scatter<34 residual_add<35");
    assert_list(
        shape, &cut, LLM_PIECE_LAYER, LLM_PASS_BACKWARD,
        "residual_grad_add ring_exchange<0 mlp_down_dgrad ring_exchange<0 mlp_down_dgrad<1 "
        "ring_exchange<0 mlp_down_dgrad<3 mlp_down_dgrad<5 mlp_down_wgrad activation_backward "
        "re_gather<9 mlp_up_dgrad reduce_scatter<11 mlp_up_wgrad<10 norm_backward<12 "
        "residual_grad_add ring_exchange<15 attention_out_dgrad ring_exchange<15 "
        "attention_out_dgrad<16 ring_exchange<15 attention_out_dgrad<18 "
        "attention_out_dgrad<20 attention_out_wgrad attention_backward rope_backward "
        "re_gather<25 qkv_dgrad reduce_scatter<27 qkv_wgrad<26 norm_backward<28");
}

/* Four rings or scatters of a layer's forward are four calls: of its ops all the others start without one. */
static void
test_one_call(void)
{
    g_test_summary("parts and messages of a GEMM with user buffers are one call of the framework");
    g_autoptr(LlmShape) shape = shipped("llama3-8b");
    for (guint overlap = 0; overlap < 2; overlap++) {
        LlmCut cut = cut_of(shape, 4, TRUE, 8192);
        cut.tp_overlap = overlap > 0;
        g_autoptr(GArray) ops = llm_ops(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD);
        guint calls = 0;
        for (guint i = 0; i < ops->len; i++)
            calls += !g_array_index(ops, LlmOp, i).same_call;
        /* norm, qkv, rope, attention, out, sum, norm, up, activation, down, sum; apart, 4 collectives more */
        g_assert_cmpuint(calls, ==, overlap ? 11 : 15);
    }
}

/* Bytes that a rank sends over its tensor-parallel group. */
static double
sent_bytes(const LlmShape *shape, const LlmCut *cut, LlmPiece piece, LlmPass pass)
{
    g_autoptr(GArray) ops = llm_ops(shape, cut, piece, pass);
    double sent = 0;
    for (guint i = 0; i < ops->len; i++) {
        const LlmOp *op = &g_array_index(ops, LlmOp, i);
        if (is_collective(op) && op->collective.group == LLM_GROUP_TP) {
            sent += net_ring_bytes(op->collective.op, (guint)cut->tp, (double)op->collective.bytes);
        }
    }
    return sent;
}

static void
test_same_volume(void)
{
    g_test_summary("overlap changes neither bytes nor FLOPs");
    static const char *const models[] = {"llama3-70b", "gpt-neox-20b", "deepseek-v3",
                                         "mixtral-8x7b"};
    for (guint i = 0; i < 100; i++) {
        g_autoptr(LlmShape) shape = shipped(models[i % G_N_ELEMENTS(models)]);
        LlmCut cut = cut_of(shape, 1 << g_test_rand_int_range(1, 4), TRUE,
                            512 * g_test_rand_int_range(1, 16));
        LlmPass pass = (LlmPass)g_test_rand_int_range(0, LLM_N_PASSES);
        LlmPiece piece = shape->experts > 0 ? LLM_PIECE_MOE : LLM_PIECE_LAYER;
        cut.ep = cut.etp = 1;
        cut.recompute = LLM_RECOMPUTE_FULL;
        Sums whole_sums = sums_of(shape, &cut, piece, pass);
        double sent = sent_bytes(shape, &cut, piece, pass);
        cut.tp_overlap = TRUE;
        Sums parts = sums_of(shape, &cut, piece, pass);
        g_assert_cmpfloat(sent_bytes(shape, &cut, piece, pass), ==, sent);
        g_assert_cmpfloat(parts.matrix_flops, ==, whole_sums.matrix_flops);
        g_assert_cmpfloat(parts.memory_bytes, ==, whole_sums.memory_bytes);
    }
}

/* X = n h bytes of one each. Forward two gathers in X and two scatters in 2 X; backward two gathers of gradients
 * and two of inputs in X, two scatters in 2 X; of each (t - 1) / t is sent. */
static void
test_fp8_gathers(void)
{
    g_test_summary("with fp8 what is gathered travels in a byte, what is summed in two");
    g_autoptr(LlmShape) shape = shipped("llama3-8b");
    LlmCut cut = cut_of(shape, 4, TRUE, 8192);
    cut.dtype = CLUSTER_FP8;
    double each = 8192.0 * 4096 * 3 / 4;
    g_assert_cmpfloat(sent_bytes(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD), ==, 6 * each);
    g_assert_cmpfloat(sent_bytes(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_BACKWARD), ==, 8 * each);
    /* The head gathers in 16 bits, and sums three fp32 a token. */
    double head = 2 * each + 3 * 4 * 8192.0 * 2 * 3 / 4;
    g_assert_cmpfloat(sent_bytes(shape, &cut, LLM_PIECE_HEAD, LLM_PASS_FORWARD), ==, head);
}

/* DeepSeek-V3: instead of 7168 columns, 1536 of q, 512 of keys and values and the key's 64 are gathered before
 * attention. */
static void
test_latent_gathers(void)
{
    g_test_summary("latent attention gathers its latents, not the hidden state");
    g_autoptr(LlmShape) shape = shipped("deepseek-v3");
    LlmCut cut = cut_of(shape, 4, TRUE, 4096);
    double row = 4096.0 * 2 * 3 / 4;
    double latents = (1536 + 512 + 64) * row, hidden = 7168 * row;
    g_assert_cmpfloat(sent_bytes(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD), ==,
                      latents + 3 * hidden);
    /* Gradients of all latents are scattered, the matrices' inputs gathered again. */
    g_assert_cmpfloat(sent_bytes(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_BACKWARD), ==,
                      2 * latents - 64 * row + 4 * hidden);
}

static void
test_fused_loss(void)
{
    g_test_summary("a fused loss: two reductions, no fp32 copy of the logits");
    g_autoptr(LlmShape) shape = shipped("llama3-8b");
    LlmCut cut = cut_of(shape, 4, TRUE, 8192);
    cut.fused_loss = TRUE;
    assert_list(shape, &cut, LLM_PIECE_HEAD, LLM_PASS_FORWARD,
                "final_norm all_gather<0 lm_head<1 cross_entropy_max all_reduce_max<3 "
                "cross_entropy_exp<4 all_reduce_sum<5 cross_entropy_divide<6");
    g_assert_cmpfloat(llm_transient_bytes(shape, &cut, LLM_PIECE_HEAD), ==,
                      2.0 * 8192 * 128256 / 4);
}

static void
test_modules(void)
{
    g_test_summary("each module runs its own forward again, collectives too, and once");
    static const struct {
        guint modules;
        const char *dense, *experts;
    } cases[] = {
        {0, "attention", "attention"},
        {LLM_MODULE_NORM, "norm norm", "norm norm"},
        {LLM_MODULE_MLP | LLM_MODULE_ACTIVATION,
         "all_gather mlp_up<0 activation mlp_down reduce_scatter<3 recompute_end<4", ""},
        {LLM_MODULE_ACTIVATION, "activation", ""},
        {LLM_MODULE_MOE_ACTIVATION | LLM_MODULE_CORE_ATTENTION, "attention",
         "attention expert_activation"},
        {LLM_MODULE_SHARED_EXPERTS, "",
         "all_gather shared_up<0 shared_activation shared_down reduce_scatter<3 recompute_end<4"},
        {LLM_MODULE_MLA_UP, "all_gather q_up<0 all_gather<1 kv_up<2 all_gather<3 rope<4 key_concat",
         "all_gather q_up<0 all_gather<1 kv_up<2 all_gather<3 rope<4 key_concat"},
        {LLM_MODULE_MOE | LLM_MODULE_MOE_ACTIVATION | LLM_MODULE_SHARED_EXPERTS, "",
         "router router_softmax top_k expert_counts<2 permute dispatch<4 dispatch_probs<4 "
         "all_gather<4 shared_up<7 shared_activation shared_down reduce_scatter<10 expert_sort<11 "
         "expert_up expert_activation expert_down expert_unsort combine<16 unpermute<17 shared_add"},
        /* q_up, kv_up and the gate are even. */
        {LLM_MODULE_SECOND_GEMM,
         "norm q_norm all_gather<1 q_up<2 kv_norm all_gather<4 kv_up<5 all_gather<6 rope<7 key_concat "
         "residual_add norm all_gather<11 mlp_up<12 activation",
         NULL},
    };
    g_autoptr(LlmShape) shape = shipped("deepseek-v3");
    LlmCut cut = cut_of(shape, 2, TRUE, 4096);
    cut.ep = 64;
    cut.recompute = LLM_RECOMPUTE_SELECTIVE;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        cut.recompute_modules = cases[i].modules;
        assert_list(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_RECOMPUTE, cases[i].dense);
        if (cases[i].experts != NULL) {
            assert_list(shape, &cut, LLM_PIECE_MOE, LLM_PASS_RECOMPUTE, cases[i].experts);
        }
    }
}

static void
test_second(void)
{
    g_test_summary(
        "by operator: of Llama 3 8B's matrices k, out and up run again, in GPT k and out");
    g_autoptr(LlmShape) llama = shipped("llama3-8b");
    LlmCut cut = cut_of(llama, 1, FALSE, 8192);
    cut.recompute = LLM_RECOMPUTE_SELECTIVE;
    cut.recompute_modules = LLM_MODULE_SECOND_GEMM;
    assert_list(llama, &cut, LLM_PIECE_LAYER, LLM_PASS_RECOMPUTE,
                "norm qkv rope attention_out residual_add norm mlp_up activation");
    double flops = 2.0 * 8192 * 4096 * (1024 + 4096 + 14336);
    g_autoptr(GArray) ops = llm_ops(llama, &cut, LLM_PIECE_LAYER, LLM_PASS_RECOMPUTE);
    for (guint i = 0; i < ops->len; i++) {
        flops -= g_array_index(ops, LlmOp, i).flops;
    }
    g_assert_cmpfloat(flops, ==, 0);
    cut = cut_of(llama, 2, FALSE, 8192); /* sums are reduced again */
    cut.recompute = LLM_RECOMPUTE_SELECTIVE;
    cut.recompute_modules = LLM_MODULE_SECOND_GEMM;
    assert_list(llama, &cut, LLM_PIECE_LAYER, LLM_PASS_RECOMPUTE,
                "norm qkv rope attention_out all_reduce<3 residual_add<4 norm mlp_up activation");
    g_autoptr(LlmShape) gpt = shipped("gpt3-175b");
    cut.attention = LLM_ATTENTION_UNFUSED;
    assert_list(gpt, &cut, LLM_PIECE_LAYER, LLM_PASS_RECOMPUTE,
                "norm qkv scores softmax values head_layout attention_out all_reduce<6 "
                "residual_add<7 norm activation");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/llm/matrix/ring-exchange", test_ring_exchange);
    g_test_add_func("/llm/matrix/one-call", test_one_call);
    g_test_add_func("/llm/matrix/overlap-keeps-the-volume", test_same_volume);
    g_test_add_func("/llm/matrix/gathers-in-fp8", test_fp8_gathers);
    g_test_add_func("/llm/matrix/gathers-of-latents", test_latent_gathers);
    g_test_add_func("/llm/matrix/fused-loss", test_fused_loss);
    g_test_add_func("/llm/matrix/modules-of-recompute", test_modules);
    g_test_add_func("/llm/matrix/every-second-matrix", test_second);
    return g_test_run();
}
