/* The three tables from arbitrary bytes: an error iff it failed; whatever loads gives finite
 * times. */
#include "config.h"

#include "cost/attention_table.h"
#include "cost/gemm_table.h"
#include "cost/memory_table.h"

#include <math.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the readers look at of a system. */
static const ClusterSystem machine = {
    .peak_flops = {1000000000000, 0, 10000000000000, 10000000000000, 0},
    .memory_Bps = 100000000000,
    .memory_efficiency = 0.9,
    .n_sms = 10,
    .kernel_floor_ns = 2000,
};

static void
ask_gemm(const ConfTable *rows)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CostGemmTable) table = cost_gemm_table_new(&machine, rows, CLUSTER_BF16, &error);
    g_assert_true((table == NULL) == (error != NULL));
    if (!table || !cost_gemm_table_n_points(table))
        return;
    CostGemm g = {.dtype = CLUSTER_BF16, .m = 1000, .n = 3000, .k = 5000, .batch = 7};
    g_assert_true(isfinite(cost_gemm_table_log_efficiency(table, &g).y));
    g_assert_true(isfinite(cost_gemm_table_leave_one_out(table, 16)));
}

static void
ask_attention(const ConfTable *rows)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CostAttentionTable) table = cost_attention_table_new(&machine, rows, &error);
    g_assert_true((table == NULL) == (error != NULL));
    CostAttention a = {.dtype = CLUSTER_FP16,
                       .batch = 2,
                       .heads = 3,
                       .kv_heads = 1,
                       .head_dim = 80,
                       .seq_q = 999,
                       .seq_kv = 4000,
                       .causal = TRUE};
    CostEstimate at;
    gboolean other;
    if (table && cost_attention_table_log_efficiency(table, &a, &at, &other))
        g_assert_true(isfinite(at.y));
}

static void
ask_memory(const ConfTable *rows)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CostMemoryTable) table = cost_memory_table_new(rows, &error);
    g_assert_true((table == NULL) == (error != NULL));
    CostTime time;
    for (double bytes = 1; table && bytes < 1e12; bytes *= 1000)
        if (cost_memory_table_time(table, COST_NORM, bytes, 2000, &time))
            g_assert_true(isfinite(time.ns) && time.ns > 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(ConfTable) rows = conf_table_parse("fuzz", text, '\t', &error);
    if (!rows)
        return 0;
    ask_gemm(rows);
    ask_attention(rows);
    ask_memory(rows);
    return 0;
}
