/* How long a time of a kernel takes: GEMMs and attention between the rows of a large table. */
#include "config.h"

#include "cost/kernel.h"

#include <stdio.h>

enum { N_GEMMS = 100000, N_ATTENTION = 100000 };

int
main(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ClusterSystem) system = cluster_system_load("dgx-h100", NULL, &error);
    gint64 begin_us = g_get_monotonic_time();
    g_autoptr(CostBook) book = system != NULL ? cost_book_load(system, &error) : NULL;
    if (book == NULL)
        g_error("%s", error->message);
    printf("load the tables of dgx-h100             %8.1f ms\n",
           1e-3 * (double)(g_get_monotonic_time() - begin_us));
    double sum = 0;
    begin_us = g_get_monotonic_time();
    for (int i = 0; i < N_GEMMS; i++) {
        CostGemm g = {.dtype = CLUSTER_BF16,
                      .m = 65 + i % 8191,
                      .n = 257 + 8 * (i % 1021),
                      .k = 264 + 8 * (i % 509),
                      .batch = 1};
        sum += cost_gemm(book, &g).ns;
    }
    printf("a GEMM between rows                     %8.2f us\n",
           (double)(g_get_monotonic_time() - begin_us) / N_GEMMS);
    begin_us = g_get_monotonic_time();
    for (int i = 0; i < N_ATTENTION; i++) {
        CostAttention a = {.dtype = CLUSTER_BF16,
                           .batch = 1 + i % 7,
                           .heads = 8,
                           .kv_heads = 1 + i % 8,
                           .head_dim = 128,
                           .seq_q = 513 + i % 8191,
                           .seq_kv = 513 + i % 8191,
                           .causal = TRUE};
        sum += cost_attention(book, &a).ns;
    }
    printf("an attention between rows               %8.2f us\n",
           (double)(g_get_monotonic_time() - begin_us) / N_ATTENTION);
    return sum > 0 ? 0 : 1;
}
