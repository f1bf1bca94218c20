/* The rows of overlap.tsv: how much kernels and collectives slowed each other where it was measured. */
#pragma once

#include "conf/table.h"
#include "cost/overlap.h"

typedef struct CostOverlapTable CostOverlapTable;

/* Columns: work (cost_work_name), traffic (cost_traffic_name), channels (SMs that the traffic takes),
 * rate_GBps (what it sends from each GPU when alone; `-`: what the system's links achieve), work_slowdown and
 * traffic_slowdown (time beside the other over time alone; `-`: not measured, but not both). */
CostOverlapTable *cost_overlap_table_new(const ClusterSystem *measured, const ConfTable *rows,
                                         GError **error);
void cost_overlap_table_free(CostOverlapTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CostOverlapTable, cost_overlap_table_free)

guint cost_overlap_table_n_rows(const CostOverlapTable *table);
/* What rows say of traffic that takes so many channels: between two of them linear in channels, beyond them
 * the last. FALSE: there are none.
 *   excess   measured work_slowdown - 1 over that of the model, of the row's own channels and rate
 *   slowdown traffic_slowdown */
gboolean cost_overlap_table_excess(const CostOverlapTable *table, CostWork work,
                                   CostTraffic traffic, double channels, double *ret);
gboolean cost_overlap_table_slowdown(const CostOverlapTable *table, CostWork work,
                                     CostTraffic traffic, double channels, double *ret);
