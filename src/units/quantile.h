/* Quantiles of a sample, with the usual straight line between two of it. */
#pragma once

#include <glib.h>

/* For sorting doubles; none may be NAN. */
int units_compare_doubles(gconstpointer a, gconstpointer b);
/* `part` 0..1 of n sorted ones, n >= 1: the median at 0.5. */
double units_quantile(const double *sorted, guint n, double part);
/* Sorts an array of double, which may be empty: NAN. */
double units_quantile_of(GArray *doubles, double part);
