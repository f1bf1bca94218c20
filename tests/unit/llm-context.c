/* The attention core over context-parallel ranks: volumes, work, and what runs beside what. */
#include "config.h"

#include "llm-fixture.h"
#include "llm-lists.h"

static LlmCpKind
kind_of(const char *name)
{
    static const char *const names[] = {"p2p", "all_gather", "a2a"};
    guint kind = 0;
    while (strcmp(names[kind], name) != 0) {
        kind++;
    }
    return (LlmCpKind)kind;
}

static void
test_volumes(void)
{
    g_test_summary("bytes of the core's collectives and of their rings as in the table");
    g_autoptr(GPtrArray) rows = rows_of("comm_volumes.tsv");
    guint seen = 0;
    for (guint i = 0; i < rows->len; i++) {
        char **row = rows->pdata[i];
        if (whole(row[3]) == 1) {
            continue;
        }
        seen++;
        g_autoptr(LlmShape) shape = shipped(row[0]);
        LlmCut cut = cut_of(shape, whole(row[2]), TRUE, whole(row[1]));
        cut.cp = whole(row[3]);
        cut.cp_kind = kind_of(row[6]);
        LlmPass pass = strcmp(row[7], "forward") == 0 ? LLM_PASS_FORWARD : LLM_PASS_BACKWARD;
        g_autoptr(GArray) ops = llm_ops(shape, &cut, LLM_PIECE_LAYER, pass);
        double bytes = 0, ring = 0;
        for (guint j = 0; j < ops->len; j++) {
            const LlmOp *op = &g_array_index(ops, LlmOp, j);
            if (is_collective(op) && g_pattern_match_simple(row[8], op->name)) {
                g_assert_cmpint(op->stream, ==, LLM_STREAM_CP);
                g_assert_cmpint(op->collective.group, ==, LLM_GROUP_CP);
                double each = (double)op->collective.bytes;
                bytes += each;
                ring += net_ring_bytes(op->collective.op, (guint)cut.cp, each);
            }
        }
        g_assert_cmpfloat(bytes, ==, (double)whole(row[10]));
        g_assert_cmpfloat(ring, ==, (double)whole(row[11]));
    }
    g_assert_cmpuint(seen, ==, 14);
}

static void
test_order(void)
{
    g_test_summary(
        "ring: a message is beside the step before the one that needs it; gradients follow");
    g_autoptr(LlmShape) shape = shipped("llama3-8b");
    LlmCut cut = cut_of(shape, 1, FALSE, 8192);
    cut.cp = 4;
    assert_list(
        shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD,
        "norm qkv rope cp_send_kv<2 attention cp_send_kv<2 attention<3 cp_send_kv<4 "
        "attention<5 attention<7 cp_merge attention_out residual_add norm mlp_up activation "
        "mlp_down residual_add");
    assert_list(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_INPUT_GRAD,
                "residual_grad_add mlp_down_dgrad activation_backward mlp_up_dgrad norm_backward "
                "residual_grad_add attention_out_dgrad cp_send_kv<6 attention_backward "
                "cp_send_kv_dkv<8 attention_backward<7 cp_accumulate<9 cp_send_kv_dkv<11 "
                "attention_backward cp_accumulate<12 cp_send_dkv<14 attention_backward "
                "cp_accumulate<15 rope_backward qkv_dgrad norm_backward");
    cut.cp_kind = LLM_CP_ALL_GATHER;
    assert_list(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD,
                "norm qkv rope cp_gather_k<2 cp_gather_v<2 cp_layout<4 attention attention "
                "attention_out residual_add norm mlp_up activation mlp_down residual_add");
    cut.cp_kind = LLM_CP_A2A;
    assert_list(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD,
                "norm qkv rope cp_layout cp_all_to_all_qkv<3 cp_layout<4 attention cp_layout "
                "cp_all_to_all_out<7 cp_layout<8 attention_out residual_add norm mlp_up activation "
                "mlp_down residual_add");
    cut.cp_kind = LLM_CP_A2A_P2P;
    cut.cp_inner = 2;
    assert_list(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD,
                "norm qkv rope cp_layout cp_all_to_all_qkv<3 cp_layout<4 cp_send_kv<5 attention "
                "attention<6 cp_merge cp_layout cp_all_to_all_out<10 cp_layout<11 attention_out "
                "residual_add norm mlp_up activation mlp_down residual_add");
}

/* s = 8192 over 4 ranks: chunks of 1024. Step 0: 2048 x 2048 causal; from a rank before 2048 x 1024, from one
 * behind 1024 x 2048. */
static void
test_steps(void)
{
    g_test_summary("each step of a ring is half a square of its own tokens, whatever its form");
    static const struct {
        gint64 seq_q, seq_kv;
        gboolean causal;
    } steps[] = {{2048, 2048, TRUE}, {2048, 1024, FALSE}, {2048, 1024, FALSE}, {1024, 2048, FALSE}};
    g_autoptr(LlmShape) shape = shipped("llama3-8b");
    LlmCut cut = cut_of(shape, 1, FALSE, 8192);
    cut.cp = 4;
    g_autoptr(GArray) ops = llm_ops(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD);
    guint step = 0;
    for (guint i = 0; i < ops->len; i++) {
        const LlmOp *op = &g_array_index(ops, LlmOp, i);
        if (op->kind == LLM_OP_ATTENTION) {
            g_assert_cmpint(op->attention.seq_q, ==, steps[step].seq_q);
            g_assert_cmpint(op->attention.seq_kv, ==, steps[step].seq_kv);
            g_assert_cmpint(op->attention.causal, ==, steps[step].causal);
            g_assert_cmpfloat(op->flops, ==, 4.0 * 32 * 128 * 2048 * 1024);
            step++;
        }
    }
    g_assert_cmpuint(step, ==, 4);
}

static void
test_work(void)
{
    g_test_summary("all kinds share the pairs of queries and keys: cp lists make the whole");
    g_autoptr(LlmShape) shape = shipped("llama3-70b");
    g_autoptr(LlmShape) latent = shipped("deepseek-v3");
    for (guint i = 0; i < 200; i++) {
        const LlmShape *s = i % 2 == 0 ? shape : latent;
        LlmPiece piece = i % 2 == 0 ? LLM_PIECE_LAYER : LLM_PIECE_MOE;
        LlmCut cut = cut_of(s, 1, FALSE, 1024 * g_test_rand_int_range(1, 16));
        Sums whole_forward = sums_of(s, &cut, piece, LLM_PASS_FORWARD);
        Sums whole_backward = sums_of(s, &cut, piece, LLM_PASS_BACKWARD);
        cut.cp = 1 << g_test_rand_int_range(1, 4);
        cut.cp_inner = 2;
        cut.cp_kind = (LlmCpKind)g_test_rand_int_range(0, 4);
        Sums forward = sums_of(s, &cut, piece, LLM_PASS_FORWARD);
        Sums backward = sums_of(s, &cut, piece, LLM_PASS_BACKWARD);
        double cp = (double)cut.cp;
        g_assert_cmpfloat_with_epsilon(cp * forward.core_flops / whole_forward.core_flops, 1,
                                       1e-12);
        g_assert_cmpfloat_with_epsilon(cp * backward.core_flops / whole_backward.core_flops, 1,
                                       1e-12);
    }
}

/* Queries and keys of latent attention are 192 wide, values 128: forward 192 + 128, backward 3 x 192 + 2 x
 * 128 for each pair and head, twice; the kernel is told both widths. */
static void
test_latent(void)
{
    g_test_summary(
        "latent attention: keys and values of their own widths, in FLOPs and in messages");
    g_autoptr(LlmShape) shape = shipped("deepseek-v3");
    LlmCut cut = cut_of(shape, 1, FALSE, 4096);
    double pairs = 4096.0 * 4096 / 2 * 128;
    Sums forward = sums_of(shape, &cut, LLM_PIECE_MOE, LLM_PASS_FORWARD);
    Sums backward = sums_of(shape, &cut, LLM_PIECE_MOE, LLM_PASS_BACKWARD);
    g_assert_cmpfloat(forward.core_flops, ==, 2 * pairs * (192 + 128));
    g_assert_cmpfloat(backward.core_flops, ==, 2 * pairs * (3 * 192 + 2 * 128));
    cut.cp = 2;
    for (guint pass = 0; pass < 2; pass++) {
        g_autoptr(GArray) ops = llm_ops(shape, &cut, LLM_PIECE_MOE, (LlmPass)pass);
        gint64 sent = 0;
        for (guint i = 0; i < ops->len; i++) {
            const LlmOp *op = &g_array_index(ops, LlmOp, i);
            if (op->kind == LLM_OP_ATTENTION) {
                g_assert_cmpint(op->attention.head_dim, ==, 192);
                g_assert_cmpint(op->attention.v_dim, ==, 128);
            }
            sent += is_collective(op) && op->stream == LLM_STREAM_CP ? op->collective.bytes : 0;
        }
        g_assert_cmpint(sent, ==, (pass == 0 ? 1 : 2) * 2048 * 128 * (192 + 128) * 2);
    }
}

/* Llama 3 8B over 16 ranks, n = 8192 / 16 = 512 tokens: h = 4096, f = 14336, keys and values 2 x 1024. While the
 * core runs, two hidden states and three of f that are kept later are not there yet. The ring holds keys, values
 * and a partial output of each step; gathered keys and values are there twice, backward with their gradients. */
static void
test_workspace(void)
{
    g_test_summary("what the core holds of other ranks' keys and values, by hand");
    g_autoptr(LlmShape) shape = shipped("llama3-8b");
    LlmCut cut = cut_of(shape, 1, FALSE, 8192);
    double row = 2.0 * 512, hidden = 4096 * row, later = 2 * hidden + 3 * 14336 * row;
    double kv = 2048 * row, sums = 512.0 * 32 * 4 * (128 + 1);
    cut.cp = 16;
    g_assert_cmpfloat(llm_workspace_bytes(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD), ==,
                      16 * (kv + hidden) - later);
    cut.cp_kind = LLM_CP_ALL_GATHER;
    g_assert_cmpfloat(llm_workspace_bytes(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD), ==,
                      2 * 16 * kv - later);
    /* Beside it gradients of the output, of q, k and v, of the middle; those of q are summed in fp32. */
    g_assert_cmpfloat(llm_workspace_bytes(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_BACKWARD), ==,
                      3 * 16 * kv + sums + 2 * hidden + 6144 * row - later);
    cut.cp_kind = LLM_CP_A2A; /* two of q, k and v: less than what comes later */
    g_assert_cmpfloat(llm_workspace_bytes(shape, &cut, LLM_PIECE_LAYER, LLM_PASS_FORWARD), ==,
                      2 * hidden);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/llm/context/volumes", test_volumes);
    g_test_add_func("/llm/context/launch-order", test_order);
    g_test_add_func("/llm/context/steps-of-a-ring", test_steps);
    g_test_add_func("/llm/context/ranks-share-the-work", test_work);
    g_test_add_func("/llm/context/latent-attention", test_latent);
    g_test_add_func("/llm/context/workspace", test_workspace);
    return g_test_run();
}
