/* The rows of gemm.tsv of one dtype: exact hits, and efficiency interpolated between neighbours. */
#pragma once

#include "conf/table.h"
#include "cost/kernel.h"
#include "cost/surface.h"

typedef struct CostGemmTable CostGemmTable;

/* Rows of other dtypes are skipped; a bad row is an error. Borrows `system`.
 *
 * A comment "# with-cast: DTYPE" says that rows of this dtype were measured with the cast of A, 3 bytes an element
 * read and written. That is taken off, since op lists have casts of their own. */
CostGemmTable *cost_gemm_table_new(const ClusterSystem *system, const ConfTable *rows,
                                   ClusterDtype dtype, GError **error);
void cost_gemm_table_free(CostGemmTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CostGemmTable, cost_gemm_table_free)

guint cost_gemm_table_n_rows(const CostGemmTable *table);   /* of all passes */
guint cost_gemm_table_n_points(const CostGemmTable *table); /* what interpolation works on */
/* Measured time of exactly this shape, batch and pass. */
gboolean cost_gemm_table_find(const CostGemmTable *table, const CostGemm *gemm, double *ret_ns);
/* Were casts taken off, so that no time is as it was measured? */
gboolean cost_gemm_table_less_cast(const CostGemmTable *table);
/* log(reference / time) of a forward GEMM of this shape; there must be points. */
CostEstimate cost_gemm_table_log_efficiency(const CostGemmTable *table, const CostGemm *gemm);
/* Time of a dgrad or wgrad over that of a forward GEMM of the same shape, and its spread (sigma of
 * the log); without such rows 1 and 0, in 8 bits what slow accumulation takes. */
double cost_gemm_table_pass_factor(const CostGemmTable *table, CostGemmPass pass,
                                   double *ret_spread);
/* Median relative error (of the log) when a row is left out; over at most `most` rows. */
double cost_gemm_table_leave_one_out(const CostGemmTable *table, guint most);
