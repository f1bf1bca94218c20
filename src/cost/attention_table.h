/* The rows of attention.tsv: exact hits, and efficiency over sequence length and head dimension. */
#pragma once

#include "conf/table.h"
#include "cost/kernel.h"
#include "cost/surface.h"

typedef struct CostAttentionTable CostAttentionTable;

/* Borrows `system`. */
CostAttentionTable *cost_attention_table_new(const ClusterSystem *system, const ConfTable *rows,
                                             GError **error);
void cost_attention_table_free(CostAttentionTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CostAttentionTable, cost_attention_table_free)

guint cost_attention_table_n_rows(const CostAttentionTable *table);
gboolean cost_attention_table_find(const CostAttentionTable *table, const CostAttention *attention,
                                   double *ret_ns);
/* log(reference / time) by rows of the same pass and causality, else of the other causality; FALSE
 * without any. */
gboolean cost_attention_table_log_efficiency(const CostAttentionTable *table,
                                             const CostAttention *attention, CostEstimate *ret,
                                             gboolean *ret_other_mask);
