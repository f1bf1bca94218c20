/* What a surface leaves over and covariates explain. */
#pragma once

#include "cost/surface.h"

enum { COST_COVARIATES_MOST = 16 };

/* Coefficients of y = surface + sum over c of coefficient[c] z[c], found at points left out. y: by order of adding;
 * z: n covariates of each, likewise. */
void cost_covariates_fit(const CostSurface *surface, const double *y, const double *z, guint n,
                         double *ret_coefficients);
