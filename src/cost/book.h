/* The inside of a CostBook: the tables of one system, by kind. */
#pragma once

#include "cost/attention_table.h"
#include "cost/gemm_table.h"
#include "cost/memory_table.h"

struct CostBook {
    const ClusterSystem *system;           /* borrowed */
    CostGemmTable *gemm[CLUSTER_N_DTYPES]; /* NULL: no rows of that dtype */
    double gemm_error[CLUSTER_N_DTYPES];   /* sigma of the log of an interpolated time */
    CostAttentionTable *attention;         /* NULL: no table */
    CostMemoryTable *memory;               /* NULL: no table */
};
