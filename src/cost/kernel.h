/* Time of one kernel on one GPU, alone: from measured tables, else from a model; and how it is
 * known. */
#pragma once

#include "cluster/system.h"

typedef enum { COST_MEASURED, COST_INTERPOLATED, COST_MODELLED } CostBasis;

typedef struct {
    double ns;
    CostBasis basis;
    double error_frac; /* expected relative error, one sigma; 0 for an exact table hit */
    double
        common_frac; /* the part of it that all kernels of the kind have together: a model's, not a row's */
} CostTime;

typedef enum {
    COST_GEMM_FORWARD, /* TN */
    COST_GEMM_DGRAD,   /* NN */
    COST_GEMM_WGRAD,   /* NT */
    COST_N_GEMM_PASSES
} CostGemmPass;
const char *cost_gemm_pass_name(CostGemmPass pass); /* as in gemm.tsv */

typedef struct {
    ClusterDtype dtype;
    CostGemmPass pass;
    gint64 m, n, k;           /* C[m,n] = A[m,k] B[k,n] */
    gint64 batch;             /* > 1: strided batched */
    gboolean accumulate_fp32; /* wgrad adds into an fp32 main gradient: reads, writes 4 B */
    gint64 groups; /* > 1: grouped; m (of wgrad: k) is the sum over the groups, evenly spread */
} CostGemm;

typedef struct {
    ClusterDtype dtype;
    gint64 batch, heads, kv_heads, head_dim, seq_q, seq_kv;
    gboolean causal;
    gboolean backward;
    gint64
        v_dim; /* width of values and outputs where it is not head_dim (latent attention); 0: it is */
} CostAttention; /* fused (flash) attention core */

/* Kernels bound by memory: time = max(floor, bytes / (achieved rate of that kernel)). */
typedef enum {
    COST_COPY,
    COST_NORM,
    COST_NORM_BACKWARD,
    COST_SOFTMAX,
    COST_SOFTMAX_BACKWARD,
    COST_ACTIVATION,
    COST_ACTIVATION_BACKWARD,
    COST_ADD,
    COST_DROPOUT,
    COST_ROPE,
    COST_EMBEDDING,
    COST_EMBEDDING_BACKWARD,
    COST_CROSS_ENTROPY,
    COST_CROSS_ENTROPY_BACKWARD,
    COST_ADAM,
    COST_REDUCE,
    COST_PERMUTE, /* rows of tokens to and from the order of their experts */
    COST_CAST,    /* to and from 8 bits, with its scaling */
    COST_N_MEMORY_KERNELS
} CostMemoryKernel;
const char *cost_memory_kernel_name(CostMemoryKernel kernel); /* as in memory.tsv */

typedef struct CostBook CostBook; /* the loaded gemm.tsv, attention.tsv, memory.tsv of a system */

/* Borrows `system`. A missing table is no error (then everything is modelled); a bad one is. */
CostBook *cost_book_load(const ClusterSystem *system, GError **error);
void cost_book_free(CostBook *book);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CostBook, cost_book_free)

CostTime cost_gemm(const CostBook *book, const CostGemm *gemm);
CostTime cost_attention(const CostBook *book, const CostAttention *attention);
CostTime cost_memory(const CostBook *book, CostMemoryKernel kernel, double bytes);
/* What the tables hold, for `dtsim systems`. */
void cost_book_counts(const CostBook *book, guint *ret_gemm, guint *ret_attention,
                      guint *ret_memory);
/* Median relative error of a GEMM row of `dtype` that is left out and interpolated from the
 * others, over at most `most` rows; 0 without rows. */
double cost_book_gemm_residual(const CostBook *book, ClusterDtype dtype, guint most);
