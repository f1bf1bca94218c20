/* Experts: volumes, order and waits, GEMMs, imbalance and capacity, halves, FLOPs over random cuts. */
#include "config.h"

#include "llm-fixture.h"
#include "llm-lists.h"
#include "llm/parameters.h"

#include <math.h>

static const LlmOp *
find_op(const GArray *ops, const char *name)
{
    for (guint i = 0; i < ops->len; i++) {
        const LlmOp *op = &g_array_index(ops, LlmOp, i);
        if (strcmp(op->name, name) == 0) {
            return op;
        }
    }
    g_assert_not_reached();
}

static LlmCut
moe_cut(const LlmShape *shape, gint64 tp, gint64 ep, gint64 seq)
{
    LlmCut cut = cut_of(shape, tp, tp > 1, seq);
    cut.ep = ep;
    cut.etp = 1;
    cut.ep_nodes = 1;
    return cut;
}

static void
test_volumes(void)
{
    g_test_summary("count, size and ring bytes of each exchange as in the table");
    g_autoptr(GPtrArray) rows = rows_of("comm_volumes.tsv");
    guint seen = 0;
    for (guint i = 0; i < rows->len; i++) {
        char **row = rows->pdata[i];
        gint64 ep = whole(row[4]), count = 0;
        if (ep == 1) {
            continue;
        }
        seen++;
        g_autoptr(LlmShape) shape = shipped(row[0]);
        LlmCut cut = moe_cut(shape, 1, ep, whole(row[1]));
        cut.fp8_dispatch = whole(row[5]) == 1;
        LlmPass pass = strcmp(row[7], "forward") == 0 ? LLM_PASS_FORWARD : LLM_PASS_BACKWARD;
        g_autoptr(GArray) ops = llm_ops(shape, &cut, LLM_PIECE_MOE, pass);
        for (guint j = 0; j < ops->len; j++) {
            const LlmOp *op = &g_array_index(ops, LlmOp, j);
            if (is_collective(op) && strcmp(row[8], op->name) == 0) {
                count++;
                double bytes = (double)op->collective.bytes;
                g_assert_cmpint(op->collective.bytes, ==, whole(row[10]));
                g_assert_cmpfloat(net_ring_bytes(op->collective.op, (guint)ep, bytes), ==,
                                  (double)whole(row[11]));
            }
        }
        g_assert_cmpint(count, ==, whole(row[9]));
    }
    g_assert_cmpuint(seen, ==, 21);
}

static void
test_order(void)
{
    g_test_summary(
        "Mixtral over 8 ranks: what waits for dispatch and combine, forward and backward");
    g_autoptr(LlmShape) shape = shipped("mixtral-8x7b");
    LlmCut cut = moe_cut(shape, 1, 8, 4096);
    assert_list(
        shape, &cut, LLM_PIECE_MOE, LLM_PASS_FORWARD,
        "norm qkv rope attention attention_out residual_add norm router router_softmax top_k "
        "expert_counts<9 permute dispatch<11 dispatch_probs<11 expert_up<13 expert_activation "
        "expert_down combine<16 unpermute<17 residual_add");
    assert_list(
        shape, &cut, LLM_PIECE_MOE, LLM_PASS_BACKWARD,
        "residual_grad_add unpermute_backward combine_grad<1 expert_down_dgrad<2 expert_down_wgrad "
        "expert_activation_backward expert_up_dgrad expert_up_wgrad dispatch_grad<7 "
        "dispatch_probs_grad<7 permute_backward<9 router_softmax_backward router_dgrad router_wgrad "
        "branch_grad_add norm_backward residual_grad_add attention_out_dgrad attention_out_wgrad "
        "attention_backward rope_backward qkv_dgrad qkv_wgrad norm_backward");
    assert_list(shape, &cut, LLM_PIECE_MOE, LLM_PASS_WEIGHT_GRAD,
                "expert_down_wgrad expert_up_wgrad router_wgrad attention_out_wgrad qkv_wgrad");
    cut.ep = 4; /* two experts a rank: rows are sorted by expert */
    cut.etp = 2;
    assert_list(
        shape, &cut, LLM_PIECE_MOE, LLM_PASS_FORWARD,
        "norm qkv rope attention attention_out residual_add norm router router_softmax top_k "
        "expert_counts<9 expert_counts<10 permute dispatch<12 dispatch_probs<12 expert_gather<12 "
        "expert_gather_probs<12 expert_sort<16 expert_up expert_activation expert_down "
        "expert_unsort expert_scatter<21 combine<21 unpermute<22 residual_add");
}

static void
test_chained_waits(void)
{
    g_test_summary(
        "a gather over etp waits for the dispatch, the combine for the scatter over etp");
    g_autoptr(LlmShape) shape = shipped("mixtral-8x7b");
    LlmCut cut = moe_cut(shape, 1, 4, 4096);
    cut.etp = 2;
    g_autoptr(GArray) ops = llm_ops(shape, &cut, LLM_PIECE_MOE, LLM_PASS_FORWARD);
    g_assert_cmpint(find_op(ops, "expert_gather")->waits[1], ==, 14);
    g_assert_cmpint(find_op(ops, "combine")->waits[1], ==, 22);
}

/* Mixtral, 8 experts: int64 counts of all experts from the 2 x 4 ranks, 8 x 8 x 8 = 512 bytes, of which a rank
 * receives 448 however the gather is made: 64 from its neighbour over etp, 3 x 128 over ep. */
static void
test_counts(void)
{
    g_test_summary(
        "token counts are gathered over etp and ep: as many bytes as one gather of both");
    g_autoptr(LlmShape) shape = shipped("mixtral-8x7b");
    for (gint64 etp = 1; etp <= 8; etp *= 2) {
        LlmCut cut = moe_cut(shape, 1, 8 / etp, 4096);
        cut.etp = etp;
        g_autoptr(GArray) ops = llm_ops(shape, &cut, LLM_PIECE_MOE, LLM_PASS_FORWARD);
        gint64 received = 0, most = 0;
        for (guint i = 0; i < ops->len; i++) {
            const LlmOp *op = &g_array_index(ops, LlmOp, i);
            if (strcmp(op->name, "expert_counts") == 0) {
                gint64 ranks = op->collective.group == LLM_GROUP_ETP ? etp : 8 / etp;
                received += op->collective.bytes / ranks * (ranks - 1);
                most = MAX(most, op->collective.bytes);
            }
        }
        g_assert_cmpint(received, ==, 448);
        g_assert_cmpint(most, ==, 512);
    }
}

static void
test_shared(void)
{
    g_test_summary("shared experts run before the routed ones, or beside dispatch and combine");
    g_autoptr(LlmShape) shape = shipped("deepseek-v3");
    LlmCut cut = moe_cut(shape, 1, 64, 4096);
    cut.dispatch = LLM_DISPATCH_FLEX;
    assert_list(
        shape, &cut, LLM_PIECE_MOE, LLM_PASS_FORWARD,
        "norm q_down q_norm kv_down kv_norm q_up kv_up rope key_concat attention attention_out "
        "residual_add norm router router_softmax top_k expert_counts<15 dispatch<15 "
        "shared_up<17 shared_activation shared_down expert_sort expert_up expert_activation "
        "expert_down expert_unsort combine<25 shared_add<26 residual_add");
    cut.overlap_shared = TRUE;
    assert_list(
        shape, &cut, LLM_PIECE_MOE, LLM_PASS_FORWARD,
        "norm q_down q_norm kv_down kv_norm q_up kv_up rope key_concat attention attention_out "
        "residual_add norm router router_softmax top_k expert_counts<15 dispatch<15 "
        "shared_up shared_activation expert_sort<17 expert_up expert_activation "
        "expert_down expert_unsort combine<24 shared_down shared_add<25 residual_add");
    assert_list(
        shape, &cut, LLM_PIECE_MOE, LLM_PASS_INPUT_GRAD,
        "residual_grad_add combine_grad<0 shared_down_dgrad expert_unsort_backward<1 "
        "expert_down_dgrad expert_activation_backward expert_up_dgrad expert_sort_backward "
        "dispatch_grad<7 shared_activation_backward shared_up_dgrad router_softmax_backward<8 "
        "router_dgrad branch_grad_add norm_backward residual_grad_add attention_out_dgrad "
        "attention_backward rope_backward key_split kv_up_dgrad kv_norm_backward kv_down_dgrad "
        "q_up_dgrad q_norm_backward q_down_dgrad latent_grad_add norm_backward");
}

/* DeepSeek-V3: 256 experts, 8 a token. 64 ranks of 4: 64 (1 - C(252,8)/C(256,8)); 8 nodes of 32. */
static double
copies_expected(double experts, double k, double parts)
{
    double log_none = lgamma(experts - experts / parts + 1) -
                      lgamma(experts - experts / parts - k + 1) - lgamma(experts + 1) +
                      lgamma(experts - k + 1);
    return parts * (1.0 - exp(log_none));
}

static void
test_flex(void)
{
    g_test_summary("a token goes once to each rank and once to each node with one of its experts");
    g_autoptr(LlmShape) shape = shipped("deepseek-v3");
    LlmCut cut = moe_cut(shape, 1, 64, 4096);
    cut.dispatch = LLM_DISPATCH_FLEX;
    cut.ep_nodes = 8;
    /* As published: a token's experts are in 4 of 8 groups of 32, so on 4 of 8 nodes at most. */
    g_autoptr(GArray) limited = llm_ops(shape, &cut, LLM_PIECE_MOE, LLM_PASS_FORWARD);
    const LlmOp *few = find_op(limited, "dispatch");
    double hidden = 4096.0 * 7168 * 2;
    g_assert_cmpfloat_with_epsilon((double)few->collective.bytes / hidden,
                                   copies_expected(128, 8, 32), 1e-6);
    g_assert_cmpfloat_with_epsilon((double)few->collective.node_bytes / hidden,
                                   copies_expected(128, 8, 4), 1e-6);
    g_assert_cmpfloat((double)few->collective.node_bytes / hidden, <, 4);
    shape->route_groups = shape->route_limit = 0;
    g_autoptr(GArray) ops = llm_ops(shape, &cut, LLM_PIECE_MOE, LLM_PASS_FORWARD);
    double token = 4096.0 * 7168 * 2;
    const LlmOp *op = find_op(ops, "dispatch");
    double ranks = (double)op->collective.bytes / token;
    double nodes = (double)op->collective.node_bytes / token;
    g_assert_cmpfloat_with_epsilon(ranks, copies_expected(256, 8, 64), 1e-6);
    g_assert_cmpfloat_with_epsilon(nodes, copies_expected(256, 8, 8), 1e-6);
    g_assert_cmpfloat(ranks, <, 8);
    g_assert_cmpfloat(nodes, <, ranks);
    g_assert_cmpint(find_op(ops, "combine")->collective.bytes, ==, op->collective.bytes);
    cut.fp8_dispatch = TRUE; /* a byte an element and 4 for each 128; the way back as before */
    g_autoptr(GArray) bytes = llm_ops(shape, &cut, LLM_PIECE_MOE, LLM_PASS_FORWARD);
    g_assert_cmpfloat_with_epsilon((double)find_op(bytes, "dispatch")->collective.bytes /
                                       (double)op->collective.bytes,
                                   (1 + 4.0 / 128) / 2, 1e-9);
    g_assert_cmpint(find_op(bytes, "combine")->collective.bytes, ==, op->collective.bytes);
    cut.fp8_dispatch = FALSE;
    cut.ep = 256; /* one expert a rank: nothing is saved */
    g_autoptr(GArray) each = llm_ops(shape, &cut, LLM_PIECE_MOE, LLM_PASS_FORWARD);
    g_assert_cmpfloat_with_epsilon((double)find_op(each, "dispatch")->collective.bytes / token, 8,
                                   1e-6);
}

static void
test_all_gather_dispatch(void)
{
    g_test_summary("the all-gather dispatcher moves (etp ep - 1) n_loc h each way");
    g_autoptr(LlmShape) shape = shipped("mixtral-8x7b");
    LlmCut cut = moe_cut(shape, 1, 4, 4096);
    cut.dispatch = LLM_DISPATCH_ALL_GATHER;
    cut.etp = 2;
    g_autoptr(GArray) ops = llm_ops(shape, &cut, LLM_PIECE_MOE, LLM_PASS_FORWARD);
    const char *const there[] = {"dispatch", "expert_gather"}, *const back[] = {"combine",
                                                                                "expert_scatter"};
    double sum[2] = {0, 0};
    for (guint i = 0; i < 2; i++) {
        const LlmOp *a = find_op(ops, there[i]), *b = find_op(ops, back[i]);
        guint ranks = i == 0 ? 4 : 2;
        g_assert_cmpint(a->collective.op, ==, NET_ALL_GATHER);
        g_assert_cmpint(b->collective.op, ==, NET_REDUCE_SCATTER);
        sum[0] += net_ring_bytes(a->collective.op, ranks, (double)a->collective.bytes);
        sum[1] += net_ring_bytes(b->collective.op, ranks, (double)b->collective.bytes);
    }
    g_assert_cmpfloat(sum[0], ==, (2 * 4 - 1) * 4096.0 * 4096 * 2);
    g_assert_cmpfloat(sum[1], ==, sum[0]);
}

static void
test_load(void)
{
    g_test_summary(
        "rows of the most loaded rank: balanced, loaded, capped by a capacity, padded to it");
    static const struct {
        double load, factor;
        gboolean pad;
        gint64 rows, sent;
    } cases[] = {
        {0, 0, FALSE, 8192, 8192},        {1.5, 0, FALSE, 12288, 12288},
        {1.5, 1.25, FALSE, 10240, 10240}, {1.5, 1.25, TRUE, 10240, 10240},
        {1, 1.25, TRUE, 10240, 10240},    {1, 1.25, FALSE, 8192, 8192},
        {1, 0.5, FALSE, 4096, 4096},
    };
    g_autoptr(LlmShape) shape = shipped("mixtral-8x7b");
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        LlmCut cut = moe_cut(shape, 1, 4, 4096);
        cut.expert_load = cases[i].load;
        cut.capacity_factor = cases[i].factor;
        cut.pad_to_capacity = cases[i].pad;
        g_autoptr(GArray) ops = llm_ops(shape, &cut, LLM_PIECE_MOE, LLM_PASS_FORWARD);
        const LlmOp *up = find_op(ops, "expert_up");
        g_assert_cmpint(up->gemm.m, ==, cases[i].rows);
        g_assert_cmpint(up->gemm.groups, ==, 2);
        g_assert_cmpint(up->gemm.k, ==, 4096);
        g_assert_cmpint(up->gemm.n, ==, 2 * 14336);
        g_assert_cmpint(find_op(ops, "dispatch")->collective.bytes, ==, cases[i].sent * 4096 * 2);
        gboolean counts = FALSE;
        for (guint j = 0; j < ops->len; j++) {
            counts |= strcmp(g_array_index(ops, LlmOp, j).name, "expert_counts") == 0;
        }
        g_assert_true(counts != cases[i].pad);
    }
}

static void
test_segments(void)
{
    g_test_summary("the parts that an overlapped pair interleaves hold what they should");
    static const struct {
        const char *name;
        LlmPass pass;
        LlmSegment segment;
    } cases[] = {
        {"attention", LLM_PASS_FORWARD, LLM_SEGMENT_ATTENTION},
        {"router", LLM_PASS_FORWARD, LLM_SEGMENT_ATTENTION},
        {"dispatch", LLM_PASS_FORWARD, LLM_SEGMENT_DISPATCH},
        {"shared_up", LLM_PASS_FORWARD, LLM_SEGMENT_EXPERTS},
        {"expert_down", LLM_PASS_FORWARD, LLM_SEGMENT_EXPERTS},
        {"combine", LLM_PASS_FORWARD, LLM_SEGMENT_COMBINE},
        {"unpermute", LLM_PASS_FORWARD, LLM_SEGMENT_POST},
        {"unpermute_backward", LLM_PASS_BACKWARD, LLM_SEGMENT_POST},
        {"combine_grad", LLM_PASS_BACKWARD, LLM_SEGMENT_COMBINE},
        {"expert_up_dgrad", LLM_PASS_BACKWARD, LLM_SEGMENT_EXPERTS},
        {"expert_up_wgrad", LLM_PASS_BACKWARD, LLM_SEGMENT_EXPERTS_WGRAD},
        {"shared_up_wgrad", LLM_PASS_BACKWARD, LLM_SEGMENT_EXPERTS_WGRAD},
        {"dispatch_grad", LLM_PASS_BACKWARD, LLM_SEGMENT_DISPATCH},
        {"attention_backward", LLM_PASS_BACKWARD, LLM_SEGMENT_ATTENTION},
        {"router_wgrad", LLM_PASS_BACKWARD, LLM_SEGMENT_ATTENTION_WGRAD},
        {"attention_out_wgrad", LLM_PASS_WEIGHT_GRAD, LLM_SEGMENT_ATTENTION_WGRAD},
    };
    g_autoptr(LlmShape) shape = shipped("deepseek-v3");
    LlmCut cut = moe_cut(shape, 2, 64, 4096);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GArray) ops = llm_ops(shape, &cut, LLM_PIECE_MOE, cases[i].pass);
        g_assert_cmpint(find_op(ops, cases[i].name)->segment, ==, cases[i].segment);
    }
}

/* --- over random cuts ------------------------------------------------------------------------- */

static const char *const models[] = {"mixtral-8x7b", "deepseek-v3", "deepseek-v2-lite",
                                     "qwen3-30b-a3b", "gpt-oss-20b"};

static LlmCut
random_cut(const LlmShape *shape)
{
    gint64 tp = 1 << g_test_rand_int_range(0, 3);
    LlmCut cut =
        moe_cut(shape, tp, 1 << g_test_rand_int_range(0, 4), 256 * g_test_rand_int_range(4, 16));
    cut.cp = 1 << g_test_rand_int_range(0, 3);
    cut.cp_kind = (LlmCpKind)g_test_rand_int_range(0, 3);
    cut.sequence_parallel = g_test_rand_bit();
    cut.etp = 1 << g_test_rand_int_range(0, 2);
    cut.micro_batch = g_test_rand_int_range(1, 4);
    cut.dispatch = (LlmDispatch)g_test_rand_int_range(0, 3);
    cut.overlap_shared = g_test_rand_bit();
    cut.fp8_dispatch = g_test_rand_bit();
    cut.tp_overlap = g_test_rand_bit();
    cut.dtype = g_test_rand_bit() ? CLUSTER_BF16 : CLUSTER_FP8;
    cut.recompute = (LlmRecompute)g_test_rand_int_range(0, 3);
    cut.recompute_modules = (guint)g_test_rand_int_range(1, LLM_MODULE_ALL + 1);
    cut.capacity_factor = g_test_rand_bit() ? 0.0 : 1.0 + g_test_rand_double();
    cut.pad_to_capacity = g_test_rand_bit();
    cut.expert_load = 1.0 + g_test_rand_double();
    return cut;
}

static const LlmPiece pieces[] = {LLM_PIECE_EMBEDDING,  LLM_PIECE_LAYER, LLM_PIECE_MOE,
                                  LLM_PIECE_MOE_WINDOW, LLM_PIECE_MTP,   LLM_PIECE_HEAD};

static void
test_lists(void)
{
    g_test_summary(
        "waits are for earlier ops of other streams and leave nothing open; halves make the backward");
    for (guint i = 0; i < 400; i++) {
        g_autoptr(LlmShape) shape = shipped(models[i % G_N_ELEMENTS(models)]);
        LlmCut cut = random_cut(shape);
        LlmPiece piece = pieces[g_test_rand_int_range(0, G_N_ELEMENTS(pieces))];
        for (guint pass = 0; pass < LLM_N_PASSES; pass++) {
            g_autoptr(GArray) ops = llm_ops(shape, &cut, piece, (LlmPass)pass);
            check_waits(ops, (LlmPass)pass);
        }
        Sums all = sums_of(shape, &cut, piece, LLM_PASS_BACKWARD);
        Sums input = sums_of(shape, &cut, piece, LLM_PASS_INPUT_GRAD);
        Sums weight = sums_of(shape, &cut, piece, LLM_PASS_WEIGHT_GRAD);
        g_assert_cmpuint(input.n + weight.n, ==, all.n);
        g_assert_cmpfloat_with_epsilon((input.matrix_flops + weight.matrix_flops) /
                                           MAX(all.matrix_flops, 1),
                                       all.matrix_flops > 0, 1e-12);
        g_assert_cmpfloat(input.core_flops, ==, all.core_flops);
        g_assert_cmpfloat_with_epsilon(
            (input.memory_bytes + weight.memory_bytes) / all.memory_bytes, 1, 1e-12);
        g_assert_cmpfloat(input.collective_bytes + weight.collective_bytes, ==,
                          all.collective_bytes);
    }
}

static void
test_flops(void)
{
    g_test_summary(
        "2 FLOPs a weight and token: k experts of the E, the router, the rest; backward twice");
    for (guint i = 0; i < 200; i++) {
        g_autoptr(LlmShape) shape = shipped(models[i % G_N_ELEMENTS(models)]);
        LlmCut cut = random_cut(shape);
        cut.tp = cut.cp = 1;
        cut.capacity_factor = 0;
        cut.expert_load = 1;
        Sums forward = sums_of(shape, &cut, LLM_PIECE_MOE, LLM_PASS_FORWARD);
        Sums backward = sums_of(shape, &cut, LLM_PIECE_MOE, LLM_PASS_BACKWARD);
        double h = (double)shape->hidden, tokens = (double)(cut.micro_batch * cut.seq);
        double expert = 3 * h * (double)shape->expert_ffn, k = (double)shape->experts_per_token;
        double weights = (double)llm_parameters(shape).moe_layer_matrices -
                         ((double)shape->experts - k) * expert + h * (double)shape->experts;
        g_assert_cmpfloat_with_epsilon(forward.matrix_flops / (2 * weights * tokens), 1, 1e-9);
        g_assert_cmpfloat_with_epsilon(backward.matrix_flops / forward.matrix_flops, 2, 1e-12);
    }
}

static void
test_prediction(void)
{
    g_test_summary("a prediction module: two norms, 2h -> h, a layer of the last kind, the head");
    g_autoptr(LlmShape) shape = shipped("deepseek-v3");
    LlmCut cut = moe_cut(shape, 4, 8, 4096);
    Sums layer = sums_of(shape, &cut, LLM_PIECE_MOE, LLM_PASS_FORWARD);
    Sums head = sums_of(shape, &cut, LLM_PIECE_HEAD, LLM_PASS_FORWARD);
    Sums module = sums_of(shape, &cut, LLM_PIECE_MTP, LLM_PASS_FORWARD);
    double projection = 2.0 * 4096 * 2 * 7168 * 7168 / 4;
    g_assert_cmpfloat(module.core_flops, ==, layer.core_flops);
    g_assert_cmpfloat(module.matrix_flops, ==, layer.matrix_flops + head.matrix_flops + projection);
}

static void
test_fp8(void)
{
    g_test_summary("fp8: matrices in 8 bits between casts, core, router and head in 16");
    g_autoptr(LlmShape) shape = shipped("deepseek-v3");
    LlmCut cut = moe_cut(shape, 1, 8, 4096);
    cut.dtype = CLUSTER_FP8;
    g_autoptr(GArray) ops = llm_ops(shape, &cut, LLM_PIECE_MOE, LLM_PASS_FORWARD);
    g_autoptr(GArray) head = llm_ops(shape, &cut, LLM_PIECE_HEAD, LLM_PASS_FORWARD);
    g_assert_cmpint(find_op(ops, "attention_out")->gemm.dtype, ==, CLUSTER_FP8);
    g_assert_cmpint(find_op(ops, "expert_up")->gemm.dtype, ==, CLUSTER_FP8);
    g_assert_cmpint(find_op(ops, "attention")->attention.dtype, ==, CLUSTER_BF16);
    g_assert_cmpint(find_op(ops, "router")->gemm.dtype, ==, CLUSTER_BF16);
    g_assert_cmpint(find_op(head, "lm_head")->gemm.dtype, ==, CLUSTER_BF16);
    double n = 4096, h = 7168, rows = n * 8, weights = 0;
    g_assert_cmpfloat(
        memory_bytes(ops, "fp8_cast"), ==,
        4 * (n * (2 * h + 1536 + 512 + 128 * 128) + n * (h + 2048) + rows * (h + 2048)));
    weights = h * (1536 + 576) + 1536 * 128 * 192.0 + 512 * 128 * 256.0 + 128 * 128 * h;
    weights += 3 * h * 2048 * (1 + 256 / 8);
    g_assert_cmpfloat(memory_bytes(ops, "fp8_cast_weight"), ==, 4 * weights);
    cut.fp8_weights_kept = TRUE;
    g_autoptr(GArray) kept = llm_ops(shape, &cut, LLM_PIECE_MOE, LLM_PASS_FORWARD);
    g_assert_cmpfloat(memory_bytes(kept, "fp8_cast_weight"), ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/llm/moe/volumes", test_volumes);
    g_test_add_func("/llm/moe/launch-order", test_order);
    g_test_add_func("/llm/moe/collectives-wait-for-collectives", test_chained_waits);
    g_test_add_func("/llm/moe/token-counts", test_counts);
    g_test_add_func("/llm/moe/shared-experts", test_shared);
    g_test_add_func("/llm/moe/one-copy-a-rank-and-node", test_flex);
    g_test_add_func("/llm/moe/all-gather-dispatch", test_all_gather_dispatch);
    g_test_add_func("/llm/moe/load-and-capacity", test_load);
    g_test_add_func("/llm/moe/segments", test_segments);
    g_test_add_func("/llm/moe/every-list", test_lists);
    g_test_add_func("/llm/moe/flops", test_flops);
    g_test_add_func("/llm/moe/prediction-module", test_prediction);
    g_test_add_func("/llm/moe/fp8", test_fp8);
    return g_test_run();
}
