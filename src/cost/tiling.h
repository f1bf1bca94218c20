/* What tells GEMMs apart that are of nearly one shape: how their tiles fall on the SMs, and whether their operands
 * were in the cache when they were measured. */
#pragma once

#include "cost/kernel.h"

/* The first two: doublings lost to waves, 0 to 1; then 0 to about 3, in the unit of the logarithms of shapes. */
enum { COST_TILING_AXES = 4, COST_TILING_COVARIATES = 10 };

void cost_tiling_axes(const ClusterSystem *system, const CostGemm *gemm,
                      double ret[COST_TILING_AXES]);
/* Logarithms of what the reference would be over what it is, if kernels were otherwise than it takes them to be: of
 * one tile shape, with a last wave as long as a full one or as its share, with another start, with operands in the
 * cache. `reference_ns` is what it is. */
void cost_tiling_covariates(const ClusterSystem *system, const CostGemm *gemm, double reference_ns,
                            double ret[COST_TILING_COVARIATES]);
