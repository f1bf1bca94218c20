/* The inside of a CostBook: the tables of one system, by kind. */
#pragma once

#include "cost/attention_table.h"
#include "cost/gemm_table.h"
#include "cost/memory_table.h"
#include "cost/overlap_table.h"

struct CostBook {
    const ClusterSystem *system; /* borrowed: as asked for, with overrides */
    /* What each table was measured on: a system without overrides, this or another one. */
    const ClusterSystem *measured[CLUSTER_N_TABLES];
    ClusterSystem *owned; /* this one without overrides; NULL: `system` itself */
    ClusterSystem *lenders[CLUSTER_N_TABLES]; /* NULL: its own table, or none */
    CostGemmTable *gemm[CLUSTER_N_DTYPES];    /* NULL: no rows of that dtype */
    double gemm_error[CLUSTER_N_DTYPES];      /* sigma of the log of an interpolated time */
    CostAttentionTable *attention;            /* NULL: no table */
    CostMemoryTable *memory;                  /* NULL: no table */
    CostOverlapTable *overlap;                /* NULL: no table */
};

/* A book of these rows alone, measured on `system` (borrowed); NULL: of none. Not of collectives. */
CostBook *cost_book_of_table(const ClusterSystem *system, ClusterTable table, const ConfTable *rows,
                             GError **error);
/* Bytes per second of a kernel that was not measured. */
double cost_memory_rate(const ClusterSystem *system, CostMemoryKernel kernel);
/* A measured time on the system as asked for: `ns` times what the overrides change by the model
 * (`ratio`); exactly `ns` where they change nothing. */
CostTime cost_measured_time(double ns, double ratio);
