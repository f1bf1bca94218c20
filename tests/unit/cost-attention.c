/* Attention times: measured points come back, efficiency carries over to other shapes. */
#include "config.h"

#include "cost/roofline.h"

#include "cost-fixture.h"

static CostAttention
attention_of(gint64 batch, gint64 heads, gint64 head_dim, gint64 seq, gboolean causal,
             gboolean backward)
{
    return (CostAttention){.dtype = CLUSTER_BF16,
                           .batch = batch,
                           .heads = heads,
                           .kv_heads = heads,
                           .head_dim = head_dim,
                           .seq_q = seq,
                           .seq_kv = seq,
                           .causal = causal,
                           .backward = backward};
}

static double
tflops(const CostBook *book, CostAttention a)
{
    return cost_attention_flops(&a) / cost_attention(book, &a).ns / 1e3;
}

/* FlashAttention-2 on A100, both passes, 4k tokens, head 128: 196 Tflop/s full, 173 causal. */
static void
test_measured(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_shipped("dgx-a100-80g");
    g_autoptr(CostBook) book = cost_fixture_book(s);
    for (int causal = 0; causal < 2; causal++) {
        CostAttention f = attention_of(4, 16, 128, 4096, causal, FALSE), b = f;
        b.backward = TRUE;
        CostTime forward = cost_attention(book, &f), backward = cost_attention(book, &b);
        g_assert_cmpint(forward.basis, ==, COST_MEASURED);
        g_assert_cmpint(backward.basis, ==, COST_MEASURED);
        double rate = (cost_attention_flops(&f) + cost_attention_flops(&b)) /
                      (forward.ns + backward.ns) / 1e3;
        g_assert_cmpfloat_with_epsilon(rate, causal ? 173 : 196, 0.2);
    }
}

static void
test_between(void)
{
    static const char *const systems[] = {"dgx-a100-80g", "dgx-h100"};
    for (guint i = 0; i < G_N_ELEMENTS(systems); i++) {
        g_autoptr(ClusterSystem) s = cost_fixture_shipped(systems[i]);
        g_autoptr(CostBook) book = cost_fixture_book(s);
        for (int backward = 0; backward < 2; backward++) {
            double shorter = tflops(book, attention_of(4, 16, 128, 2048, TRUE, backward));
            double between = tflops(book, attention_of(4, 16, 128, 3072, TRUE, backward));
            double longer = tflops(book, attention_of(4, 16, 128, 4096, TRUE, backward));
            g_assert_cmpfloat(between, >, shorter * 0.98);
            g_assert_cmpfloat(between, <, longer * 1.02);
            /* 96 is not slower than 64, nor faster than 128. */
            double narrow = tflops(book, attention_of(4, 16, 64, 4096, TRUE, backward));
            double middle = tflops(book, attention_of(4, 16, 96, 4096, TRUE, backward));
            g_assert_cmpfloat(middle, >, narrow * 0.98);
            g_assert_cmpfloat(middle, <, longer * 1.02);
        }
    }
}

/* One head a GPU leaves SMs idle; more heads never take less time. */
static void
test_heads(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_shipped("dgx-a100-80g");
    g_autoptr(CostBook) book = cost_fixture_book(s);
    double before = 0;
    for (gint64 heads = 1; heads <= 64; heads *= 2) {
        CostAttention a = attention_of(1, heads, 128, 2048, TRUE, FALSE);
        double ns = cost_attention(book, &a).ns;
        g_assert_cmpfloat(ns, >=, before);
        before = ns;
    }
    g_assert_cmpfloat(tflops(book, attention_of(1, 2, 128, 2048, TRUE, FALSE)), <,
                      0.6 * tflops(book, attention_of(1, 64, 128, 2048, TRUE, FALSE)));
}

/* Context parallel: a rank with a quarter of the queries does a quarter of the work. */
static void
test_context_parallel(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_shipped("dgx-a100-80g");
    g_autoptr(CostBook) book = cost_fixture_book(s);
    CostAttention whole = attention_of(1, 16, 128, 16384, TRUE, FALSE), part = whole;
    part.seq_q /= 4;
    double ratio = cost_attention(book, &part).ns / cost_attention(book, &whole).ns;
    g_assert_cmpfloat(ratio, >, 0.24);
    g_assert_cmpfloat(ratio, <, 0.30);
}

static void
test_modelled(void)
{
    g_autoptr(ClusterSystem) s = cost_fixture_shipped("dgx1-v100-32g");
    g_autoptr(CostBook) book = cost_fixture_book(s);
    CostAttention a = attention_of(1, 16, 128, 2048, TRUE, FALSE);
    a.dtype = CLUSTER_FP16;
    CostTime time = cost_attention(book, &a);
    g_assert_cmpint(time.basis, ==, COST_MODELLED);
    g_assert_cmpfloat(time.error_frac, >=, 0.3);
    g_assert_cmpfloat(cost_attention_flops(&a) / time.ns / 1e3, <, 125);
    /* A head of 256 is beyond A100's table. */
    g_autoptr(ClusterSystem) a100 = cost_fixture_shipped("dgx-a100-80g");
    g_autoptr(CostBook) other = cost_fixture_book(a100);
    a.head_dim = 512;
    g_assert_cmpint(cost_attention(other, &a).basis, ==, COST_MODELLED);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cost/attention/measured-points-come-back", test_measured);
    g_test_add_func("/cost/attention/between-points-lies-between", test_between);
    g_test_add_func("/cost/attention/few-heads-leave-sms-idle", test_heads);
    g_test_add_func("/cost/attention/context-parallel-ranks-share-the-work", test_context_parallel);
    g_test_add_func("/cost/attention/beyond-the-table-is-modelled", test_modelled);
    return g_test_run();
}
