/* The rows of memory.tsv: achieved time by kernel and bytes. */
#pragma once

#include "conf/table.h"
#include "cost/kernel.h"

typedef struct CostMemoryTable CostMemoryTable;

CostMemoryTable *cost_memory_table_new(const ConfTable *rows, GError **error);
void cost_memory_table_free(CostMemoryTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CostMemoryTable, cost_memory_table_free)

guint cost_memory_table_n_rows(const CostMemoryTable *table);
/* FALSE when the kernel has no rows. Between rows the rate is interpolated over log bytes; above
 * the largest it stays; below the smallest the time falls linearly to `floor_ns` at no bytes.
 * Far above it is a model's. */
gboolean cost_memory_table_time(const CostMemoryTable *table, CostMemoryKernel kernel, double bytes,
                                double floor_ns, CostTime *ret);
