/* Measured GEMMs and attention in tables, as shapes of one machine each.
 *
 * GEMM: columns m n k; attention: batch heads kv_heads head_dim, seq or seqlen, causal. Both: dtype, and times in us in
 * time_us, alt_time_us and all columns that begin with time_us_, or forward_us and backward_us. Read when there: gpu,
 * op, batch, pass (forward, dgrad, wgrad; fwd, bwd), layout (TN, NN, NT), source, software or kernel. Rows of one file,
 * source, GPU and dtype, of attention also of one pass and mask, are one group; times of one shape in it become their
 * geometric mean. */
#pragma once

#include "conf/table.h"
#include "cost/kernel.h"

typedef enum { CLI_KERNEL_GEMM, CLI_KERNEL_ATTENTION } CliKernelKind;

typedef struct {
    CostGemm gemm;
    CostAttention attention;
    double log_sum; /* of ns */
    guint n;
    gboolean fitted; /* the caller's */
} CliKernelShape;

typedef struct {
    CliKernelKind kind;
    const char *file, *source, *gpu; /* borrowed from the table; gpu NULL: it has no such column */
    ClusterDtype dtype;
    gboolean backward, causal; /* of attention */
    guint n_rows;
    GArray *shapes;    /* of CliKernelShape, in order of first appearance */
    GHashTable *index; /* look-up only: shape in words -> index + 1 */
} CliKernelGroup;

GPtrArray *cli_kernel_groups_new(void);
/* Groups in order of first appearance are added to `groups`; rows that say nothing counted in `skipped` (array of
 * ReportSkipped). */
gboolean cli_kernel_read(const ConfTable *table, GPtrArray *groups, GArray *skipped,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
double cli_kernel_shape_ns(const CliKernelShape *shape);

/* The system whose GPU a group was measured on: that of the directory its file lies in, else by the GPU's name (of the
 * column, else `gpu`). NULL without an error: a GPU of that name is not known. */
ClusterSystem *cli_kernel_system(const CliKernelGroup *group, const char *gpu, GError **error);
