/* The rows of a system directory's own tables as what they measured. */
#pragma once

#include "conf/table.h"
#include "cost/overlap.h"
#include "net/collective.h"

typedef struct {
    CostGemm gemm; /* a wgrad adds into an fp32 gradient */
    double ns;
} CalibrateGemmRow;

typedef struct {
    CostAttention attention;
    double ns;
} CalibrateAttentionRow;

typedef struct {
    CostMemoryKernel kernel;
    double bytes, ns;
} CalibrateMemoryRow;

typedef struct {
    NetOp op;
    guint ranks, nodes;
    double bytes, ns; /* bytes by nccl-tests' "size" */
} CalibrateCollectiveRow;

typedef struct {
    CostWork work;
    CostTraffic traffic;
    double channels, sent_Bps; /* by each GPU */
    double slowdown;           /* of the work; 0: not measured */
} CalibrateOverlapRow;

/* All are arrays in the order of the file; caller unrefs. Of gemm.tsv the rows of one dtype, less casts that were
 * measured with them (cost/gemm_table.h); of attention.tsv one for each pass. */
GArray *calibrate_gemm_rows(const ClusterSystem *system, const ConfTable *table, ClusterDtype dtype,
                            GError **error);
GArray *calibrate_attention_rows(const ConfTable *table, GError **error);
GArray *calibrate_memory_rows(const ConfTable *table, GError **error);
GArray *calibrate_collective_rows(const ConfTable *table, GError **error);
GArray *calibrate_overlap_rows(const ClusterSystem *system, const ConfTable *table, GError **error);

/* Bytes whose traffic is nothing beside a launch; and more than what the L2 cache may hold of the call before, or so
 * few. What lies between says nothing of HBM. */
gboolean calibrate_is_small(const ClusterSystem *system, double bytes);
gboolean calibrate_is_beyond_caches(const ClusterSystem *system, double bytes);
/* Bytes that traffic of a kind sends from each GPU in a second where rows do not say it. */
double calibrate_usual_rate_Bps(const ClusterSystem *system, CostTraffic traffic);
